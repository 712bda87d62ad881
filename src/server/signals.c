// SPDX-License-Identifier: MIT
//
// Stopping by signals. There is one set of signals in a process, and so one server that has them.

#include "base/contract.h"
#include "server/server.h"
#include "server/stop.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>

enum { SIGNALS = 2 };

static const int signals_taken[SIGNALS] = { SIGINT, SIGTERM };

static struct {
    _Atomic(skua_server *) server; // NULL: nobody has them
    atomic_llong grace_ns;
    atomic_uint running; // handlers, which may be on other threads when the server is freed
    struct sigaction before[SIGNALS];
} signals_kept;

// A signal while the server stops already is from somebody who does not want to wait.
static void signals_handle(int number)
{
    int error = errno;
    (void)number;
    atomic_fetch_add(&signals_kept.running, 1);
    skua_server *server = atomic_load(&signals_kept.server);
    if (server)
        skua_stop(server, server_is_to_stop(server) ? 0 : atomic_load(&signals_kept.grace_ns));
    atomic_fetch_sub(&signals_kept.running, 1);
    errno = error;
}

// Called when the server is freed.
static void signals_give_back(void *user)
{
    (void)user;
    for (int i = 0; i < SIGNALS; i++)
        (void)sigaction(signals_taken[i], &signals_kept.before[i], NULL);
    atomic_store(&signals_kept.server, NULL);
    while (atomic_load(&signals_kept.running))
        (void)sched_yield(); // one that has begun is over in a moment
}

// One that is ignored stays so: a shell ignores SIGINT for what it runs in the background.
static void signals_take(void)
{
    struct sigaction action = { .sa_handler = signals_handle, .sa_flags = SA_RESTART };
    (void)sigemptyset(&action.sa_mask);
    for (int i = 0; i < SIGNALS; i++) {
        struct sigaction *before = &signals_kept.before[i];
        (void)sigaction(signals_taken[i], NULL, before);
        if (before->sa_handler != SIG_IGN) (void)sigaction(signals_taken[i], &action, NULL);
    }
}

skua_status skua_stop_on_signals(skua_server *server, int64_t grace_ns)
{
    CONTRACT_SERVER(server);
    skua_server *none = NULL;
    if (atomic_load(&signals_kept.server) == server) {
        atomic_store(&signals_kept.grace_ns, grace_ns);
        return SKUA_OK;
    }
    if (!atomic_compare_exchange_strong(&signals_kept.server, &none, server))
        return server_fail(server, SKUA_EEXIST, "another server of this process has the signals");
    skua_status status = skua_server_on_free(server, signals_give_back, NULL);
    if (status) {
        atomic_store(&signals_kept.server, NULL);
        return status;
    }
    atomic_store(&signals_kept.grace_ns, grace_ns);
    signals_take();
    return SKUA_OK;
}
