// SPDX-License-Identifier: MIT
//
// Blocking routes: a handler runs on a thread that may wait, over a request that is kept for it.
#ifndef SKUA_EXCHANGE_BLOCKING_H
#define SKUA_EXCHANGE_BLOCKING_H

#include "io/io.h"
#include "exchange/request.h"
#include "thread/mailbox.h"

// The threads of a server with such routes.
typedef struct blocking blocking;

typedef struct blocking_route blocking_route;

// NULL when memory ran out.
blocking *blocking_new(const skua_config *config);

void blocking_free(blocking *b);

// The request's connection has died, or a deadline has passed: no response is needed any more.
void blocking_let_go(blocking_call *call);

// The request has ended. Returns: whether its handler still runs; then who is to be told of the end is
// told when that has returned.
bool blocking_end_later(blocking_call *call, skua_end how);

// The connection's peer, how it is protected, and whether the peer was done, when the handler was
// called.
const io_address *blocking_peer(const blocking_call *call);
bool blocking_tls(const blocking_call *call, skua_tls_info *info);
bool blocking_peer_was_done(const blocking_call *call);

// Adds a route to *list. Returns the user of its handler, which is blocking_begin; NULL when memory ran
// out.
void *blocking_add(blocking_route **list, skua_handler *handler, void *user);
void blocking_free_routes(blocking_route *list); // NULL is allowed

// The handler of every blocking route.
void blocking_begin(skua_request *r, void *user);

// Calls the handler once on a thread of the pool, with a request that has become a socket's, even when
// that is gone by then. returned: posted to the worker behind that.
// Errors: SKUA_ELIMIT too many wait for a thread; SKUA_ENOMEM: nothing is called or posted.
skua_status blocking_begin_socket(skua_request *r, skua_handler *handler, void *user,
                                  mail *returned);

// Takes one of the threads that sockets may have, half of all: they keep it for long, and requests want
// some, too. Returns: false when there is none.  Thread: any.
bool blocking_take_socket(blocking *b);
void blocking_give_socket(blocking *b);

// How many handlers run now.  Thread: any.
unsigned blocking_busy(const blocking *b);

#endif
