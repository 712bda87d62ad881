// SPDX-License-Identifier: MIT
//
// HPACK against nghttp2: what either encoder writes the other's decoder reads, with tables that change
// their size; and both decoders say the same of blocks that were damaged.

#include "http/hpack_decode.h"
#include "http/hpack_encode.h"

#include "support/support.h"

#include <nghttp2/nghttp2.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

enum { WIRE_OCTETS = 65536, FIELDS_MAX = 24, TEXT_OCTETS = 400, ROUNDS = 400 };

static budget whole;
static lease memory;

typedef struct field_text {
    char name[TEXT_OCTETS], value[TEXT_OCTETS];
    size_t name_len, value_len;
} field_text;

typedef struct talk {
    hpack_encoder ours_out;
    hpack_decoder ours_in;
    nghttp2_hd_deflater *other_out;
    nghttp2_hd_inflater *other_in;
    field_text fields[FIELDS_MAX];
    size_t count;
    uint8_t wire[WIRE_OCTETS];
    size_t len;
} talk;

static uint64_t random_state;

static unsigned roll(unsigned below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(random_state >> 33) % below;
}

static void talk_begin(talk *t, unsigned seed)
{
    random_state = seed;
    hpack_encoder_init(&t->ours_out, &memory, 4096);
    hpack_decoder_init(&t->ours_in, &memory, 4096, WIRE_OCTETS);
    assert_int_equal(nghttp2_hd_deflate_new(&t->other_out, 4096), 0);
    assert_int_equal(nghttp2_hd_inflate_new(&t->other_in), 0);
}

static void talk_end(talk *t)
{
    nghttp2_hd_deflate_del(t->other_out);
    nghttp2_hd_inflate_del(t->other_in);
    hpack_encoder_deinit(&t->ours_out);
    hpack_decoder_deinit(&t->ours_in);
    assert_int_equal(memory.used, 0);
}

// ---- Fields ----

static size_t random_text(char *out, size_t most, bool is_name)
{
    static const char common[] = "abcdefghijklmnopqrstuvwxyz-0123456789";
    size_t len = roll(4) ? roll(20) : roll((unsigned)most);
    for (size_t i = 0; i < len; i++)
        out[i] = is_name || roll(8) ? common[roll(sizeof common - 1)] : (char)roll(256);
    return len;
}

static void random_field(field_text *f)
{
    static const char *const names[] = { ":method",       ":path",      ":authority",
                                         "cookie",        "set-cookie", "content-type",
                                         "x-a",           "etag",       "accept-encoding",
                                         "authorization", "te",         "content-length" };
    static const char *const values[] = { "GET", "/", "gzip, deflate", "text/html", "", "42" };
    slice name = slice_of(names[roll(sizeof names / sizeof *names)]);
    slice value = slice_of(values[roll(sizeof values / sizeof *values)]);
    f->name_len = name.len;
    f->value_len = value.len;
    memcpy(f->name, name.ptr, name.len);
    if (value.len) memcpy(f->value, value.ptr, value.len);
    if (roll(3) == 0) f->name_len = 1 + random_text(f->name + 1, TEXT_OCTETS - 1, true);
    if (f->name[0] == ':' && f->name_len != name.len) f->name[0] = 'q';
    if (roll(2) == 0) f->value_len = random_text(f->value, TEXT_OCTETS, false);
}

// Some of the fields of the block before, and new ones.
static void random_fields(talk *t)
{
    for (size_t i = 0; i < FIELDS_MAX; i++) {
        if (t->count <= i || roll(3) == 0) random_field(&t->fields[i]);
    }
    t->count = roll(FIELDS_MAX + 1);
}

static void expect_field(const field_text *f, const char *name, size_t name_len, const char *value,
                         size_t value_len)
{
    assert_int_equal(name_len, f->name_len);
    assert_memory_equal(name, f->name, name_len);
    assert_int_equal(value_len, f->value_len);
    if (value_len) assert_memory_equal(value, f->value, value_len);
}

// ---- From us to nghttp2 ----

