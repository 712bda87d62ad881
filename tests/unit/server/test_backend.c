// SPDX-License-Identifier: MIT
//
// Which backend serves: the one that was asked for or preferred, or for all workers another one
// when the kernel refuses it, as late as for the last of them. And on each, what a program may
// expect of starts and stops.

#include "support/socket.h"

#include "io/uring_abi.h"
#include "server/server.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { WORKERS = 3, ROUNDS = 3, ENTER_EACH = 6 };

// ---- A kernel that refuses ----

// The call of that number, and for io_uring_register that operation, fails from its count'th time
// on. 0: none does.
static struct {
    long number;
    int operation, error;
    atomic_int count;
} refusal;

static bool is_refused(long number, int operation)
{
    if (number != refusal.number) return false;
    if (number == URING_SYS_REGISTER && operation != refusal.operation) return false;
    return atomic_fetch_sub(&refusal.count, 1) <= 1;
}

// Stands before the C library's. None of the calls that come here has more than six arguments.
long syscall(long number, ...)
{
    static long (*next)(long, ...);
    long a[ENTER_EACH];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < ENTER_EACH; i++)
        a[i] = va_arg(arguments, long);
    va_end(arguments);
    if (is_refused(number, (int)a[1])) {
        errno = refusal.error;
        return -1;
    }
    if (!next) *(void **)(void *)&next = dlsym(RTLD_NEXT, "syscall");
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void refuse(long number, int operation, int error, int count)
{
    refusal.number = number;
    refusal.operation = operation;
    refusal.error = error;
    atomic_store(&refusal.count, count);
}

static void refuse_nothing(void)
{
    refuse(0, 0, 0, 0);
}

static bool uring_is_there(void)
{
    const char *call;
    const io_backend *uring = io_backend_find("uring");
    return uring && uring->probe(&call) == SKUA_OK;
}

// ---- What was logged ----

static struct {
    pthread_mutex_t lock;
    char text[4096];
    size_t len;
} logged = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void keep_log(slice octets, void *user)
{
    (void)user;
    pthread_mutex_lock(&logged.lock);
    size_t room = sizeof logged.text - 1 - logged.len;
    size_t len = octets.len < room ? octets.len : room;
    memcpy(logged.text + logged.len, octets.ptr, len);
    logged.len += len;
    logged.text[logged.len] = 0;
    pthread_mutex_unlock(&logged.lock);
}

static void forget_log(void)
{
    logged.len = 0;
    logged.text[0] = 0;
}

// ---- A server ----

static void answer(skua_request *request, void *user)
{
    (void)user;
    assert_int_equal(skua_respond(request, 200, "text/plain", SKUA_SLICE("Hello")), SKUA_OK);
}

static skua_server *server_of(const char *backend)
{
    skua_config config = { .listen = "127.0.0.1:0",
                           .workers = WORKERS,
                           .backend = backend,
                           .log_write = keep_log,
                           .log = SKUA_LOG_NONE };
    skua_server *server = skua_server_new(&config);
    assert_non_null(server);
    assert_int_equal(skua_route(server, "/hello", answer, NULL), SKUA_OK);
    return server;
}

// Of each worker, sooner or later.
static void assert_serves(const skua_server *server)
{
    static const char wire[] =
        "GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    for (int i = 0; i < 4 * WORKERS; i++) {
        char octets[512];
        int fd = socket_connect_to(skua_server_address(server, 0));
        assert_int_equal(write(fd, wire, sizeof wire - 1), sizeof wire - 1);
        ssize_t n = read(fd, octets, sizeof octets);
        assert_true(n > 12 && memcmp(octets, "HTTP/1.1 200", 12) == 0);
        close(fd);
    }
}

static void assert_same_for_all(const skua_server *server, const char *name)
{
    assert_string_equal(skua_server_backend(server), name);
    assert_int_equal(skua_server_workers(server), WORKERS);
    for (unsigned i = 0; i < WORKERS; i++)
        assert_string_equal(server->workers[i]->self.loop.backend->name, name);
}

