// SPDX-License-Identifier: MIT
//
// Changes of a server that runs, over real sockets and on each backend: workers and listeners come and go under
// clients, of whom none may notice. A server that hangs is ended by an alarm.

#include "support/socket.h"
#include "support/support.h"

#include "server/server.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { CLIENTS = 3, PATIENCE_SECONDS = 240, MS = 1000000 };

static const char *backend; // under test

static void rest_ms(long ms)
{
    nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * MS }, NULL);
}

// ---- A server ----

// The number of the worker that serves.
static void answer(skua_request *request, void *user)
{
    (void)user;
    char text[16];
    int len = snprintf(text, sizeof text, "<%u>", skua_worker_index(skua_request_worker(request)));
    assert_int_equal(skua_respond(request, 200, "text/plain", slice_make(text, (size_t)len)),
                     SKUA_OK);
}

static skua_server *server_of(const char *accept, unsigned workers)
{
    skua_server *server = skua_server_new(&(skua_config){ .listen = "127.0.0.1:0",
                                                          .workers = workers,
                                                          .accept = accept,
                                                          .log = SKUA_LOG_NONE,
                                                          .backend = backend });
    assert_non_null(server);
    assert_int_equal(skua_route(server, "/", answer, NULL), SKUA_OK);
    assert_int_equal(skua_start(server), SKUA_OK);
    return server;
}

static void end(skua_server *server)
{
    skua_stop(server, 0);
    assert_int_equal(skua_wait(server), SKUA_OK);
    skua_server_free(server);
}

// ---- Clients ----

static bool write_request(int fd, bool closes)
{
    const char *wire = closes ? "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                              : "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    return send(fd, wire, strlen(wire), MSG_NOSIGNAL) == (ssize_t)strlen(wire);
}

// The worker that has answered; -1: nobody has.
static int read_worker(int fd)
{
    char text[512];
    size_t len = 0;
    ssize_t n;
    while ((n = recv(fd, text + len, sizeof text - 1 - len, 0)) > 0) {
        len += (size_t)n;
        text[len] = 0;
        const char *at = strstr(text, "\r\n\r\n<");
        if (at && strchr(at, '>'))
            return memcmp(text, "HTTP/1.1 200", 12) ? -1 : (int)strtol(at + 5, NULL, 10);
    }
    return -1;
}

static int ask_on(int fd)
{
    return write_request(fd, false) ? read_worker(fd) : -1;
}

static int try_connect(const char *address)
{
    socket_address to;
    assert_int_equal(socket_address_read(slice_of(address), &to), SKUA_OK);
    int fd = socket(((const struct sockaddr *)(const void *)to.octets)->sa_family,
                    SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (const struct sockaddr *)(const void *)to.octets, to.len) == 0) return fd;
    close(fd);
    return -1;
}

static int ask(const char *address)
{
    int fd = socket_connect_to(address);
    int worker = write_request(fd, true) ? read_worker(fd) : -1;
    close(fd);
    return worker;
}

static void assert_served_by(skua_server *server, unsigned workers, unsigned tries)
{
    unsigned seen = 0;
    for (unsigned i = 0; i < tries; i++) {
        int worker = ask(skua_server_address(server, 0));
        assert_in_range(worker, 0, workers - 1);
        seen |= 1u << worker;
    }
    assert_int_equal(seen, (1u << workers) - 1);
}

// ---- Clients that ask meanwhile ----

typedef struct crowd {
    char address[128];
    bool goes; // the address: refusals end it
    pthread_t threads[CLIENTS];
    atomic_uint answered, failed;
    atomic_bool over;
} crowd;

static void *crowd_ask(void *user)
{
    crowd *c = user;
    int kept = -1;
    for (unsigned i = 0; !atomic_load(&c->over); i++) {
        int fd = try_connect(c->address);
        if (fd < 0) {
            if (!c->goes) atomic_fetch_add(&c->failed, 1);
            break;
        }
        bool closes = i % 2 && kept >= 0;
        int worker = write_request(fd, closes) ? read_worker(fd) : -1;
        atomic_fetch_add(worker < 0 ? &c->failed : &c->answered, 1);
        if (kept >= 0 && ask_on(kept) < 0) atomic_fetch_add(&c->failed, 1);
        if (closes) close(fd);
        else {
            if (kept >= 0) close(kept);
            kept = fd;
        }
    }
    if (kept >= 0) close(kept);
    return NULL;
}