static void write_ours(talk *t)
{
    char *wire = (char *)t->wire, *at = hpack_encode_begin(&t->ours_out, wire);
    for (size_t i = 0; i < t->count; i++) {
        slice name = slice_make(t->fields[i].name, t->fields[i].name_len);
        slice value = slice_make(t->fields[i].value, t->fields[i].value_len);
        if (roll(10) == 0) at = hpack_encode_plain(at, name, value);
        else
            at = hpack_encode_field(&t->ours_out, at, name, value,
                                    (hpack_indexing)(roll(6) ? 0 : roll(3)));
    }
    t->len = (size_t)(at - wire);
}

static void read_other(talk *t)
{
    const uint8_t *at = t->wire;
    size_t left = t->len, count = 0;
    for (int flags = 0; !(flags & NGHTTP2_HD_INFLATE_FINAL);) {
        nghttp2_nv nv;
        flags = 0;
        ssize_t n = nghttp2_hd_inflate_hd2(t->other_in, &nv, &flags, at, left, 1);
        assert_true(n >= 0);
        at += n;
        left -= (size_t)n;
        if (!(flags & NGHTTP2_HD_INFLATE_EMIT)) continue;
        assert_true(count < t->count);
        expect_field(&t->fields[count++], (const char *)nv.name, nv.namelen, (const char *)nv.value,
                     nv.valuelen);
    }
    assert_int_equal(count, t->count);
    assert_int_equal(left, 0);
    nghttp2_hd_inflate_end_headers(t->other_in);
    assert_int_equal(nghttp2_hd_inflate_get_dynamic_table_size(t->other_in),
                     t->ours_out.table.size);
}

// The peer's limit comes down by its SETTINGS, and nghttp2 expects that it is heeded.
static void test_hpack_nghttp2_reads_what_we_write(void **state)
{
    (void)state;
    static talk t;
    for (unsigned seed = 0; seed < 8; seed++) {
        talk_begin(&t, seed);
        for (unsigned round = 0; round < ROUNDS; round++) {
            for (unsigned i = roll(20) ? 0 : 1 + roll(3); i > 0; i--) {
                uint32_t size = roll(3) ? roll(5000) : 0;
                assert_int_equal(nghttp2_hd_inflate_change_table_size(t.other_in, size), 0);
                hpack_encoder_resize(&t.ours_out, size);
            }
            if (roll(30) == 0) hpack_encoder_drop(&t.ours_out);
            random_fields(&t);
            write_ours(&t);
            read_other(&t);
        }
        talk_end(&t);
    }
}

// ---- From nghttp2 to us ----

static void write_other(talk *t)
{
    nghttp2_nv nv[FIELDS_MAX];
    for (size_t i = 0; i < t->count; i++) {
        field_text *f = &t->fields[i];
        nv[i] = (nghttp2_nv){ (uint8_t *)f->name, (uint8_t *)f->value, f->name_len, f->value_len,
                              roll(10) ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX };
    }
    ssize_t n = nghttp2_hd_deflate_hd(t->other_out, t->wire, sizeof t->wire, nv, t->count);
    assert_true(n >= 0);
    t->len = (size_t)n;
}

static void read_ours(talk *t)
{
    hpack_field field;
    char *block = guarded_copy((const char *)t->wire, t->len);
    hpack_decoder_begin(&t->ours_in, slice_make(block, t->len));
    for (size_t i = 0; i < t->count; i++) {
        assert_int_equal(hpack_decoder_next(&t->ours_in, &field), HPACK_FIELD);
        expect_field(&t->fields[i], field.name.ptr, field.name.len, field.value.ptr,
                     field.value.len);
    }
    assert_int_equal(hpack_decoder_next(&t->ours_in, &field), HPACK_END);
    guarded_free(block, t->len);
    assert_int_equal(nghttp2_hd_deflate_get_dynamic_table_size(t->other_out),
                     t->ours_in.table.size);
}

static void test_hpack_we_read_what_nghttp2_writes(void **state)
{
    (void)state;
    static talk t;
    for (unsigned seed = 0; seed < 8; seed++) {
        talk_begin(&t, seed);
        for (unsigned round = 0; round < ROUNDS; round++) {
            for (unsigned i = roll(20) ? 0 : 1 + roll(3); i > 0; i--)
                nghttp2_hd_deflate_change_table_size(t.other_out, roll(3) ? roll(4097) : 0);
            random_fields(&t);
            write_other(&t);
            read_ours(&t);
        }
        talk_end(&t);
    }
}

