// SPDX-License-Identifier: MIT
//
// Addresses in both directions, and listening sockets on loopback and in a directory of their own.

#include "io/socket_why.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define LONG_PATH_107                                                                                   \
    "/234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567" \
    "8901234567"

typedef struct address_case {
    const char *text;
    const char *written; // NULL: refused
    bool is_unix, is_loopback, dual_stack;
} address_case;

static const address_case address_cases[] = {
    { "127.0.0.1:8080", "127.0.0.1:8080", false, true, false },
    { "127.9.9.9:0", "127.9.9.9:0", false, true, false },
    { "localhost:80", "127.0.0.1:80", false, true, false },
    { "LocalHost:80", "127.0.0.1:80", false, true, false },
    { "0.0.0.0:65535", "0.0.0.0:65535", false, false, false },
    { "192.0.2.1:1", "192.0.2.1:1", false, false, false },
    { "[::1]:8080", "[::1]:8080", false, true, false },
    { "[2001:DB8:0::1]:8080", "[2001:db8::1]:8080", false, false, false },
    { "[::]:8080", "[::]:8080", false, false, true },
    { ":8080", "[::]:8080", false, false, true },
    { "*:8080", "[::]:8080", false, false, true },
    { "[::ffff:127.0.0.1]:80", "127.0.0.1:80", false, true, false },
    { "[::ffff:192.0.2.1]:80", "192.0.2.1:80", false, false, false },
    { "unix:/run/app.sock", "unix:/run/app.sock", true, true, false },
    { "unix:app.sock", "unix:app.sock", true, true, false },
    { "unix:@app", "unix:@app", true, true, false },
    { "unix:" LONG_PATH_107, "unix:" LONG_PATH_107, true, true, false },
    { "unix:" LONG_PATH_107 "8", NULL, false, false, false },
    { "unix:", NULL, false, false, false },
    { "unix:@", NULL, false, false, false },
    { "", NULL, false, false, false },
    { ":", NULL, false, false, false },
    { "8080", NULL, false, false, false },
    { "127.0.0.1", NULL, false, false, false },
    { "127.0.0.1:", NULL, false, false, false },
    { "127.0.0.1:x", NULL, false, false, false },
    { "127.0.0.1:+80", NULL, false, false, false },
    { "127.0.0.1:-1", NULL, false, false, false },
    { "127.0.0.1:65536", NULL, false, false, false },
    { "127.0.0.1:000080", NULL, false, false, false },
    { "127.0.0.1:80 ", NULL, false, false, false },
    { " 127.0.0.1:80", NULL, false, false, false },
    { "127.1:80", NULL, false, false, false },
    { "127.0.0.256:80", NULL, false, false, false },
    { "example.com:80", NULL, false, false, false },
    { "::1:80", NULL, false, false, false },
    { "[::1:80", NULL, false, false, false },
    { "[]:80", NULL, false, false, false },
    { "[:80", NULL, false, false, false },
    { "[::1]80", NULL, false, false, false },
    { "[127.0.0.1]:80", NULL, false, false, false },
    { "[11112222:3333:4444:5555:6666:7777:8888:9999:0000:aaaa]:80", NULL, false, false, false },
};

static void test_socket_address_reads_and_writes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof address_cases / sizeof *address_cases; i++) {
        const address_case *c = &address_cases[i];
        socket_address address;
        skua_status status = socket_address_read(slice_of(c->text), &address);
        if (status != (c->written ? SKUA_OK : SKUA_EINVAL))
            fail_msg("%s: status %d", c->text, status);
        if (!c->written) continue;
        char text[SOCKET_TEXT_OCTETS];
        socket_address_write(&address, text);
        assert_string_equal(text, c->written);
        assert_int_equal(address.is_unix, c->is_unix);
        assert_int_equal(address.is_loopback, c->is_loopback);
        assert_int_equal(address.dual_stack, c->dual_stack);
        socket_address again;
        assert_int_equal(socket_address_read(slice_of(text), &again), SKUA_OK);
        assert_int_equal(again.len, address.len);
        assert_memory_equal(again.octets, address.octets, address.len);
    }
}

static void test_socket_address_refuses_nul(void **state)
{
    (void)state;
    socket_address address;
    assert_int_equal(socket_address_read(SKUA_SLICE("unix:/a\0b"), &address), SKUA_EINVAL);
    assert_int_equal(socket_address_read(SKUA_SLICE("127.0.0.1\0:80"), &address), SKUA_EINVAL);
    assert_int_equal(socket_address_read(SKUA_SLICE("[::1\0]:80"), &address), SKUA_EINVAL);
}

