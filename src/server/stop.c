// SPDX-License-Identifier: MIT
//
// Stop: how workers are told to end. The word that says so is written once and looked at by each
// worker in every turn; who is waiting is woken.

#include "server/stop.h"

#include "base/contract.h"
#include "server/server.h"

#include <stdarg.h>
#include <stdio.h>

static const long long stop_not_asked = -1;

// The grace for the responses of other workers when one cannot go on. Somebody waits to start the
// process anew.
static const int64_t stop_broken_grace_ns = 1000000000;

// Nobody waits a hundred years; larger numbers would overflow the clock.
static const int64_t stop_grace_max_ns = (int64_t)86400 * 36525 * 1000000000;

void server_forget_stop(skua_server *server)
{
    atomic_store(&server->shared.grace_ns, stop_not_asked);
    atomic_store(&server->shared.leaves, false);
}

bool server_is_to_stop(const skua_server *server)
{
    long long grace = atomic_load(&server->shared.grace_ns);
    return grace != stop_not_asked && grace != STOP_NEVER;
}

void server_wake(skua_server *server)
{
    if (!gate_enter(&server->running)) return; // it opens later, and workers look when they start
    for (unsigned i = 0; i < server_worker_count(server); i++)
        io_wake(&server->workers[i]->wake);
    gate_leave(&server->running);
}

// A larger grace than one that was given before changes nothing.
void skua_stop(skua_server *server, int64_t grace_ns)
{
    CONTRACT_SERVER(server);
    long long grace = grace_ns < 0 ? 0 : grace_ns;
    if (grace > stop_grace_max_ns) grace = stop_grace_max_ns;
    long long before = atomic_load(&server->shared.grace_ns);
    while ((before == stop_not_asked || grace < before) &&
           !atomic_compare_exchange_weak(&server->shared.grace_ns, &before, grace)) {
    }
    server_wake(server);
}

// To workers a drain is a stop that never ends, so that they look at one word.
void skua_drain(skua_server *server)
{
    CONTRACT_SERVER(server);
    long long none = stop_not_asked;
    (void)atomic_compare_exchange_strong(&server->shared.grace_ns, &none, STOP_NEVER);
    server_wake(server);
}

void skua_leave(skua_server *server)
{
    CONTRACT_SERVER(server);
    atomic_store(&server->shared.leaves, true);
    skua_drain(server);
}

__attribute__((cold)) void server_break(skua_server *server, const char *format, ...)
{
    char sentence[SERVER_ERROR_OCTETS];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    skua_log(server, slice_of(sentence));
    if (atomic_exchange(&server->shared.broken, true)) return;
    memcpy(server->break_reason, sentence, sizeof sentence);
    long long none = stop_not_asked; // a stop that was asked for stays as it is
    if (!atomic_compare_exchange_strong(&server->shared.grace_ns, &none, stop_broken_grace_ns) &&
        none == STOP_NEVER)
        (void)atomic_compare_exchange_strong(&server->shared.grace_ns, &none, stop_broken_grace_ns);
    server_wake(server);
}
