// SPDX-License-Identifier: MIT
//
// Prefix: "[METHOD ][HOST]/PATH", and the requests at or below it. Of middleware and error functions.
#ifndef SKUA_EXCHANGE_PREFIX_H
#define SKUA_EXCHANGE_PREFIX_H

#include "exchange/request.h"
#include "route/pattern.h"

typedef struct prefix {
    route_pattern pattern;
    bool open; // its path ends in "/": nothing less than that is at or below it
    char *text;
} prefix;

// Reads a prefix, of which a copy is kept. Errors: SKUA_EINVAL, SKUA_ENOMEM; why, room octets, then
// holds a sentence that begins with owner.
skua_status prefix_read(prefix *p, const char *text, const char *owner, char *why, size_t room);

void prefix_free(prefix *p);

bool prefix_takes(const prefix *p, const skua_request *r);

// Writes the sentence about a prefix that is refused.  Returns: status.
skua_status prefix_refuse(skua_status status, char *why, size_t room, const char *owner,
                          const char *text, const char *reason);

#endif
