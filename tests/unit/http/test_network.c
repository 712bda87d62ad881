// SPDX-License-Identifier: MIT
//
// Addresses and networks, as inet_pton reads them, but for leading zeros, which nobody reads alike.

#include "http/network.h"

#include "support/support.h"

#include <arpa/inet.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static const char *const addresses[] = {
    "0.0.0.0",
    "127.0.0.1",
    "255.255.255.255",
    "192.0.2.10",
    "::",
    "::1",
    "1::",
    "1::8",
    "1:2:3:4:5:6:7:8",
    "1:2:3:4:5:6:7::",
    "::2:3:4:5:6:7:8",
    "fe80::1:abcd",
    "ABCD:ef01::",
    "::ffff:192.0.2.1",
    "64:ff9b::192.0.2.1",
    "1:2:3:4:5:6:1.2.3.4",
    "1:2::5:1.2.3.4",
    "::1.2.3.4",
};

static const char *const no_addresses[] = {
    "",
    " ",
    "1",
    "1.2.3",
    "1.2.3.4.5",
    "1.2.3.",
    ".1.2.3",
    "1..2.3",
    "256.1.1.1",
    "1.2.3.04",
    "1.2.3.4 ",
    "1.2.3.4:80",
    "+1.2.3.4",
    "0x1.2.3.4",
    "99999999999.1.1.1",
    ":",
    ":::",
    "1:",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7:8::",
    "::1:2:3:4:5:6:7:8",
    "1::2::3",
    "12345::",
    "g::",
    "1:::2",
    ":1::",
    "1::2:",
    "1.2.3.4::",
    "::1.2.3.4:5",
    "1:2:3:4:5:6:7:1.2.3.4",
    "::1.2.3",
    "fe80::1%eth0",
    "[::1]",
    "unix",
};

static bool read_guarded(const char *text, size_t len, uint8_t octets[NETWORK_OCTETS])
{
    char *copy = guarded_copy(text, len);
    bool read = network_read_address(slice_make(copy, len), octets);
    guarded_free(copy, len);
    return read;
}

static bool peer_reads(const char *text, uint8_t octets[NETWORK_OCTETS])
{
    uint8_t quad[4];
    if (inet_pton(AF_INET6, text, octets) == 1) return true;
    if (inet_pton(AF_INET, text, quad) != 1) return false;
    network_map(quad, octets);
    return true;
}

// Each text is cut at every place: what is read must be what inet_pton reads of the same octets.
static void agree(const char *text)
{
    for (size_t len = 0; len <= strlen(text); len++) {
        char cut[64];
        uint8_t ours[NETWORK_OCTETS], theirs[NETWORK_OCTETS];
        (void)snprintf(cut, sizeof cut, "%.*s", (int)len, text);
        bool read = read_guarded(cut, len, ours);
        assert_int_equal(read, peer_reads(cut, theirs));
        if (read) assert_memory_equal(ours, theirs, NETWORK_OCTETS);
    }
}

static void addresses_are_read(void **state)
{
    (void)state;
    uint8_t octets[NETWORK_OCTETS];
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        assert_true(read_guarded(addresses[i], strlen(addresses[i]), octets));
        agree(addresses[i]);
    }
}

static void what_is_no_address_is_refused(void **state)
{
    (void)state;
    uint8_t octets[NETWORK_OCTETS];
    for (size_t i = 0; i < sizeof no_addresses / sizeof no_addresses[0]; i++) {
        assert_false(read_guarded(no_addresses[i], strlen(no_addresses[i]), octets));
    }
}

static bool list_has(const char *networks, const char *address)
{
    network_list list;
    uint8_t octets[NETWORK_OCTETS];
    assert_true(network_list_read(slice_of(networks), &list));
    assert_true(network_read_address(slice_of(address), octets));
    return network_list_has(&list, octets);
}

static void networks_hold_their_addresses(void **state)
{
    (void)state;
    assert_false(list_has("", "127.0.0.1"));
    assert_true(list_has("10.0.0.0/8", "10.255.255.255"));
    assert_false(list_has("10.0.0.0/8", "11.0.0.0"));
    assert_true(list_has("192.0.2.7", "192.0.2.7"));
    assert_false(list_has("192.0.2.7", "192.0.2.6"));
    assert_true(list_has("192.0.2.8/31", "192.0.2.9"));
    assert_false(list_has("192.0.2.8/31", "192.0.2.10"));
    assert_true(list_has("0.0.0.0/0", "203.0.113.1"));
    assert_false(list_has("0.0.0.0/0", "2001:db8::1"));
    assert_true(list_has("::/0", "203.0.113.1"));
    assert_true(list_has("fc00::/7", "fdff::1"));
    assert_false(list_has("fd00::/8 ::1", "fe00::1"));
    assert_true(list_has("  fd00::/8   ::1 ", "::1"));
    assert_true(list_has("127.0.0.1", "::ffff:127.0.0.1"));
}

static void unix_is_a_word(void **state)
{
    (void)state;
    network_list list;
    assert_true(network_list_read(SKUA_SLICE("127.0.0.1"), &list));
    assert_false(list.has_unix);
    assert_true(network_list_read(SKUA_SLICE("unix 127.0.0.1"), &list));
    assert_true(list.has_unix);
    assert_int_equal(list.count, 1);
}

static void slips_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = { "10.0.0.1/8",  "10.0.0.0/33",    "10.0.0.0/",
                                         "10.0.0.0/08", "10.0.0.0/8,::1", "fd00::1/8",
                                         "::/129",      "localhost",      "unixes",
                                         "/8",          "10.0.0.0/8/8",   "10.0.0.0/-1" };
    network_list list;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(network_list_read(slice_of(wrong[i]), &list));
    }
}

static void there_are_so_many_at_most(void **state)
{
    (void)state;
    char text[(NETWORKS_MAX + 1) * 8];
    network_list list;
    for (size_t i = 0; i <= NETWORKS_MAX; i++)
        memcpy(text + 8 * i, "1.1.1.1 ", 8);
    assert_true(network_list_read(slice_make(text, NETWORKS_MAX * 8), &list));
    assert_false(network_list_read(slice_make(text, sizeof text), &list));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_read),
        cmocka_unit_test(what_is_no_address_is_refused),
        cmocka_unit_test(networks_hold_their_addresses),
        cmocka_unit_test(unix_is_a_word),
        cmocka_unit_test(slips_are_refused),
        cmocka_unit_test(there_are_so_many_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
