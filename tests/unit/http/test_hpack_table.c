// SPDX-License-Identifier: MIT
//
// The dynamic table, held against a list of copies: what goes and when, names that are taken from an
// entry that goes, memory, and memory that runs out.

#include "http/hpack_table.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { COPIES = 256, TEXT = 600, ROUNDS = 2000 };

static budget whole;
static lease memory;

// The newest is the last.
typedef struct model {
    struct {
        char text[TEXT];
        size_t name_len, value_len;
    } entries[COPIES];
    size_t count, size;
} model;

static uint64_t random_state;

static unsigned roll(unsigned below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(random_state >> 33) % below;
}

static void model_evict(model *m, size_t most)
{
    while (m->size > most) {
        m->size -= m->entries[0].name_len + m->entries[0].value_len + 32;
        memmove(&m->entries[0], &m->entries[1], --m->count * sizeof m->entries[0]);
    }
}

static void model_add(model *m, size_t most, const char *text, size_t name_len, size_t value_len)
{
    size_t size = name_len + value_len + 32;
    model_evict(m, size > most ? 0 : most - size);
    if (size > most) return;
    memcpy(m->entries[m->count].text, text, name_len + value_len);
    m->entries[m->count].name_len = name_len;
    m->entries[m->count++].value_len = value_len;
    m->size += size;
}

static void expect_same(const hpack_table *t, const model *m)
{
    assert_int_equal(hpack_table_count(t), m->count);
    assert_int_equal(t->size, m->size);
    for (unsigned i = 0; i < m->count; i++) {
        const hpack_entry *entry = hpack_table_at(t, i);
        slice name = hpack_table_name(t, entry), value = hpack_table_value(t, entry);
        size_t at = m->count - 1 - i;
        assert_int_equal(name.len, m->entries[at].name_len);
        assert_int_equal(value.len, m->entries[at].value_len);
        assert_memory_equal(name.ptr, m->entries[at].text, name.len);
        assert_memory_equal(value.ptr, m->entries[at].text + name.len, value.len);
        assert_int_equal(entry->id, name.len % 16);
    }
}

static hpack_added add(hpack_table *t, slice name, slice value)
{
    hpack_field field = { .name = name,
                          .value = value,
                          .octets = (uint32_t)(name.len + value.len + 32),
                          .id = (uint8_t)(name.len % 16) };
    hpack_added added = hpack_table_add(t, &field);
    if (added != HPACK_ADDED) return added;
    const hpack_entry *entry = hpack_table_at(t, 0);
    assert_ptr_equal(field.name.ptr, hpack_table_name(t, entry).ptr);
    assert_ptr_equal(field.value.ptr, hpack_table_value(t, entry).ptr);
    return added;
}

// Adds a field with a name of its own, or that of an entry, which may be the one that goes.
static hpack_added add_random(hpack_table *t, model *m, unsigned octets_max)
{
    char text[TEXT];
    size_t name_len = roll(octets_max / 2), value_len = roll(octets_max / 2);
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)roll(256);
    slice name = slice_make(text, name_len);
    if (m->count && roll(3) == 0) {
        unsigned i = roll((unsigned)m->count);
        name = hpack_table_name(t, hpack_table_at(t, i));
        name_len = name.len;
        memmove(text, m->entries[m->count - 1 - i].text, name_len);
    }
    hpack_added added = add(t, name, slice_make(text + name_len, value_len));
    if (added != HPACK_NOT_ADDED) model_add(m, t->size_max, text, name_len, value_len);
    return added;
}

static void expect_small(const hpack_table *t, uint32_t most)
{
    assert_true(t->room <= most + 1);
    assert_true(memory.used <= t->room + 32u); // and what counting takes
    assert_int_equal(t->octets != NULL, t->room != 0);
}

static void test_hpack_table_is_as_the_model(void **state)
{
    (void)state;
    static const unsigned sizes[] = { 32, 33, 64, 100, 257, 1024, 4096 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        static model m;
        hpack_table t;
        m.count = m.size = 0;
        random_state = s;
        hpack_table_init(&t, &memory, sizes[s]);
        for (unsigned round = 0; round < ROUNDS; round++) {
            unsigned most = round / 500 % 2 ? 40 : TEXT / 2;
            hpack_added added = add_random(&t, &m, most);
            assert_true(added == HPACK_ADDED || added == HPACK_TOO_LARGE);
            if (roll(50) == 0) {
                hpack_table_resize(&t, roll(sizes[s] + 1));
                model_evict(&m, t.size_max);
            }
            if (roll(50) == 0) hpack_table_resize(&t, sizes[s]);
            if (roll(10) == 0) hpack_table_trim(&t);
            expect_same(&t, &m);
            expect_small(&t, sizes[s]);
        }
        hpack_table_deinit(&t);
        assert_int_equal(memory.used, 0);
    }
}

