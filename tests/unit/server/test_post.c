// SPDX-License-Identifier: MIT
//
// Posts: run on their worker, once, in order, or refused; never in the way of the server's end.

#include "io/sim.h"
#include "server/server.h"
#include "server/worker_run.h"
#include "server/start.h"

#include <pthread.h>
#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { POSTS = 50 };

typedef struct bench {
    sim_kernel *kernel;
    skua_server *server;
    int listener;
} bench;

typedef struct note {
    unsigned number, runs;
    unsigned *order; // how many have run before
    skua_status again;
} note;

static void bench_open(bench *b)
{
    b->kernel = sim_kernel_new(&(sim_config){ .seed = 1 });
    b->server = skua_server_new(NULL);
    assert_non_null(b->kernel);
    assert_non_null(b->server);
    b->listener = sim_listen(b->kernel);
}

static void bench_start(bench *b)
{
    assert_int_equal(server_start_on(b->server, &io_backend_sim, b->kernel, b->listener), SKUA_OK);
}

static void bench_run_to_its_end(bench *b)
{
    int turns = 0;
    while (worker_turn(b->server->workers[0], 20000000))
        assert_true(++turns < 1000);
}

static void bench_close(bench *b)
{
    skua_server_free(b->server);
    sim_listener_close(b->kernel, b->listener);
    sim_kernel_free(b->kernel);
}

static void note_run(skua_worker *worker, void *user)
{
    note *n = user;
    assert_int_equal(skua_worker_index(worker), 0);
    if (n->order) assert_int_equal(n->number, (*n->order)++);
    n->runs++;
}

static void test_posts_run_in_order(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    bench_start(&b);
    note notes[POSTS];
    unsigned order = 0;
    for (unsigned i = 0; i < POSTS; i++) {
        notes[i] = (note){ .number = i, .order = &order };
        assert_int_equal(skua_post(b.server, 0, note_run, &notes[i]), SKUA_OK);
    }
    assert_int_equal(order, 0);
    assert_true(worker_turn(b.server->workers[0], 0));
    assert_int_equal(order, POSTS);
    bench_close(&b);
    for (unsigned i = 0; i < POSTS; i++)
        assert_int_equal(notes[i].runs, 1);
}

static void test_posts_to_nobody(void **state)
{
    (void)state;
    bench b;
    note n = { .runs = 0 };
    bench_open(&b);
    assert_int_equal(skua_post(b.server, 0, note_run, &n), SKUA_ECLOSED); // it does not run yet
    bench_start(&b);
    assert_int_equal(skua_post(b.server, 1, note_run, &n), SKUA_EINVAL);
    assert_int_equal(skua_post(b.server, UINT32_MAX, note_run, &n), SKUA_EINVAL);
    skua_stop(b.server, 0);
    bench_run_to_its_end(&b);
    assert_int_equal(skua_post(b.server, 0, note_run, &n), SKUA_ECLOSED); // that worker has ended
    skua_wait(b.server);
    assert_int_equal(skua_post(b.server, 0, note_run, &n), SKUA_ECLOSED);
    bench_close(&b);
    assert_int_equal(n.runs, 0);
}

static void test_posts_run_while_it_stops(void **state)
{
    (void)state;
    bench b;
    note n = { .runs = 0 };
    bench_open(&b);
    bench_start(&b);
    assert_int_equal(skua_post(b.server, 0, note_run, &n), SKUA_OK);
    skua_stop(b.server, 0);
    assert_int_equal(skua_post(b.server, 0, note_run, &n), SKUA_OK);
    bench_run_to_its_end(&b);
    assert_int_equal(n.runs, 2);
    bench_close(&b);
}

static void note_run_again(skua_worker *worker, void *user)
{
    note *n = user;
    n->runs++;
    n->again = skua_post(skua_worker_server(worker), 0, note_run_again, n);
}

static void test_posts_of_posts_do_not_keep_it_from_ending(void **state)
{
    (void)state;
    bench b;
    note n = { .runs = 0 };
    bench_open(&b);
    bench_start(&b);
    assert_int_equal(skua_post(b.server, 0, note_run_again, &n), SKUA_OK);
    for (int i = 0; i < 10; i++)
        assert_true(worker_turn(b.server->workers[0], 0));
    assert_int_equal(n.again, SKUA_OK);
    assert_true(n.runs >= 9);
    skua_stop(b.server, 0);
    bench_run_to_its_end(&b);
    assert_int_equal(n.again, SKUA_ECLOSED);
    bench_close(&b);
}

static void *wake_late(void *user)
{
    server_worker *w = user;
    nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
    io_wake(&w->wake); // it is still there: the address sanitizer would tell
    mailbox_leave(&w->mail);
    return NULL;
}

// A letter may be delivered, and its worker have ended, before its writer has come to waking it.
static void test_posts_keep_the_worker_until_it_was_woken(void **state)
{
    (void)state;
    bench b;
    note n = { .runs = 0 };
    pthread_t writer;
    bench_open(&b);
    bench_start(&b);
    server_worker *w = b.server->workers[0];
    mailbox_enter(&w->mail);
    assert_int_equal(skua_post(b.server, 0, note_run, &n), SKUA_OK);
    skua_stop(b.server, 0);
    bench_run_to_its_end(&b);
    assert_int_equal(n.runs, 1);
    assert_int_equal(pthread_create(&writer, NULL, wake_late, w), 0);
    skua_wait(b.server);
    assert_int_equal(pthread_join(writer, NULL), 0);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_posts_run_in_order),
        cmocka_unit_test(test_posts_to_nobody),
        cmocka_unit_test(test_posts_run_while_it_stops),
        cmocka_unit_test(test_posts_of_posts_do_not_keep_it_from_ending),
        cmocka_unit_test(test_posts_keep_the_worker_until_it_was_woken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
