// SPDX-License-Identifier: MIT
//
// The files that may stand for a name, and those that lie beside them compressed, when memory or descriptors run
// out, and when clients leave: each request gets the response of one of them, or 503, and nothing is lost.

#include "io/sim.h"
#include "server/server.h"
#include "server/start.h"
#include "server/worker_run.h"
#include "support/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { SMALL = 20, FILES = 7, PATHS = 8, TURNS = 400, LEAVES = 12, TURN_NS = 100000, GAINS = 600 };

static const char *const files[FILES] = { "index.html", "about.html", "about.html.br", "a.js",
                                          "a.js.gz",    "404.html",   "b.css" };

static const char *const paths[PATHS] = { "/",     "/about", "/none", "/none.js",
                                          "/a.js", "/.a",    "/b/",   "/b.css" };

typedef struct stage_bench {
    char folder[64];
    sim_kernel *kernel;
    skua_server *server;
    int listener;
    bool applies; // "/none" is a path of an application
} stage_bench;

static void swallow(skua_slice octets, void *user)
{
    (void)octets, (void)user;
}

static void write_file(const stage_bench *b, const char *name)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", b->folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    char blanks[GAINS];
    memset(blanks, ' ', sizeof blanks);
    if (strcmp(name, "b.css") == 0) assert_int_equal(write(fd, blanks, GAINS), GAINS);
    assert_int_equal(write(fd, name, strlen(name)), (ssize_t)strlen(name));
    assert_int_equal(close(fd), 0);
}

static void stage_begin(stage_bench *b, uint64_t seed)
{
    *b = (stage_bench){ .folder = "/tmp/skua-stages-XXXXXX", .applies = seed % 2 };
    assert_non_null(mkdtemp(b->folder));
    for (unsigned i = 0; i < FILES; i++)
        write_file(b, files[i]);
    b->kernel = sim_kernel_new(&(sim_config){ .seed = seed });
    b->server = skua_server_new(&(skua_config){ .log_write = swallow });
    const skua_directory_config how = { .clean_urls = true,
                                        .precompressed = true,
                                        .compress = true,
                                        .codings = "gzip br",
                                        .fallback = b->applies ? "index.html" : NULL };
    assert_int_equal(skua_route_directory(b->server, "/", b->folder, &how), SKUA_OK);
    b->listener = sim_listen(b->kernel);
    assert_int_equal(server_start_on(b->server, &io_backend_sim, b->kernel, b->listener), SKUA_OK);
}

static void turn(const stage_bench *b, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        assert_true(worker_turn(b->server->workers[0], TURN_NS));
}

