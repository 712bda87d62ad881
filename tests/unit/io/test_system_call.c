// SPDX-License-Identifier: MIT
//
// Calls of the system without libc between: what goes in, what comes back, and how they fail. Sanitized builds of the
// library make none, so they are made here.

#include "io/system_call.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#ifdef SYSTEM_CALL_IS_DIRECT

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void test_octets_go_and_come(void **state)
{
    (void)state;
    char room[8] = "";
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(system_call(SYS_sendto, pair[0], (long)"octets", 6, MSG_NOSIGNAL, 0, 0), 6);
    assert_int_equal(system_call(SYS_recvfrom, pair[1], (long)room, sizeof room, 0, 0, 0), 6);
    assert_string_equal(room, "octets");
    (void)close(pair[0]);
    assert_int_equal(system_call(SYS_recvfrom, pair[1], (long)room, sizeof room, 0, 0, 0), 0);
    (void)close(pair[1]);
}

static void test_a_failure_is_a_negated_errno(void **state)
{
    (void)state;
    char room[8];
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    errno = 0;
    assert_int_equal(system_call(SYS_recvfrom, pair[1], (long)room, sizeof room, 0, 0, 0), -EAGAIN);
    assert_int_equal(system_call(SYS_recvfrom, -1, (long)room, sizeof room, 0, 0, 0), -EBADF);
    (void)close(pair[0]);
    assert_int_equal(system_call(SYS_sendto, pair[1], (long)"x", 1, MSG_NOSIGNAL, 0, 0), -EPIPE);
    assert_int_equal(errno, 0);
    (void)close(pair[1]);
}

// mmap needs all six.
static void test_each_argument_arrives(void **state)
{
    (void)state;
    char *page;
    long octets = sysconf(_SC_PAGESIZE);
    int fd = memfd_create("system_call", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 2 * octets), 0);
    assert_int_equal(pwrite(fd, "second", 6, octets), 6);
    long mapped = system_call(SYS_mmap, 0, octets, PROT_READ, MAP_PRIVATE, fd, octets);
    assert_true(mapped > 0);
    page = (char *)mapped;
    assert_memory_equal(page, "second", 6);
    assert_int_equal(munmap(page, (size_t)octets), 0);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_octets_go_and_come),
        cmocka_unit_test(test_a_failure_is_a_negated_errno),
        cmocka_unit_test(test_each_argument_arrives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void test_there_are_none(void **state)
{
    (void)state;
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_there_are_none) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
