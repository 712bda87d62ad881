// SPDX-License-Identifier: MIT
//
// The reader of records: each wire in one piece, in two at every split, and octet by octet, flush
// against a page that may not be touched.

#include "net/tls_reader.h"

#include "base/memory.h"
#include "support/support.h"
#include "support/tls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum {
    WIRE_OCTETS = 2 * (TLS_HEADER_OCTETS + TLS_SEALED_OCTETS_MAX) + 512,
    LOG_OCTETS = 512,
    RECORDS_MAX = 4
};

static tls_contexts contexts;

// ---- A client that writes whatever it is told to ----

typedef struct client_record {
    uint8_t type; // 0: content goes to the wire as it is
    const char *content;
    size_t len;
    size_t padding;
    bool is_key_change; // of the client's
} client_record;

typedef struct client_wire {
    char octets[WIRE_OCTETS];
    size_t len;
} client_wire;

// The type and the padding are content in the eyes of tls_seal, but for the last octet.
static void wire_add(client_wire *w, tls_protection *client, const client_record *r)
{
    static char inner[TLS_SEALED_OCTETS_MAX + 64];
    if (r->type == 0) {
        memcpy(w->octets + w->len, r->content, r->len);
        w->len += r->len;
        return;
    }
    memset(inner, 0, sizeof inner);
    if (r->len) memcpy(inner, r->content, r->len);
    inner[r->len] = (char)r->type;
    slice content = slice_make(inner, r->len + r->padding);
    uint8_t last = r->padding ? 0 : r->type;
    client->plain_max = UINT16_MAX;
    w->len += tls_seal(client, (tls_content)last, &content, 1, w->octets + w->len);
    if (r->is_key_change) assert_true(tls_keys_next(&client->keys[TLS_SEAL], &contexts.labels));
    if (r->is_key_change)
        tls_contexts_rekey(&contexts, &client->pair, TLS_SEAL, &client->keys[TLS_SEAL]);
}

// ---- A server that writes down what it reads ----

typedef struct server_log {
    tls_protection protection;
    tls_reader reader;
    char text[LOG_OCTETS]; // of data the beginning, of all else its name
    size_t len;
    tls_read last;
} server_log;

static void log_add(server_log *s, const char *name, unsigned number, slice data)
{
    int shown = data.len > 8 ? 8 : (int)data.len;
    int n = snprintf(s->text + s->len, sizeof s->text - s->len, "%s%.*s%s", s->len ? " " : "",
                     shown, data.ptr ? data.ptr : "", name);
    s->len += (size_t)n;
    if (number)
        s->len += (size_t)snprintf(s->text + s->len, sizeof s->text - s->len, " %u", number);
    assert_true(s->len < sizeof s->text);
}

static void log_event(server_log *s, slice plain)
{
    static const char *const names[] = { [TLS_READ_CLOSED] = "closed",
                                         [TLS_READ_ALERTED] = "alerted",
                                         [TLS_READ_FAULTY] = "fault",
                                         [TLS_READ_NO_MEMORY] = "no memory" };
    if (s->last == TLS_READ_DATA)
        log_add(s, plain.len > 8 ? "..." : "", plain.len > 8 ? (unsigned)plain.len : 0, plain);
    else log_add(s, names[s->last], s->reader.alert, slice_make(NULL, 0));
}

static bool is_final(tls_read read)
{
    return read == TLS_READ_ALERTED || read == TLS_READ_FAULTY || read == TLS_READ_NO_MEMORY;
}

// Whatever was lent is overwritten afterwards, as the loop does.
static void server_feed(server_log *s, const char *wire, size_t len)
{
    char *lent = guarded_copy(wire, len), *octets = lent;
    size_t left = len;
    slice plain = slice_make(NULL, 0);
    if (is_final(s->last)) return;
    while ((s->last = tls_reader_next(&s->reader, &s->protection, &octets, &left, &plain)) !=
           TLS_READ_MORE) {
        log_event(s, plain);
        if (s->last == TLS_READ_DATA)
            assert_true(plain.len > 0 && plain.len <= s->protection.plain_max);
        if (is_final(s->last)) break;
    }
    if (!is_final(s->last)) assert_int_equal(left, 0);
    tls_reader_rest(&s->reader);
    guarded_free(lent, len);
}

static void server_open(server_log *s, const tls_protection *fresh)
{
    *s = (server_log){ .protection = *fresh };
    tls_reader_init(&s->reader);
}

