// SPDX-License-Identifier: MIT
//
// Whom proxies say that they serve. Trusted here are 10.0.0.0/8 and fd00::/8.

#include "http/forwarded.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static network_list trusted;

typedef struct line_case {
    const char *value;
    const char *client; // an address or a name; NULL: nothing is said of it
    forwarded_scheme scheme;
} line_case;

#define UNSAID FORWARDED_SCHEME_UNSAID
#define HTTP FORWARDED_SCHEME_HTTP
#define HTTPS FORWARDED_SCHEME_HTTPS

static const line_case lines[] = {
    { "", NULL, UNSAID },
    { " , ,", NULL, UNSAID },
    { ";;", NULL, UNSAID },
    { "for=192.0.2.1", "192.0.2.1", UNSAID },
    { "For=192.0.2.1;PROTO=HTTPS", "192.0.2.1", HTTPS },
    { "proto=http;by=10.0.0.1;for=192.0.2.1;host=example.com", "192.0.2.1", HTTP },
    { "for=192.0.2.1 ; proto=\"https\" ;", "192.0.2.1", HTTPS },
    { "for=\"192.0.2.1:4711\"", "192.0.2.1", UNSAID },
    { "for=\"[2001:db8::1]:4711\"", "2001:db8::1", UNSAID },
    { "for=\"[2001:db8::1]\"", "2001:db8::1", UNSAID },
    { "for=\"[2001:db8::1]:_p\"", "2001:db8::1", UNSAID },
    { "for=\"19\\2.0.2.1\"", "192.0.2.1", UNSAID },
    // From the right, as far as proxies are trusted.
    { "for=198.51.100.1, for=192.0.2.1", "192.0.2.1", UNSAID },
    { "for=198.51.100.1, for=192.0.2.1, for=10.0.0.1", "192.0.2.1", UNSAID },
    { "for=192.0.2.1;proto=https,for=\"[fd00::1]\";proto=http,,for=10.0.0.1", "192.0.2.1", HTTPS },
    { "for=10.0.0.1;proto=https,for=10.0.0.2;proto=http", "10.0.0.1", HTTPS },
    { "for=\"192.0.2.1, for=10.0.0.9\", for=10.0.0.1", "unknown", UNSAID },
    { "for=192.0.2.1;x=\", for=10.0.0.9\\\",\", for=10.0.0.1", "192.0.2.1", UNSAID },
    // Those who hide.
    { "for=unknown", "unknown", UNSAID },
    { "for=\"unknown:80\";proto=https", "unknown", HTTPS },
    { "for=_hidden", "_hidden", UNSAID },
    { "for=\"_SEVKISEK.a-b:_x\"", "_SEVKISEK.a-b", UNSAID },
    { "for=198.51.100.1, for=_hidden, for=10.0.0.1", "_hidden", UNSAID },
    { "for=198.51.100.1, by=10.0.0.1", "unknown", UNSAID },
    { "for=198.51.100.1, proto=https", "unknown", HTTPS },
    { "for=_", "unknown", UNSAID },
    { "for=\"_a b\"", "unknown", UNSAID },
    { "for=\"\"", "unknown", UNSAID },
    { "for=\"192.0.2.1:123456\"", "unknown", UNSAID },
    { "for=\"[192.0.2.1]\"", "unknown", UNSAID },
    { "for=\"[2001:db8::1\"", "unknown", UNSAID },
    { "for=\"[2001:db8::1]x\"", "unknown", UNSAID },
    // Against the grammar: nothing of the line is believed.
    { "for", NULL, UNSAID },
    { "for=", NULL, UNSAID },
    { "=192.0.2.1", NULL, UNSAID },
    { "for =192.0.2.1", NULL, UNSAID },
    { "for=192.0.2.1;for=192.0.2.2", NULL, UNSAID },
    { "for=192.0.2.1:80", NULL, UNSAID },
    { "for=[2001:db8::1]", NULL, UNSAID },
    { "for=\"192.0.2.1", NULL, UNSAID },
    { "for=\"192.0.2.1\\", NULL, UNSAID },
    { "for=192.0.2.1 for=192.0.2.2", NULL, UNSAID },
    { "for=\"192.0.2.1\"x", NULL, UNSAID },
    { "bad, for=192.0.2.1", NULL, UNSAID },
};

static void expect_client(const forwarded_client *client, const char *expected, const char *why)
{
    uint8_t octets[NETWORK_OCTETS];
    if (!expected) {
        if (client->entries) fail_msg("%s: something is said", why);
    } else if (network_read_address(slice_of(expected), octets)) {
        if (!client->entries || client->name[0] || memcmp(octets, client->octets, sizeof octets))
            fail_msg("%s: is not %s", why, expected);
    } else if (strcmp(client->name, expected) != 0) {
        fail_msg("%s: \"%s\" is not %s", why, client->name, expected);
    }
}

static void read_guarded(forwarded_client *client, const char *value, size_t len,
                         void (*read)(forwarded_client *client, slice value))
{
    char *copy = guarded_copy(value, len);
    read(client, slice_make(copy, len));
    guarded_free(copy, len);
}

static void forwarded_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const line_case *c = &lines[i];
        forwarded_client client;
        forwarded_begin(&client, &trusted);
        read_guarded(&client, c->value, strlen(c->value), forwarded_read);
        expect_client(&client, c->client, c->value);
        assert_int_equal(client.scheme, c->scheme);
    }
}

