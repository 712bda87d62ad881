// SPDX-License-Identifier: MIT
//
// skua_poll_start, _change and _stop: on a server that is turned by hand, on each backend's own
// threads, and in a test without a network.

#include "server/poll.h"
#include "server/server.h"
#include "io/poll_set.h"

#include "support/memory.h"
#include "support/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { MANY = 300, TURNS_MAX = 1000 };

// An errno with which the kernel refuses to wait for descriptors; 0: it does not. Only where the sets
// are epoll's.
static int refused;

int __real_epoll_ctl(int set, int operation, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int set, int operation, int fd, struct epoll_event *event);

int __wrap_epoll_ctl(int set, int operation, int fd, struct epoll_event *event)
{
    if (!refused || operation != EPOLL_CTL_ADD) return __real_epoll_ctl(set, operation, fd, event);
    errno = refused;
    return -1;
}

// A server that is turned by hand, a pair of sockets, and what the poll of one of them was told.
typedef struct bench {
    skua_server *server;
    skua_worker *worker;
    int near, far;
    skua_poll poll;
    unsigned calls, last;
    bool stops_itself, stopped;
    unsigned changes_to; // 0: does not
    skua_poll victim;    // is stopped by the first that is called
} bench;

static void bench_begins(skua_worker *worker, void *user)
{
    ((bench *)user)->worker = worker;
}

static void bench_open(bench *b)
{
    int ends[2];
    skua_config config = { .listen = "127.0.0.1:0",
                           .on_worker_start = bench_begins,
                           .hook_user = b };
    *b = (bench){ .server = skua_server_new(&config) };
    assert_non_null(b->server);
    assert_int_equal(skua_open(b->server), SKUA_OK);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    b->near = ends[0];
    b->far = ends[1];
}

static void bench_close(bench *b)
{
    skua_server_free(b->server);
    (void)close(b->near);
    if (b->far >= 0) (void)close(b->far);
}

static void told(skua_worker *worker, int fd, unsigned events, void *user)
{
    bench *b = user;
    assert_ptr_equal(worker, b->worker);
    assert_int_equal(fd, b->near);
    b->calls++;
    b->last = events;
    if (b->stops_itself) b->stopped = skua_poll_stop(b->poll);
    if (b->changes_to) assert_int_equal(skua_poll_change(b->poll, b->changes_to), SKUA_OK);
}

static void bench_start(bench *b, unsigned events)
{
    assert_int_equal(skua_poll_start(b->worker, b->near, events, told, b, &b->poll), SKUA_OK);
    assert_true(b->poll.value != 0);
}

static void turn_until(bench *b, unsigned calls)
{
    for (int i = 0; b->calls < calls; i++) {
        assert_true(i < TURNS_MAX);
        assert_int_equal(skua_turn(b->server, 10000000), SKUA_OK);
    }
}

// The number of calls in a few turns that wait for nothing.
static unsigned calls_in_turns(bench *b, int turns)
{
    unsigned before = b->calls;
    for (int i = 0; i < turns; i++)
        assert_int_equal(skua_turn(b->server, 0), SKUA_OK);
    return b->calls - before;
}

static void send_one(const bench *b)
{
    assert_int_equal(write(b->far, "x", 1), 1);
}

static void receive_one(const bench *b)
{
    char octet;
    assert_int_equal(read(b->near, &octet, 1), 1);
}

static void a_kept_poll_is_told_while_it_is_ready(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    bench_start(&b, SKUA_POLL_READABLE);
    assert_int_equal(calls_in_turns(&b, 3), 0);
    send_one(&b);
    turn_until(&b, 3);
    assert_int_equal(b.last, SKUA_POLL_READABLE);
    receive_one(&b);
    assert_int_equal(calls_in_turns(&b, 3), 0);
    send_one(&b);
    turn_until(&b, 4);
    assert_true(skua_poll_stop(b.poll));
    assert_int_equal(calls_in_turns(&b, 3), 0);
    assert_false(skua_poll_stop(b.poll));
    assert_int_equal(skua_poll_change(b.poll, SKUA_POLL_READABLE), SKUA_ECLOSED);
    bench_close(&b);
}

