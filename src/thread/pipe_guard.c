// SPDX-License-Identifier: MIT

#include "thread/pipe_guard.h"

#include <pthread.h>

static bool pipe_is_pending(void)
{
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
}

void pipe_guard_begin(pipe_guard *guard)
{
    sigset_t before;
    sigemptyset(&before);
    sigemptyset(&guard->pipe);
    sigaddset(&guard->pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &guard->pipe, &before);
    guard->was_blocked = sigismember(&before, SIGPIPE) == 1;
    guard->was_pending = guard->was_blocked && pipe_is_pending();
}

void pipe_guard_end(const pipe_guard *guard)
{
    int number;
    if (!guard->was_pending && pipe_is_pending()) (void)sigwait(&guard->pipe, &number);
    if (!guard->was_blocked) pthread_sigmask(SIG_UNBLOCK, &guard->pipe, NULL);
}
