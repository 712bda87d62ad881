// SPDX-License-Identifier: MIT
//
// Testbed. Its kernel has no faults and its own clock, which jumps to the next timer whenever
// nothing else is left to
// do: what takes a minute on the wire takes no time here. Only threads are waited for, on the clock
// of this world.

#include "server/testbed.h"

#include "base/contract.h"
#include "base/memory.h"
#include "io/sim.h"
#include "server/connection.h"
#include "server/poll.h"
#include "server/server.h"
#include "server/starter.h"
#include "server/stop.h"
#include "server/worker_run.h"
#include "server/start.h"

#include <time.h>

enum {
    // of a request that never comes to an end, though time passes
    TESTBED_TURNS_MAX = 10000000,
    TESTBED_RESPONSE_OCTETS_MAX = 64 << 20,
    TESTBED_NAP_NS = 50000 // between looks at whether a thread has finished
};

static const int64_t testbed_patience_ns = 10000000000; // for threads
// of threads, before the next timer is let fire
static const int64_t testbed_idle_ns = 20000000;

struct testbed {
    sim_kernel *kernel;
    int listener;
};

// One request's play: a client, and how long nothing has happened.
typedef struct testbed_play {
    testbed *bed;
    server_worker *worker;
    sim_client *client;
    int64_t quiet_since_ns; // 0: it is not quiet
    bool ended;             // the server has
} testbed_play;

void testbed_free(testbed *bed)
{
    if (!bed) return;
    sim_kernel_free(bed->kernel);
    memory_free(bed);
}

static skua_status testbed_make(skua_server *server)
{
    testbed *bed = memory_zeroed(sizeof *bed);
    if (!bed) return SKUA_ENOMEM;
    bed->kernel = sim_kernel_new(&(sim_config){ .seed = 1 });
    bed->listener = bed->kernel ? sim_listen(bed->kernel) : -1;
    skua_status status = bed->kernel
                             ? server_start_on(server, &io_backend_sim, bed->kernel, bed->listener)
                             : SKUA_ENOMEM;
    if (status) testbed_free(bed);
    else server->testbed = bed;
    return status;
}

static skua_status testbed_open(skua_server *server)
{
    skua_status status = server->testbed ? SKUA_OK : testbed_make(server);
    if (status || (server->started && !server_is_to_stop(server))) return status;
    (void)server_wait(server); // it was stopped by somebody else than a handler
    return SKUA_ECLOSED;
}

// ---- What is waited for ----

// The one connection there is; NULL: none.
static connection *testbed_connection(const server_worker *w)
{
    uint32_t slot = 0;
    endpoint *end;
    do
        end = endpoint_next(w, &slot);
    while (end && endpoint_side_of(end) != ENDPOINT_SERVER);
    return (connection *)(void *)end;
}

// Everything has been said: the connection is over, or all is answered and the server waits for
// more.
static bool testbed_is_over(const testbed_play *play)
{
    if (play->ended || sim_client_is_eof(play->client) || sim_client_is_reset(play->client))
        return true;
    if (!sim_is_quiet(play->bed->kernel) || sim_client_unsent(play->client)) return false;
    const connection *conn = testbed_connection(play->worker);
    return conn && connection_is_idle(conn);
}

static bool testbed_has_threads(const testbed_play *play)
{
    const server_worker *w = play->worker;
    return w->self.disk.offloaded || w->self.blocked_requests || w->self.ticketed ||
           polls_wait(&w->self);
}

static bool testbed_has_timers(const server_worker *w)
{
    return w->self.loop.alarms.count || w->self.loop.timers.count;
}

// Returns whether the threads may have another moment.
static bool testbed_nap(testbed_play *play)
{
    int64_t now = io_clock_ns();
    if (play->quiet_since_ns == 0) play->quiet_since_ns = now;
    if (now - play->quiet_since_ns > testbed_patience_ns) return false;
    nanosleep(&(struct timespec){ .tv_nsec = TESTBED_NAP_NS }, NULL);
    return true;
}

static void testbed_turn(testbed_play *play, int64_t timeout_ns)
{
    if (!worker_turn(play->worker, timeout_ns)) play->ended = true;
}