static void crowd_begin(crowd *c, const char *address)
{
    (void)snprintf(c->address, sizeof c->address, "%s", address);
    for (int i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&c->threads[i], NULL, crowd_ask, c), 0);
    while (atomic_load(&c->answered) < 10)
        rest_ms(1);
}

static void crowd_end(crowd *c)
{
    atomic_store(&c->over, true);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(c->threads[i], NULL);
    assert_int_equal(atomic_load(&c->failed), 0);
}

// ---- Workers ----

static const char *const accepts[] = { "reuseport", "handoff" };

static void test_more_and_fewer_workers_serve(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        skua_server *server = server_of(accepts[i], 2);
        assert_served_by(server, 2, 60);
        assert_int_equal(skua_workers_set(server, 4), SKUA_OK);
        assert_int_equal(skua_server_workers(server), 4);
        assert_served_by(server, 4, 200);
        assert_int_equal(skua_workers_set(server, 1), SKUA_OK);
        assert_served_by(server, 1, 60);
        assert_int_equal(skua_server_workers(server), 4); // three of them rest
        assert_int_equal(skua_workers_set(server, 3), SKUA_OK);
        assert_served_by(server, 3, 200);
        end(server);
    }
}

// Its one socket is worker 0's, which hands on.
static void test_one_worker_gets_company(void **state)
{
    (void)state;
    skua_server *server = server_of("reuseport", 1);
    assert_served_by(server, 1, 10);
    assert_int_equal(skua_workers_set(server, 3), SKUA_OK);
    assert_served_by(server, 3, 60);
    end(server);
}

static void test_connections_of_a_worker_that_rests_go_on(void **state)
{
    (void)state;
    int kept[8], worker, of_others = 0;
    skua_server *server = server_of("handoff", 4);
    for (int i = 0; i < 8; i++) {
        kept[i] = socket_connect_to(skua_server_address(server, 0));
        of_others += ask_on(kept[i]) > 0;
    }
    assert_true(of_others > 0);
    assert_int_equal(skua_workers_set(server, 1), SKUA_OK);
    for (int i = 0; i < 8; i++) {
        worker = ask_on(kept[i]);
        assert_in_range(worker, 0, 3);
        of_others -= worker > 0;
        close(kept[i]);
    }
    assert_int_equal(of_others, 0); // each is where it was
    end(server);
}

// 0 is one for each core; and a server that is started again has what its configuration says.
static void test_numbers_of_workers(void **state)
{
    (void)state;
    skua_server *server = server_of("auto", 1);
    assert_int_equal(skua_workers_set(server, 0), SKUA_OK);
    assert_true(skua_server_workers(server) >= 1);
    assert_int_equal(skua_workers_set(server, SERVER_WORKERS_MAX + 1), SKUA_EINVAL);
    assert_string_equal(skua_server_error(server), "more than 1024 workers");
    assert_int_equal(skua_workers_set(server, 2), SKUA_OK);
    skua_stop(server, 0);
    assert_int_equal(skua_wait(server), SKUA_OK);
    assert_int_equal(skua_workers_set(server, 2), SKUA_ESTATE);
    assert_int_equal(skua_start(server), SKUA_OK);
    assert_int_equal(skua_server_workers(server), 1);
    assert_served_by(server, 1, 10);
    end(server);
}

static void count_post(skua_worker *worker, void *user)
{
    atomic_fetch_or((atomic_uint *)user, 1u << skua_worker_index(worker));
}

static void answer_new(skua_request *request, void *user)
{
    (void)user;
    assert_int_equal(skua_respond(request, 200, "text/plain", SKUA_SLICE("<99>")), SKUA_OK);
}

