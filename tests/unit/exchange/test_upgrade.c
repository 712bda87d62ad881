// SPDX-License-Identifier: MIT
//
// A tunnel's window is its own: nothing that was left of the request's content counts against it,
// and nothing of that content gives it credit.

#include "support/socket.h"

#include <skua/skua.h>

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

// Every thread that could write a spool is kept busy, however many there are.
enum { WINDOW = 4096, HELPERS_MAX = 64, FLOOD = 1048576, INPUT_MAX = 65536 };

static const int64_t ms_ns = 1000000;

typedef struct tunnel {
    skua_server *server;
    skua_request *request;
    skua_timer timer;
    sem_t held;
    unsigned helpers; // that have not come back
    bool spooled, ended;
    size_t got, before; // octets of the tunnel, and of the content
} tunnel;

// ---- The server ----

static void tunnel_read(skua_request *request, skua_content_event event, skua_slice octets,
                        void *user)
{
    tunnel *t = user;
    if (event != SKUA_CONTENT_DATA) return;
    if (t->got == 0) assert_int_equal(skua_write(request, octets), SKUA_OK);
    t->got += octets.len;
}

static void tunnel_open(tunnel *t)
{
    assert_int_equal(skua_upgrade(t->request, "echo", NULL, NULL), SKUA_OK);
    assert_int_equal(skua_content_read(t->request, tunnel_read, t), SKUA_OK);
}

static void tunnel_ended(skua_request *request, skua_end how, void *user)
{
    (void)request, (void)how;
    tunnel *t = user;
    t->request = NULL;
    t->ended = true;
}

// Gives no credit for what it reads.
static void read_before(skua_request *request, skua_content_event event, skua_slice octets,
                        void *user)
{
    (void)request;
    tunnel *t = user;
    t->before += octets.len;
    if (event == SKUA_CONTENT_END) tunnel_open(t);
}

static void on_read(skua_request *request, void *user)
{
    tunnel *t = user;
    t->request = request;
    skua_on_end(request, tunnel_ended, t);
    assert_int_equal(skua_content_read(request, read_before, t), SKUA_OK);
}

static void helper_wait(void *user)
{
    tunnel *t = user;
    while (sem_wait(&t->held))
        assert_int_equal(errno, EINTR);
}

static void helper_back(skua_worker *worker, void *user)
{
    (void)worker;
    tunnel *t = user;
    t->helpers--;
}

static void spooled(skua_request *request, skua_status status, const skua_upload *upload,
                    void *user)
{
    (void)request;
    tunnel *t = user;
    assert_int_equal(status, SKUA_OK);
    assert_int_equal(upload->length, WINDOW);
    t->spooled = true;
}

// Nobody is told that the content has come while it is being written: it is tried.
static void try_upgrade(skua_worker *worker, void *user)
{
    (void)worker;
    tunnel *t = user;
    skua_status status = skua_upgrade(t->request, "echo", NULL, NULL);
    if (status == SKUA_ESTATE) return;
    assert_int_equal(status, SKUA_OK);
    assert_int_equal(skua_content_read(t->request, tunnel_read, t), SKUA_OK);
    assert_true(skua_timer_stop(t->timer));
}

static void on_spool(skua_request *request, void *user)
{
    tunnel *t = user;
    t->request = request;
    skua_on_end(request, tunnel_ended, t);
    skua_worker *worker = skua_request_worker(request);
    for (; t->helpers < HELPERS_MAX; t->helpers++)
        assert_int_equal(skua_offload(worker, helper_wait, helper_back, t), SKUA_OK);
    assert_int_equal(skua_content_spool(request, 1, 0, spooled, t), SKUA_OK);
    assert_int_equal(skua_timer_start(worker, ms_ns, ms_ns, try_upgrade, t, &t->timer), SKUA_OK);
}

static void tunnel_serve(tunnel *t)
{
    *t = (tunnel){ .got = 0 };
    assert_int_equal(sem_init(&t->held, 0, 0), 0);
    t->server =
        skua_server_new(&(skua_config){ .listen = "127.0.0.1:0", .content_window_octets = WINDOW });
    assert_int_equal(skua_route(t->server, "/read", on_read, t), SKUA_OK);
    assert_int_equal(skua_route(t->server, "/spool", on_spool, t), SKUA_OK);
    assert_int_equal(skua_open(t->server), SKUA_OK);
}

