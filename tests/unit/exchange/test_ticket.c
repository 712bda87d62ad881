// SPDX-License-Identifier: MIT
//
// Tickets: resumed once or never, whatever has become of the request, the slot or the server.

#include "exchange/ticket.h"

#include "io/sim.h"
#include "server/connection.h"
#include "server/server.h"
#include "server/worker_run.h"
#include "server/start.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { TAKEN_MAX = 500 };

// A server with one client on the simulated kernel.
typedef struct bench {
    sim_kernel *kernel;
    skua_server *server;
    sim_client *client;
    int listener;
    skua_request *request; // of GET /wait, until it ends
    unsigned begun, ended;
    skua_ticket tickets[TAKEN_MAX];
    unsigned take, taken; // how many the handler takes, and has taken
} bench;

// Counts of resumptions.
typedef struct seen {
    unsigned calls, without; // without a request
    skua_request *last;
    bool answer;
} seen;

static void bench_ended(skua_request *request, skua_end how, void *user)
{
    (void)how;
    bench *b = user;
    b->ended++;
    if (b->request == request) b->request = NULL;
}

static void bench_wait(skua_request *request, void *user)
{
    bench *b = user;
    b->request = request;
    b->begun++;
    skua_on_end(request, bench_ended, b);
    for (b->taken = 0; b->taken < b->take; b->taken++) {
        assert_int_equal(skua_ticket_take(request, &b->tickets[b->taken]), SKUA_OK);
    }
}

static void bench_open_over(bench *b, unsigned take, const skua_config *config,
                            const sim_config *kernel)
{
    *b = (bench){ .take = take };
    b->kernel = sim_kernel_new(kernel);
    b->server = skua_server_new(config);
    assert_non_null(b->kernel);
    assert_non_null(b->server);
    assert_int_equal(skua_route(b->server, "GET /wait", bench_wait, b), SKUA_OK);
    b->listener = sim_listen(b->kernel);
    assert_int_equal(server_start_on(b->server, &io_backend_sim, b->kernel, b->listener), SKUA_OK);
    assert_true(worker_turn(b->server->workers[0], 0));
}

static void bench_open(bench *b, unsigned take, const skua_config *config)
{
    bench_open_over(b, take, config, &(sim_config){ .seed = 1 });
}

static void bench_turns(bench *b, int count)
{
    for (int i = 0; i < count; i++)
        assert_true(worker_turn(b->server->workers[0], 20000000));
}

static void bench_ask(bench *b)
{
    unsigned before = b->begun;
    if (!b->client || sim_client_is_reset(b->client))
        b->client = sim_connect(b->kernel, b->listener);
    assert_non_null(b->client);
    assert_true(sim_client_send(b->client, SKUA_SLICE("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")));
    for (int i = 0; i < 100 && b->begun == before; i++)
        bench_turns(b, 1);
    assert_int_equal(b->begun, before + 1);
    assert_non_null(b->request);
}

static void bench_reset(bench *b)
{
    unsigned before = b->ended;
    sim_client_reset(b->client);
    for (int i = 0; i < 100 && b->ended == before; i++)
        bench_turns(b, 1);
    assert_int_equal(b->ended, before + 1);
}

static bool bench_received(const bench *b, const char *text)
{
    slice got = sim_client_received(b->client);
    return got.len && memmem(got.ptr, got.len, text, strlen(text));
}

static void bench_close(bench *b)
{
    skua_stop(b->server, 0);
    for (int i = 0; i < 1000 && worker_turn(b->server->workers[0], 20000000); i++) {
    }
    sim_listener_close(b->kernel, b->listener);
    skua_server_free(b->server);
    sim_kernel_free(b->kernel);
    assert_int_equal(b->begun, b->ended);
}

