// SPDX-License-Identifier: MIT
//
// Post: runs a function on a worker, by a letter of its own.
#ifndef SKUA_SERVER_POST_H
#define SKUA_SERVER_POST_H

#include "server/worker.h"

typedef struct post post;

// NULL when memory ran out.
post *post_new(void (*fn)(skua_worker *worker, void *user), void *user);

// Takes the post, unless it returns false: the worker is ending. To be called within the gate of
// server->running.
bool post_send(post *p, server_worker *w);

#endif