// Posts and sites reach workers that came later, and those that rest.
static void test_all_hear(void **state)
{
    (void)state;
    atomic_uint heard = 0;
    skua_server *server = server_of("handoff", 2);
    assert_int_equal(skua_workers_set(server, 4), SKUA_OK);
    assert_int_equal(skua_workers_set(server, 3), SKUA_OK);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(skua_post(server, i, count_post, &heard), SKUA_OK);
    assert_int_equal(skua_post(server, 4, count_post, &heard), SKUA_EINVAL);
    while (atomic_load(&heard) != 15)
        rest_ms(1);
    skua_site *site = skua_site_new(server, &(skua_site_desc){ .hosts = "localhost" });
    assert_non_null(site);
    assert_int_equal(skua_site_route(site, "/", answer_new, NULL), SKUA_OK);
    assert_int_equal(skua_site_put(site), SKUA_OK);
    for (int heard_by = 0; heard_by < 12;
         heard_by++) { // in a row; one that hangs is ended by the alarm
        if (ask(skua_server_address(server, 0)) == 99) continue;
        heard_by = -1;
        rest_ms(1);
    }
    assert_int_equal(skua_workers_set(server, 5), SKUA_OK); // the site is there already
    for (int i = 0; i < 12; i++)
        assert_int_equal(ask(skua_server_address(server, 0)), 99);
    end(server);
}

static void test_workers_change_under_clients(void **state)
{
    (void)state;
    static const unsigned numbers[] = { 4, 1, 3, 2, 5, 1, 4, 2 };
    for (unsigned a = 0; a < 2; a++) {
        crowd c = { .goes = false };
        skua_server *server = server_of(accepts[a], 2);
        crowd_begin(&c, skua_server_address(server, 0));
        for (unsigned i = 0; i < support_rounds(sizeof numbers / sizeof *numbers); i++) {
            assert_int_equal(skua_workers_set(server, numbers[i % 8]), SKUA_OK);
            rest_ms(10);
        }
        crowd_end(&c);
        end(server);
    }
}

// ---- Listeners ----

static size_t add(skua_server *server, const char *address)
{
    size_t index = 99;
    assert_int_equal(skua_listener_add(server, &(skua_listener_desc){ .address = address }, &index),
                     SKUA_OK);
    return index;
}

static void test_listeners_come(void **state)
{
    (void)state;
    char path[64], address[80];
    (void)snprintf(path, sizeof path, "/tmp/skua-change-%d", (int)getpid());
    (void)snprintf(address, sizeof address, "unix:%s", path);
    for (unsigned i = 0; i < 2; i++) {
        skua_server *server = server_of(accepts[i], 2);
        assert_int_equal(add(server, "127.0.0.1:0"), 1);
        assert_int_equal(add(server, address), 2);
        assert_int_equal(skua_workers_set(server, 3), SKUA_OK);
        assert_int_equal(add(server, "127.0.0.1:0"), 3);
        for (size_t at = 0; at < 4; at++) {
            for (int n = 0; n < 10; n++)
                assert_in_range(ask(skua_server_address(server, at)), 0, 2);
        }
        assert_null(skua_server_address(server, 4));
        end(server);
        assert_int_equal(access(path, F_OK), -1);
    }
}