static void server_close(server_log *s)
{
    tls_reader_deinit(&s->reader);
    tls_protection_wipe(&s->protection);
}

static void expect_log(const server_log *s, const char *expected, const char *name, size_t split)
{
    if (strcmp(s->text, expected) == 0) return;
    fail_msg("%s, split %zu: \"%s\" instead of \"%s\"", name, split, s->text, expected);
}

static void feed_in_two(const client_wire *w, const tls_protection *fresh, size_t split,
                        const char *expected, const char *name)
{
    server_log s;
    server_open(&s, fresh);
    server_feed(&s, w->octets, split);
    server_feed(&s, w->octets + split, w->len - split);
    expect_log(&s, expected, name, split);
    server_close(&s);
}

static void feed_singly(const client_wire *w, const tls_protection *fresh, const char *expected,
                        const char *name)
{
    server_log s;
    server_open(&s, fresh);
    for (size_t i = 0; i < w->len; i++)
        server_feed(&s, w->octets + i, 1);
    expect_log(&s, expected, name, w->len);
    server_close(&s);
}

// plain_max: of the server.  step: between splits.
static void expect_read(const client_record *records, size_t count, uint16_t plain_max, size_t step,
                        const char *expected, const char *name)
{
    static client_wire w;
    tls_ends ends;
    for (unsigned suite = 0; suite < TLS_SUITES; suite++) {
        w.len = 0;
        assert_true(tls_ends_init(&ends, &contexts, &contexts, (tls_suite)suite, 5));
        ends.server.plain_max = plain_max;
        for (size_t i = 0; i < count; i++)
            wire_add(&w, &ends.client, &records[i]);
        for (size_t split = 0; split <= w.len; split += step)
            feed_in_two(&w, &ends.server, split, expected, name);
        if (step == 1) feed_singly(&w, &ends.server, expected, name);
        tls_ends_wipe(&ends);
    }
}

// ---- Rules ----

#define TEXT(text) (text), sizeof(text) - 1
#define DATA(text) { 23, TEXT(text), 0, false }
#define ALERT(text) { 21, TEXT(text), 0, false }
#define HANDSHAKE(text) { 22, TEXT(text), 0, false }
#define WIRE(text) { 0, TEXT(text), 0, false }
#define UPDATE(text) { 22, TEXT(text), 0, true }
#define PADDED(type, text, padding) { type, TEXT(text), padding, false }
#define SEVENTEEN "0123456789abcdefg"

typedef struct read_case {
    const char *name;
    client_record records[RECORDS_MAX];
    const char *log;
} read_case;