// The lines are there when the server has ended.
static void stop(skua_server *server)
{
    skua_stop(server, 0);
    assert_int_equal(skua_wait(server), SKUA_OK);
}

// ---- Refusals ----

// Asked for by name it is one line; of what was only preferred nobody is told.
static void check_refused(long number, int operation, int error, int count, const char *by)
{
    char line[256];
    skua_server *server = server_of("uring");
    const char *instead = io_backend_instead(io_backend_find("uring"))->name;
    (void)snprintf(line, sizeof line, "skua: uring cannot be used (%s: %s); %s is used\n", by,
                   error == ENOMEM ? "out of memory" : "permission denied", instead);
    for (int i = 0; i < 2; i++) { // each start tries anew
        forget_log();
        refuse(number, operation, error, count);
        assert_int_equal(skua_start(server), SKUA_OK);
        assert_string_equal(skua_server_error(server), "");
        assert_same_for_all(server, instead);
        assert_serves(server);
        refuse_nothing();
        stop(server);
        assert_string_equal(logged.text, line);
    }
    forget_log();
    assert_int_equal(skua_start(server), SKUA_OK);
    assert_same_for_all(server, "uring");
    assert_serves(server);
    stop(server);
    assert_string_equal(logged.text, "");
    skua_server_free(server);
}

static void test_refused_at_once(void **state)
{
    (void)state;
    if (!uring_is_there()) skip();
    check_refused(URING_SYS_SETUP, 0, EPERM, 1, "io_uring_setup");
    check_refused(URING_SYS_ENTER, 0, EPERM, 1, "io_uring_enter");
    check_refused(URING_SYS_REGISTER, URING_REGISTER_PBUF_RING, ENOMEM, 1, "io_uring_register");
}

// The first ring is the one that was only tried.
static void test_refused_to_a_worker(void **state)
{
    (void)state;
    if (!uring_is_there()) skip();
    for (int nth = 1; nth <= WORKERS; nth++) {
        check_refused(URING_SYS_SETUP, 0, ENOMEM, 1 + nth, "a worker");
        check_refused(URING_SYS_REGISTER, URING_REGISTER_PBUF_RING, ENOMEM, 1 + nth, "a worker");
        check_refused(URING_SYS_REGISTER, URING_REGISTER_ENABLE_RINGS, EPERM, 1 + nth, "a worker");
    }
}

static void test_refused_to_who_did_not_ask(void **state)
{
    (void)state;
    static const char *const open[] = { NULL, "auto" };
    const io_backend *preferred = io_backend_find(NULL);
    const char *instead = preferred->probe ? io_backend_instead(preferred)->name : preferred->name;
    for (int i = 0; i < 4; i++) {
        skua_server *server = server_of(open[i % 2]);
        forget_log();
        refuse(URING_SYS_SETUP, 0, ENOMEM, i < 2 ? 1 : WORKERS);
        assert_int_equal(skua_start(server), SKUA_OK);
        assert_same_for_all(server, instead);
        assert_serves(server);
        refuse_nothing();
        stop(server);
        assert_string_equal(logged.text, "");
        skua_server_free(server);
    }
}

// Each chain of substitutes ends with one that is always there.
static void test_substitutes(void **state)
{
    (void)state;
    static const char *const names[] = { NULL, "epoll", "uring", "kqueue" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const io_backend *backend = io_backend_find(names[i]);
        for (int tries = 0; backend && backend->probe; tries++) {
            assert_true(tries < 3);
            backend = io_backend_instead(backend);
        }
        if (backend) assert_null(io_backend_instead(backend));
    }
    assert_null(io_backend_find("iouring"));
}

