// SPDX-License-Identifier: MIT
//
// Records sealed and opened: the trace of RFC 8448 §3, every form of a source, what is forged, when
// the next generation of keys is due, and memory that runs out.

#include "net/tls_protection.h"

#include "support/support.h"
#include "support/tls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static tls_contexts contexts;

static const uint8_t client_secret[] = {
    0x9e, 0x40, 0x64, 0x6c, 0xe7, 0x9a, 0x7f, 0x9d, 0xc0, 0x5a, 0xf8, 0x88, 0x9b, 0xce, 0x65, 0x52,
    0x87, 0x5a, 0xfa, 0x0b, 0x06, 0xdf, 0x00, 0x87, 0xf7, 0x92, 0xeb, 0xb7, 0xc1, 0x75, 0x04, 0xa5,
};
static const uint8_t server_secret[] = {
    0xa1, 0x1a, 0xf9, 0xf0, 0x55, 0x31, 0xf8, 0x56, 0xad, 0x47, 0x11, 0x6b, 0x45, 0xa9, 0x50, 0x32,
    0x82, 0x04, 0xb4, 0xf4, 0x4b, 0xfb, 0x6b, 0x3a, 0x4b, 0x4f, 0x1f, 0x3f, 0xcb, 0x63, 0x16, 0x43,
};
static const char client_data[] =
    "\x17\x03\x03\x00\x43\xa2\x3f\x70\x54\xb6\x2c\x94\xd0\xaf\xfa\xfe\x82\x28\xba\x55\xcb\xef\xac"
    "\xea\x42\xf9\x14\xaa\x66\xbc\xab\x3f\x2b\x98\x19\xa8\xa5\xb4\x6b\x39\x5b\xd5\x4a\x9a\x20\x44"
    "\x1e\x2b\x62\x97\x4e\x1f\x5a\x62\x92\xa2\x97\x70\x14\xbd\x1e\x3d\xea\xe6\x3a\xee\xbb\x21\x69"
    "\x49\x15\xe4";
static const char server_data[] =
    "\x17\x03\x03\x00\x43\x2e\x93\x7e\x11\xef\x4a\xc7\x40\xe5\x38\xad\x36\x00\x5f\xc4\xa4\x69\x32"
    "\xfc\x32\x25\xd0\x5f\x82\xaa\x1b\x36\xe3\x0e\xfa\xf9\x7d\x90\xe6\xdf\xfc\x60\x2d\xcb\x50\x1a"
    "\x59\xa8\xfc\xc4\x9c\x4b\xf2\xe5\xf0\xa2\x1c\x00\x47\xc2\xab\xf3\x32\x54\x0d\xd0\x32\xe1\x67"
    "\xc2\x95\x5d";
static const char client_close[] =
    "\x17\x03\x03\x00\x13\xc9\x87\x27\x60\x65\x56\x66\xb7\x4d\x7f\xf1"
    "\x15\x3e\xfd\x6d\xb6\xd0\xb0\xe3";
static const char server_close[] =
    "\x17\x03\x03\x00\x13\xb5\x8f\xd6\x71\x66\xeb\xf5\x99\xd2\x47\x20"
    "\xcf\xbe\x7e\xfa\x7a\x88\x64\xa9";

static size_t seal(tls_protection *p, slice plain, char *record)
{
    return tls_seal(p, TLS_CONTENT_APPLICATION, &plain, 1, record);
}

static void expect_opens(tls_protection *p, char *record, size_t len, slice plain, char type)
{
    slice inner;
    assert_int_equal(tls_open(p, record, len, &inner), TLS_OPENED);
    assert_int_equal(inner.len, plain.len + 1);
    assert_memory_equal(inner.ptr, plain.ptr, plain.len);
    assert_int_equal(inner.ptr[plain.len], type);
}