static void one_for_once_is_over_before_its_function(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    b.stops_itself = true;
    b.stopped = true;
    bench_start(&b, SKUA_POLL_READABLE | SKUA_POLL_ONCE);
    send_one(&b);
    turn_until(&b, 1);
    assert_false(b.stopped);
    assert_int_equal(calls_in_turns(&b, 3), 0);
    bench_start(&b, SKUA_POLL_WRITABLE | SKUA_POLL_ONCE); // the same descriptor anew
    turn_until(&b, 2);
    assert_int_equal(b.last, SKUA_POLL_WRITABLE);
    bench_close(&b);
}

static void what_is_waited_for_changes(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    bench_start(&b, 0);
    send_one(&b);
    assert_int_equal(calls_in_turns(&b, 3), 0);
    assert_int_equal(skua_poll_change(b.poll, SKUA_POLL_WRITABLE), SKUA_OK);
    turn_until(&b, 1);
    assert_int_equal(b.last, SKUA_POLL_WRITABLE);
    b.last = 0;
    assert_int_equal(skua_poll_change(b.poll, SKUA_POLL_READABLE), SKUA_OK);
    turn_until(&b, 2);
    assert_int_equal(b.last, SKUA_POLL_READABLE);
    b.changes_to = SKUA_POLL_WRITABLE | SKUA_POLL_ONCE; // from inside
    turn_until(&b, 3);
    b.changes_to = 0;
    turn_until(&b, 4);
    assert_int_equal(b.last, SKUA_POLL_WRITABLE);
    assert_false(skua_poll_stop(b.poll));
    bench_start(&b, SKUA_POLL_READABLE | SKUA_POLL_WRITABLE);
    b.calls = 0;
    turn_until(&b, 1);
    assert_int_equal(skua_poll_change(b.poll, 0), SKUA_OK);
    assert_int_equal(calls_in_turns(&b, 3), 0);
    bench_close(&b);
}

// One that has closed is told of to who waits to read; who waits for nothing keeps nobody busy.
static void the_other_end_closes(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    bench_start(&b, SKUA_POLL_READABLE | SKUA_POLL_ONCE);
    (void)close(b.far);
    b.far = -1;
    turn_until(&b, 1);
    assert_true(b.last & SKUA_POLL_READABLE);
    bench_start(&b, 0);
    assert_int_equal(calls_in_turns(&b, 5), 0);
    bench_close(&b);
}

// Where the kernel tells of an error by itself, it is for whatever was asked.
static void an_error_is_told_as_what_was_asked(void **state)
{
    (void)state;
    bench b;
    int ends[2];
    bench_open(&b);
    assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    (void)close(ends[0]);
    (void)close(b.near);
    b.near = ends[1];
    bench_start(&b, SKUA_POLL_WRITABLE | SKUA_POLL_ONCE);
    turn_until(&b, 1);
    assert_int_equal(b.last, SKUA_POLL_WRITABLE | SKUA_POLL_ERROR);
    bench_close(&b);
}