// ---- Blocks that were damaged ----

// The fields that a decoder read up to the end or the fault, as one text.
typedef struct seen {
    char text[WIRE_OCTETS];
    size_t len;
    bool is_end;
} seen;

static void keep(seen *s, slice text)
{
    assert_true(s->len + text.len + 1 < sizeof s->text);
    if (text.len) memcpy(s->text + s->len, text.ptr, text.len);
    s->len += text.len;
    s->text[s->len++] = '\n';
}

static void see_ours(talk *t, seen *s)
{
    hpack_field field;
    hpack_event event;
    char *block = guarded_copy((const char *)t->wire, t->len);
    s->len = 0;
    hpack_decoder_begin(&t->ours_in, slice_make(block, t->len));
    while ((event = hpack_decoder_next(&t->ours_in, &field)) == HPACK_FIELD) {
        keep(s, field.name);
        keep(s, field.value);
    }
    guarded_free(block, t->len);
    s->is_end = event == HPACK_END;
}

static void see_other(talk *t, seen *s)
{
    const uint8_t *at = t->wire;
    size_t left = t->len;
    s->len = 0;
    s->is_end = false;
    for (;;) {
        nghttp2_nv nv;
        int flags = 0;
        ssize_t n = nghttp2_hd_inflate_hd2(t->other_in, &nv, &flags, at, left, 1);
        if (n < 0) return;
        at += n;
        left -= (size_t)n;
        if (flags & NGHTTP2_HD_INFLATE_EMIT) {
            keep(s, slice_make((const char *)nv.name, nv.namelen));
            keep(s, slice_make((const char *)nv.value, nv.valuelen));
        }
        if (flags & NGHTTP2_HD_INFLATE_FINAL) break;
    }
    s->is_end = true;
    nghttp2_hd_inflate_end_headers(t->other_in);
}

static void damage(talk *t)
{
    for (unsigned i = roll(3); i > 0 && t->len; i--) {
        size_t at = roll((unsigned)t->len);
        switch (roll(4)) {
        case 0: t->wire[at] ^= (uint8_t)(1u << roll(8)); break;
        case 1: t->wire[at] = (uint8_t)roll(256); break;
        case 2: t->len = at; break;
        default:
            memmove(t->wire + at + 1, t->wire + at, t->len - at);
            t->wire[at] = (uint8_t)(roll(2) ? 0xff : roll(256));
            t->len++;
        }
    }
}

// Size updates at the start: nghttp2 takes any number, and we two.
static unsigned count_updates(const talk *t)
{
    unsigned count = 0;
    for (size_t at = 0; at < t->len && (t->wire[at] & 0xe0) == 0x20; count++) {
        if ((t->wire[at++] & 0x1f) != 0x1f) continue;
        while (at < t->len && t->wire[at++] & 0x80) {
        }
    }
    return count;
}

static void test_hpack_damaged_blocks_are_read_as_nghttp2_does(void **state)
{
    (void)state;
    static talk t;
    static seen ours, other;
    unsigned faults = 0, ends = 0;
    for (unsigned seed = 0; seed < 6000; seed++) {
        talk_begin(&t, seed);
        for (unsigned round = 0; round < 4; round++) {
            random_fields(&t);
            t.count %= 6;
            if (seed % 2) write_other(&t);
            else write_ours(&t);
            damage(&t);
            if (count_updates(&t) > 2) break;
            see_ours(&t, &ours);
            see_other(&t, &other);
            assert_int_equal(ours.is_end, other.is_end);
            assert_int_equal(ours.len, other.len);
            assert_memory_equal(ours.text, other.text, ours.len);
            ends += ours.is_end;
            faults += !ours.is_end;
            if (!ours.is_end) break;
            assert_int_equal(t.ours_in.table.size,
                             nghttp2_hd_inflate_get_dynamic_table_size(t.other_in));
        }
        talk_end(&t);
    }
    assert_true(faults > 1000);
    assert_true(ends > 5000);
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
        cmocka_unit_test(test_hpack_nghttp2_reads_what_we_write),
        cmocka_unit_test(test_hpack_we_read_what_nghttp2_writes),
        cmocka_unit_test(test_hpack_damaged_blocks_are_read_as_nghttp2_does),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
