// SPDX-License-Identifier: MIT
//
// Identifiers by which a request is found in the logs of every server that handled it.
#ifndef SKUA_HTTP_REQUEST_ID_H
#define SKUA_HTTP_REQUEST_ID_H

#include "base/slice.h"

enum { REQUEST_ID_OCTETS_MAX = 128, REQUEST_ID_TRACE_OCTETS = 32 };

// Reads the value of a traceparent, W3C Trace Context §3.2. id: its trace-id, of 32 octets.
// Returns: whether it is valid; id is written only then.
bool request_id_of_trace(slice value, slice *id);

// Whether the value of an X-Request-Id can stand in any log: letters, digits and "-_.:+/=@", 1 to
// REQUEST_ID_OCTETS_MAX octets.
bool request_id_is_safe(slice value);

// Writes 128 bits as 32 octets.
void request_id_write(uint64_t high, uint64_t low, char text[REQUEST_ID_TRACE_OCTETS]);

#endif