static void resumed(skua_request *request, void *user)
{
    seen *s = user;
    s->calls++;
    s->last = request;
    if (!request) s->without++;
    if (request && s->answer) {
        s->answer = false;
        assert_int_equal(skua_respond(request, 200, "text/plain", SKUA_SLICE("resumed")), SKUA_OK);
    }
}

static void never(skua_request *request, void *user)
{
    (void)request;
    (void)user;
    fail_msg("this ticket was refused");
}

static void test_ticket_is_resumed_once(void **state)
{
    (void)state;
    bench b;
    seen s = { .answer = true };
    bench_open(&b, 1, NULL);
    bench_ask(&b);
    skua_request *request = b.request;
    assert_int_equal(skua_resume(b.tickets[0], resumed, &s), SKUA_OK);
    assert_int_equal(s.calls, 0); // never from within
    assert_int_equal(skua_resume(b.tickets[0], never, NULL), SKUA_ESTATE);
    bench_turns(&b, 1);
    assert_int_equal(s.calls, 1);
    assert_ptr_equal(s.last, request);
    bench_turns(&b, 5);
    assert_true(bench_received(&b, "\r\n\r\nresumed"));
    assert_int_equal(b.ended, 1);
    assert_int_equal(skua_resume(b.tickets[0], never, NULL), SKUA_ECLOSED);
    bench_close(&b);
    assert_int_equal(s.calls, 1);
}

static void test_ticket_spent_is_told_from_gone(void **state)
{
    (void)state;
    bench b;
    seen s = { .answer = false };
    bench_open(&b, 1, NULL);
    bench_ask(&b);
    assert_int_equal(skua_resume(b.tickets[0], resumed, &s), SKUA_OK);
    bench_turns(&b, 1);
    assert_int_equal(s.calls, 1);
    // while the request lives
    assert_int_equal(skua_resume(b.tickets[0], never, NULL), SKUA_ESTATE);
    bench_reset(&b);
    assert_int_equal(skua_resume(b.tickets[0], never, NULL), SKUA_ECLOSED);
    bench_close(&b);
}

static void test_ticket_of_a_dead_request(void **state)
{
    (void)state;
    bench b;
    bench_open(&b, 3, NULL);
    bench_ask(&b);
    bench_reset(&b);
    for (unsigned i = 0; i < b.taken; i++) {
        assert_int_equal(skua_resume(b.tickets[i], never, NULL), SKUA_ECLOSED);
    }
    bench_close(&b);
}

static void test_ticket_on_its_way_when_the_request_dies(void **state)
{
    (void)state;
    bench b;
    seen s = { .answer = true };
    bench_open(&b, 2, NULL);
    bench_ask(&b);
    sim_client_reset(b.client);
    for (int i = 0; i < 100 && b.ended == 0; i++)
        bench_turns(&b, 1);
    assert_int_equal(skua_resume(b.tickets[0], never, NULL), SKUA_ECLOSED);
    bench_ask(&b);
    assert_int_equal(skua_resume(b.tickets[0], resumed, &s), SKUA_OK);
    connection_abort(skua_request_connection(b.request), SKUA_END_CLOSED);
    assert_null(b.request);
    assert_int_equal(s.calls, 0);
    // its function is still to run
    assert_int_equal(skua_resume(b.tickets[0], never, NULL), SKUA_ESTATE);
    assert_int_equal(skua_resume(b.tickets[1], never, NULL), SKUA_ECLOSED);
    bench_turns(&b, 3);
    assert_int_equal(s.calls, 1);
    assert_int_equal(s.without, 1);
    bench_close(&b);
}

static void test_ticket_none(void **state)
{
    (void)state;
    assert_int_equal(skua_resume((skua_ticket){ 0 }, never, NULL), SKUA_ECLOSED);
    assert_int_equal(skua_resume((skua_ticket){ 7 }, never, NULL), SKUA_ECLOSED);
    assert_int_equal(skua_resume((skua_ticket){ UINT64_MAX }, never, NULL), SKUA_ECLOSED);
}

