// SPDX-License-Identifier: MIT
//
// Values of skua.conf: numbers with their units, at the edges of what they may be, and networks.

#include "program/conf/network.h"
#include "program/conf/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

typedef struct value_case {
    const char *text;
    int64_t value; // -1: it is refused
    const char *why;
} value_case;

static const value_case durations[] = {
    { "1ms", 1000000, NULL },
    { "10s", 10000000000, NULL },
    { "2min", 120000000000, NULL },
    { "3h", 10800000000000, NULL },
    { "106751d", 9223286400000000000, NULL },
    { "106752d", -1, "from 0s to" },
    { "0", 0, NULL },
    { "0s", 0, NULL },
    { "00", -1, "lacks a unit" },
    { "18446744073709551615ms", -1, "from 0s to" },
    { "18446744073709551616ms", -1, "a whole number" },
    { "", -1, "a whole number" },
    { "s", -1, "a whole number" },
    { "1 s", -1, "no unit of time" },
    { "1S", -1, "no unit of time" },
    { "1m", -1, "as minutes and as mebibytes; for minutes write 1min" },
};

static const value_case sizes[] = {
    { "0", 0, NULL },
    { "1", 1, NULL },
    { "1KiB", 1024, NULL },
    { "8388607TiB", -1, "no unit of sizes" },
    { "8589934591GiB", 9223372035781033984, NULL },
    { "8589934592GiB", -1, "a size from 0 to" },
    { "9223372036854775807", INT64_MAX, NULL },
    { "18446744073709551616", -1, "a whole number" },
    { "1m", -1, "as mebibytes and as minutes; for mebibytes write 1MiB" },
    { "1K", -1, "for 1024 write 1KiB" },
    { "1gb", -1, "for 1024 write 1GiB" },
    { "1kib", -1, "no unit of sizes" },
    { "-1", -1, "a whole number" },
};

static void test_durations(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof durations / sizeof *durations; i++) {
        const value_case *c = &durations[i];
        conf_why why = "";
        int64_t ns = -2;
        assert_int_equal(conf_read_duration(c->text, 0, INT64_MAX, &ns, why), c->value >= 0);
        assert_true(ns == (c->value < 0 ? -2 : c->value));
        if (c->why && !strstr(why, c->why)) fail_msg("%s: %s", c->text, why);
    }
}

static void test_sizes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const value_case *c = &sizes[i];
        conf_why why = "";
        uint64_t octets = 2;
        assert_int_equal(conf_read_octets(c->text, 0, INT64_MAX, &octets, why), c->value >= 0);
        assert_true(octets == (c->value < 0 ? 2 : (uint64_t)c->value));
        if (c->why && !strstr(why, c->why)) fail_msg("%s: %s", c->text, why);
    }
}

static void test_ranges(void **state)
{
    (void)state;
    conf_why why;
    uint64_t number = 0;
    int64_t ns = 0;
    assert_true(conf_read_number("5", 5, 7, &number, why) && number == 5);
    assert_true(conf_read_number("7", 5, 7, &number, why) && number == 7);
    assert_false(conf_read_number("4", 5, 7, &number, why));
    assert_false(conf_read_number("8", 5, 7, &number, why));
    assert_string_equal(why, "use a number from 5 to 7, not \"8\"");
    assert_false(conf_read_duration("2h", 1500000000, 5400000000000, &ns, why));
    assert_string_equal(why, "use a duration from 1500ms to 90min, not 2h");
    assert_false(conf_read_octets("3KiB", 1, 2560, &number, why));
    assert_string_equal(why, "use a size from 1 to 2560, not 3KiB");
}

static void test_rates(void **state)
{
    (void)state;
    static const char *const wrong[] = { "", "1", "/s", "0/s", "1000001/s", "1/d", "1 /s", "1/m" };
    conf_why why;
    double per_s = 0;
    assert_true(conf_read_rate("1000000/s", &per_s, why) && per_s > 999999);
    assert_true(conf_read_rate("90/min", &per_s, why) && per_s > 1.49 && per_s < 1.51);
    assert_true(conf_read_rate("1800/h", &per_s, why) && per_s > 0.49 && per_s < 0.51);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(conf_read_rate(wrong[i], &per_s, why));
}

typedef struct network_case {
    const char *network, *peer;
    bool has;
} network_case;

static const network_case networks[] = {
    { "10.0.0.0/8", "10.255.255.255", true },
    { "10.0.0.0/8", "11.0.0.0", false },
    { "10.0.0.0/8", "::ffff:10.1.2.3", true },
    { "0.0.0.0/0", "255.1.2.3", true },
    { "0.0.0.0/0", "::1", false },
    { "::/0", "10.0.0.1", true },
    { "::/0", "unix", false },
    { "192.0.2.7", "192.0.2.7", true },
    { "192.0.2.7/32", "192.0.2.6", false },
    { "192.0.2.6/31", "192.0.2.7", true },
    { "2001:db8::/33", "2001:db8:7fff::1", true },
    { "2001:db8::/33", "2001:db8:8000::1", false },
    { "::1/128", "::1", true },
    { "unix", "unix", true },
    { "unix", "::1", false },
    { "::/0", "unknown", false },
    { "::/0", "_hidden", false },
    { "::/0", "", false },
};

static void test_networks(void **state)
{
    (void)state;
    static const char *const wrong[] = { "",       "a",          "10.0.0.0/33", "10.0.0/8",
                                         "::/129", "::1/",       "1.2.3.4/-1",  "1.2.3.4/8/8",
                                         "[::1]",  "1.2.3.4:80", "unix/8" };
    conf_network network;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        const network_case *c = &networks[i];
        assert_true(conf_network_read(c->network, &network));
        if (conf_network_has(&network, c->peer) != c->has) fail_msg("%s %s", c->network, c->peer);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (conf_network_read(wrong[i], &network)) fail_msg("%s", wrong[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_durations), cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_ranges),    cmocka_unit_test(test_rates),
        cmocka_unit_test(test_networks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