static void turn(tunnel *t, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        assert_int_equal(skua_turn(t->server, ms_ns), SKUA_OK);
}

// ---- The client ----

// Asks for the tunnel with a whole window of content.
static int ask(tunnel *t, const char *path)
{
    char octets[512 + WINDOW] = { 0 };
    int head = snprintf(octets, 512,
                        "POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\n"
                        "Upgrade: echo\r\nContent-Length: %d\r\n\r\n",
                        path, WINDOW);
    int client = socket_connect_to(skua_server_address(t->server, 0));
    size_t len = (size_t)head + WINDOW;
    assert_int_equal(send(client, octets, len, MSG_NOSIGNAL), (ssize_t)len);
    return client;
}

// Turns the server until the client has received that, or for long.
static bool receives(tunnel *t, int client, const char *wanted)
{
    char text[1024];
    size_t len = 0;
    for (unsigned i = 0; i < 2000; i++) {
        turn(t, 1);
        ssize_t n = recv(client, text + len, sizeof text - 1 - len, MSG_DONTWAIT);
        if (n == 0) return false;
        if (n > 0) len += (size_t)n;
        text[len] = 0;
        if (strstr(text, wanted)) return true;
    }
    return false;
}

// Sends until nothing more is taken for a while. Returns how much of it the tunnel was given.
static size_t flood(tunnel *t, int client)
{
    static const char octets[INPUT_MAX];
    size_t sent = 0;
    for (unsigned quiet = 0; quiet < 100 && sent < FLOOD;) {
        ssize_t n = send(client, octets, sizeof octets, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0) sent += (size_t)n;
        quiet = n > 0 ? 0 : quiet + 1;
        turn(t, 1);
    }
    turn(t, 100);
    return t->got;
}

static void leave(tunnel *t, int client)
{
    skua_request_abort(t->request);
    close(client);
    for (unsigned i = 0; i < 2000 && (!t->ended || t->helpers); i++)
        turn(t, 1);
    assert_true(t->ended);
    assert_int_equal(t->helpers, 0);
    skua_server_free(t->server);
    sem_destroy(&t->held);
}

// ---- Tests ----

// A window is what may come before any is given back: what is received at once more than that is
// at most one receive.
static void check_window(tunnel *t, int client)
{
    size_t got = flood(t, client);
    assert_in_range(got, WINDOW, WINDOW + INPUT_MAX);
}

static void test_upgrade_forgets_content_that_was_not_consumed(void **state)
{
    (void)state;
    tunnel t;
    tunnel_serve(&t);
    int client = ask(&t, "/read");
    assert_true(receives(&t, client, "\r\n\r\n"));
    assert_int_equal(t.before, WINDOW);
    assert_int_equal(send(client, "ping", 4, MSG_NOSIGNAL), 4);
    assert_true(receives(&t, client, "ping"));
    check_window(&t, client);
    leave(&t, client);
}

static void test_upgrade_gets_no_credit_from_a_spool(void **state)
{
    (void)state;
    tunnel t;
    tunnel_serve(&t);
    int client = ask(&t, "/spool");
    assert_true(receives(&t, client, "\r\n\r\n"));
    assert_int_equal(send(client, "ping", 4, MSG_NOSIGNAL), 4);
    assert_true(receives(&t, client, "ping")); // though the disk has taken nothing yet
    assert_false(t.spooled);
    for (unsigned i = 0; i < HELPERS_MAX; i++)
        assert_int_equal(sem_post(&t.held), 0);
    for (unsigned i = 0; i < 2000 && !t.spooled; i++)
        turn(&t, 1);
    assert_true(t.spooled);
    check_window(&t, client);
    leave(&t, client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_upgrade_forgets_content_that_was_not_consumed),
        cmocka_unit_test(test_upgrade_gets_no_credit_from_a_spool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
