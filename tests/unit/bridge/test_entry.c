// SPDX-License-Identifier: MIT
//
// Entries of the stream, and the places of their instances.

#include "bridge/entry.h"
#include "bridge/origins.h"

#include "support/memory.h"
#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#define INSTANCE "0123456789abcdef0123456789abcdef"

static void expect_same(slice a, slice b)
{
    assert_true(slice_equal(a, b));
    assert_int_equal(a.ptr == NULL, b.ptr == NULL);
}

static void write_and_read(bridge_entry entry)
{
    char number[BRIDGE_NUMBER_OCTETS];
    slice words[BRIDGE_WORDS_MAX];
    bridge_entry read;
    entry.instance = SKUA_SLICE(INSTANCE);
    size_t count = bridge_entry_write(&entry, number, words);
    assert_true(count <= BRIDGE_WORDS_MAX);
    assert_true(bridge_entry_read(words, count, &read));
    assert_int_equal(read.kind, entry.kind);
    assert_true(read.number == entry.number);
    expect_same(read.instance, entry.instance);
    expect_same(read.topic, entry.topic);
    expect_same(read.message, entry.message);
    expect_same(read.event, entry.event);
    expect_same(read.id, entry.id);
}

static void test_written_and_read(void **state)
{
    (void)state;
    const slice none = { NULL, 0 };
    write_and_read((bridge_entry){ .kind = BRIDGE_HELLO, .number = 0 });
    write_and_read((bridge_entry){ .kind = BRIDGE_COUNT, .number = INT64_MAX });
    write_and_read((bridge_entry){ .kind = BRIDGE_TEXT,
                                   .number = 1,
                                   .topic = SKUA_SLICE("t"),
                                   .message = SKUA_SLICE(""),
                                   .event = none,
                                   .id = none });
    write_and_read((bridge_entry){ .kind = BRIDGE_BINARY,
                                   .number = 7,
                                   .topic = SKUA_SLICE("a topic"),
                                   .message = SKUA_SLICE("\0\xff"),
                                   .event = none,
                                   .id = none });
    write_and_read((bridge_entry){ .kind = BRIDGE_TEXT,
                                   .number = 8,
                                   .topic = SKUA_SLICE("t"),
                                   .message = SKUA_SLICE("m"),
                                   .event = SKUA_SLICE("tick"),
                                   .id = SKUA_SLICE("") });
}

typedef struct entry_case {
    const char *name;
    const char *words[12];
    bool good;
} entry_case;

#define I "i", INSTANCE
#define N "n", "1"
#define K "k", "t"
#define T "t", "topic"
#define M "m", "message"

static const entry_case cases[] = {
    { "whole", { I, N, K, T, M }, true },
    { "in another order", { M, T, K, N, I }, true },
    { "a field of a later version", { I, N, K, T, M, "later", "x" }, true },
    { "no message: an empty one", { I, N, K, T }, true },
    { "nothing", { NULL }, false },
    { "no instance", { N, K, T, M }, false },
    { "a short instance", { "i", "0123", N, K, T, M }, false },
    { "an instance in capitals", { "i", "0123456789ABCDEF0123456789ABCDEF", N, K, T, M }, false },
    { "no number", { I, K, T, M }, false },
    { "number 0", { I, "n", "0", K, T, M }, false },
    { "a negative number", { I, "n", "-1", K, T, M }, false },
    { "a number of too many digits", { I, "n", "9223372036854775808", K, T, M }, false },
    { "no kind", { I, N, T, M }, false },
    { "another kind", { I, N, "k", "z", T, M }, false },
    { "a long kind", { I, N, "k", "tt", T, M }, false },
    { "no topic", { I, N, K, M }, false },
    { "a field twice", { I, N, K, T, T, M }, false },
    { "half a field", { I, N, K, T, "m" }, false },
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        slice words[12];
        size_t count = 0;
        bridge_entry entry;
        for (; count < 12 && cases[i].words[count]; count++)
            words[count] = slice_of(cases[i].words[count]);
        if (bridge_entry_read(words, count, &entry) != cases[i].good) fail_msg("%s", cases[i].name);
    }
}