static const read_case cases[] = {
    { "data", { DATA("hello") }, "hello" },
    { "two records", { DATA("hello"), DATA("you") }, "hello you" },
    { "padding", { PADDED(23, "hello", 1), PADDED(23, "you", 300), DATA("!") }, "hello you !" },
    { "data that ends in zeros", { DATA("a\0\0"), PADDED(23, "b", 3) }, "a b" },
    { "empty data is allowed", { DATA(""), DATA("x"), PADDED(23, "", 7), DATA("y") }, "x y" },

    { "close_notify", { DATA("x"), ALERT("\1\0"), DATA("ignored") }, "x closed" },
    { "close_notify as if fatal", { ALERT("\2\0") }, "closed" },
    { "close_notify, then garbage", { ALERT("\1\0"), WIRE("\x15\3\1\0\0") }, "closed" },
    { "user_canceled", { ALERT("\1\x5a"), DATA("x"), ALERT("\1\0") }, "x closed" },
    { "an error", { DATA("x"), ALERT("\2\x28"), DATA("y") }, "x alerted 40" },
    { "an error as a warning", { ALERT("\1\x28") }, "alerted 40" },
    { "an unknown alert", { ALERT("\1\xfe") }, "alerted 254" },
    { "an empty alert", { ALERT("") }, "fault 10" },
    { "half an alert", { ALERT("\1") }, "fault 50" },
    { "two alerts in a record", { ALERT("\1\x5a\1\0") }, "fault 50" },

    { "update", { DATA("x"), UPDATE("\x18\0\0\1\0"), DATA("y") }, "x y" },
    { "update asked for", { UPDATE("\x18\0\0\1\1"), DATA("y") }, "y" },
    { "update, old key", { HANDSHAKE("\x18\0\0\1\0"), DATA("y") }, "fault 20" },
    { "update twice", { UPDATE("\x18\0\0\1\0"), UPDATE("\x18\0\0\1\0"), DATA("y") }, "y" },
    { "update in pieces",
      { HANDSHAKE("\x18"), HANDSHAKE("\0\0\1"), UPDATE("\1"), DATA("y") },
      "y" },
    { "update and data between", { HANDSHAKE("\x18\0"), DATA("y") }, "fault 10" },
    { "update and empty data between", { HANDSHAKE("\x18\0"), DATA("") }, "fault 10" },
    { "update and an alert between", { HANDSHAKE("\x18\0"), ALERT("\1\0") }, "fault 10" },
    { "update not at the record's end", { HANDSHAKE("\x18\0\0\1\0\x18\0\0\1\0") }, "fault 10" },
    { "update in pieces, not at the end",
      { HANDSHAKE("\x18\0\0\1"), HANDSHAKE("\0x") },
      "fault 10" },
    { "update of another kind", { HANDSHAKE("\x18\0\0\1\2") }, "fault 47" },
    { "update too short", { HANDSHAKE("\x18\0\0\0") }, "fault 50" },
    { "update too long", { HANDSHAKE("\x18\0\0\2\0\0") }, "fault 50" },
    { "update far too long", { HANDSHAKE("\x18\1") }, "fault 50" },
    { "an empty message", { HANDSHAKE("") }, "fault 10" },
    { "a ClientHello", { HANDSHAKE("\1") }, "fault 10" },
    { "a Finished", { HANDSHAKE("\x14\0\0\x20") }, "fault 10" },
    { "a Certificate", { DATA("x"), HANDSHAKE("\x0b\0\0\4") }, "x fault 10" },

    { "an inner change_cipher_spec", { PADDED(20, "\1", 0) }, "fault 10" },
    { "an inner heartbeat", { PADDED(24, "\1\0\0", 0) }, "fault 10" },
    { "an inner type unknown", { PADDED(255, "x", 2) }, "fault 10" },

    { "change_cipher_spec", { DATA("x"), WIRE("\x14\3\3\0\1\1") }, "x fault 10" },
    { "an alert in the clear", { WIRE("\x15\3\3\0\2\1\0") }, "fault 10" },
    { "a handshake in the clear", { WIRE("\x16\3\3\0\5\x18\0\0\1\0") }, "fault 10" },
    { "HTTP in the clear", { WIRE("GET / HTTP/1.1\r\n\r\n") }, "fault 10" },
    { "version 3.1", { WIRE("\x17\3\1\0\x11" SEVENTEEN) }, "fault 50" },
    { "version 2.3", { WIRE("\x17\2\3\0\x11" SEVENTEEN) }, "fault 50" },
    { "no octets", { WIRE("\x17\3\3\0\0") }, "fault 20" },
    { "no room for a type", { WIRE("\x17\3\3\0\x10") }, "fault 20" },
    { "forged, the shortest", { WIRE("\x17\3\3\0\x11" SEVENTEEN), DATA("x") }, "fault 20" },
    { "too long, seen by its header", { WIRE("\x17\3\3\x41\1") }, "fault 22" },
    { "the longest, begun", { DATA("x"), WIRE("\x17\3\3\x41\0abc") }, "x" },
    { "a header begun", { DATA("x"), WIRE("\x17\3\3") }, "x" },
};

static void test_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t count = 0;
        while (count < RECORDS_MAX && cases[i].records[count].content)
            count++;
        expect_read(cases[i].records, count, TLS_PLAIN_OCTETS_MAX, 1, cases[i].log, cases[i].name);
    }
}

// Only zeros: tls_seal with the type 0.
static void test_no_type(void **state)
{
    (void)state;
    for (size_t len = 0; len < 40; len += 13) {
        tls_ends ends;
        client_wire w = { 0 };
        static const char zeros[64];
        slice content = slice_make(zeros, len);
        assert_true(tls_ends_init(&ends, &contexts, &contexts, TLS_SUITE_AES_128_GCM_SHA256, 5));
        w.len = tls_seal(&ends.client, (tls_content)0, &content, 1, w.octets);
        for (size_t split = 0; split <= w.len; split++)
            feed_in_two(&w, &ends.server, split, "fault 10", "no type");
        tls_ends_wipe(&ends);
    }
}

static void expect_sized(size_t len, size_t padding, uint16_t plain_max, const char *log)
{
    static char content[TLS_SEALED_OCTETS_MAX];
    char name[64];
    memset(content, 'x', sizeof content);
    client_record record = { 23, content, len, padding, false };
    (void)snprintf(name, sizeof name, "%zu octets, %zu of padding", len, padding);
    expect_read(&record, 1, plain_max, 1677, log, name);
}

