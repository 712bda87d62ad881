// SPDX-License-Identifier: MIT
//
// Runs that come again: thousands of blocks are read by a reader that remembers runs and by one that
// reads field by field. Both must have made the same head of each, or refused it for the same reason.

#include "http/h2_run.h"

#include "base/memory.h"
#include "http/hpack_encode.h"
#include "support/memory.h"
#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { WIRE_OCTETS = 16384, ROOM_OCTETS = 65536, FIELDS_MAX = 64, LISTS = 4000, LINES_MAX = 40 };

typedef struct line {
    const char *name, *value;
} line;

typedef struct list {
    line lines[LINES_MAX];
    unsigned count;
} list;

// A reader, with what it reads into.
typedef struct reader {
    hpack_decoder d;
    h2_run run;
    bool remembers;
    request_head head;
    head_field fields[FIELDS_MAX];
    char small[512], large[ROOM_OCTETS];
    h2_head_reader in;
    hpack_event end;
    unsigned taken; // runs that were known
} reader;

static const head_limits room_limits = { .head_octets_max = 16384,
                                         .target_octets_max = 8192,
                                         .method_octets_max = 32,
                                         .fields_max = FIELDS_MAX };

static budget whole;
static lease memory;
static uint64_t seed = 1;

static unsigned roll(unsigned n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(seed >> 33) % n;
}

// ---- Lists ----

static const line pool[] = {
    { "user-agent", "somebody/1.0 (of some length, as they are)" },
    { "accept", "text/html" },
    { "accept", "image/webp,*/*" },
    { "accept-language", "en" },
    { "accept-encoding", "gzip, deflate" },
    { "referer", "http://a.test/b" },
    { "x-tenant", "17" },
    { "x-tenant", "18" },
    { "priority", "u=1" },
    { "te", "trailers" },
    { "cookie", "a=1" },
    { "cookie", "b=22" },
    { "cookie", "session=0123456789abcdef" },
    { "if-none-match", "\"abc\"" },
};

// Lines that do more than to be there, or that are refused.
static const line rare[] = {
    { "host", "a.test" },         { "host", "b.test" },
    { "content-length", "0" },    { "content-length", "12" },
    { "expect", "100-continue" }, { "expect", "miracles" },
    { "connection", "close" },    { "te", "gzip" },
    { ":path", "/late" },         { ":status", "200" },
    { "x-octet", "a\x01" },       { ":protocol", "websocket" },
    { "upper", " blank" },        { "keep-alive", "1" },
    { ":scheme", "http" },
};

static void add(list *l, const char *name, const char *value)
{
    if (l->count < LINES_MAX) l->lines[l->count++] = (line){ name, value };
}

static void make_list(list *l)
{
    static const char *const paths[] = { "/", "/a", "/b?c=d", "nowhere", "*" };
    static const char *const methods[] = { "GET", "GET", "POST", "CONNECT", "OPT IONS" };
    static const char *const hosts[] = { "a.test", "a.test", "b.test:8080", "not a host" };
    l->count = 0;
    add(l, ":method", methods[roll(roll(4) ? 3 : 5)]);
    if (roll(30)) add(l, ":scheme", roll(20) ? "https" : "gopher");
    if (roll(30)) add(l, ":authority", hosts[roll(roll(4) ? 3 : 4)]);
    if (roll(30)) add(l, ":path", paths[roll(roll(4) ? 3 : 5)]);
    for (unsigned i = roll(14); i > 0; i--) {
        const line *one = &pool[roll(sizeof pool / sizeof *pool)];
        add(l, one->name, one->value);
    }
    if (roll(4) == 0) {
        const line *one = &rare[roll(sizeof rare / sizeof *rare)];
        add(l, one->name, one->value);
    }
    if (roll(10) == 0) {
        for (unsigned i = 0; i < 30; i++)
            add(l, "accept-language", "en");
    }
}

// Puts another line behind the pseudo-fields, which is in no table: what follows is the same run.
static void change_front(list *l)
{
    static const line fronts[] = {
        { "if-none-match", "~1" }, { "accept", "~2" }, { "x-front", "~3" }, { "user-agent", "~4" }
    };
    unsigned at = 0;
    while (at < l->count && l->lines[at].name[0] == ':')
        at++;
    if (at == l->count) return;
    if (l->lines[at].value[0] != '~') {
        if (l->count == LINES_MAX) return;
        memmove(l->lines + at + 1, l->lines + at, (l->count - at) * sizeof *l->lines);
        l->count++;
    }
    l->lines[at] = fronts[roll(sizeof fronts / sizeof *fronts)];
}