static void test_trace_of_rfc_8448(void **state)
{
    tls_protection client, server;
    char plain[50], record[128];
    (void)state;
    for (unsigned i = 0; i < sizeof plain; i++)
        plain[i] = (char)i;
    slice data = slice_make(plain, sizeof plain);
    // The server's first record was a ticket.
    assert_true(tls_protection_init(&server, &contexts, TLS_SUITE_AES_128_GCM_SHA256, client_secret,
                                    server_secret, 1, TLS_PLAIN_OCTETS_MAX));
    assert_true(tls_protection_init(&client, &contexts, TLS_SUITE_AES_128_GCM_SHA256, server_secret,
                                    client_secret, 0, TLS_PLAIN_OCTETS_MAX));
    client.keys[TLS_OPEN].sequence = 1;
    assert_int_equal(seal(&client, data, record), sizeof client_data - 1);
    assert_memory_equal(record, client_data, sizeof client_data - 1);
    expect_opens(&server, record, sizeof client_data - 1, data, TLS_CONTENT_APPLICATION);
    assert_int_equal(seal(&server, data, record), sizeof server_data - 1);
    assert_memory_equal(record, server_data, sizeof server_data - 1);
    expect_opens(&client, record, sizeof server_data - 1, data, TLS_CONTENT_APPLICATION);
    slice close = slice_make("\1\0", 2);
    assert_int_equal(tls_seal_alert(&client, TLS_ALERT_CLOSE_NOTIFY, record), 24);
    assert_memory_equal(record, client_close, 24);
    expect_opens(&server, record, 24, close, TLS_CONTENT_ALERT);
    assert_int_equal(tls_seal_alert(&server, TLS_ALERT_CLOSE_NOTIFY, record), 24);
    assert_memory_equal(record, server_close, 24);
    expect_opens(&client, record, 24, close, TLS_CONTENT_ALERT);
    tls_protection_wipe(&client);
    tls_protection_wipe(&server);
}

static int ends_open(void **state)
{
    (void)state;
    return !tls_contexts_init(&contexts, NULL);
}

static int ends_close(void **state)
{
    (void)state;
    assert_int_equal(contexts.pairs, 0); // every test has wiped what it made
    tls_contexts_deinit(&contexts);
    return 0;
}

static void fill(char *octets, size_t len)
{
    for (size_t i = 0; i < len; i++)
        octets[i] = (char)(uint8_t)(i * 31 + len);
}

// In place, from elsewhere and from pieces comes the same record, and nothing is touched behind it.
static void expect_same_in_every_form(tls_suite suite, size_t len)
{
    tls_ends ends;
    char *plain = malloc(len + 1);
    fill(plain, len);
    char *from = guarded_copy(plain, len);
    char *wires[3];
    for (unsigned form = 0; form < 3; form++) {
        char *blank = calloc(1, len + TLS_AROUND_OCTETS);
        char *wire = wires[form] = guarded_copy(blank, len + TLS_AROUND_OCTETS);
        free(blank);
        assert_true(tls_ends_init(&ends, &contexts, &contexts, suite, 9));
        size_t third = len / 3;
        slice whole = slice_make(from, len);
        slice pieces[] = { slice_make(from, third), slice_make(from + third, 0),
                           slice_make(from + third, len - third) };
        if (form == 1) {
            memcpy(wire + TLS_HEADER_OCTETS, plain, len);
            whole.ptr = wire + TLS_HEADER_OCTETS;
        }
        size_t octets = form == 2 ? tls_seal(&ends.client, TLS_CONTENT_APPLICATION, pieces, 3, wire)
                                  : seal(&ends.client, whole, wire);
        assert_int_equal(octets, len + TLS_AROUND_OCTETS);
        assert_memory_equal(wire, wires[0], octets);
        if (form == 2) {
            expect_opens(&ends.server, wire, octets, slice_make(plain, len),
                         TLS_CONTENT_APPLICATION);
            assert_int_equal(ends.server.keys[TLS_OPEN].sequence, 1);
        }
        tls_ends_wipe(&ends);
    }
    for (unsigned form = 0; form < 3; form++)
        guarded_free(wires[form], len + TLS_AROUND_OCTETS);
    guarded_free(from, len);
    free(plain);
}

static void test_every_form_and_length(void **state)
{
    static const size_t lengths[] = { 255, 256, 1023, 1400, 4096, 16383, 16384 };
    (void)state;
    for (unsigned suite = 0; suite < TLS_SUITES; suite++) {
        for (size_t len = 0; len < 70; len++)
            expect_same_in_every_form((tls_suite)suite, len);
        for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++)
            expect_same_in_every_form((tls_suite)suite, lengths[i]);
    }
}