static void test_sizes(void **state)
{
    (void)state;
    expect_sized(16384, 0, 16384, "xxxxxxxx... 16384");
    expect_sized(16385, 0, 16384, "fault 22");
    expect_sized(16383, 1, 16384, "xxxxxxxx... 16383");
    expect_sized(16384, 1, 16384, "fault 22"); // with its type and padding it is 16386
    expect_sized(1, 16383, 16384, "x");
    expect_sized(1, 16384, 16384, "fault 22");
    expect_sized(16623, 0, 16384, "fault 22"); // the longest record
    expect_sized(16624, 0, 16384, "fault 22"); // too long a record
    expect_sized(512, 0, 512, "xxxxxxxx... 512");
    expect_sized(512, 300, 512, "xxxxxxxx... 512");
    expect_sized(513, 0, 512, "fault 22");
}

// ---- Floods ----

static void expect_flood(client_record idle, const char *name)
{
    enum { MAX = TLS_RECORDS_WITHOUT_DATA_MAX };
    client_record records[2 * MAX + 3];
    size_t n = 0;
    while (n < MAX)
        records[n++] = idle;
    records[n++] = (client_record)DATA("x");
    while (n < 2 * MAX + 1)
        records[n++] = idle;
    expect_read(records, n, TLS_PLAIN_OCTETS_MAX, 97, "x", name);
    records[n++] = idle;
    expect_read(records, n, TLS_PLAIN_OCTETS_MAX, 97, "x fault 10", name);
}

static void test_floods(void **state)
{
    (void)state;
    expect_flood((client_record)DATA(""), "empty data");
    expect_flood((client_record)PADDED(23, "", 5), "padding alone");
    expect_flood((client_record)ALERT("\1\x5a"), "user_canceled");
    expect_flood((client_record)UPDATE("\x18\0\0\1\1"), "updates");
}

// ---- What is kept between two calls ----

static void test_what_is_held(void **state)
{
    budget all;
    lease counting;
    tls_ends ends;
    server_log s;
    client_wire w = { 0 };
    (void)state;
    budget_init(&all, 1 << 20, 1);
    lease_init(&counting, &all, 0, NULL);
    assert_true(tls_ends_init(&ends, &contexts, &contexts, TLS_SUITE_AES_128_GCM_SHA256, 5));
    wire_add(&w, &ends.client, &(client_record)DATA("hello"));
    server_open(&s, &ends.server);
    (void)tls_contexts_find(&contexts, &s.protection.pair, s.protection.keys);
    contexts.memory = &counting;
    assert_false(tls_reader_is_within(&s.reader));
    server_feed(&s, w.octets, 4);
    assert_true(tls_reader_is_within(&s.reader));
    assert_int_equal(tls_reader_octets(&s.reader) + counting.used, 0);
    server_feed(&s, w.octets + 4, 1);
    assert_int_equal(tls_reader_octets(&s.reader), w.len);
    assert_true(counting.used >= w.len && counting.used < w.len + 64);
    server_feed(&s, w.octets + 5, w.len - 6);
    assert_string_equal(s.text, "");
    char *last = w.octets + w.len - 1;
    size_t left = 1;
    slice plain;
    assert_int_equal(tls_reader_next(&s.reader, &s.protection, &last, &left, &plain),
                     TLS_READ_DATA);
    assert_memory_equal(plain.ptr, "hello", 5);
    assert_false(tls_reader_is_within(&s.reader));
    assert_int_equal(tls_reader_next(&s.reader, &s.protection, &last, &left, &plain),
                     TLS_READ_MORE);
    assert_int_equal(tls_reader_octets(&s.reader) + counting.used, 0);
    contexts.memory = NULL;
    lease_end(&counting);
    server_close(&s);
    tls_ends_wipe(&ends);
}

static void test_within_a_message(void **state)
{
    tls_ends ends;
    server_log s;
    client_wire w = { 0 };
    (void)state;
    assert_true(tls_ends_init(&ends, &contexts, &contexts, TLS_SUITE_AES_128_GCM_SHA256, 5));
    wire_add(&w, &ends.client, &(client_record)HANDSHAKE("\x18\0"));
    server_open(&s, &ends.server);
    server_feed(&s, w.octets, w.len);
    assert_true(tls_reader_is_within(&s.reader));
    w.len = 0;
    wire_add(&w, &ends.client, &(client_record)UPDATE("\0\1\1"));
    server_feed(&s, w.octets, w.len);
    assert_false(tls_reader_is_within(&s.reader));
    assert_true(tls_protection_owes_update(&s.protection));
    server_close(&s);
    tls_ends_wipe(&ends);
}