// Most lists are the last one again, some with another path or another line in front.
static void change_list(list *l)
{
    static const char *const paths[] = { "/c", "/d", "/e/f" };
    unsigned kind = roll(10);
    if (kind == 0 || !l->count) {
        make_list(l);
    } else if (kind < 4) {
        for (unsigned i = 0; i < l->count; i++) {
            if (strcmp(l->lines[i].name, ":path") == 0) l->lines[i].value = paths[roll(3)];
        }
    } else if (kind == 4) {
        change_front(l);
    }
}

// Each line as it suits, so that most are in the table after a while. Paths are not: see
// HPACK_INDEXING_BY_NAME.
static slice write_list(hpack_encoder *e, const list *l, char *wire)
{
    char *at = hpack_encode_begin(e, wire);
    for (unsigned i = 0; i < l->count; i++)
        at = hpack_encode_field(e, at, slice_of(l->lines[i].name), slice_of(l->lines[i].value),
                                l->lines[i].value[0] == '~' ||
                                        (strcmp(l->lines[i].name, "cookie") && roll(40) == 0)
                                    ? HPACK_INDEXING_NONE
                                    : HPACK_INDEXING_BY_NAME);
    return slice_make(wire, (size_t)(at - wire));
}

// ---- Reading ----

static hpack_event read_fields(reader *r)
{
    hpack_field field;
    hpack_event event;
    while ((event = hpack_decoder_next(&r->d, &field)) == HPACK_FIELD) {
        h2_head_take(&r->in, &field);
        if (r->in.fault.status && r->in.list_octets > 2 * r->in.list_octets_max) return HPACK_FIELD;
    }
    return event;
}

static void read_block(reader *r, slice block, const head_limits *limits, bool ends)
{
    char *guarded = guarded_copy(block.ptr, block.len);
    head_init(&r->head, limits, r->fields);
    h2_head_begin(&r->in, &r->head, r->small, sizeof r->small, r->large);
    hpack_decoder_begin(&r->d, slice_make(guarded, block.len));
    r->taken += r->run.is_known && block.len >= r->run.len &&
                memcmp(block.ptr + block.len - r->run.len, r->run.octets, r->run.len) == 0;
    r->end = r->remembers ? h2_run_read(&r->run, &r->d, &r->in) : read_fields(r);
    if (r->end == HPACK_END) (void)h2_head_end(&r->in, ends);
    guarded_free(guarded, block.len);
}

static void expect_same(const reader *a, const reader *b)
{
    assert_int_equal(a->end, b->end);
    assert_int_equal(a->in.fault.status, b->in.fault.status);
    assert_true(a->in.fault.reason == b->in.fault.reason);
    if (a->end != HPACK_END) return;
    assert_int_equal(a->in.list_octets, b->in.list_octets);
    if (a->in.fault.status) return;
    assert_int_equal(a->in.seen, b->in.seen);
    assert_int_equal(a->in.used, b->in.used);
    assert_memory_equal(a->in.text, b->in.text, a->in.used);
    assert_int_equal(a->in.cookie, b->in.cookie);
    assert_int_equal(a->in.priority, b->in.priority);
    assert_int_equal(a->head.count, b->head.count);
    assert_memory_equal(a->fields, b->fields, a->head.count * sizeof *a->fields);
    assert_int_equal(a->head.seen, b->head.seen);
    assert_int_equal(a->head.host, b->head.host);
    assert_int_equal(a->head.start, b->head.start);
    assert_int_equal(a->head.method_len, b->head.method_len);
    assert_int_equal(a->head.target, b->head.target);
    assert_int_equal(a->head.target_len, b->head.target_len);
    assert_int_equal(a->head.content_length, b->head.content_length);
    assert_int_equal(a->head.expect_continue, b->head.expect_continue);
}

// taken_min: how many runs must have been known.
static void play(const head_limits *limits, uint32_t table_octets, unsigned taken_min)
{
    static reader one, other;
    static char wire[WIRE_OCTETS];
    hpack_encoder e;
    list l = { .count = 0 };
    one = (reader){ .remembers = true };
    other = (reader){ .remembers = false };
    hpack_encoder_init(&e, &memory, table_octets);
    hpack_decoder_init(&one.d, &memory, 4096, 8192);
    hpack_decoder_init(&other.d, &memory, 4096, 8192);
    h2_run_init(&one.run);
    for (unsigned i = 0; i < LISTS; i++) {
        change_list(&l);
        slice block = write_list(&e, &l, wire);
        bool ends = roll(4) != 0;
        read_block(&one, block, limits, ends);
        read_block(&other, block, limits, ends);
        expect_same(&one, &other);
    }
    assert_in_range(one.taken, taken_min, LISTS);
    hpack_encoder_deinit(&e);
    hpack_decoder_deinit(&one.d);
    hpack_decoder_deinit(&other.d);
    h2_run_deinit(&one.run);
}