// Whichever octet was changed, header and tag too, the record is refused.
static void test_forged(void **state)
{
    (void)state;
    for (unsigned suite = 0; suite < TLS_SUITES; suite++) {
        tls_ends ends;
        char sealed[64], record[64];
        slice inner;
        assert_true(tls_ends_init(&ends, &contexts, &contexts, (tls_suite)suite, 4));
        size_t len = seal(&ends.client, slice_of("not to be changed"), sealed);
        for (size_t i = 0; i < len; i++) {
            memcpy(record, sealed, len);
            record[i] ^= 0x10;
            assert_int_equal(tls_open(&ends.server, record, len, &inner), TLS_OPENED_FORGED);
        }
        memcpy(record, sealed, len);
        expect_opens(&ends.server, record, len, slice_of("not to be changed"),
                     TLS_CONTENT_APPLICATION);
        // The same record again has another number.
        assert_int_equal(tls_open(&ends.server, sealed, len, &inner), TLS_OPENED_FORGED);
        tls_ends_wipe(&ends);
    }
}

// Both ends know of the next generation by the record that announces it.
static void update(tls_protection *from, tls_protection *to, char is_asked)
{
    char record[TLS_UPDATE_RECORD_OCTETS], message[] = { TLS_KEY_UPDATE, 0, 0, 1, is_asked };
    assert_int_equal(tls_seal_update(from, record), sizeof record);
    expect_opens(to, record, sizeof record, slice_make(message, sizeof message),
                 TLS_CONTENT_HANDSHAKE);
    assert_true(tls_protection_updated(to, is_asked));
}

static void expect_goes(tls_protection *from, tls_protection *to)
{
    char record[64];
    size_t len = seal(from, slice_of("onwards"), record);
    expect_opens(to, record, len, slice_of("onwards"), TLS_CONTENT_APPLICATION);
}

static void test_updates(void **state)
{
    (void)state;
    for (unsigned suite = 0; suite < TLS_SUITES; suite++) {
        tls_ends ends;
        assert_true(tls_ends_init(&ends, &contexts, &contexts, (tls_suite)suite, 4));
        for (unsigned i = 0; i < 4; i++) {
            expect_goes(&ends.client, &ends.server);
            expect_goes(&ends.server, &ends.client);
            update(&ends.server, &ends.client, 0);
            if (i % 2) update(&ends.client, &ends.server, 0);
            if (i == 2) (void)tls_contexts_empty(&contexts); // with and without a pair
        }
        tls_ends_wipe(&ends);
    }
}

static void test_update_is_due(void **state)
{
    tls_ends ends;
    (void)state;
    assert_true(tls_ends_init(&ends, &contexts, &contexts, TLS_SUITE_AES_128_GCM_SHA256, 4));
    assert_int_equal(contexts.records_per_key, 4194304);
    contexts.records_per_key = 3;
    for (unsigned i = 0; i < 3; i++) {
        assert_false(tls_protection_owes_update(&ends.server));
        expect_goes(&ends.server, &ends.client);
    }
    assert_true(tls_protection_owes_update(&ends.server));
    update(&ends.server, &ends.client, 0);
    assert_false(tls_protection_owes_update(&ends.server));

    // The client has sent enough with its key: it is asked for the next, once.
    for (unsigned i = 0; i < 3; i++) {
        assert_false(tls_protection_owes_update(&ends.server));
        expect_goes(&ends.client, &ends.server);
    }
    assert_true(tls_protection_owes_update(&ends.server));
    update(&ends.server, &ends.client, 1);
    assert_false(tls_protection_owes_update(&ends.server));
    assert_true(tls_protection_owes_update(&ends.client));
    update(&ends.client, &ends.server, 0);
    assert_false(tls_protection_owes_update(&ends.client));
    assert_false(ends.server.has_asked);

    // Being asked twice makes one, also if an update that asks for none comes after them.
    assert_true(tls_protection_updated(&ends.server, true));
    assert_true(tls_protection_updated(&ends.server, true));
    assert_true(tls_protection_updated(&ends.server, false));
    assert_true(tls_protection_owes_update(&ends.server));
    update(&ends.server, &ends.client, 0);
    assert_false(tls_protection_owes_update(&ends.server));
    tls_ends_wipe(&ends);
}

