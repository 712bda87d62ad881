// SPDX-License-Identifier: MIT
//
// URLs of stores.

#include "bridge/url.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

typedef struct url_case {
    const char *text;
    const char *host, *path, *user, *password;
    unsigned port, database;
} url_case;

static const url_case good[] = {
    { "redis://store", "store", "", "", "", 6379, 0 },
    { "redis://store/", "store", "", "", "", 6379, 0 },
    { "redis://store:", "store", "", "", "", 6379, 0 },
    { "redis://store:7000/12", "store", "", "", "", 7000, 12 },
    { "redis://10.0.0.1:65535/99999", "10.0.0.1", "", "", "", 65535, 99999 },
    { "redis://[::1]", "::1", "", "", "", 6379, 0 },
    { "redis://[fd00::1]:1/0", "fd00::1", "", "", "", 1, 0 },
    { "redis://:secret@store", "store", "", "", "secret", 6379, 0 },
    { "redis://me:s%40%3a%2F@store:1/2", "store", "", "me", "s@:/", 1, 2 },
    { "redis://me:a@b:c@store", "store", "", "me", "a@b:c", 6379, 0 },
    { "unix:///run/store.sock", "", "/run/store.sock", "", "", 0, 0 },
    { "unix:///run/a%20b?db=3", "", "/run/a b", "", "", 0, 3 },
    { "unix://:secret@/run/s", "", "/run/s", "", "secret", 0, 0 },
};

static const char *const bad[] = {
    "",
    "redis:",
    "redis://",
    "redis:///1",
    "redis://:1",
    "http://store",
    "rediss://store",
    "redis://store:0",
    "redis://store:65536",
    "redis://store:x",
    "redis://store:-1",
    "redis://store/x",
    "redis://store/100000",
    "redis://store/-1",
    "redis://me@store",
    "redis://[::1",
    "redis://[::1]x",
    "redis://a%2",
    "redis://a%",
    "redis://a%zz",
    "redis://a%00b",
    "unix://",
    "unix://run/s",
    "unix:///s?x=1",
    "unix:///s?db=",
    "unix:///s?db=x",
};

static void test_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        bridge_url url;
        assert_int_equal(bridge_url_read(slice_of(good[i].text), &url), SKUA_OK);
        assert_string_equal(url.host, good[i].host);
        assert_string_equal(url.path, good[i].path);
        assert_string_equal(url.user, good[i].user);
        assert_string_equal(url.password, good[i].password);
        assert_int_equal(url.port, good[i].port);
        assert_int_equal(url.database, good[i].database);
    }
}

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        bridge_url url = { .port = 42 };
        if (bridge_url_read(slice_of(bad[i]), &url) == SKUA_OK) fail_msg("taken: %s", bad[i]);
        assert_int_equal(url.port, 42);
    }
}

static void test_edge(void **state)
{
    (void)state;
    char text[400] = "redis://:";
    bridge_url url;
    for (size_t octets = BRIDGE_URL_PART_MAX; octets <= BRIDGE_URL_PART_MAX + 1; octets++) {
        memset(text + 9, 'x', octets);
        memcpy(text + 9 + octets, "@store", 7);
        skua_status expected = octets > BRIDGE_URL_PART_MAX ? SKUA_ELIMIT : SKUA_OK;
        assert_int_equal(bridge_url_read(slice_of(text), &url), expected);
    }
    assert_int_equal(strlen(url.password), BRIDGE_URL_PART_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_edge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