// ---- Tests ----

static void test_h2_run_usual_limits(void **state)
{
    (void)state;
    const head_limits limits = { .head_octets_max = 16384,
                                 .target_octets_max = 8192,
                                 .method_octets_max = 32,
                                 .fields_max = FIELDS_MAX };
    play(&limits, 4096, LISTS / 20);
}

// A small table, from which entries go all the time.
static void test_h2_run_small_table(void **state)
{
    (void)state;
    const head_limits limits = { .head_octets_max = 16384,
                                 .target_octets_max = 8192,
                                 .method_octets_max = 32,
                                 .fields_max = FIELDS_MAX };
    play(&limits, 512, LISTS / 20);
}

// Heads that are near each limit.
static void test_h2_run_small_limits(void **state)
{
    (void)state;
    const head_limits limits = {
        .head_octets_max = 240, .target_octets_max = 4, .method_octets_max = 3, .fields_max = 7
    };
    play(&limits, 4096, 1);
}

// Reads the same fields again. From the second time on those behind the path are an octet each, and by the third the
// run has come twice.
static void read_again(reader *r, hpack_encoder *e, const list *l, unsigned times)
{
    static char wire[WIRE_OCTETS];
    for (unsigned i = 0; i < times; i++) {
        char *end = hpack_encode_begin(e, wire);
        for (unsigned j = 0; j < l->count; j++)
            end = hpack_encode_field(e, end, slice_of(l->lines[j].name),
                                     slice_of(l->lines[j].value), HPACK_INDEXING_BY_NAME);
        slice block = slice_make(wire, (size_t)(end - wire));
        head_init(&r->head, &room_limits, r->fields);
        h2_head_begin(&r->in, &r->head, r->small, sizeof r->small, r->large);
        hpack_decoder_begin(&r->d, block);
        assert_int_equal(h2_run_read(&r->run, &r->d, &r->in), HPACK_END);
        assert_int_equal(r->head.count, l->count - 3);
    }
}

// A short run needs no memory of its own; a long one does, and is read field by field as long as there is none.
static void test_h2_run_room(void **state)
{
    (void)state;
    static reader r;
    static char value[400];
    hpack_encoder e;
    list l = { .count = 0 };
    r = (reader){ .remembers = true };
    memset(value, 'v', sizeof value - 1);
    hpack_encoder_init(&e, &memory, 4096);
    hpack_decoder_init(&r.d, &memory, 4096, 8192);
    h2_run_init(&r.run);
    add(&l, ":path", "/"); // which is not put into the table
    add(&l, ":method", "GET");
    add(&l, ":scheme", "https");
    add(&l, ":authority", "a.test");
    add(&l, "user-agent", "somebody/1.0");
    read_again(&r, &e, &l, 3);
    assert_true(r.run.is_known);
    assert_int_equal(h2_run_octets(&r.run), 0);
    add(&l, "x-long", value);
    read_again(&r, &e, &l, 2);
    memory_fail_after(0);
    read_again(&r, &e, &l, 1);
    memory_relax();
    assert_int_equal(memory_failures(), 1);
    assert_false(r.run.is_known);
    read_again(&r, &e, &l, 1);
    assert_true(r.run.is_known);
    assert_int_equal(h2_run_octets(&r.run), H2_RUN_ROOM_MAX);
    read_again(&r, &e, &l, 1);
    assert_memory_equal(r.in.text + r.in.used - (sizeof value - 1), value, sizeof value - 1);
    hpack_encoder_deinit(&e);
    hpack_decoder_deinit(&r.d);
    h2_run_deinit(&r.run);
}

static int set_up(void **state)
{
    (void)state;
    budget_init(&whole, 1 << 24, 1);
    lease_init(&memory, &whole, 0, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(memory.used, 0);
    lease_end(&memory);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_h2_run_usual_limits),
        cmocka_unit_test(test_h2_run_small_table),
        cmocka_unit_test(test_h2_run_small_limits),
        cmocka_unit_test(test_h2_run_room),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
