// SPDX-License-Identifier: MIT
//
// Keeps SIGPIPE from a thread of the program's. sendfile and write take no MSG_NOSIGNAL: they raise the signal in the thread
// that calls them when the peer has gone. The thread must not die of that, nor find it pending afterwards, and the program's
// handlers stay as they are.
#ifndef SKUA_THREAD_PIPE_GUARD_H
#define SKUA_THREAD_PIPE_GUARD_H

#include <signal.h>
#include <stdbool.h>

typedef struct pipe_guard {
    sigset_t pipe;
    bool was_blocked;
    bool was_pending;
} pipe_guard;

// Blocks it on the calling thread.
void pipe_guard_begin(pipe_guard *guard);

// Consumes it, if it has come since, and does what the thread did with it before.
void pipe_guard_end(const pipe_guard *guard);

#endif
