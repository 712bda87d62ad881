// SPDX-License-Identifier: MIT
//
// Scratch files: without a name, written at offsets, given a name that is not there yet.

#include "io/scratch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static char folder[] = "/tmp/skua-scratch-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static void remove_file(const char *name)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)unlink(path);
}

static int remove_folder(void **state)
{
    (void)state;
    remove_file("a");
    return rmdir(folder); // fails if a scratch file had left its name
}

static void test_scratch_has_no_name(void **state)
{
    (void)state;
    int fd = -1;
    struct stat info;
    char text[8] = "";
    assert_int_equal(scratch_open(folder, &fd), SKUA_OK);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(scratch_write(fd, 3, SKUA_SLICE("def")), SKUA_OK);
    assert_int_equal(scratch_write(fd, 0, SKUA_SLICE("abc")), SKUA_OK);
    assert_int_equal(scratch_write(fd, 6, (slice){ 0 }), SKUA_OK);
    assert_int_equal(fstat(fd, &info), 0);
    assert_int_equal(info.st_nlink, 0);
    assert_int_equal(info.st_size, 6);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(pread(fd, text, sizeof text, 0), 6);
    assert_string_equal(text, "abcdef");
    (void)close(fd);
}

static void test_scratch_can_be_named_once(void **state)
{
    (void)state;
    int fd = -1, other = -1;
    int directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(directory >= 0);
    assert_int_equal(scratch_open(folder, &fd), SKUA_OK);
    assert_int_equal(scratch_open(folder, &other), SKUA_OK);
    assert_int_equal(scratch_link(fd, directory, "a"), SKUA_OK);
    assert_int_equal(faccessat(directory, "a", R_OK, 0), 0);
    assert_int_equal(scratch_link(other, directory, "a"), SKUA_EEXIST);
    (void)close(fd);
    (void)close(other);
    (void)close(directory);
}

static void test_scratch_fails_in_words(void **state)
{
    (void)state;
    int fd = -1;
    char path[128];
    assert_int_equal(scratch_open("/nowhere/at/all", &fd), SKUA_ENOENT);
    (void)snprintf(path, sizeof path, "%s/a", folder);
    int plain = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    assert_true(plain >= 0);
    assert_int_equal(scratch_open(path, &fd), SKUA_ENOENT);
    assert_int_equal(fd, -1);
    (void)close(plain);
    plain = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(scratch_write(plain, 0, SKUA_SLICE("x")), SKUA_EIO);
    (void)close(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scratch_has_no_name),
        cmocka_unit_test(test_scratch_can_be_named_once),
        cmocka_unit_test(test_scratch_fails_in_words),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