static void test_a_listener_that_cannot_come_changes_nothing(void **state)
{
    (void)state;
    char taken[64];
    skua_server *other = server_of("auto", 2), *server = server_of("auto", 2);
    (void)snprintf(taken, sizeof taken, "%s", skua_server_address(other, 0));
    skua_listener_desc desc = { .address = taken };
    assert_int_equal(skua_listener_add(server, &desc, NULL), SKUA_EADDRINUSE);
    assert_non_null(strstr(skua_server_error(server), "in use"));
    desc.address = "nowhere:1";
    assert_int_equal(skua_listener_add(server, &desc, NULL), SKUA_EINVAL);
    desc = (skua_listener_desc){ .address = "127.0.0.1:0", .tls = true };
    assert_int_equal(skua_listener_add(server, &desc, NULL), SKUA_EINVAL);
    desc = (skua_listener_desc){ .address = "127.0.0.1:0", .forwarded = SKUA_FORWARDED_X };
    assert_int_equal(skua_listener_add(server, &desc, NULL), SKUA_EINVAL);
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    desc = (skua_listener_desc){ .fd = pipes[0] };
    assert_int_equal(skua_listener_add(server, &desc, NULL), SKUA_EINVAL);
    assert_int_equal(close(pipes[0]), 0); // it has stayed the caller's
    close(pipes[1]);
    assert_null(skua_server_address(server, 1));
    assert_int_equal(skua_listener_remove(server, 1), SKUA_ENOENT);
    for (size_t i = 1; i < WORKER_LISTENERS_MAX; i++)
        assert_int_equal(add(server, "127.0.0.1:0"), i);
    desc = (skua_listener_desc){ .address = "127.0.0.1:0" };
    assert_int_equal(skua_listener_add(server, &desc, NULL), SKUA_ELIMIT);
    assert_in_range(ask(skua_server_address(server, 15)), 0, 1);
    end(server);
    end(other);
}

// Clients of an address that goes are answered as long as they can connect; and the next one has its number.
static void test_listeners_go_under_clients(void **state)
{
    (void)state;
    crowd stay = { .goes = false }, go = { .goes = true };
    char gone[64];
    skua_server *server = server_of(accepts[*backend == 'u'], 2);
    size_t index = add(server, "127.0.0.1:0");
    (void)snprintf(gone, sizeof gone, "%s", skua_server_address(server, index));
    crowd_begin(&stay, skua_server_address(server, 0));
    crowd_begin(&go, gone);
    assert_int_equal(skua_listener_remove(server, index), SKUA_OK);
    assert_int_equal(try_connect(gone), -1);
    assert_string_equal(skua_server_address(server, index), "");
    assert_int_equal(skua_listener_remove(server, index), SKUA_ENOENT);
    crowd_end(&go);
    crowd_end(&stay);
    assert_int_equal(add(server, gone), index); // its port is free again
    assert_in_range(ask(gone), 0, 1);
    end(server);
}

// Who has connected before, and says nothing for a while, is served; so are connections that are kept.
static void test_who_has_connected_is_served(void **state)
{
    (void)state;
    skua_server *server = server_of("auto", 2);
    size_t index = add(server, "127.0.0.1:0");
    int kept = socket_connect_to(skua_server_address(server, index));
    assert_in_range(ask_on(kept), 0, 1);
    int silent[4];
    for (int i = 0; i < 4; i++)
        silent[i] = socket_connect_to(skua_server_address(server, index));
    assert_int_equal(skua_listener_remove(server, index), SKUA_OK);
    rest_ms(100);
    for (int i = 0; i < 4; i++) {
        assert_in_range(ask_on(silent[i]), 0, 1);
        close(silent[i]);
    }
    assert_in_range(ask_on(kept), 0, 1);
    close(kept);
    end(server);
}

static int64_t now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / MS;
}

enum { GOING = 6 };

// Whether so many addresses have gone in the time that a few take one after the other; who has connected to any of them is served.
static bool go_together(skua_server *server)
{
    int kept[GOING];
    size_t going[GOING], one = add(server, "127.0.0.1:0");
    for (int i = 0; i < GOING; i++) {
        going[i] = add(server, "127.0.0.1:0");
        kept[i] = socket_connect_to(skua_server_address(server, going[i]));
    }
    int64_t begin = now_ms();
    assert_int_equal(skua_listener_remove(server, one), SKUA_OK);
    int64_t alone = now_ms();
    assert_int_equal(skua_listeners_remove(server, going, GOING), SKUA_OK);
    bool together = now_ms() - alone < (alone - begin) * GOING / 2;
    for (int i = 0; i < GOING; i++) {
        assert_string_equal(skua_server_address(server, going[i]), "");
        assert_in_range(ask_on(kept[i]), 0, 1);
        close(kept[i]);
    }
    return together;
}