static void test_many_fields(void **state)
{
    (void)state;
    slice words[BRIDGE_FIELDS_MAX + 2] = { SKUA_SLICE("i"), SKUA_SLICE(INSTANCE), SKUA_SLICE("n"),
                                           SKUA_SLICE("0"), SKUA_SLICE("k"),      SKUA_SLICE("h") };
    bridge_entry entry;
    for (size_t i = 6; i < BRIDGE_FIELDS_MAX + 2; i++)
        words[i] = SKUA_SLICE("later");
    assert_true(bridge_entry_read(words, BRIDGE_FIELDS_MAX, &entry));
    assert_false(bridge_entry_read(words, BRIDGE_FIELDS_MAX + 2, &entry));
}

// ---- Origins ----

static bridge_verdict judge(const bridge_origins *origins, bridge_kind kind, uint64_t number)
{
    const bridge_entry entry = { .kind = kind, .number = number, .instance = SKUA_SLICE(INSTANCE) };
    return bridge_origins_judge(origins, &entry);
}

static void test_verdicts(void **state)
{
    (void)state;
    bridge_origins origins = { .list = NULL };
    assert_int_equal(judge(&origins, BRIDGE_TEXT, 41), BRIDGE_NEXT);
    assert_false(bridge_origins_know(&origins, SKUA_SLICE(INSTANCE)));
    assert_true(bridge_origins_make_room(&origins));
    bridge_origins_record(&origins, SKUA_SLICE(INSTANCE), 41);
    assert_true(bridge_origins_know(&origins, SKUA_SLICE(INSTANCE)));
    assert_int_equal(judge(&origins, BRIDGE_TEXT, 41), BRIDGE_AGAIN);
    assert_int_equal(judge(&origins, BRIDGE_BINARY, 42), BRIDGE_NEXT);
    assert_int_equal(judge(&origins, BRIDGE_TEXT, 43), BRIDGE_GAP);
    assert_int_equal(judge(&origins, BRIDGE_COUNT, 40), BRIDGE_AGAIN);
    assert_int_equal(judge(&origins, BRIDGE_COUNT, 41), BRIDGE_NEXT);
    assert_int_equal(judge(&origins, BRIDGE_HELLO, 42), BRIDGE_GAP);
    bridge_origins_record(&origins, SKUA_SLICE(INSTANCE), 12); // never back
    assert_int_equal(judge(&origins, BRIDGE_TEXT, 42), BRIDGE_NEXT);
    bridge_origins_drop(&origins);
}

static slice numbered_instance(char *text, unsigned number)
{
    (void)snprintf(text, BRIDGE_INSTANCE_OCTETS + 1, "%032x", number);
    return slice_make(text, BRIDGE_INSTANCE_OCTETS);
}

// The edge of BRIDGE_ORIGINS_MAX: the one that was heard of longest ago makes room.
static void test_many_instances(void **state)
{
    (void)state;
    bridge_origins origins = { .list = NULL };
    char text[BRIDGE_INSTANCE_OCTETS + 1];
    for (unsigned i = 0; i < BRIDGE_ORIGINS_MAX; i++) {
        assert_true(bridge_origins_make_room(&origins));
        bridge_origins_record(&origins, numbered_instance(text, i), i);
    }
    bridge_origins_record(&origins, numbered_instance(text, 0), 1000);
    assert_int_equal(origins.count, BRIDGE_ORIGINS_MAX);
    assert_true(bridge_origins_make_room(&origins));
    bridge_origins_record(&origins, numbered_instance(text, BRIDGE_ORIGINS_MAX), 5);
    assert_int_equal(origins.count, BRIDGE_ORIGINS_MAX);
    assert_true(bridge_origins_know(&origins, numbered_instance(text, 0)));
    assert_false(bridge_origins_know(&origins, numbered_instance(text, 1)));
    assert_true(bridge_origins_know(&origins, numbered_instance(text, BRIDGE_ORIGINS_MAX)));
    bridge_origins_drop(&origins);
}

static void test_no_room(void **state)
{
    (void)state;
    bridge_origins origins = { .list = NULL };
    memory_fail_after(0);
    bool has_room = bridge_origins_make_room(&origins);
    memory_relax();
    assert_false(has_room);
    assert_true(bridge_origins_make_room(&origins));
    bridge_origins_drop(&origins);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written_and_read), cmocka_unit_test(test_cases),
        cmocka_unit_test(test_many_fields),      cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_many_instances),   cmocka_unit_test(test_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