static void check_peer(const io_address *address, const char *expected)
{
    char text[64];
    for (size_t room = 0; room < sizeof text; room++) {
        memset(text, '#', sizeof text);
        size_t len = io_address_write(address, text, room);
        size_t want = strlen(expected) < room ? strlen(expected) : room ? room - 1 : 0;
        assert_int_equal(len, want);
        assert_memory_equal(text, expected, len);
        if (room) assert_int_equal(text[len], 0);
        assert_int_equal(text[room], '#');
    }
}

static void test_io_address_writes(void **state)
{
    (void)state;
    check_peer(&(io_address){ .family = 4, .octets = { 127, 0, 0, 1 } }, "127.0.0.1");
    check_peer(&(io_address){ .family = 4, .octets = { 255, 10, 200, 109 } }, "255.10.200.109");
    check_peer(&(io_address){ .family = 6, .octets = { [15] = 1 } }, "::1");
    check_peer(&(io_address){ .family = 6, .octets = { 0x20, 1, 0xd, 0xb8, [15] = 0xff } },
               "2001:db8::ff");
    check_peer(&(io_address){ .family = 6, .octets = { [10] = 255, [11] = 255, 10, 0, 7, 99 } },
               "10.0.7.99");
    check_peer(&(io_address){ .family = 1 }, "unix");
    check_peer(&(io_address){ 0 }, "unknown");
}

// ---- Listening ----

static socket_address address_of(const char *text)
{
    socket_address address;
    assert_int_equal(socket_address_read(slice_of(text), &address), SKUA_OK);
    return address;
}

static int connect_to(const socket_address *address)
{
    int family = address->is_unix                             ? AF_UNIX
                 : address->len == sizeof(struct sockaddr_in) ? AF_INET
                                                              : AF_INET6;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (connect(fd, (const struct sockaddr *)(const void *)address->octets, address->len) == 0)
        return fd;
    close(fd);
    return -1;
}

static int option_of(int fd, int level, int name)
{
    int value = -1;
    socklen_t len = sizeof value;
    assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
    return value;
}

static int accept_from(int listener)
{
    struct pollfd p = { .fd = listener, .events = POLLIN };
    assert_int_equal(poll(&p, 1, 10000), 1);
    int fd = accept(listener, NULL, NULL);
    assert_true(fd >= 0);
    return fd;
}

static void test_socket_listens(void **state)
{
    (void)state;
    socket_address address = address_of("127.0.0.1:0");
    int fd = -1;
    assert_int_equal(socket_listen(&address, 16, false, &fd), SKUA_OK);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    char text[SOCKET_TEXT_OCTETS];
    socket_address_write(&address, text);
    assert_string_not_equal(text, "127.0.0.1:0");
    int client = connect_to(&address);
    assert_true(client >= 0);
    assert_int_equal(write(client, "x", 1), 1);
    int accepted = accept_from(fd);
    assert_int_equal(option_of(accepted, IPPROTO_TCP, TCP_NODELAY), 1);
    assert_int_equal(option_of(accepted, SOL_SOCKET, SO_KEEPALIVE), 1);
    assert_int_equal(option_of(accepted, IPPROTO_TCP, TCP_KEEPIDLE), SOCKET_KEEP_IDLE_S);
    close(accepted);
    close(client);
    socket_close(&address, fd);
    assert_int_equal(connect_to(&address), -1);
}

// A listener that somebody else has opened gets it too, unless it is set in their way.
static void test_socket_keeps_alive(void **state)
{
    (void)state;
    for (int on = 0; on < 2; on++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), theirs = 7;
        socket_address address;
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on), 0);
        assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &theirs, sizeof theirs), 0);
        assert_int_equal(listen(fd, 1), 0);
        assert_int_equal(socket_adopt(fd, &address), SKUA_OK);
        assert_int_equal(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
        int idle = option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE);
        assert_int_equal(idle, on ? theirs : SOCKET_KEEP_IDLE_S);
        close(fd);
    }
}