// Several go in the time that one takes. A machine that stands still meanwhile is asked again.
static void test_listeners_go_together(void **state)
{
    (void)state;
    size_t none[] = { 1, 15 };
    skua_server *server = server_of(accepts[*backend == 'u'], 2);
    assert_int_equal(add(server, "127.0.0.1:0"), 1);
    assert_int_equal(skua_listeners_remove(server, none, 2), SKUA_ENOENT);
    assert_in_range(ask(skua_server_address(server, 1)), 0, 1); // and that has changed nothing
    assert_int_equal(skua_listeners_remove(server, none, 1), SKUA_OK);
    assert_int_equal(skua_listeners_remove(server, NULL, 0), SKUA_OK);
    bool together = false;
    for (int tries = 0; tries < 5 && !together; tries++)
        together = go_together(server);
    assert_true(together);
    assert_in_range(ask(skua_server_address(server, 0)), 0, 1);
    assert_int_equal(add(server, "127.0.0.1:0"), 1); // their places are free
    end(server);
}

static void test_a_unix_socket_goes_with_its_file(void **state)
{
    (void)state;
    char path[64], address[80];
    (void)snprintf(path, sizeof path, "/tmp/skua-change-%d", (int)getpid());
    (void)snprintf(address, sizeof address, "unix:%s", path);
    crowd go = { .goes = true };
    skua_server *server = server_of("auto", 2);
    size_t index = add(server, address);
    crowd_begin(&go, address);
    assert_int_equal(skua_listener_remove(server, index), SKUA_OK);
    assert_int_equal(access(path, F_OK), -1);
    crowd_end(&go);
    end(server);
}

// The other one who has the socket goes on.
static void test_a_socket_that_was_given_is_let_go(void **state)
{
    (void)state;
    char address[64], why[512];
    int fd, queued;
    size_t index;
    skua_server *server = server_of("auto", 2), *next = server_of("auto", 2);
    assert_int_equal(skua_socket_open("127.0.0.1:0", 0, false, &fd, why, sizeof why), SKUA_OK);
    int other = dup(fd);
    skua_listener_desc desc = { .fd = fd };
    assert_int_equal(skua_listener_add(server, &desc, &index), SKUA_OK);
    assert_int_equal(skua_listener_add(server, &desc, NULL), SKUA_EINVAL);
    (void)snprintf(address, sizeof address, "%s", skua_server_address(server, index));
    assert_in_range(ask(address), 0, 1);
    assert_int_equal(skua_listener_remove(server, index), SKUA_OK);
    queued = socket_connect_to(address);
    assert_true(write_request(queued, true));
    desc.fd = other;
    assert_int_equal(skua_listener_add(next, &desc, NULL), SKUA_OK);
    assert_in_range(read_worker(queued), 0, 1);
    close(queued);
    end(server);
    end(next);
}

// Pages in a browser may not read a server on loopback by another name, until it listens elsewhere, too.
static void test_hosts_follow_the_addresses(void **state)
{
    (void)state;
    static const char wire[] = "GET / HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n";
    skua_server *server = server_of("auto", 2);
    for (int i = 0; i < 2; i++) {
        for (int n = 0; n < 10; n++) {
            char text[16] = "";
            int fd = socket_connect_to(skua_server_address(server, 0));
            assert_int_equal(write(fd, wire, sizeof wire - 1), sizeof wire - 1);
            assert_true(read(fd, text, sizeof text - 1) > 12);
            assert_memory_equal(text + 9, i ? "200" : "421", 3);
            close(fd);
        }
        if (i == 0) (void)add(server, ":0");
    }
    end(server);
}

// ---- One worker that the caller turns ----

static int turn_for(skua_server *server, int fd)
{
    struct pollfd on = { .fd = fd, .events = POLLIN };
    assert_true(write_request(fd, false));
    while (poll(&on, 1, 0) == 0)
        assert_int_equal(skua_turn(server, 20 * MS), SKUA_OK);
    return read_worker(fd);
}