static void what_cannot_be_waited_for(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    int file = open("/etc/passwd", O_RDONLY | O_CLOEXEC), folder = open("/", O_RDONLY | O_CLOEXEC);
    skua_poll poll = { 7 };
    assert_int_equal(skua_poll_start(b.worker, b.far, 0, told, &b, NULL), SKUA_OK);
    assert_int_equal(skua_poll_start(b.worker, -1, SKUA_POLL_READABLE, told, &b, &poll),
                     SKUA_EINVAL);
    int gone = dup(file);
    (void)close(gone);
    assert_int_equal(skua_poll_start(b.worker, gone, SKUA_POLL_READABLE, told, &b, &poll),
                     SKUA_EINVAL);
    assert_int_equal(skua_poll_start(b.worker, file, SKUA_POLL_READABLE, told, &b, &poll),
                     SKUA_EUNSUPPORTED);
    assert_int_equal(skua_poll_start(b.worker, folder, SKUA_POLL_READABLE, told, &b, &poll),
                     SKUA_EUNSUPPORTED);
    bench_start(&b, SKUA_POLL_READABLE);
    assert_int_equal(skua_poll_start(b.worker, b.near, SKUA_POLL_WRITABLE, told, &b, &poll),
                     SKUA_EEXIST);
    assert_int_equal(poll.value, 7);
    (void)close(file);
    (void)close(folder);
    bench_close(&b);
}

// A descriptor that was closed before its poll was stopped, and whose number is another's now.
static void one_that_was_closed_gives_way(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    bench_start(&b, SKUA_POLL_READABLE);
    skua_poll old = b.poll;
    (void)close(b.near);
    assert_int_equal(skua_poll_change(old, SKUA_POLL_WRITABLE), SKUA_ECLOSED);
    assert_false(skua_poll_stop(old));
    b.near = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    bench_start(&b, SKUA_POLL_READABLE);
    old = b.poll;
    assert_int_equal(dup2(b.far, b.near), b.near); // closed, and opened again
    bench_start(&b, SKUA_POLL_WRITABLE);
    assert_false(skua_poll_stop(old));
    turn_until(&b, 1);
    (void)close(b.near);
    assert_true(skua_poll_stop(b.poll));
    assert_int_equal(calls_in_turns(&b, 3), 0);
    b.near = dup(b.far);
    bench_close(&b);
}

// The kernel goes on telling of a descriptor that was closed, as long as it has a duplicate. It may
// not keep the worker busy, nor hide another poll.
static void one_that_was_closed_with_a_duplicate_is_left_behind(void **state)
{
    (void)state;
    bench b, other;
    bench_open(&b);
    other = b;
    other.near = b.far;
    bench_start(&other, SKUA_POLL_READABLE);
    bench_start(&b, SKUA_POLL_READABLE);
    int same = dup(b.near);
    send_one(&b);
    turn_until(&b, 1);
    (void)close(b.near);
    assert_true(skua_poll_stop(b.poll));
    assert_int_equal(calls_in_turns(&b, 5), 0);
    struct pollfd quiet = { .fd = skua_fd(b.server), .events = POLLIN };
    assert_int_equal(poll(&quiet, 1, 0), 0);
    assert_int_equal(write(same, "y", 1), 1);
    turn_until(&other, 1);
    b.near = same;
    bench_close(&b);
}

static void stop_victim(skua_worker *worker, int fd, unsigned events, void *user)
{
    bench *b = user;
    (void)worker;
    (void)fd;
    (void)events;
    b->calls++;
    assert_true(skua_poll_stop(b->victim));
    assert_true(skua_poll_stop(b->poll));
}

// Two are ready in the same turn, and each would stop the other: the second is not told of.
static void one_that_was_stopped_in_this_turn_is_not_told_of(void **state)
{
    (void)state;
    bench b, other;
    bench_open(&b);
    other = b;
    assert_int_equal(
        skua_poll_start(b.worker, b.near, SKUA_POLL_WRITABLE, stop_victim, &b, &b.poll), SKUA_OK);
    assert_int_equal(
        skua_poll_start(b.worker, b.far, SKUA_POLL_WRITABLE, stop_victim, &other, &other.poll),
        SKUA_OK);
    b.victim = other.poll;
    other.victim = b.poll;
    for (int i = 0; i < TURNS_MAX && b.calls + other.calls == 0; i++)
        assert_int_equal(skua_turn(b.server, 1000000), SKUA_OK);
    assert_int_equal(b.calls + other.calls, 1);
    bench_close(&b);
}