static void test_ticket_of_a_freed_server(void **state)
{
    (void)state;
    bench b;
    bench_open(&b, 2, NULL);
    bench_ask(&b);
    skua_ticket kept[2] = { b.tickets[0], b.tickets[1] };
    bench_close(&b);
    assert_int_equal(skua_resume(kept[0], never, NULL), SKUA_ECLOSED);
    bench_open(&b, 2, NULL); // takes the same slots
    bench_ask(&b);
    assert_int_equal(skua_resume(kept[0], never, NULL), SKUA_ECLOSED);
    assert_int_equal(skua_resume(kept[1], never, NULL), SKUA_ECLOSED);
    bench_close(&b);
}

static void test_ticket_resumed_while_the_server_stops(void **state)
{
    (void)state;
    bench b;
    seen s = { .answer = false };
    bench_open(&b, 3, NULL);
    bench_ask(&b);
    for (int i = 0; i < 3; i++)
        assert_int_equal(skua_resume(b.tickets[i], resumed, &s), SKUA_OK);
    bench_close(&b);
    assert_int_equal(s.calls, 3);
}

static void test_ticket_slots_are_reused(void **state)
{
    (void)state;
    bench b;
    bench_open(&b, TAKEN_MAX, NULL);
    bench_ask(&b);
    skua_ticket first[TAKEN_MAX];
    memcpy(first, b.tickets, sizeof first);
    bench_reset(&b);
    bench_ask(&b);
    seen s = { .answer = false };
    for (int i = 0; i < TAKEN_MAX; i++) {
        assert_int_equal(skua_resume(first[i], never, NULL), SKUA_ECLOSED);
        uint32_t index = (uint32_t)b.tickets[i].value & ((1u << REGISTRY_INDEX_BITS) - 1);
        assert_true(index < TAKEN_MAX + 64); // no more than there have been at a time, and a batch
        assert_int_equal(skua_resume(b.tickets[i], resumed, &s), SKUA_OK);
    }
    bench_turns(&b, 1);
    assert_int_equal(s.calls, TAKEN_MAX);
    bench_close(&b);
}

// A long request that waits many times uses one slot again and again.
static void test_ticket_after_ticket(void **state)
{
    (void)state;
    bench b;
    seen s = { .answer = false };
    bench_open(&b, 1, NULL);
    bench_ask(&b);
    skua_ticket ticket = b.tickets[0];
    for (unsigned i = 1; i <= 1000; i++) {
        skua_ticket before = ticket;
        assert_int_equal(skua_resume(ticket, resumed, &s), SKUA_OK);
        bench_turns(&b, 1);
        assert_int_equal(s.calls, i);
        assert_int_equal(skua_ticket_take(b.request, &ticket), SKUA_OK);
        assert_int_equal(skua_resume(before, never, NULL), SKUA_ECLOSED);
    }
    assert_ptr_equal(b.request->tickets->next, b.request->tickets);
    bench_close(&b);
}

static void test_ticket_generations_end(void **state)
{
    (void)state;
    bench b;
    bench_open(&b, 1, NULL);
    bench_ask(&b);
    uint32_t index = (uint32_t)b.tickets[0].value & ((1u << REGISTRY_INDEX_BITS) - 1);
    ticket_slot *slot = ticket_find(index);
    uint64_t last = (UINT64_C(1) << REGISTRY_GENERATION_BITS) - 2;
    atomic_store(&slot->slot.shared.word, last << 1);
    skua_ticket worn = { last << REGISTRY_INDEX_BITS | index };
    seen s = { .answer = false };
    assert_int_equal(skua_resume(worn, resumed, &s), SKUA_OK);
    bench_turns(&b, 1);
    assert_int_equal(s.calls, 1);
    skua_ticket next;
    assert_int_equal(skua_ticket_take(b.request, &next), SKUA_OK);
    assert_int_not_equal((uint32_t)next.value & ((1u << REGISTRY_INDEX_BITS) - 1), index);
    bench_reset(&b);
    for (int i = 0; i < 200; i++) {
        bench_ask(&b);
        assert_int_not_equal((uint32_t)b.tickets[0].value & ((1u << REGISTRY_INDEX_BITS) - 1),
                             index);
        bench_reset(&b);
    }
    assert_int_equal(skua_resume(worn, never, NULL), SKUA_ECLOSED);
    bench_close(&b);
}

