// SPDX-License-Identifier: MIT
//
// Middleware: functions around the handlers of whole parts of a server. A server without any has no
// set, and pays one test for it.
#ifndef SKUA_EXCHANGE_MIDDLEWARE_H
#define SKUA_EXCHANGE_MIDDLEWARE_H

#include "base/slice.h"

enum { MIDDLEWARE_MAX = 64 };

typedef struct middleware_set middleware_set;

// See skua_use. *set is made with the first. why, room octets, then holds a sentence.
skua_status middleware_add(middleware_set **set, const char *prefix, const skua_middleware *m,
                           char *why, size_t room);

void middleware_free(middleware_set *set); // NULL is allowed

// Where a request is with those that concern it.
typedef enum middleware_state {
    MIDDLEWARE_NONE,
    MIDDLEWARE_INSIDE,  // a before function runs, and has not passed it on
    MIDDLEWARE_PASSED,  // it has
    MIDDLEWARE_WAITING, // a before function has returned and will pass it on, or respond
    MIDDLEWARE_DONE     // the handler has it, or it was answered
} middleware_state;

// Runs the before functions of those that concern the request; request_handle follows when all have
// passed it on.
void middleware_begin(skua_request *r);

// The response's status is known, and its head fits: r->head_left is the room for more of it. To be
// called once, when r->entered is not 0.
void middleware_head(skua_request *r, int status);

// Whether a function is to be told of its end.
bool middleware_awaits_end(const skua_request *r);

// The request ends; to be called when r->entered is not 0.
void middleware_end(skua_request *r, skua_end how);

#endif
