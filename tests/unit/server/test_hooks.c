// SPDX-License-Identifier: MIT
//
// Hooks on connections, over real sockets: refusing, once each, what a connection is asked, and its
// end after an answer; and the sockets of others.

#include "support/socket.h"

#include "server/connection.h"
#include "server/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const int64_t ms_ns = 1000000;

typedef struct house {
    skua_server *server;
    unsigned connects, closes, ends, refusals_left;
    uint64_t last_id;
    bool closes_answer;
} house;

static const char *backend; // NULL: the preferred one

static void check_peer(const skua_connection *conn)
{
    char peer[64];
    size_t len = skua_connection_peer(conn, peer, sizeof peer);
    assert_int_equal(len, strlen(peer));
    assert_string_equal(peer, "127.0.0.1");
}

static bool connects(skua_connection *conn, void *user)
{
    house *h = user;
    uint64_t id = skua_connection_id(conn);
    assert_true(id > h->last_id);
    h->last_id = id;
    check_peer(conn);
    assert_int_equal(skua_worker_index(skua_connection_worker(conn)), 0);
    assert_null(skua_connection_get(conn));
    if (h->refusals_left) {
        h->refusals_left--;
        return false;
    }
    h->connects++;
    skua_connection_set(conn, &h->connects);
    return true;
}

static void closes(skua_connection *conn, void *user)
{
    house *h = user;
    check_peer(conn);
    assert_ptr_equal(skua_connection_get(conn), &h->connects);
    assert_int_equal(h->ends, h->closes + 1); // its request's end came before
    h->closes++;
}

static void request_ended(skua_request *request, skua_end how, void *user)
{
    house *h = user;
    (void)request;
    (void)how;
    h->ends++;
}

static void answer(skua_request *request, void *user)
{
    house *h = user;
    skua_connection *conn = skua_request_connection(request);
    assert_int_equal(skua_connection_id(conn), h->last_id);
    assert_ptr_equal(skua_connection_get(conn), &h->connects);
    skua_on_end(request, request_ended, h);
    if (h->closes_answer) skua_request_close(request);
    assert_int_equal(skua_respond(request, 200, "text/plain", SKUA_SLICE("Hello")), SKUA_OK);
    skua_request_close(request); // too late, and harmless
}

static void house_make(house *h, const char *listen)
{
    *h = (house){ .last_id = 0 };
    h->server = skua_server_new(&(skua_config){ .listen = listen,
                                                .backend = backend,
                                                .on_connect = connects,
                                                .on_close = closes,
                                                .hook_user = h });
    assert_non_null(h->server);
    assert_int_equal(skua_route(h->server, "/", answer, h), SKUA_OK);
}

static void house_open(house *h)
{
    house_make(h, "127.0.0.1:0");
    assert_int_equal(skua_open(h->server), SKUA_OK);
}

static void turn(house *h, int times)
{
    for (int i = 0; i < times; i++)
        assert_int_equal(skua_turn(h->server, ms_ns), SKUA_OK);
}

// Reads until the server's FIN, turning it meanwhile; -1 for a reset.
static ssize_t read_all(house *h, int client, char *text, size_t room)
{
    size_t len = 0;
    for (int tries = 0; tries < 2000; tries++) {
        turn(h, 1);
        ssize_t n = recv(client, text + len, room - 1 - len, MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN) return -1;
        if (n == 0) break;
        if (n > 0) len += (size_t)n;
    }
    text[len] = 0;
    return (ssize_t)len;
}

static void send_requests(int client, int count)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (int i = 0; i < count; i++) {
        ssize_t n = send(client, request, sizeof request - 1, MSG_NOSIGNAL);
        assert_int_equal(n, sizeof request - 1);
    }
}

// ---- Hooks ----

static void each_connection_is_told_of_once(void **state)
{
    (void)state;
    house h;
    house_open(&h);
    for (unsigned i = 1; i <= 5; i++) {
        int client = socket_connect_to(skua_server_address(h.server, 0));
        send_requests(client, 1);
        while (h.ends < i)
            turn(&h, 1);
        assert_int_equal(h.connects, i);
        assert_int_equal(h.closes, i - 1);
        close(client);
        while (h.closes < i)
            turn(&h, 1);
    }
    skua_server_free(h.server);
    assert_int_equal(h.closes, 5);
}

static void those_that_are_open_are_told_of_when_the_server_ends(void **state)
{
    (void)state;
    house h;
    house_open(&h);
    int client = socket_connect_to(skua_server_address(h.server, 0));
    send_requests(client, 1);
    while (h.ends < 1)
        turn(&h, 1);
    skua_server_free(h.server);
    assert_int_equal(h.closes, 1);
    close(client);
}