static void stage_end(const stage_bench *b)
{
    char path[128];
    memory_relax();
    skua_stop(b->server, 0);
    assert_int_equal(skua_wait(b->server), SKUA_OK);
    skua_server_free(b->server);
    sim_listener_close(b->kernel, b->listener);
    sim_kernel_free(b->kernel);
    for (unsigned i = 0; i < FILES; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", b->folder, files[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(b->folder), 0);
}

static sim_client *ask(const stage_bench *b, const char *path)
{
    char wire[256];
    sim_client *client = sim_connect(b->kernel, b->listener);
    (void)snprintf(
        wire, sizeof wire,
        "GET %s HTTP/1.1\r\nHost: a\r\nAccept-Encoding: br, gzip\r\nConnection: close\r\n\r\n",
        path);
    assert_true(sim_client_send(client, slice_of(wire)));
    return client;
}

static void leave(const stage_bench *b, sim_client *client)
{
    sim_client_reset(client);
    turn(b, 4);
    sim_client_free(client);
}

static const char *expected(const stage_bench *b, const char *path)
{
    if (strcmp(path, "/") == 0) return "index.html";
    if (strcmp(path, "/about") == 0) return "about.html.br";
    if (strcmp(path, "/a.js") == 0) return "a.js.gz";
    if (strcmp(path, "/b.css") == 0) return "b.css";
    if (b->applies && (strcmp(path, "/none") == 0 || strcmp(path, "/b/") == 0)) return "index.html";
    return "404.html";
}

static bool ends_with(slice text, const char *end)
{
    size_t len = strlen(end);
    return text.len >= len && memcmp(text.ptr + text.len - len, end, len) == 0;
}

// The content is a file's name, so that it tells which one answered. A file may answer without its sibling.
static void check_stage(const stage_bench *b, const sim_client *client, const char *path, bool calm)
{
    slice got = sim_client_received(client);
    const char *file = expected(b, path);
    char without[32];
    (void)snprintf(without, sizeof without, "%s", file);
    char *suffix = strrchr(without, '.');
    if (strcmp(suffix, ".br") == 0 || strcmp(suffix, ".gz") == 0) *suffix = '\0';
    static const char coding[] = "Content-Encoding: gzip\r\n";
    bool is_made = strcmp(file, "b.css") == 0 && (calm || !ends_with(got, file));
    if (is_made && got.len && memmem(got.ptr, got.len, coding, sizeof coding - 1)) return;
    bool found = (!is_made && ends_with(got, file)) || (!calm && ends_with(got, without));
    bool refused =
        got.len > 12 && (memcmp(got.ptr + 9, "503", 3) == 0 ||
                         (strcmp(file, "404.html") == 0 && memcmp(got.ptr + 9, "404", 3) == 0));
    bool ended = sim_client_is_eof(client) || sim_client_is_reset(client);
    if (calm ? !found : !(found || refused || (ended && got.len == 0)))
        fail_msg("%s: %.*s", path, (int)got.len, got.ptr ? got.ptr : "");
}

// The first request of a path goes to the disk, the second one to memory.
static void test_stages_answer(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SMALL; seed++) {
        stage_bench b;
        stage_begin(&b, seed);
        for (unsigned i = 0; i < 2 * PATHS; i++) {
            sim_client *client = ask(&b, paths[i % PATHS]);
            turn(&b, TURNS);
            check_stage(&b, client, paths[i % PATHS], true);
            leave(&b, client);
        }
        stage_end(&b);
    }
}

// Returns whether there were so many allocations.
static bool stages_without(unsigned after)
{
    stage_bench b;
    stage_begin(&b, after + 1);
    uint64_t before = memory_failures();
    memory_fail_after(after);
    memory_relax();
    for (unsigned i = 0; i < PATHS; i++) {
        sim_client *client = ask(&b, paths[i]);
        memory_go_on();
        turn(&b, TURNS);
        memory_relax();
        check_stage(&b, client, paths[i], false);
        leave(&b, client);
    }
    bool failed = memory_failures() > before;
    stage_end(&b);
    return failed;
}

static void test_stages_without_memory(void **state)
{
    (void)state;
    unsigned after = 0;
    while (stages_without(after))
        after++;
    assert_true(after > 3 * PATHS);
}

static void test_stages_without_descriptors(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SMALL; seed++) {
        stage_bench b;
        stage_begin(&b, seed);
        for (unsigned i = 0; i < PATHS; i++) {
            sim_set_permille(b.kernel, SIM_OPEN_NO_FILE, 400);
            sim_client *client = ask(&b, paths[i]);
            turn(&b, TURNS);
            check_stage(&b, client, paths[i], false);
            leave(&b, client);
            sim_set_calm(b.kernel);
        }
        stage_end(&b);
    }
}

static void test_clients_leave_at_each_stage(void **state)
{
    (void)state;
    for (unsigned turns = 0; turns < LEAVES; turns++) {
        stage_bench b;
        stage_begin(&b, turns + 1);
        sim_set_permille(b.kernel, SIM_DELAY, 300);
        for (unsigned i = 0; i < 2 * PATHS; i++) {
            sim_client *client = ask(&b, paths[i % PATHS]);
            turn(&b, turns);
            sim_client_reset(client);
            turn(&b, TURNS);
            leave(&b, client);
        }
        stage_end(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stages_answer),
        cmocka_unit_test(test_stages_without_memory),
        cmocka_unit_test(test_stages_without_descriptors),
        cmocka_unit_test(test_clients_leave_at_each_stage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