static void test_after_the_end(void **state)
{
    tls_ends ends;
    server_log s;
    client_wire w = { 0 };
    (void)state;
    assert_true(tls_ends_init(&ends, &contexts, &contexts, TLS_SUITE_AES_128_GCM_SHA256, 5));
    wire_add(&w, &ends.client, &(client_record)WIRE("\x14\3\3\0\1\1"));
    server_open(&s, &ends.server);
    server_feed(&s, w.octets, w.len);
    assert_int_equal(s.last, TLS_READ_FAULTY);
    for (unsigned i = 0; i < 3; i++) {
        char *octets = w.octets;
        size_t left = w.len;
        slice plain;
        assert_int_equal(tls_reader_next(&s.reader, &s.protection, &octets, &left, &plain),
                         TLS_READ_FAULTY);
        assert_int_equal(s.reader.alert, TLS_ALERT_UNEXPECTED_MESSAGE);
        assert_int_equal(left, 0);
    }
    server_close(&s);
    tls_ends_wipe(&ends);
}

static void test_size(void **state)
{
    (void)state;
    assert_true(sizeof(tls_reader) <= 40);
}

// ---- Memory that runs out ----

static bool is_out;

static void *out_alloc(size_t octets, void *user)
{
    (void)user;
    return is_out ? NULL : malloc(octets);
}

static void *out_resize(void *memory, size_t octets, void *user)
{
    (void)user;
    return is_out ? NULL : realloc(memory, octets);
}

static void out_free(void *memory, void *user)
{
    (void)user;
    free(memory);
}

static void test_no_memory_for_a_part(void **state)
{
    static const skua_allocator allocator = { .alloc = out_alloc,
                                              .resize = out_resize,
                                              .free = out_free };
    tls_ends ends;
    server_log s;
    client_wire w = { 0 };
    (void)state;
    assert_true(memory_join(&allocator));
    assert_true(tls_ends_init(&ends, &contexts, &contexts, TLS_SUITE_AES_128_GCM_SHA256, 5));
    wire_add(&w, &ends.client, &(client_record)DATA("hello"));
    server_open(&s, &ends.server);
    is_out = true;
    server_feed(&s, w.octets, 5);
    is_out = false;
    expect_log(&s, "no memory 80", "a part", 5);
    server_close(&s);
    tls_ends_wipe(&ends);
    memory_leave();
}

// Every allocation of the library's fails in turn, and all after it: what comes is read or it is the end.
static void test_no_memory_of_the_library(void **state)
{
    unsigned failed = 0;
    (void)state;
    for (unsigned n = 0, failures = 1; failures; n++) {
        tls_ends ends;
        server_log s;
        client_wire w = { 0 };
        assert_true(tls_ends_init(&ends, &contexts, &contexts, TLS_SUITE_AES_128_GCM_SHA256, 5));
        wire_add(&w, &ends.client, &(client_record)DATA("x"));
        wire_add(&w, &ends.client, &(client_record)UPDATE("\x18\0\0\1\0"));
        wire_add(&w, &ends.client, &(client_record)DATA("y"));
        (void)tls_contexts_empty(&contexts);
        server_open(&s, &ends.server);
        tls_memory_fail_after(n);
        server_feed(&s, w.octets, w.len);
        tls_memory_relax();
        failures = tls_memory_failures();
        bool is_read = strcmp(s.text, "x y") == 0;
        assert_true(is_read || s.last == TLS_READ_NO_MEMORY);
        assert_true(is_read || failures);
        failed += !is_read;
        server_close(&s);
        tls_ends_wipe(&ends);
    }
    assert_true(failed > 0);
}

static int contexts_open(void **state)
{
    (void)state;
    return !tls_contexts_init(&contexts, NULL);
}

static int contexts_close(void **state)
{
    (void)state;
    assert_int_equal(contexts.pairs, 0);
    tls_contexts_deinit(&contexts);
    return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, contexts_open, contexts_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rules),
        TEST(test_no_type),
        TEST(test_sizes),
        TEST(test_floods),
        TEST(test_what_is_held),
        TEST(test_within_a_message),
        TEST(test_after_the_end),
        TEST(test_size),
        TEST(test_no_memory_for_a_part),
        TEST(test_no_memory_of_the_library),
    };
    tls_memory_hook();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