static void refused_connections_are_closed_and_counted(void **state)
{
    (void)state;
    house h;
    char text[512];
    house_open(&h);
    h.refusals_left = 3;
    for (int i = 0; i < 3; i++) {
        int client = socket_connect_to(skua_server_address(h.server, 0));
        send_requests(client, 1);
        // FIN or RST, and not an octet
        assert_in_range(read_all(&h, client, text, sizeof text) + 1, 0, 1);
        close(client);
    }
    skua_stats stats;
    skua_server_stats(h.server, &stats);
    assert_int_equal(stats.connections_accepted, 3);
    assert_int_equal(stats.connections_refused, 3);
    assert_int_equal(stats.connections_open, 0);
    assert_int_equal(h.connects, 0);
    assert_int_equal(h.closes, 0);
    int client = socket_connect_to(skua_server_address(h.server, 0));
    send_requests(client, 1);
    while (h.ends < 1)
        turn(&h, 1);
    assert_int_equal(h.connects, 1);
    close(client);
    skua_server_free(h.server);
}

static void a_connection_ends_after_the_answer_that_says_so(void **state)
{
    (void)state;
    house h;
    char text[1024];
    house_open(&h);
    h.closes_answer = true;
    int client = socket_connect_to(skua_server_address(h.server, 0));
    send_requests(client, 3); // only the first is served
    assert_true(read_all(&h, client, text, sizeof text) > 0);
    assert_non_null(strstr(text, "Connection: close\r\n"));
    assert_string_equal(strstr(text, "\r\n\r\n"), "\r\n\r\nHello");
    assert_int_equal(h.ends, 1);
    close(client);
    skua_server_free(h.server);
}

// ---- Sockets of others ----

static int listen_on_loopback(void)
{
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof in), 0);
    assert_int_equal(listen(fd, 16), 0);
    return fd;
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void a_given_socket_is_served_and_closed(void **state)
{
    (void)state;
    house h;
    house_make(&h, NULL);
    int fd = listen_on_loopback();
    assert_int_equal(skua_listen_fd(h.server, fd), SKUA_OK);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    assert_int_equal(strncmp(skua_server_address(h.server, 0), "127.0.0.1:", 10), 0);
    assert_int_equal(skua_open(h.server), SKUA_OK);
    int client = socket_connect_to(skua_server_address(h.server, 0));
    send_requests(client, 1);
    while (h.ends < 1)
        turn(&h, 1);
    skua_stop(h.server, 0);
    while (skua_turn(h.server, 0) == SKUA_OK) {
    }
    assert_false(is_open(fd));
    assert_int_equal(skua_open(h.server), SKUA_ESTATE); // there is nothing to listen on any more
    assert_non_null(strstr(skua_server_error(h.server), "has been closed"));
    close(client);
    skua_server_free(h.server);
}

static void a_socket_that_is_opened_waits_for_a_server(void **state)
{
    (void)state;
    char why[512] = "";
    int fd = -1, second = -1;
    assert_int_equal(skua_socket_open("127.0.0.1:0", 0, true, &fd, why, sizeof why), SKUA_OK);
    struct sockaddr_in in;
    socklen_t len = sizeof in;
    assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &len), 0);
    char address[64], text[512];
    (void)snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)ntohs(in.sin_port));
    assert_int_equal(skua_socket_open(address, 0, false, &second, why, sizeof why),
                     SKUA_EADDRINUSE);
    assert_non_null(strstr(why, address));
    assert_int_equal(second, -1);
    assert_int_equal(skua_socket_open("nowhere", 0, false, &second, why, sizeof why), SKUA_EINVAL);
    assert_int_equal(skua_socket_open("nowhere", 0, false, &second, NULL, 0), SKUA_EINVAL);
    int client = socket_connect_to(address);
    send_requests(client, 1); // nobody accepts yet
    skua_server *server = skua_server_new(&(skua_config){ .workers = 2 });
    assert_int_equal(skua_listen_fd(server, fd), SKUA_OK);
    assert_int_equal(skua_start(server), SKUA_OK);
    assert_true(recv(client, text, sizeof text, 0) > 0);
    close(client);
    skua_server_free(server);
}

static void a_given_socket_serves_every_worker(void **state)
{
    (void)state;
    skua_server *server = skua_server_new(&(skua_config){ .workers = 3 });
    int fd = listen_on_loopback();
    assert_int_equal(skua_listen_fd(server, fd), SKUA_OK);
    assert_int_equal(skua_start(server), SKUA_OK);
    for (int i = 0; i < 20; i++) {
        char text[512];
        int client = socket_connect_to(skua_server_address(server, 0));
        send_requests(client, 1);
        assert_true(recv(client, text, sizeof text, 0) > 0);
        close(client);
    }
    skua_server_free(server);
    assert_false(is_open(fd));
}

static void a_given_socket_file_stays(void **state)
{
    (void)state;
    char folder[] = "/tmp/skua-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    (void)snprintf(path, sizeof path, "%s/socket", folder);
    memcpy(un.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof un), 0);
    assert_int_equal(listen(fd, 16), 0);
    skua_server *server = skua_server_new(NULL);
    assert_int_equal(skua_listen_fd(server, fd), SKUA_OK);
    assert_int_equal(strncmp(skua_server_address(server, 0), "unix:/tmp/", 10), 0);
    assert_int_equal(skua_open(server), SKUA_OK);
    skua_server_free(server);
    assert_int_equal(unlink(path), 0); // whoever made it may bind it again
    rmdir(folder);
}

