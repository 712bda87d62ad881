// SPDX-License-Identifier: MIT
//
// Server: stopped from anywhere, at any time, with work on helper threads, and started again. What
// these tests find, the thread and address sanitizers say.

#include "skua/skua.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { ROUNDS = 60, CLIENTS = 4 };

static skua_server *new_server(unsigned workers)
{
    skua_config config = { .listen = "127.0.0.1:0", .workers = workers };
    skua_server *server = skua_server_new(&config);
    assert_non_null(server);
    return server;
}

// ---- Stopping ----

static atomic_bool stopping;

static void *stop_again_and_again(void *user)
{
    while (atomic_load(&stopping))
        skua_stop(user, 0);
    return NULL;
}

static void test_server_is_stopped_from_another_thread(void **state)
{
    (void)state;
    skua_server *server = new_server(2);
    pthread_t stopper;
    atomic_store(&stopping, true);
    assert_int_equal(pthread_create(&stopper, NULL, stop_again_and_again, server), 0);
    for (int i = 0; i < ROUNDS; i++)
        assert_int_equal(skua_run(server), SKUA_OK);
    atomic_store(&stopping, false);
    assert_int_equal(pthread_join(stopper, NULL), 0);
    skua_server_free(server);
}

// ---- Helper threads ----

static atomic_uint worked, done;

static void work_and_stop(void *user)
{
    atomic_fetch_add(&worked, 1);
    skua_stop(user, 1000000);
}

static void work_done(skua_worker *worker, void *user)
{
    assert_ptr_equal(skua_worker_server(worker), user);
    atomic_fetch_add(&done, 1);
}

static void answer_by_helper(skua_request *request, void *user)
{
    (void)user;
    skua_server *server = skua_request_server(request);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            skua_offload(skua_request_worker(request), work_and_stop, work_done, server), SKUA_OK);
    }
    assert_int_equal(skua_respond(request, 200, NULL, SKUA_SLICE("x")), SKUA_OK);
}

static int connect_to(const skua_server *server)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const char *port = strrchr(skua_server_address(server, 0), ':') + 1;
    to.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

// The work stops the server: its workers are woken by that, and may have ended before the helper
// wakes them.
static void test_server_outlives_its_helpers(void **state)
{
    (void)state;
    static const char wire[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    skua_server *server = new_server(2);
    assert_int_equal(skua_route(server, "/", answer_by_helper, NULL), SKUA_OK);
    for (int i = 0; i < ROUNDS; i++) {
        int fds[CLIENTS];
        assert_int_equal(skua_start(server), SKUA_OK);
        for (int k = 0; k < CLIENTS; k++)
            fds[k] = connect_to(server);
        for (int k = 0; k < CLIENTS; k++) {
            // the server may have ended already
            (void)!send(fds[k], wire, sizeof wire - 1, MSG_NOSIGNAL);
        }
        skua_wait(server);
        assert_int_equal(atomic_load(&worked), atomic_load(&done));
        for (int k = 0; k < CLIENTS; k++)
            close(fds[k]);
    }
    assert_true(atomic_load(&done) >= ROUNDS);
    skua_server_free(server);
}

// ---- Memory and threads that are not there ----

static void test_server_says_what_is_out_of_range(void **state)
{
    (void)state;
    skua_config config = { .listen = "127.0.0.1:0", .head_octets_max = 65536 };
    skua_server *server = skua_server_new(&config);
    assert_int_equal(skua_start(server), SKUA_EINVAL);
    assert_non_null(strstr(skua_server_error(server), "head_octets_max"));
    skua_server_free(server);
    config = (skua_config){ .listen = "127.0.0.1:0", .disk_threads = 1025 };
    server = skua_server_new(&config);
    assert_int_equal(skua_start(server), SKUA_EINVAL);
    assert_non_null(strstr(skua_server_error(server), "disk_threads"));
    skua_stop(server, 0); // nothing is running
    skua_wait(server);
    skua_server_free(server);
    config = (skua_config){ .listen = "127.0.0.1:0", .files_reserve = 257 };
    server = skua_server_new(&config);
    assert_int_equal(skua_start(server), SKUA_EINVAL);
    assert_non_null(strstr(skua_server_error(server), "files_reserve"));
    skua_server_free(server);
    static const char *const hosts[] = { "a.example:80", "a.example, b.example", "[::1]:80",
                                         "http://a.example" };
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        server = skua_server_new(&(skua_config){ .listen = "127.0.0.1:0", .hosts = hosts[i] });
        assert_int_equal(skua_start(server), SKUA_EINVAL);
        assert_non_null(strstr(skua_server_error(server), "hosts takes names without ports"));
        skua_server_free(server);
    }
}

