// SPDX-License-Identifier: MIT
//
// Fault: a peer's error, as a value. status 0 means no fault.
#ifndef SKUA_HTTP_FAULT_H
#define SKUA_HTTP_FAULT_H

#include <stdint.h>

// The part that a fault ends. FAULT_STREAM is for protocols that multiplex: HTTP/1 never has it, and
// knows from its own state whether the connection can go on.
typedef enum fault_scope { FAULT_REQUEST, FAULT_STREAM, FAULT_CONNECTION } fault_scope;

typedef struct fault {
    fault_scope scope;  // REQUEST: the connection can go on
    uint16_t status;    // the status of the response
    uint16_t h2_code;   // the code of HTTP/2, RFC 9113 §7, which HTTP/1 has no use for
    const char *reason; // a few words, for the log
} fault;

#define FAULT_NONE ((fault){ FAULT_REQUEST, 0, 0, "" })

// A fault in framing: nothing after it on the connection can be trusted.
static inline fault fault_framing(uint16_t status, const char *reason)
{
    return (fault){ FAULT_CONNECTION, status, 1, reason };
}

// A fault of this request alone.
static inline fault fault_request(uint16_t status, const char *reason)
{
    return (fault){ FAULT_REQUEST, status, 0, reason };
}

#endif