// After an update, neither the old key nor the old secret is anywhere.
static void test_updated_keys_are_wiped(void **state)
{
    tls_ends ends;
    char record[TLS_UPDATE_RECORD_OCTETS];
    (void)state;
    assert_true(tls_ends_init(&ends, &contexts, &contexts, TLS_SUITE_CHACHA20_POLY1305_SHA256, 4));
    (void)seal(&ends.server, slice_of("x"), record);
    tls_keys seal = ends.server.keys[TLS_SEAL], open = ends.server.keys[TLS_OPEN];
    assert_true(tls_memory_holding(seal.key, 32) && tls_memory_holding(open.key, 32));
    (void)tls_seal_update(&ends.server, record);
    assert_int_equal(tls_memory_holding(seal.key, 32), 0);
    assert_true(tls_protection_updated(&ends.server, false));
    assert_int_equal(tls_memory_holding(open.key, 32), 0);
    assert_memory_not_equal(ends.server.keys[TLS_SEAL].secret, seal.secret, 32);
    tls_ends_wipe(&ends);
    assert_memory_equal(ends.server.keys[TLS_SEAL].key, (tls_keys){ 0 }.key, 32);
    assert_memory_equal(ends.server.keys[TLS_OPEN].secret, (tls_keys){ 0 }.secret, 48);
}

static void test_alerts(void **state)
{
    tls_ends ends;
    char record[TLS_ALERT_RECORD_OCTETS];
    (void)state;
    assert_true(tls_ends_init(&ends, &contexts, &contexts, TLS_SUITE_AES_128_GCM_SHA256, 4));
    assert_int_equal(tls_seal_alert(&ends.server, TLS_ALERT_RECORD_OVERFLOW, record),
                     sizeof record);
    expect_opens(&ends.client, record, sizeof record, slice_make("\2\x16", 2), TLS_CONTENT_ALERT);
    tls_ends_wipe(&ends);
}

static void test_size(void **state)
{
    (void)state;
    // An idle connection keeps this and the reader: docs/limits.md.
    assert_true(sizeof(tls_protection) <= 240);
}

// Every allocation fails in turn, and all after it: a record is sealed or nothing more ever is.
static void test_no_memory(void **state)
{
    unsigned failed = 0;
    (void)state;
    for (unsigned n = 0, failures = 1; failures; n++) {
        tls_ends ends;
        char record[64], next[64];
        slice text = slice_of("x");
        assert_true(tls_ends_init(&ends, &contexts, &contexts, TLS_SUITE_AES_256_GCM_SHA384, 4));
        tls_memory_fail_after(n);
        size_t len = seal(&ends.server, text, record);
        size_t updated = tls_seal_update(&ends.server, next);
        tls_memory_relax();
        failures = tls_memory_failures();
        assert_true(updated == 0 || len != 0);
        if (len) expect_opens(&ends.client, record, len, text, TLS_CONTENT_APPLICATION);
        len = seal(&ends.server, text, record);
        assert_int_equal(len != 0, updated != 0);
        failed += updated == 0;
        tls_ends_wipe(&ends);
    }
    assert_true(failed > 0);
}

static void test_open_without_memory(void **state)
{
    unsigned failed = 0;
    (void)state;
    for (unsigned n = 0, failures = 1; failures; n++) {
        tls_ends ends;
        char record[64];
        slice inner;
        assert_true(tls_ends_init(&ends, &contexts, &contexts, TLS_SUITE_AES_128_GCM_SHA256, 4));
        size_t len = seal(&ends.client, slice_of("x"), record);
        (void)tls_contexts_empty(&contexts);
        tls_memory_fail_after(n);
        tls_opened opened = tls_open(&ends.server, record, len, &inner);
        tls_memory_relax();
        failures = tls_memory_failures();
        assert_int_equal(opened,
                         opened == TLS_OPENED || !failures ? TLS_OPENED : TLS_OPENED_NO_MEMORY);
        failed += opened != TLS_OPENED;
        tls_ends_wipe(&ends);
    }
    assert_true(failed > 0);
}

static void test_init_without_memory(void **state)
{
    (void)state;
    for (unsigned n = 0, failures = 1; failures; n++) {
        tls_ends ends;
        tls_memory_fail_after(n);
        bool is_made = tls_ends_init(&ends, &contexts, &contexts, TLS_SUITE_AES_128_GCM_SHA256, 4);
        tls_memory_relax();
        failures = tls_memory_failures();
        assert_true(is_made || failures);
        if (is_made) tls_ends_wipe(&ends);
        assert_memory_equal(ends.server.keys[TLS_OPEN].secret, (tls_keys){ 0 }.secret, 48);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, ends_open, ends_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_trace_of_rfc_8448),
        TEST(test_every_form_and_length),
        TEST(test_forged),
        TEST(test_updates),
        TEST(test_update_is_due),
        TEST(test_updated_keys_are_wiped),
        TEST(test_alerts),
        TEST(test_size),
        TEST(test_no_memory),
        TEST(test_open_without_memory),
        TEST(test_init_without_memory),
    };
    tls_memory_hook();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
