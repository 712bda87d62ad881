// SPDX-License-Identifier: MIT
//
// Keys of session tickets: replaced by time, the same for all workers, or those of a file.

#include "net/tls_tickets.h"
#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static tls_tickets *make(void)
{
    tls_load load = { .unix_s = 0 };
    tls_tickets *tickets = NULL;
    assert_int_equal(tls_tickets_random(&load, &tickets), SKUA_OK);
    return tickets;
}

static tls_ticket_key first(tls_ticket_view *view, int64_t now_ns)
{
    const tls_ticket_key *key = tls_ticket_view_first(view, now_ns);
    assert_non_null(key);
    return *key;
}

// Whether a key is known, and whether it is the first.
static void check_key(tls_ticket_view *view, int64_t now_ns, const tls_ticket_key *key,
                      bool is_known, bool is_first)
{
    bool leads = false;
    const tls_ticket_key *found = tls_ticket_view_find(view, now_ns, key->name, &leads);
    assert_int_equal(found != NULL, is_known);
    if (found) assert_memory_equal(found, key, sizeof *key);
    assert_int_equal(leads, is_first);
}

static void test_a_key_is_replaced_after_twelve_hours_and_forgotten_after_two_more(void **state)
{
    (void)state;
    const int64_t step = TLS_TICKET_ROTATION_NS, start = -5; // the clock may begin anywhere
    tls_tickets *tickets = make();
    tls_ticket_view view;
    tls_ticket_view_init(&view, tickets);
    tls_ticket_key one = first(&view, start);
    check_key(&view, start + step - 1, &one, true, true);
    check_key(&view, start + step, &one, true, false);
    tls_ticket_key two = first(&view, start + step);
    assert_memory_not_equal(&one, &two, sizeof one);
    check_key(&view, start + 2 * step, &one, true, false);
    check_key(&view, start + 2 * step, &two, true, false);
    check_key(&view, start + 3 * step, &one, false, false);
    check_key(&view, start + 3 * step, &two, true, false);
    tls_ticket_view_deinit(&view);
    tls_tickets_unref(tickets);
}

static void test_keys_are_forgotten_though_nobody_came(void **state)
{
    (void)state;
    const int64_t step = TLS_TICKET_ROTATION_NS;
    for (int missed = 1; missed <= 4; missed++) {
        tls_tickets *tickets = make();
        tls_ticket_view view;
        tls_ticket_view_init(&view, tickets);
        tls_ticket_key one = first(&view, 0), two = first(&view, step);
        int64_t now_ns = step + missed * step;
        (void)first(&view, now_ns);
        check_key(&view, now_ns, &one, missed < 2, false);
        check_key(&view, now_ns, &two, missed < 3, false);
        tls_ticket_view_deinit(&view);
        tls_tickets_unref(tickets);
    }
}

static void test_workers_have_the_same_keys(void **state)
{
    (void)state;
    tls_tickets *tickets = make();
    tls_ticket_view a, b;
    tls_ticket_view_init(&a, tickets);
    tls_ticket_view_init(&b, tickets);
    for (int64_t now_ns = 0; now_ns < 5 * TLS_TICKET_ROTATION_NS;
         now_ns += TLS_TICKET_ROTATION_NS) {
        tls_ticket_key one = first(&a, now_ns), other = first(&b, now_ns);
        assert_memory_equal(&one, &other, sizeof one);
        // One that is read a moment earlier still makes tickets that the others open.
        check_key(&b, now_ns + 1, &one, true, true);
    }
    tls_ticket_view_deinit(&a);
    tls_ticket_view_deinit(&b);
    tls_tickets_unref(tickets);
}

static void *turn(void *user)
{
    tls_ticket_view view;
    bool is_first;
    tls_ticket_view_init(&view, user);
    for (int64_t i = 0; i < 2000; i++) {
        tls_ticket_key key = first(&view, i * TLS_TICKET_ROTATION_NS / 10);
        assert_non_null(
            tls_ticket_view_find(&view, i * TLS_TICKET_ROTATION_NS / 10, key.name, &is_first));
    }
    tls_ticket_view_deinit(&view);
    return NULL;
}

static void test_workers_may_look_at_once(void **state)
{
    (void)state;
    tls_tickets *tickets = make();
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, turn, tickets), 0);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    tls_tickets_unref(tickets);
}

// ---- Files ----

static char path[] = "/tmp/skua-keys-XXXXXX";

static skua_status read_keys(size_t octets, tls_tickets **tickets, char *why)
{
    unsigned char content[TLS_TICKET_KEY_OCTETS * (TLS_TICKET_KEYS_MAX + 1)];
    tls_load load = { .unix_s = 0 };
    for (size_t i = 0; i < octets; i++)
        content[i] = (unsigned char)(i / TLS_TICKET_KEY_OCTETS + 1);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(content, 1, octets, file), octets);
    assert_int_equal(fclose(file), 0);
    skua_status status = tls_tickets_read(path, &load, tickets);
    memcpy(why, load.why, sizeof load.why);
    return status;
}

static void test_a_file_has_one_to_sixteen_keys(void **state)
{
    (void)state;
    static const struct {
        size_t octets;
        skua_status status;
    } cases[] = {
        { 0, SKUA_EINVAL }, { 48, SKUA_EINVAL },   { 79, SKUA_EINVAL },
        { 80, SKUA_OK },    { 81, SKUA_EINVAL },   { 160, SKUA_OK },
        { 1280, SKUA_OK },  { 1281, SKUA_EINVAL }, { 1360, SKUA_EINVAL },
    };
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char why[TLS_WHY_OCTETS], expected[TLS_WHY_OCTETS];
        tls_tickets *tickets = NULL;
        assert_int_equal(read_keys(cases[i].octets, &tickets, why), cases[i].status);
        (void)snprintf(expected, sizeof expected,
                       "the ticket keys %s have %zu octets; a key has 80, and there are 1 to 16 of "
                       "them",
                       path, cases[i].octets);
        assert_string_equal(why, tickets ? "" : expected);
        tls_tickets_unref(tickets);
    }
    unlink(path);
}

static void test_the_first_key_of_a_file_makes_tickets_and_stays(void **state)
{
    (void)state;
    char why[TLS_WHY_OCTETS];
    tls_tickets *tickets = NULL;
    tls_ticket_view view;
    tls_ticket_key keys[3];
    assert_int_equal(read_keys(160, &tickets, why), SKUA_OK);
    assert_false(tls_tickets_are_random(tickets));
    for (int i = 0; i < 3; i++)
        memset(&keys[i], i + 1, sizeof keys[i]);
    tls_ticket_view_init(&view, tickets);
    for (int64_t now_ns = 0; now_ns < 9 * TLS_TICKET_ROTATION_NS;
         now_ns += TLS_TICKET_ROTATION_NS) {
        tls_ticket_key key = first(&view, now_ns);
        assert_memory_equal(&key, &keys[0], sizeof key);
        check_key(&view, now_ns, &keys[0], true, true);
        check_key(&view, now_ns, &keys[1], true, false);
        check_key(&view, now_ns, &keys[2], false, false);
    }
    tls_ticket_view_deinit(&view);
    tls_tickets_unref(tickets);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_key_is_replaced_after_twelve_hours_and_forgotten_after_two_more),
        cmocka_unit_test(test_keys_are_forgotten_though_nobody_came),
        cmocka_unit_test(test_workers_have_the_same_keys),
        cmocka_unit_test(test_workers_may_look_at_once),
        cmocka_unit_test(test_a_file_has_one_to_sixteen_keys),
        cmocka_unit_test(test_the_first_key_of_a_file_makes_tickets_and_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
