// SPDX-License-Identifier: MIT
//
// A worker's memory when a flood has gone: as much as before it, but only after a minute in which
// nothing more was needed.

#include "h1/session.h"
#include "unit/bed.h"

enum { FLOOD = 700 };

static const int64_t second_ns = 1000000000;

// ---- The server ----

static void on_hello(skua_request *r, void *user)
{
    (void)user;
    assert_int_equal(skua_respond(r, 200, "text/plain", SKUA_SLICE("Hello")), SKUA_OK);
}

static void open_bed(bed *b)
{
    bed_open(b, NULL);
    assert_int_equal(skua_route(b->server, "GET /", on_hello, NULL), SKUA_OK);
    bed_start(b);
}

// Each has a head in part, and then leaves or, if completed, is answered.
static void flood(const bed *b, unsigned count, bool completed)
{
    static sim_client *clients[FLOOD];
    for (unsigned i = 0; i < count; i++) {
        clients[i] = bed_send(b, SKUA_SLICE("GET / HTTP/1.1\r\nHost: localhost\r\n"));
    }
    bed_turn_for(b, second_ns);
    assert_int_equal(b->worker->connections.in_use, count);
    for (unsigned i = 0; i < count; i++) {
        if (completed) assert_true(sim_client_send(clients[i], SKUA_SLICE("\r\n")));
        sim_client_shutdown(clients[i]);
    }
    bed_turn_for(b, second_ns);
    assert_int_equal(b->worker->connections.in_use, 0);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(sim_client_received(clients[i]).len > 0, completed);
        sim_client_free(clients[i]);
    }
}

// Octets that the worker keeps for connections, requests and answers to come.
static size_t kept_octets(const bed *b)
{
    const server_worker *w = b->worker;
    size_t octets = pool_octets(&w->connections);
    for (const h1_session *s = w->self.free_sessions; s; s = s->next)
        octets += h1_session_octets(s);
    for (const skua_request *r = w->self.free_requests; r; r = r->next)
        octets += w->self.request_octets;
#if CONTRACT_IS_SEARCHED
    for (unsigned i = 0; i < WORKER_GONE_KEPT; i++)
        octets += w->self.gone_requests[i] ? w->self.request_octets : 0;
#endif
    return octets + w->self.blocks.free_count * (sizeof(block) + BLOCK_OCTETS);
}

static void test_memory_returns_after_a_flood(void **state)
{
    (void)state;
    bed b;
    open_bed(&b);
    for (int i = 0; i < 3; i++) {
        flood(&b, FLOOD, i % 2);
        size_t flooded = kept_octets(&b);
        assert_true(flooded >= FLOOD * (sizeof(session) + sizeof(skua_request)));
        bed_turn_for(&b, 45 * second_ns);
        assert_int_equal(kept_octets(&b), flooded);
        bed_turn_for(&b, 80 * second_ns);
        assert_int_equal(kept_octets(&b), 0);
        assert_true(budget_octets(&b.server->memory) <= b.worker->self.memory.step);
        assert_int_equal(worker_timeout_ns(b.worker), -1); // it sleeps
    }
    bed_close(&b);
}

static void test_what_the_last_minute_needed_stays(void **state)
{
    (void)state;
    bed b;
    open_bed(&b);
    for (int i = 0; i < 2;
         i++) // requests that are gone are kept beside the free ones in some builds
        flood(&b, 100, true);
    size_t small = kept_octets(&b);
    flood(&b, FLOOD, true);
    assert_true(kept_octets(&b) > 2 * small);
    for (int i = 0; i < 10; i++) {
        bed_turn_for(&b, 25 * second_ns);
        flood(&b, 100, true);
    }
    // answers that come together hold more blocks than those that come apart
    assert_in_range(kept_octets(&b), small - small / 10, small + small / 10);
    bed_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_returns_after_a_flood),
        cmocka_unit_test(test_what_the_last_minute_needed_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