static void socket_read_congestion(const char *text, char name[16])
{
    socket_address address;
    int fd;
    socklen_t len = 16;
    memset(name, 0, 16);
    assert_int_equal(socket_address_read(slice_of(text), &address), SKUA_OK);
    assert_int_equal(socket_listen(&address, 1, false, &fd), SKUA_OK);
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len), 0);
    socket_close(&address, fd);
}

// Elsewhere the choice is the operator's.
static void test_socket_paces_nothing_on_loopback(void **state)
{
    (void)state;
    char here[16], everywhere[16], usual[16] = { 0 };
    socklen_t len = sizeof usual;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, usual, &len), 0);
    assert_int_equal(close(fd), 0);
    socket_read_congestion("127.0.0.1:0", here);
    socket_read_congestion("0.0.0.0:0", everywhere);
    assert_string_equal(here, "reno");
    assert_string_equal(everywhere, usual);
}

static void test_socket_tells_who_listens(void **state)
{
    (void)state;
    socket_address address = address_of("127.0.0.1:0");
    assert_false(socket_in_use(&address));
    int one = -1, two = -1, three = -1;
    assert_int_equal(socket_listen(&address, 16, true, &one), SKUA_OK);
    assert_true(socket_in_use(&address));
    assert_int_equal(socket_listen(&address, 16, true, &two), SKUA_OK);
    assert_int_equal(socket_listen(&address, 16, false, &three), SKUA_EADDRINUSE);
    assert_int_equal(three, -1);
    socket_close(&address, one);
    assert_true(socket_in_use(&address));
    socket_close(&address, two);
    assert_false(socket_in_use(&address));
    assert_int_equal(socket_listen(&address, 16, false, &three), SKUA_OK);
    socket_close(&address, three);
}

static void test_socket_listens_on_every_address(void **state)
{
    (void)state;
    socket_address address = address_of(":0");
    int fd = -1;
    assert_int_equal(socket_listen(&address, 16, false, &fd), SKUA_OK);
    char text[SOCKET_TEXT_OCTETS], other[SOCKET_TEXT_OCTETS];
    socket_address_write(&address, text);
    (void)snprintf(other, sizeof other, "127.0.0.1%s", strrchr(text, ':'));
    socket_address ip4 = address_of(other);
    int client = connect_to(&ip4);
    assert_true(client >= 0);
    assert_true(socket_in_use(&ip4));
    close(client);
    if (address.len == sizeof(struct sockaddr_in)) {
        print_message("no IPv6 here: fell back to %s\n", text);
    } else {
        (void)snprintf(other, sizeof other, "[::1]%s", strrchr(text, ':'));
        socket_address ip6 = address_of(other);
        client = connect_to(&ip6);
        assert_true(client >= 0);
        close(client);
    }
    socket_close(&address, fd);
}

static void test_socket_says_why_not(void **state)
{
    (void)state;
    int fd = -1;
    socket_address foreign = address_of("192.0.2.1:0");
    assert_int_equal(socket_listen(&foreign, 16, false, &fd), SKUA_EADDRNOTAVAIL);
    socket_address nowhere = address_of("unix:/nonexistent/directory/app.sock");
    assert_int_equal(socket_listen(&nowhere, 16, false, &fd), SKUA_EADDRNOTAVAIL);
    assert_int_equal(fd, -1);
}

static void test_socket_says_why_in_words(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        skua_status status;
        const char *why;
    } cases[] = {
        { "192.0.2.1:80", SKUA_EADDRNOTAVAIL, "192.0.2.1:80 is not an address of this machine" },
        { "127.0.0.1:80", SKUA_EADDRINUSE, "127.0.0.1:80 is in use by another process" },
        { "127.0.0.1:80", SKUA_EACCES, "there is no permission to listen on 127.0.0.1:80" },
        { "127.0.0.1:80", SKUA_ENOFILE, "cannot listen on 127.0.0.1:80: out of file descriptors" },
        { "unix:/no/x", SKUA_EADDRNOTAVAIL, "cannot listen on unix:/no/x: /no does not exist" },
        { "unix:/etc/passwd/x", SKUA_EADDRNOTAVAIL,
          "cannot listen on unix:/etc/passwd/x: /etc/passwd is not a directory" },
        { "unix:/etc/passwd/x/y", SKUA_EADDRNOTAVAIL,
          "cannot listen on unix:/etc/passwd/x/y: /etc/passwd/x is not in a directory" },
        { "unix:/etc/passwd", SKUA_EADDRINUSE,
          "cannot listen on unix:/etc/passwd: it is a file and no socket, and stays as it is" },
        { "unix:/dev/null", SKUA_EADDRINUSE,
          "cannot listen on unix:/dev/null: it is a device and no socket, and stays as it is" },
        { "unix:/tmp/x.sock", SKUA_EADDRINUSE, "unix:/tmp/x.sock is in use by another process" },
        { "unix:x.sock", SKUA_EACCES, "there is no permission to listen on unix:x.sock" },
        { "unix:@x", SKUA_EADDRINUSE, "unix:@x is in use by another process" },
    };
    char why[SOCKET_WHY_OCTETS];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        socket_address address = address_of(cases[i].text);
        socket_why(&address, cases[i].status, why);
        assert_string_equal(why, cases[i].why);
    }
    socket_address_why(slice_of("unix:" LONG_PATH_107 "8"), why);
    assert_non_null(strstr(why, "has at most 107 octets"));
}

