// SPDX-License-Identifier: MIT
//
// Priorities, RFC 9218.
#ifndef SKUA_H2_PRIORITY_H
#define SKUA_H2_PRIORITY_H

#ifndef SKUA_NO_HTTP2

#include "h2/session.h"

// Reads the value of a Priority field, §4. A member that cannot be read changes nothing.
h2_priority h2_priority_read(slice value);

// Keeps the priority of a stream that is to come, as far as there is memory.
// Returns: false if there are as many already as may be open.
bool h2_priority_keep(h2_session *s, uint32_t number, h2_priority priority);

// Finds it. Returns: false if there is none.
bool h2_priority_find(const h2_session *s, uint32_t number, h2_priority *priority);

#endif
#endif
