// SPDX-License-Identifier: MIT
//
// Lookups when descriptors have run out: what was found good a short time ago is served unseen, for
// ten seconds and no longer, and the log says so.

#include "io/sim.h"
#include "server/server.h"
#include "server/worker_run.h"
#include "server/start.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const int64_t second_ns = 1000000000;

typedef struct bench {
    char folder[64], path[80];
    sim_kernel *kernel;
    skua_server *server;
    sim_client *client;
    int listener;
    size_t seen; // octets of answers
    char log[8192];
    size_t log_len;
} bench;

static void take_log(skua_slice octets, void *user)
{
    bench *b = user;
    assert_true(octets.len < sizeof b->log - b->log_len);
    memcpy(b->log + b->log_len, octets.ptr, octets.len);
    b->log_len += octets.len;
    b->log[b->log_len] = 0;
}

static void bench_open(bench *b)
{
    *b = (bench){ .folder = "/tmp/skua-lookup-XXXXXX" };
    assert_non_null(mkdtemp(b->folder));
    (void)snprintf(b->path, sizeof b->path, "%s/a.txt", b->folder);
    int fd = open(b->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_int_equal(write(fd, "Hello", 5), 5);
    assert_int_equal(close(fd), 0);
    b->kernel = sim_kernel_new(&(sim_config){ .seed = 1 });
    b->server = skua_server_new(&(skua_config){ .log_write = take_log, .log_user = b });
    assert_int_equal(skua_route_directory(b->server, "/", b->folder, NULL), SKUA_OK);
    b->listener = sim_listen(b->kernel);
    assert_int_equal(server_start_on(b->server, &io_backend_sim, b->kernel, b->listener), SKUA_OK);
    b->client = sim_connect(b->kernel, b->listener);
}

static void bench_close(bench *b)
{
    skua_server_free(b->server);
    sim_listener_close(b->kernel, b->listener);
    sim_kernel_free(b->kernel);
    assert_int_equal(unlink(b->path), 0);
    assert_int_equal(rmdir(b->folder), 0);
}

static void pass(const bench *b, int64_t ns)
{
    for (int64_t until = sim_now(b->kernel) + ns; sim_now(b->kernel) < until;)
        assert_true(worker_turn(b->server->workers[0], second_ns / 10));
}

static void expect(bench *b, const char *lines, const char *status, const char *content)
{
    char wire[256];
    (void)snprintf(wire, sizeof wire, "GET /a.txt HTTP/1.1\r\nHost: a\r\n%s\r\n", lines);
    assert_true(sim_client_send(b->client, slice_of(wire)));
    slice got;
    size_t len = strlen(content);
    for (int i = 0; i < 10000; i++) {
        assert_true(worker_turn(b->server->workers[0], 0));
        got = slice_from(sim_client_received(b->client), b->seen);
        if (got.len > len && memcmp(got.ptr + got.len - len, content, len) == 0) break;
    }
    assert_true(got.len > len && memcmp(got.ptr + got.len - len, content, len) == 0);
    assert_memory_equal(got.ptr, status, strlen(status));
    b->seen += got.len;
}

static void test_served_unseen_for_ten_seconds(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    expect(&b, "", "HTTP/1.1 200", "Hello");
    sim_set_permille(b.kernel, SIM_OPEN_NO_FILE, 1000);
    for (int i = 0; i < 6; i++) {
        pass(&b, second_ns * 3 / 2);
        expect(&b, "", "HTTP/1.1 200", "Hello");
        expect(&b, "Range: bytes=1-2\r\n", "HTTP/1.1 20", "");
        b.seen = sim_client_received(b.client).len;
    }
    pass(&b, 3 * second_ns);
    expect(&b, "", "HTTP/1.1 503", "");
    b.seen = sim_client_received(b.client).len;
    sim_set_calm(b.kernel);
    expect(&b, "", "HTTP/1.1 200", "Hello");
    skua_stop(b.server, 0);
    assert_int_equal(skua_wait(b.server), SKUA_OK);
    assert_non_null(strstr(b.log, "a.txt: out of file descriptors; it is served as it was\n"));
    assert_non_null(strstr(b.log, "a.txt: out of file descriptors\n"));
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_served_unseen_for_ten_seconds) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