static socket_address unix_address(const char *directory, char path[64])
{
    char text[80];
    (void)snprintf(path, 64, "%s/app.sock", directory);
    (void)snprintf(text, sizeof text, "unix:%s", path);
    return address_of(text);
}

static void test_socket_replaces_a_stale_file_only(void **state)
{
    (void)state;
    char directory[] = "/tmp/skua-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(directory));
    socket_address address = unix_address(directory, path);
    struct stat st;
    int one = -1, two = -1;
    assert_false(socket_in_use(&address));
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(socket_listen(&address, 1, false, &one), SKUA_OK);
    assert_true(socket_in_use(&address));
    assert_int_equal(socket_listen(&address, 1, false, &two), SKUA_EADDRINUSE);
    close(one); // as a process that was killed leaves it
    assert_int_equal(lstat(path, &st), 0);
    assert_false(socket_in_use(&address));
    assert_int_equal(socket_listen(&address, 1, false, &two), SKUA_OK);
    int client = connect_to(&address);
    assert_true(client >= 0);
    close(client);
    socket_close(&address, two);
    assert_int_equal(lstat(path, &st), -1);
    FILE *file = fopen(path, "w"); // somebody's file is not ours to remove
    assert_non_null(file);
    (void)fclose(file);
    assert_int_equal(socket_listen(&address, 1, false, &two), SKUA_EADDRINUSE);
    assert_int_equal(lstat(path, &st), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(directory), 0);
}

// A new server has taken the name over (by moving its own file there): the old one leaves it alone.
static void test_socket_close_spares_the_successor(void **state)
{
    (void)state;
    char directory[] = "/tmp/skua-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(directory));
    socket_address address = unix_address(directory, path);
    int one = -1, two = -1;
    assert_int_equal(socket_listen(&address, 1, false, &one), SKUA_OK);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(socket_listen(&address, 1, false, &two), SKUA_OK);
    socket_close(&address, one);
    assert_true(socket_in_use(&address));
    socket_close(&address, two);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(rmdir(directory), 0);
}

static void test_socket_listens_without_a_file(void **state)
{
    (void)state;
    char text[64];
    (void)snprintf(text, sizeof text, "unix:@skua-test-%ld", (long)getpid());
    socket_address address = address_of(text);
    int fd = -1, two = -1;
    assert_int_equal(socket_listen(&address, 1, false, &fd), SKUA_OK);
    assert_true(socket_in_use(&address));
    assert_int_equal(socket_listen(&address, 1, false, &two), SKUA_EADDRINUSE);
    int client = connect_to(&address);
    assert_true(client >= 0);
    close(client);
    socket_close(&address, fd);
    assert_false(socket_in_use(&address));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_socket_address_reads_and_writes),
        cmocka_unit_test(test_socket_address_refuses_nul),
        cmocka_unit_test(test_io_address_writes),
        cmocka_unit_test(test_socket_listens),
        cmocka_unit_test(test_socket_keeps_alive),
        cmocka_unit_test(test_socket_paces_nothing_on_loopback),
        cmocka_unit_test(test_socket_tells_who_listens),
        cmocka_unit_test(test_socket_listens_on_every_address),
        cmocka_unit_test(test_socket_says_why_not),
        cmocka_unit_test(test_socket_says_why_in_words),
        cmocka_unit_test(test_socket_replaces_a_stale_file_only),
        cmocka_unit_test(test_socket_close_spares_the_successor),
        cmocka_unit_test(test_socket_listens_without_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