static void an_old_handle_is_no_other_poll(void **state)
{
    (void)state;
    bench b;
    skua_poll old[MANY];
    bench_open(&b);
    for (int i = 0; i < MANY; i++) {
        bench_start(&b, SKUA_POLL_READABLE);
        old[i] = b.poll;
        assert_true(skua_poll_stop(b.poll));
    }
    bench_start(&b, SKUA_POLL_READABLE);
    for (int i = 0; i < MANY; i++) {
        assert_false(skua_poll_stop(old[i]));
        assert_int_equal(skua_poll_change(old[i], 0), SKUA_ECLOSED);
    }
    assert_false(skua_poll_stop((skua_poll){ 0 }));
    assert_false(skua_poll_stop((skua_poll){ UINT64_MAX }));
    skua_server_free(b.server);
    assert_false(skua_poll_stop(b.poll)); // it has ended with its worker
    (void)close(b.near);
    (void)close(b.far);
}

static void memory_runs_out(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    memory_fail_after(0);
    skua_status status = skua_poll_start(b.worker, b.near, SKUA_POLL_READABLE, told, &b, &b.poll);
    memory_relax();
    assert_int_equal(status, SKUA_ENOMEM);
    assert_int_equal(b.poll.value, 0);
    bench_start(&b, SKUA_POLL_READABLE);
    bench_close(&b);
}

#ifndef SKUA_KQUEUE_SHIM

static void kernel_refuses(int error, skua_status status)
{
    bench b;
    bench_open(&b);
    refused = error;
    assert_int_equal(skua_poll_start(b.worker, b.near, SKUA_POLL_READABLE, told, &b, &b.poll),
                     status);
    refused = 0;
    assert_int_equal(b.poll.value, 0);
    bench_start(&b, SKUA_POLL_READABLE);
    bench_close(&b);
}

static void the_kernel_refuses(void **state)
{
    (void)state;
    kernel_refuses(ENOMEM, SKUA_ENOMEM);
    kernel_refuses(ENOSPC, SKUA_ELIMIT);
    kernel_refuses(ELOOP, SKUA_EUNSUPPORTED);
}

// The loop could not wait for the set: a poll that starts later makes it try again.
static void the_kernel_refuses_the_set(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    bench_start(&b, SKUA_POLL_READABLE);
    send_one(&b);
    refused = ENOMEM;
    assert_int_equal(calls_in_turns(&b, 3), 0);
    refused = 0;
    assert_int_equal(calls_in_turns(&b, 3), 0);
    assert_int_equal(skua_poll_start(b.worker, b.far, 0, told, &b, NULL), SKUA_OK);
    turn_until(&b, 1);
    bench_close(&b);
}

#endif

