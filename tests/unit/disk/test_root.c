// SPDX-License-Identifier: MIT
//
// Roots: directories only, each with a number of its own, and what they list.

#include "disk/root.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static char base[32];
static skua_root *root;

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(base, sizeof base, "/tmp/skua-test-XXXXXX");
    assert_non_null(mkdtemp(base));
    assert_int_equal(skua_root_open(base, &root), SKUA_OK);
    assert_int_equal(mkdirat(root_fd(root), "a", 0755), 0);
    assert_int_equal(symlinkat("..", root_fd(root), "out"), 0);
    int fd = openat(root_fd(root), "a/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    close(fd);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[64];
    skua_root_close(root);
    (void)snprintf(command, sizeof command, "rm -rf %s", base);
    return system(command);
}

static bool count_entry(const char *name, const skua_file_info *info, void *user)
{
    (void)name;
    (void)info;
    ++*(unsigned *)user;
    return true;
}

static void test_root_lists(void **state)
{
    (void)state;
    unsigned n = 0;
    assert_int_equal(skua_root_list(root, SKUA_SLICE(""), count_entry, &n), SKUA_OK);
    assert_int_equal(n, 2);
    assert_int_equal(skua_root_list(root, SKUA_SLICE("a/"), count_entry, &n), SKUA_OK);
    assert_int_equal(n, 3);
    assert_int_equal(skua_root_list(root, SKUA_SLICE("a/file"), count_entry, &n), SKUA_ENOENT);
    assert_int_equal(skua_root_list(root, SKUA_SLICE("a\0"), count_entry, &n), SKUA_ENOENT);
    assert_int_equal(skua_root_list(root, SKUA_SLICE("out"), count_entry, &n), SKUA_EACCES);
    assert_int_equal(n, 3);
}

static void test_root_opens_directories_only(void **state)
{
    (void)state;
    skua_root *other = NULL;
    char path[64];
    assert_int_equal(skua_root_open("/nonexistent", &other), SKUA_ENOENT);
    (void)snprintf(path, sizeof path, "%s/a/file", base);
    assert_int_equal(skua_root_open(path, &other), SKUA_ENOENT);
    assert_null(other);
    (void)snprintf(path, sizeof path, "%s/a", base);
    assert_int_equal(skua_root_open(path, &other), SKUA_OK);
    assert_true(root_id(other) != root_id(root));
    assert_true(fcntl(root_fd(other), F_GETFD) & FD_CLOEXEC);
    skua_root_close(other);
    skua_root_close(NULL);
}

static void test_root_path_ends_in_nul(void **state)
{
    (void)state;
    static char text[ROOT_PATH_OCTETS], longest[ROOT_PATH_OCTETS];
    memset(longest, 'x', sizeof longest);
    assert_false(root_path(slice_make(longest, ROOT_PATH_OCTETS), text));
    assert_true(root_path(slice_make(longest, ROOT_PATH_OCTETS - 1), text));
    assert_int_equal(strlen(text), ROOT_PATH_OCTETS - 1);
    assert_true(root_path((slice){ NULL, 0 }, text));
    assert_string_equal(text, "");
    assert_false(root_path(SKUA_SLICE("a\0b"), text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_root_lists),
        cmocka_unit_test(test_root_opens_directories_only),
        cmocka_unit_test(test_root_path_ends_in_nul),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
