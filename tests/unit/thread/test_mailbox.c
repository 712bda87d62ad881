// SPDX-License-Identifier: MIT
//
// Mailbox: many writers, one reader; each letter comes once, in its writer's order, and whoever
// finds the box empty is told to wake the reader.

#include "thread/mailbox.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { WRITERS = 4, LETTERS = 20000 };

typedef struct letter {
    mail mail; // first
    unsigned writer, number;
} letter;

typedef struct reader {
    unsigned next[WRITERS];
    unsigned delivered;
    bool wrong;
} reader;

typedef struct writer {
    mailbox *box;
    atomic_uint *wakes;
    letter *letters;
} writer;

static void deliver(mail *post, void *user)
{
    const letter *l = (const letter *)(const void *)post;
    reader *r = user;
    if (l->number != r->next[l->writer]++) r->wrong = true;
    r->delivered++;
}

static void *write_letters(void *user)
{
    writer *w = user;
    for (unsigned i = 0; i < LETTERS; i++) {
        if (mailbox_post(w->box, &w->letters[i].mail)) atomic_fetch_add(w->wakes, 1);
    }
    return NULL;
}

static void test_mailbox_from_many_threads(void **state)
{
    (void)state;
    mailbox box = { 0 };
    atomic_uint wakes = 0;
    reader r = { .delivered = 0 };
    pthread_t threads[WRITERS];
    writer writers[WRITERS];
    letter *letters = calloc((size_t)WRITERS * LETTERS, sizeof *letters);
    assert_non_null(letters);
    for (unsigned i = 0; i < WRITERS; i++) {
        writers[i] = (writer){ &box, &wakes, letters + (size_t)i * LETTERS };
        for (unsigned n = 0; n < LETTERS; n++) {
            writers[i].letters[n] = (letter){ { .deliver = deliver }, i, n };
        }
        assert_int_equal(pthread_create(&threads[i], NULL, write_letters, &writers[i]), 0);
    }
    unsigned woken = 0;
    while (r.delivered < WRITERS * LETTERS) { // looks only when it was woken: a lost wake-up hangs
        if (atomic_load(&wakes) == woken) continue;
        woken++;
        mailbox_deliver(&box, &r);
    }
    for (unsigned i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_false(r.wrong);
    assert_int_equal(r.delivered, WRITERS * LETTERS);
    free(letters);
}

static void test_mailbox_says_when_it_was_empty(void **state)
{
    (void)state;
    mailbox box = { 0 };
    reader r = { .delivered = 0 };
    letter letters[3] = { { { .deliver = deliver }, 0, 0 },
                          { { .deliver = deliver }, 0, 1 },
                          { { .deliver = deliver }, 0, 2 } };
    mailbox_deliver(&box, &r);
    assert_true(mailbox_post(&box, &letters[0].mail));
    assert_false(mailbox_post(&box, &letters[1].mail));
    mailbox_deliver(&box, &r);
    assert_int_equal(r.delivered, 2);
    assert_true(mailbox_post(&box, &letters[2].mail));
    mailbox_deliver(&box, &r);
    assert_int_equal(r.delivered, 3);
    assert_false(r.wrong);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mailbox_from_many_threads),
        cmocka_unit_test(test_mailbox_says_when_it_was_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