// A loop of the caller's has nothing of a ring's to wait for.
static void test_turned_by_the_caller(void **state)
{
    (void)state;
    if (!io_backend_find("uring")) skip();
    skua_server *server = server_of("uring");
    forget_log();
    assert_int_equal(skua_open(server), SKUA_OK);
    assert_string_not_equal(skua_server_backend(server), "uring");
    assert_true(skua_fd(server) >= 0);
    stop(server);
    assert_non_null(
        strstr(logged.text, "skua: uring cannot be used (skua_open: not supported here); "));
    skua_server_free(server);
}

// ---- Starts and stops, on each ----

static const char *backend; // under test

static void assert_waits_undisturbed(void)
{
    struct epoll_event event;
    int queue = epoll_create1(EPOLL_CLOEXEC);
    assert_true(queue >= 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(epoll_wait(queue, &event, 1, 50), 0);
    close(queue);
}

// The program's own calls do not return EINTR because a server has been started or stopped.
static void test_interrupts_nobody(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        skua_server *server = server_of(backend);
        assert_int_equal(skua_start(server), SKUA_OK);
        assert_string_equal(skua_server_backend(server), backend);
        assert_waits_undisturbed();
        assert_serves(server);
        stop(server);
        assert_waits_undisturbed();
        skua_server_free(server);
    }
}

static void *start_and_stop(void *user)
{
    assert_int_equal(skua_start(user), SKUA_OK);
    assert_serves(user);
    stop(user);
    return NULL;
}

static void test_started_again_by_another_thread(void **state)
{
    (void)state;
    skua_server *server = server_of(backend);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_t thread;
        (void)start_and_stop(server);
        assert_int_equal(pthread_create(&thread, NULL, start_and_stop, server), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    skua_server_free(server);
}

// A child has copies of the server's descriptors and memory. They change nothing here: neither
// while it lives, nor when it ends.
static void test_a_child_without_exec(void **state)
{
    (void)state;
    int life[2];
    char octet;
    skua_server *server = server_of(backend);
    assert_int_equal(skua_start(server), SKUA_OK);
    assert_serves(server);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pipe(life), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            close(life[1]);
            _exit(read(life[0], &octet, 1) != 0);
        }
        close(life[0]);
        assert_serves(server);
        if (i == 1) stop(server);
        close(life[1]);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        if (i == 0) assert_serves(server);
    }
    assert_waits_undisturbed();
    skua_server_free(server);
}

static void count_hook(skua_worker *worker, void *user)
{
    (void)worker;
    atomic_fetch_add((atomic_int *)user, 1);
}

// Nobody hears of workers that were not told to serve.
static void test_a_start_that_fails(void **state)
{
    (void)state;
    atomic_int hooks = 0;
    skua_server *first = server_of(backend);
    assert_int_equal(skua_start(first), SKUA_OK);
    skua_config config = { .listen = skua_server_address(first, 0),
                           .workers = WORKERS,
                           .backend = backend,
                           .on_worker_start = count_hook,
                           .on_worker_end = count_hook,
                           .hook_user = &hooks,
                           .log_write = keep_log };
    skua_server *second = skua_server_new(&config);
    assert_non_null(second);
    for (int i = 0; i < ROUNDS; i++)
        assert_int_equal(skua_start(second), SKUA_EADDRINUSE);
    assert_int_equal(atomic_load(&hooks), 0);
    stop(first);
    assert_int_equal(skua_start(second), SKUA_OK);
    stop(second);
    assert_int_equal(atomic_load(&hooks), 2 * WORKERS);
    skua_server_free(first);
    skua_server_free(second);
}

static int over(const char *name)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interrupts_nobody),
        cmocka_unit_test(test_started_again_by_another_thread),
        cmocka_unit_test(test_a_child_without_exec),
        cmocka_unit_test(test_a_start_that_fails),
    };
    backend = name;
    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_at_once),
        cmocka_unit_test(test_refused_to_a_worker),
        cmocka_unit_test(test_refused_to_who_did_not_ask),
        cmocka_unit_test(test_substitutes),
        cmocka_unit_test(test_turned_by_the_caller),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL) + over("epoll");
    return uring_is_there() ? failed + over("uring") : failed;
}