// While threads work, deadlines of the simulated clock must not pass, or a test would fail on a
// slow machine; but a timer of the program's may be what the request really waits for.
static bool testbed_wait_for_threads(testbed_play *play)
{
    const server_worker *w = play->worker;
    if (!testbed_nap(play)) return false;
    if (polls_wait(&w->self)) testbed_turn(play, 0); // which looks at them
    bool idle = io_clock_ns() - play->quiet_since_ns > testbed_idle_ns;
    if (idle && w->self.loop.alarms.count)
        testbed_turn(play, io_alarms_wait_ns(&w->self.loop.alarms, w->self.loop.now_ns));
    return true;
}

// Something happens, or time passes; false: neither any more.
static bool testbed_go_on(testbed_play *play)
{
    if (!sim_is_quiet(play->bed->kernel)) {
        play->quiet_since_ns = 0;
        testbed_turn(play, 0);
        return true;
    }
    if (testbed_has_threads(play)) return testbed_wait_for_threads(play);
    if (!testbed_has_timers(play->worker)) return testbed_nap(play); // perhaps for skua_post
    testbed_turn(play, -1);
    return true;
}

static skua_status testbed_run(testbed_play *play)
{
    for (int turn = 0; turn < TESTBED_TURNS_MAX; turn++) {
        if (testbed_is_over(play)) return SKUA_OK;
        if (sim_client_received(play->client).len > TESTBED_RESPONSE_OCTETS_MAX ||
            !testbed_go_on(play))
            break;
    }
    return SKUA_ELIMIT;
}

// ---- A request ----

static skua_status testbed_copy(slice octets, slice *received)
{
    char *copy = memory_lasting(octets.len + 1);
    if (!copy) return SKUA_ENOMEM;
    if (octets.len) memcpy(copy, octets.ptr, octets.len);
    copy[octets.len] = 0;
    *received = slice_make(copy, octets.len);
    return SKUA_OK;
}

// The client goes, and the next one finds the server as if it had never been there.
static void testbed_hang_up(testbed_play *play)
{
    sim_client_reset(play->client);
    while (!play->ended && (play->worker->serving || !sim_is_quiet(play->bed->kernel))) {
        testbed_turn(play, 0);
    }
    if (!play->ended) sim_client_free(play->client);       // or else with the kernel
    if (!worker_goes_on(play->worker)) play->ended = true; // a handler has stopped the server
}

// Functions that were posted before a request come before it.
static void testbed_settle(testbed_play *play)
{
    for (int turn = 0; turn < TESTBED_TURNS_MAX && !play->ended; turn++) {
        if (sim_is_quiet(play->bed->kernel)) return;
        testbed_turn(play, 0);
    }
}

static skua_status testbed_request(skua_server *server, slice octets, slice *received)
{
    skua_status status = testbed_open(server);
    if (status) return status;
    testbed_play play = { .bed = server->testbed, .worker = server->workers[0] };
    testbed_settle(&play);
    play.client = sim_connect(play.bed->kernel, play.bed->listener);
    if (!play.client) return SKUA_ENOMEM;
    status = sim_client_send(play.client, octets) ? testbed_run(&play) : SKUA_ENOMEM;
    if (!status) status = testbed_copy(sim_client_received(play.client), received);
    testbed_hang_up(&play);
    if (play.ended) (void)server_end(server);
    return status;
}

__attribute__((cold)) skua_status skua_test_request(skua_server *server, slice octets,
                                                    slice *received)
{
    CONTRACT_SERVER(server);
    CONTRACT_SLICE(octets);
    CONTRACT_GIVEN(received);
    server_expect_outside(server, __func__);
    if (server->testbed) server_expect_starter(server, __func__);
    if (server->started && !server->testbed) return SKUA_ESTATE;
    server->inside = true;
    skua_status status = testbed_request(server, octets, received);
    server->inside = false;
    return status;
}

void skua_test_free(slice received)
{
    union {
        const char *from;
        void *memory;
    } octets = { .from = received.ptr };
    memory_lasting_free(octets.memory);
}
