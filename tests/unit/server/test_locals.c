// SPDX-License-Identifier: MIT
//
// Objects of which each worker has one: a worker drops its own, and keys are given out again, also while workers run.

#include <skua/skua.h>

#include <stdatomic.h>
#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { WORKERS = 3, ROUNDS = 1100 }; // more than there are keys

static void discard(skua_slice octets, void *user)
{
    (void)octets, (void)user;
}

static bool count_is(atomic_uint *count, unsigned expected)
{
    for (int i = 0; i < 50000 && atomic_load(count) != expected; i++)
        nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
    return atomic_load(count) == expected;
}

static void *make_counted(skua_worker *worker, void *user)
{
    (void)worker;
    atomic_fetch_add((atomic_uint *)user, 1);
    return user;
}

static void drop_counted(skua_worker *worker, void *object, void *user)
{
    (void)worker;
    assert_ptr_equal(object, user);
    atomic_fetch_sub((atomic_uint *)user, 1);
}

static void use_local(skua_worker *worker, void *user)
{
    assert_non_null(skua_local(worker, *(const unsigned *)user));
}

static void test_objects_of_workers_come_and_go(void **state)
{
    (void)state;
    atomic_uint alive = 0;
    const skua_local_desc desc = { .make = make_counted, .drop = drop_counted, .user = &alive };
    skua_server *server = skua_server_new(
        &(skua_config){ .listen = "127.0.0.1:0", .workers = WORKERS, .log_write = discard });
    unsigned key;
    for (int i = 0; i < ROUNDS; i++) { // before the start they are free at once
        assert_int_equal(skua_local_add(server, &desc, &key), SKUA_OK);
        skua_local_remove(server, key);
    }
    assert_int_equal(skua_start(server), SKUA_OK);
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(skua_local_add(server, &desc, &key), SKUA_OK);
        for (unsigned at = 0; at < WORKERS; at++)
            assert_int_equal(skua_post(server, at, use_local, &key), SKUA_OK);
        assert_true(count_is(&alive, WORKERS));
        skua_local_remove(server, key);
        assert_true(count_is(&alive, 0));
    }
    assert_int_equal(skua_local_add(server, &desc, &key), SKUA_OK);
    assert_int_equal(skua_post(server, 0, use_local, &key), SKUA_OK);
    assert_true(count_is(&alive, 1));
    skua_stop(server, 0);
    assert_int_equal(skua_wait(server), SKUA_OK);
    assert_int_equal(alive, 0);
    skua_local_remove(server, key); // of workers that have ended
    skua_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_objects_of_workers_come_and_go) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