static void a_given_socket_is_given_once(void **state)
{
    (void)state;
    skua_server *server = skua_server_new(NULL);
    int fd = listen_on_loopback();
    assert_int_equal(skua_listen_fd(server, fd), SKUA_OK);
    assert_int_equal(skua_listen_fd(server, fd), SKUA_EINVAL);
    assert_non_null(strstr(skua_server_error(server), "is listened on already"));
    skua_server_free(server);
    assert_false(is_open(fd));
}

static void what_does_not_listen_is_refused(void **state)
{
    (void)state;
    skua_server *server = skua_server_new(NULL);
    int udp = socket(AF_INET, SOCK_DGRAM, 0), tcp = socket(AF_INET, SOCK_STREAM, 0),
        file = open("/dev/null", O_RDONLY);
    assert_int_equal(skua_listen_fd(server, udp), SKUA_EINVAL);
    assert_int_equal(skua_listen_fd(server, tcp), SKUA_EINVAL);
    assert_int_equal(skua_listen_fd(server, file), SKUA_EINVAL);
    assert_int_equal(skua_listen_fd(server, -1), SKUA_EINVAL);
    assert_null(skua_server_address(server, 0));
    skua_server_free(server);
    assert_true(is_open(udp) && is_open(tcp) && is_open(file)); // the caller's still
    close(udp);
    close(tcp);
    close(file);
}

static void one_that_never_starts_closes_it_too(void **state)
{
    (void)state;
    skua_server *server = skua_server_new(NULL);
    int fd = listen_on_loopback();
    assert_int_equal(skua_listen_fd(server, fd), SKUA_OK);
    skua_server_free(server);
    assert_false(is_open(fd));
}

// In a process of its own, as descriptors 3 and 4 would be in use here. Returns its exit status.
static int inherit(const char *pid, const char *fds, skua_status expected, unsigned expected_count,
                   bool forgets)
{
    pid_t child = fork();
    if (child == 0) {
        char own[16];
        int one = listen_on_loopback(), two = listen_on_loopback();
        int high_one = fcntl(one, F_DUPFD, 40), high_two = fcntl(two, F_DUPFD, 40);
        dup2(high_one, 3);
        dup2(high_two, 4);
        (void)snprintf(own, sizeof own, "%d", (int)getpid());
        if (pid) setenv("LISTEN_PID", strcmp(pid, "own") == 0 ? own : pid, 1);
        if (fds) setenv("LISTEN_FDS", fds, 1);
        setenv("LISTEN_FDNAMES", "a:b", 1);
        unsigned count = 99;
        skua_server *server = skua_server_new(NULL);
        skua_status status = skua_listen_inherited(server, &count);
        bool ok =
            status == expected && count == expected_count && !getenv("LISTEN_FDNAMES") == forgets;
        if (ok && expected_count)
            ok = skua_server_address(server, expected_count - 1) && skua_open(server) == SKUA_OK;
        skua_server_free(server);
        _exit(ok ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static void inherited_sockets_are_taken_over(void **state)
{
    (void)state;
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    assert_int_equal(inherit("own", "2", SKUA_OK, 2, true), 0);
    assert_int_equal(inherit("own", "1", SKUA_OK, 1, true), 0);
    assert_int_equal(inherit("own", "0", SKUA_OK, 0, true), 0);
    assert_int_equal(inherit("1", "2", SKUA_OK, 0, false), 0); // somebody else's
    assert_int_equal(inherit(NULL, NULL, SKUA_OK, 0, false), 0);
    assert_int_equal(inherit("own", "two", SKUA_EINVAL, 0, false), 0);
    assert_int_equal(inherit("x", "2", SKUA_EINVAL, 0, false), 0);
    assert_int_equal(inherit("own", "99999999999999999999", SKUA_EINVAL, 0, false), 0);
    assert_int_equal(inherit("own", "", SKUA_EINVAL, 0, false), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_connection_is_told_of_once),
        cmocka_unit_test(those_that_are_open_are_told_of_when_the_server_ends),
        cmocka_unit_test(refused_connections_are_closed_and_counted),
        cmocka_unit_test(a_connection_ends_after_the_answer_that_says_so),
        cmocka_unit_test(a_given_socket_is_served_and_closed),
        cmocka_unit_test(a_socket_that_is_opened_waits_for_a_server),
        cmocka_unit_test(a_given_socket_serves_every_worker),
        cmocka_unit_test(a_given_socket_file_stays),
        cmocka_unit_test(a_given_socket_is_given_once),
        cmocka_unit_test(what_does_not_listen_is_refused),
        cmocka_unit_test(one_that_never_starts_closes_it_too),
        cmocka_unit_test(inherited_sockets_are_taken_over),
    };
    int failed = cmocka_run_group_tests_name("the preferred backend", tests, NULL, NULL);
#ifdef __linux__
    backend = "uring";
    failed += cmocka_run_group_tests_name("io_uring", tests, NULL, NULL);
#endif
    return failed;
}