// The 503 cannot leave, so the request is still there; but not for those who were to answer it.
static void test_ticket_after_the_handlers_deadline(void **state)
{
    (void)state;
    bench b;
    seen s = { .answer = false };
    bench_open_over(&b, 3, &(skua_config){ .handler_timeout_ns = 1000000000 },
                    &(sim_config){ .seed = 1, .send_buffer_octets = 40 });
    bench_ask(&b);
    sim_client_pause(b.client, true);
    assert_int_equal(skua_resume(b.tickets[0], resumed, &s), SKUA_OK);
    bench_turns(&b, 2);
    assert_ptr_equal(s.last, b.request);
    for (int i = 0; i < 1000 && b.request->responding == RESPONSE_NONE; i++)
        bench_turns(&b, 1);
    assert_non_null(b.request);
    assert_int_equal(b.request->status, 503);
    for (int i = 0; i < 3; i++)
        assert_int_equal(skua_resume(b.tickets[i], never, NULL), SKUA_ECLOSED);
    sim_client_pause(b.client, false);
    bench_turns(&b, 30);
    assert_int_equal(b.ended, 1);
    assert_true(bench_received(&b, " 503 "));
    bench_close(&b);
    assert_int_equal(s.calls, 1);
}

// ---- From several threads ----

enum { RACERS = 4 };

typedef struct racer {
    const bench *bench;
    seen *seen;
    pthread_t thread;
    unsigned won;
} racer;

static void *race(void *user)
{
    racer *r = user;
    for (unsigned i = 0; i < r->bench->taken; i++) {
        skua_status status = skua_resume(r->bench->tickets[i], resumed, r->seen);
        if (status == SKUA_OK) r->won++;
        else if (status != SKUA_ESTATE) return NULL;
    }
    return r;
}

static void test_ticket_is_won_by_one(void **state)
{
    (void)state;
    bench b;
    seen s = { .answer = false };
    bench_open(&b, TAKEN_MAX, NULL);
    bench_ask(&b);
    racer racers[RACERS];
    for (int i = 0; i < RACERS; i++) {
        racers[i] = (racer){ .bench = &b, .seen = &s };
        assert_int_equal(pthread_create(&racers[i].thread, NULL, race, &racers[i]), 0);
    }
    unsigned won = 0;
    for (int i = 0; i < RACERS; i++) {
        void *result;
        assert_int_equal(pthread_join(racers[i].thread, &result), 0);
        assert_non_null(result);
        won += racers[i].won;
    }
    assert_int_equal(won, TAKEN_MAX);
    bench_turns(&b, 1);
    assert_int_equal(s.calls, TAKEN_MAX);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ticket_none),
        cmocka_unit_test(test_ticket_is_resumed_once),
        cmocka_unit_test(test_ticket_spent_is_told_from_gone),
        cmocka_unit_test(test_ticket_of_a_dead_request),
        cmocka_unit_test(test_ticket_on_its_way_when_the_request_dies),
        cmocka_unit_test(test_ticket_of_a_freed_server),
        cmocka_unit_test(test_ticket_resumed_while_the_server_stops),
        cmocka_unit_test(test_ticket_slots_are_reused),
        cmocka_unit_test(test_ticket_after_ticket),
        cmocka_unit_test(test_ticket_generations_end),
        cmocka_unit_test(test_ticket_after_the_handlers_deadline),
        cmocka_unit_test(test_ticket_is_won_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