// At its edges: an entry that fills the table, and one octet more.
static void test_hpack_table_edges(void **state)
{
    (void)state;
    static const char text[4096];
    hpack_table t;
    hpack_table_init(&t, &memory, 4096);
    assert_int_equal(add(&t, slice_make(text, 0), slice_make(text, 0)), HPACK_ADDED);
    assert_int_equal(t.size, 32);
    assert_int_equal(add(&t, slice_make(text, 64), slice_make(text, 4000)), HPACK_ADDED);
    assert_int_equal(hpack_table_count(&t), 1);
    assert_int_equal(t.size, 4096);
    assert_int_equal(add(&t, slice_make(text, 64), slice_make(text, 4001)), HPACK_TOO_LARGE);
    assert_int_equal(hpack_table_count(&t), 0);
    hpack_table_trim(&t);
    assert_int_equal(memory.used, 0);
    hpack_table_resize(&t, 0);
    assert_int_equal(add(&t, slice_make(text, 0), slice_make(text, 0)), HPACK_TOO_LARGE);
    for (unsigned i = 0; i < 200; i++) { // as many entries as there can be
        hpack_table_resize(&t, 4096);
        assert_int_equal(add(&t, slice_make(text, 0), slice_make(text, 0)), HPACK_ADDED);
    }
    assert_int_equal(hpack_table_count(&t), 128);
    hpack_table_deinit(&t);
}

static void test_hpack_table_gives_memory_back(void **state)
{
    (void)state;
    static const char text[1024];
    hpack_table t;
    hpack_table_init(&t, &memory, 4096);
    for (unsigned i = 0; i < 30; i++)
        add(&t, slice_make(text, 10), slice_make(text, 100));
    assert_true(t.room > 3000);
    hpack_table_resize(&t, 200);
    hpack_table_trim(&t);
    assert_int_equal(t.room, 110 + sizeof(hpack_entry));
    assert_int_equal(hpack_table_count(&t), 1);
    assert_memory_equal(hpack_table_value(&t, hpack_table_at(&t, 0)).ptr, text, 100);
    hpack_table_resize(&t, 0);
    hpack_table_trim(&t);
    assert_int_equal(memory.used, 0);
    hpack_table_deinit(&t);
}

// ---- Memory that runs out ----

static unsigned failing_at; // 0: none fails

static void *failing_alloc(size_t octets, void *user)
{
    (void)user;
    if (failing_at && --failing_at == 0) return NULL;
    return malloc(octets);
}

static void *failing_resize(void *old, size_t octets, void *user)
{
    (void)user;
    return realloc(old, octets);
}

static void failing_free(void *old, void *user)
{
    (void)user;
    free(old);
}

static void test_hpack_table_without_memory_is_as_before(void **state)
{
    (void)state;
    static const skua_allocator failing = { failing_alloc, failing_resize, failing_free, NULL };
    assert_true(memory_join(&failing));
    static model m;
    hpack_table t;
    unsigned failed = 0;
    m.count = m.size = 0;
    hpack_table_init(&t, &memory, 1024);
    for (unsigned round = 0; round < 500; round++) {
        failing_at = roll(2);
        failed += add_random(&t, &m, 200) == HPACK_NOT_ADDED;
        failing_at = roll(2);
        if (roll(4) == 0) hpack_table_trim(&t);
        failing_at = 0;
        expect_same(&t, &m);
    }
    assert_true(failed > 10);
    hpack_table_deinit(&t);
    memory_leave();
}

static int setup(void **state)
{
    (void)state;
    budget_init(&whole, 1 << 24, 1);
    lease_init(&memory, &whole, 0, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    lease_end(&memory);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hpack_table_is_as_the_model),
        cmocka_unit_test(test_hpack_table_edges),
        cmocka_unit_test(test_hpack_table_gives_memory_back),
        cmocka_unit_test(test_hpack_table_without_memory_is_as_before),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