static void test_listeners_of_a_server_that_is_turned(void **state)
{
    (void)state;
    if (!io_backend_find(backend)->fd) skip();
    skua_server *server =
        skua_server_new(&(skua_config){ .listen = "127.0.0.1:0", .backend = backend });
    assert_non_null(server);
    assert_int_equal(skua_route(server, "/", answer, NULL), SKUA_OK);
    assert_int_equal(add(server, "127.0.0.1:0"), 1); // before the start
    assert_int_equal(add(server, "127.0.0.1:0"), 2);
    assert_int_equal(skua_listener_remove(server, 1), SKUA_OK);
    assert_int_equal(skua_open(server), SKUA_OK);
    assert_string_equal(skua_server_address(server, 1), "");
    assert_int_equal(add(server, "127.0.0.1:0"), 1);
    assert_int_equal(skua_workers_set(server, 2), SKUA_ESTATE);
    int fd = socket_connect_to(skua_server_address(server, 1));
    assert_int_equal(turn_for(server, fd), 0);
    int waiting = socket_connect_to(skua_server_address(server, 1));
    assert_int_equal(skua_listener_remove(server, 1), SKUA_OK);
    assert_int_equal(skua_listener_remove(server, 2), SKUA_ESTATE); // the first is not gone yet
    assert_int_equal(turn_for(server, waiting), 0);
    while (*skua_server_address(server, 1))
        assert_int_equal(skua_turn(server, 20 * MS), SKUA_OK);
    assert_int_equal(turn_for(server, fd), 0);
    assert_int_equal(skua_listener_remove(server, 2), SKUA_OK);
    close(fd);
    close(waiting);
    skua_stop(server, 0);
    while (skua_turn(server, -1) == SKUA_OK) {
    }
    skua_server_free(server);
}

// ---- The end meanwhile ----

static void *change_without_rest(void *user)
{
    skua_server *server = user;
    skua_status status = SKUA_OK;
    for (unsigned i = 0; status == SKUA_OK; i++) {
        size_t index;
        status = skua_workers_set(server, 1 + i % 4);
        skua_listener_desc desc = { .address = "127.0.0.1:0" };
        if (!status && i < 10) status = skua_listener_add(server, &desc, &index);
        if (!status && i == 9) status = skua_listener_remove(server, index);
    }
    assert_true(status == SKUA_ECLOSED || status == SKUA_ESTATE);
    return NULL;
}

static void test_a_stop_meanwhile(void **state)
{
    (void)state;
    for (unsigned round = support_rounds(12); round; round--) {
        pthread_t changer;
        skua_server *server = server_of(accepts[round % 2], 2);
        assert_int_equal(pthread_create(&changer, NULL, change_without_rest, server), 0);
        rest_ms((long)(round * 7 % 40));
        skua_stop(server, 0);
        assert_int_equal(skua_wait(server), SKUA_OK);
        pthread_join(changer, NULL);
        skua_server_free(server);
    }
}

static int over(const char *name)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_more_and_fewer_workers_serve),
        cmocka_unit_test(test_one_worker_gets_company),
        cmocka_unit_test(test_connections_of_a_worker_that_rests_go_on),
        cmocka_unit_test(test_numbers_of_workers),
        cmocka_unit_test(test_all_hear),
        cmocka_unit_test(test_workers_change_under_clients),
        cmocka_unit_test(test_listeners_come),
        cmocka_unit_test(test_a_listener_that_cannot_come_changes_nothing),
        cmocka_unit_test(test_listeners_go_under_clients),
        cmocka_unit_test(test_who_has_connected_is_served),
        cmocka_unit_test(test_listeners_go_together),
        cmocka_unit_test(test_a_unix_socket_goes_with_its_file),
        cmocka_unit_test(test_a_socket_that_was_given_is_let_go),
        cmocka_unit_test(test_hosts_follow_the_addresses),
        cmocka_unit_test(test_listeners_of_a_server_that_is_turned),
        cmocka_unit_test(test_a_stop_meanwhile),
    };
    const io_backend *found = io_backend_find(name);
    const char *call;
    if (!found || (found->probe && found->probe(&call))) return 0; // not to be had here
    backend = name;
    alarm(PATIENCE_SECONDS);
    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

int main(void)
{
    return over("epoll") + over("uring") + over("kqueue");
}