// A line that is cut anywhere is read as one that was sent so, and never behind its end.
static void forwarded_is_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        for (size_t len = 0; len < strlen(lines[i].value); len++) {
            forwarded_client client;
            forwarded_begin(&client, &trusted);
            read_guarded(&client, lines[i].value, len, forwarded_read);
            assert_true(client.entries <= FORWARDED_ENTRIES_MAX);
            forwarded_begin(&client, &trusted);
            read_guarded(&client, lines[i].value, len, forwarded_read_for);
            read_guarded(&client, lines[i].value, len, forwarded_read_proto);
            assert_true(client.entries <= FORWARDED_ENTRIES_MAX);
        }
    }
}

// Split at a comma between entries, a list says the same on two lines (RFC 9110 §5.3).
static void lines_are_one_list(void **state)
{
    (void)state;
    const char *list =
        "for=192.0.2.1;proto=https,for=10.0.0.3,for=10.0.0.2;proto=http,for=10.0.0.1";
    for (const char *comma = strchr(list, ','); comma; comma = strchr(comma + 1, ',')) {
        forwarded_client client;
        forwarded_begin(&client, &trusted);
        forwarded_read(&client, slice_of(comma + 1));
        forwarded_read(&client, slice_make(list, (size_t)(comma - list)));
        expect_client(&client, "192.0.2.1", list);
        assert_int_equal(client.scheme, HTTPS);
        assert_int_equal(client.entries, 4);
    }
}

static void a_broken_line_hides_those_before(void **state)
{
    (void)state;
    forwarded_client client;
    forwarded_begin(&client, &trusted);
    forwarded_read(&client, SKUA_SLICE("for=10.0.0.1"));
    forwarded_read(&client, SKUA_SLICE("for="));
    forwarded_read(&client, SKUA_SLICE("for=192.0.2.1"));
    expect_client(&client, "10.0.0.1", "the last that is believed");
}

static void names_have_an_end(void **state)
{
    (void)state;
    char value[80] = "for=";
    forwarded_client client;
    memset(value + 4, '_', FORWARDED_NAME_OCTETS - 1);
    forwarded_begin(&client, &trusted);
    forwarded_read(&client, slice_of(value));
    expect_client(&client, value + 4, "63 octets");
    value[4 + FORWARDED_NAME_OCTETS - 1] = '_';
    forwarded_begin(&client, &trusted);
    forwarded_read(&client, slice_of(value));
    expect_client(&client, "unknown", "64 octets");
}

static slice write_hops(char *value, const char *hop, const char *first, unsigned hops)
{
    size_t len = strlen(first);
    memcpy(value, first, len);
    for (unsigned i = 0; i < hops; i++) {
        memcpy(value + len, hop, strlen(hop));
        len += strlen(hop);
    }
    return slice_make(value, len);
}

// The first that is asked for is number hops + 1.
static void a_walk_has_an_end(void **state)
{
    (void)state;
    char value[2048];
    forwarded_client client;
    for (unsigned hops = FORWARDED_ENTRIES_MAX - 1; hops <= FORWARDED_ENTRIES_MAX; hops++) {
        const char *expected = hops < FORWARDED_ENTRIES_MAX ? "192.0.2.1" : "10.0.0.1";
        forwarded_begin(&client, &trusted);
        forwarded_read(&client, write_hops(value, ",for=10.0.0.1", "for=192.0.2.1", hops));
        expect_client(&client, expected, "Forwarded");
        forwarded_begin(&client, &trusted);
        forwarded_read_for(&client, write_hops(value, ",10.0.0.1", "192.0.2.1", hops));
        expect_client(&client, expected, "X-Forwarded-For");
    }
}

typedef struct pair_case {
    const char *addresses, *protos;
    const char *client;
    forwarded_scheme scheme;
} pair_case;

static const pair_case pairs[] = {
    { "192.0.2.1", "https", "192.0.2.1", HTTPS },
    { " 192.0.2.1 ", "\tHTTP ", "192.0.2.1", HTTP },
    { "192.0.2.1", "ftp", "192.0.2.1", UNSAID },
    { "192.0.2.1", "", "192.0.2.1", UNSAID },
    { "", "https", NULL, HTTPS },
    { "192.0.2.1:4711", "", "192.0.2.1", UNSAID },
    { "[2001:db8::1]:4711", "", "2001:db8::1", UNSAID },
    { "2001:db8::1", "", "2001:db8::1", UNSAID },
    { "198.51.100.1, 192.0.2.1", "https, http", "192.0.2.1", HTTP },
    { "198.51.100.1, 192.0.2.1,, 10.0.0.1,", "https, http, https", "192.0.2.1", HTTP },
    { "192.0.2.1, 10.0.0.1", "https", "192.0.2.1", HTTPS },
    { "192.0.2.1, unknown, 10.0.0.1", "", "unknown", UNSAID },
    { "192.0.2.1, unix:", "", "unknown", UNSAID },
    { "\"192.0.2.1\"", "", "unknown", UNSAID },
    { "10.0.0.2, fd00::1", "", "10.0.0.2", UNSAID },
};

static void x_forwarded_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const pair_case *c = &pairs[i];
        forwarded_client client;
        forwarded_begin(&client, &trusted);
        read_guarded(&client, c->addresses, strlen(c->addresses), forwarded_read_for);
        read_guarded(&client, c->protos, strlen(c->protos), forwarded_read_proto);
        expect_client(&client, c->client, c->addresses);
        assert_int_equal(client.scheme, c->scheme);
    }
}

static int set_up(void **state)
{
    (void)state;
    return network_list_read(SKUA_SLICE("10.0.0.0/8 fd00::/8"), &trusted) ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forwarded_is_read),   cmocka_unit_test(forwarded_is_cut),
        cmocka_unit_test(lines_are_one_list),  cmocka_unit_test(a_broken_line_hides_those_before),
        cmocka_unit_test(names_have_an_end),   cmocka_unit_test(a_walk_has_an_end),
        cmocka_unit_test(x_forwarded_is_read),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