typedef struct catch
{
    char text[1024];
    size_t len;
}
catch;

static void catch_log(skua_slice octets, void *user)
{
    catch *c = user;
    assert_true(octets.len < sizeof c->text - c->len);
    memcpy(c->text + c->len, octets.ptr, octets.len);
    c->len += octets.len;
    c->text[c->len] = 0;
}

static void test_server_without_an_address(void **state)
{
    (void)state;
    catch said = { .len = 0 };
    skua_slice answer;
    skua_server *server =
        skua_server_new(&(skua_config){ .log_write = catch_log, .log_user = &said });
    assert_int_equal(skua_start(server), SKUA_EINVAL);
    assert_non_null(strstr(skua_server_error(server), "no address to listen on"));
    assert_int_equal(skua_open(server), SKUA_EINVAL);
    assert_int_equal(skua_run(server), SKUA_EINVAL);
    assert_non_null(strstr(said.text, "skua: there is no address to listen on"));
    // who plays needs none
    assert_int_equal(
        skua_test_request(server, SKUA_SLICE("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), &answer),
        SKUA_OK);
    skua_test_free(answer);
    skua_server_free(server);
}

static void test_server_logs_why_it_does_not_run(void **state)
{
    (void)state;
    catch said = { .len = 0 };
    skua_server *first = new_server(1);
    assert_int_equal(skua_start(first), SKUA_OK);
    const char *address = skua_server_address(first, 0);
    skua_config config = { .listen = address,
                           .workers = 2,
                           .log = SKUA_LOG_JSON,
                           .log_write = catch_log,
                           .log_user = &said };
    skua_server *second = skua_server_new(&config);
    assert_int_equal(skua_start(second), SKUA_EADDRINUSE);
    assert_int_equal(said.len, 0); // its caller looks at the error
    assert_int_equal(skua_run(second), SKUA_EADDRINUSE);
    assert_non_null(strstr(said.text, address));
    assert_non_null(strstr(said.text, "is in use by another process"));
    assert_int_equal(said.text[said.len - 1], '\n');
    skua_server_free(second);
    skua_server_free(first);
}

// The descriptor is the caller's until skua_server_new returns, and no longer.
static void test_server_keeps_no_text_of_its_caller(void **state)
{
    (void)state;
    char backend[] = "auto", hosts[] = "localhost", spool[] = "/tmp";
    skua_config config = { .listen = "127.0.0.1:0",
                           .workers = 1,
                           .backend = backend,
                           .hosts = hosts,
                           .spool_directory = spool };
    skua_server *server = skua_server_new(&config);
    assert_non_null(server);
    memset(backend, '?', sizeof backend - 1);
    memset(hosts, '?', sizeof hosts - 1);
    memset(spool, '?', sizeof spool - 1);
    assert_int_equal(skua_start(server), SKUA_OK);
    skua_stop(server, 0);
    skua_wait(server);
    skua_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_is_stopped_from_another_thread),
        cmocka_unit_test(test_server_outlives_its_helpers),
        cmocka_unit_test(test_server_says_what_is_out_of_range),
        cmocka_unit_test(test_server_without_an_address),
        cmocka_unit_test(test_server_logs_why_it_does_not_run),
        cmocka_unit_test(test_server_keeps_no_text_of_its_caller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