static void descriptors_run_out(void **state)
{
    (void)state;
    bench b;
    struct rlimit limit;
    bench_open(&b);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    struct rlimit none = { .rlim_cur = 3, .rlim_max = limit.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    skua_status status = skua_poll_start(b.worker, b.near, SKUA_POLL_READABLE, told, &b, NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(status, SKUA_ENOFILE);
    bench_start(&b, SKUA_POLL_READABLE);
    bench_close(&b);
}

// ---- The limit ----

static void nobody_told(skua_worker *worker, int fd, unsigned events, void *user)
{
    (void)worker;
    (void)fd;
    (void)events;
    (void)user;
}

static void count_told(skua_worker *worker, int fd, unsigned events, void *user)
{
    (void)worker;
    (void)fd;
    (void)events;
    ++*(unsigned *)user;
}

// More are ready than are called in a turn: they take turns, and none is left out.
static void so_many_are_called_in_a_turn(void **state)
{
    (void)state;
    bench b;
    int fds[MANY];
    unsigned told_of[MANY] = { 0 };
    bench_open(&b);
    for (int i = 0; i < MANY; i++) {
        fds[i] = eventfd(0, EFD_CLOEXEC);
        assert_int_equal(
            skua_poll_start(b.worker, fds[i], SKUA_POLL_WRITABLE, count_told, &told_of[i], NULL),
            SKUA_OK);
    }
    unsigned before = 0;
    bool all = false;
    for (int turn = 0; turn < TURNS_MAX && !all; turn++) {
        unsigned calls = 0;
        assert_int_equal(skua_turn(b.server, 0), SKUA_OK);
        all = true;
        for (int i = 0; i < MANY; i++) {
            calls += told_of[i];
            all = all && told_of[i];
        }
        if (before) assert_int_equal(calls - before, POLL_SET_TAKEN_MAX);
        before = calls;
    }
    assert_true(all);
    skua_server_free(b.server);
    for (int i = 0; i < MANY; i++)
        (void)close(fds[i]);
    (void)close(b.near);
    (void)close(b.far);
}

// As many as there may be, where the system lets a process have so many descriptors.
static void there_are_so_many_polls_at_most(void **state)
{
    (void)state;
    bench b;
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    struct rlimit more = { .rlim_cur = POLLS_MAX + 64, .rlim_max = limit.rlim_max };
    if (limit.rlim_max < more.rlim_cur || setrlimit(RLIMIT_NOFILE, &more) != 0) skip();
    bench_open(&b);
    static int fds[POLLS_MAX];
    for (int i = 0; i < POLLS_MAX; i++) {
        fds[i] = eventfd(0, EFD_CLOEXEC);
        assert_true(fds[i] >= 0);
        assert_int_equal(
            skua_poll_start(b.worker, fds[i], 0, nobody_told, NULL, i ? NULL : &b.poll), SKUA_OK);
    }
    assert_int_equal(skua_poll_start(b.worker, b.near, 0, told, &b, NULL), SKUA_ELIMIT);
    assert_true(skua_poll_stop(b.poll));
    bench_start(&b, SKUA_POLL_WRITABLE);
    turn_until(&b, 2);
    skua_server_free(b.server);
    for (int i = 0; i < POLLS_MAX; i++)
        (void)close(fds[i]);
    (void)close(b.near);
    (void)close(b.far);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

// ---- On each backend ----

// A server with a thread of its own, whose worker has two descriptors: one that is ready at each
// turn, and one that asks for the response to a request.
typedef struct busy {
    int always[2], question[2];
    skua_request *request;
    skua_poll poll;
    atomic_uint calls;
} busy;

static void busy_called(skua_worker *worker, int fd, unsigned events, void *user)
{
    (void)worker;
    (void)fd;
    (void)events;
    atomic_fetch_add(&((busy *)user)->calls, 1);
}

static void busy_begins(skua_worker *worker, void *user)
{
    busy *b = user;
    assert_int_equal(
        skua_poll_start(worker, b->always[0], SKUA_POLL_READABLE, busy_called, b, NULL), SKUA_OK);
}

static void busy_answers(skua_worker *worker, int fd, unsigned events, void *user)
{
    char octet;
    busy *b = user;
    (void)worker;
    assert_int_equal(events & ~(unsigned)SKUA_POLL_ERROR, SKUA_POLL_READABLE);
    assert_int_equal(read(fd, &octet, 1), 1);
    (void)!skua_respond(b->request, 200, "text/plain", (skua_slice){ &octet, 1 });
}

static void busy_handles(skua_request *request, void *user)
{
    busy *b = user;
    b->request = request;
    assert_int_equal(skua_poll_start(skua_request_worker(request), b->question[0],
                                     SKUA_POLL_READABLE | SKUA_POLL_ONCE, busy_answers, b,
                                     &b->poll),
                     SKUA_OK);
    assert_int_equal(write(b->question[1], "q", 1), 1);
}

static skua_server *busy_server(busy *b, const char *backend)
{
    skua_config config = { .listen = "127.0.0.1:0",
                           .workers = 1,
                           .backend = backend,
                           .log = SKUA_LOG_NONE,
                           .on_worker_start = busy_begins,
                           .hook_user = b };
    atomic_init(&b->calls, 0);
    assert_int_equal(pipe2(b->always, O_NONBLOCK | O_CLOEXEC), 0);
    assert_int_equal(pipe2(b->question, O_NONBLOCK | O_CLOEXEC), 0);
    assert_int_equal(write(b->always[1], "x", 1), 1);
    skua_server *server = skua_server_new(&config);
    assert_non_null(server);
    assert_int_equal(skua_route(server, "/ask", busy_handles, b), SKUA_OK);
    return server;
}

static void busy_free(busy *b, skua_server *server)
{
    skua_server_free(server);
    for (int i = 0; i < 2; i++) {
        (void)close(b->always[i]);
        (void)close(b->question[i]);
    }
}

static const char busy_wire[] = "GET /ask HTTP/1.1\r\nHost: localhost\r\n\r\n";

// Clients are served beside a descriptor that is always ready, and it is told of meanwhile.
static void check_busy(const char *backend)
{
    busy b = { .request = NULL };
    if (!io_backend_find(backend)) return;
    skua_server *server = busy_server(&b, backend);
    assert_int_equal(skua_start(server), SKUA_OK);
    int fd = socket_connect_to(skua_server_address(server, 0));
    for (int i = 0; i < 20; i++) {
        char octets[512];
        unsigned before = atomic_load(&b.calls);
        assert_int_equal(write(fd, busy_wire, sizeof busy_wire - 1), sizeof busy_wire - 1);
        ssize_t n = read(fd, octets, sizeof octets);
        assert_true(n > 12 && memcmp(octets, "HTTP/1.1 200", 12) == 0 && octets[n - 1] == 'q');
        while (atomic_load(&b.calls) == before)
            (void)sched_yield();
    }
    (void)close(fd);
    skua_stop(server, 0);
    assert_int_equal(skua_wait(server), SKUA_OK);
    busy_free(&b, server);
}

static void clients_are_served_beside_busy_descriptors(void **state)
{
    (void)state;
    check_busy("epoll");
    check_busy("uring");
    check_busy("kqueue");
}

// Descriptors are real where clients are simulated.
static void a_test_waits_for_descriptors(void **state)
{
    (void)state;
    busy b = { .request = NULL };
    skua_server *server = busy_server(&b, NULL);
    for (int i = 0; i < 3; i++) {
        skua_slice received;
        assert_int_equal(
            skua_test_request(server, (skua_slice){ busy_wire, sizeof busy_wire - 1 }, &received),
            SKUA_OK);
        assert_true(received.len > 12 && memcmp(received.ptr, "HTTP/1.1 200", 12) == 0);
        skua_test_free(received);
    }
    busy_free(&b, server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kept_poll_is_told_while_it_is_ready),
        cmocka_unit_test(one_for_once_is_over_before_its_function),
        cmocka_unit_test(what_is_waited_for_changes),
        cmocka_unit_test(the_other_end_closes),
        cmocka_unit_test(an_error_is_told_as_what_was_asked),
        cmocka_unit_test(what_cannot_be_waited_for),
        cmocka_unit_test(one_that_was_closed_gives_way),
        cmocka_unit_test(one_that_was_closed_with_a_duplicate_is_left_behind),
        cmocka_unit_test(one_that_was_stopped_in_this_turn_is_not_told_of),
        cmocka_unit_test(an_old_handle_is_no_other_poll),
        cmocka_unit_test(memory_runs_out),
#ifndef SKUA_KQUEUE_SHIM
        cmocka_unit_test(the_kernel_refuses),
        cmocka_unit_test(the_kernel_refuses_the_set),
#endif
        cmocka_unit_test(descriptors_run_out),
        cmocka_unit_test(so_many_are_called_in_a_turn),
        cmocka_unit_test(there_are_so_many_polls_at_most),
        cmocka_unit_test(clients_are_served_beside_busy_descriptors),
        cmocka_unit_test(a_test_waits_for_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
