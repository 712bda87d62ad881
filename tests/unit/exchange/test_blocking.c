// SPDX-License-Identifier: MIT
//
// Blocking routes on real threads: what is registered wrongly, and what of a request a handler may
// count on while its connection is gone and its server stops. The rest is told end to end.

#include "exchange/blocking.h"

#include "server/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { CONTENT = 200000 };

// Shared by the test and the handler.
typedef struct scene {
    atomic_uint begun, intact;
    atomic_uint ended; // of the requests
    atomic_bool go_on, ended_early;
    char log[4096];
    size_t log_len;
} scene;

static void doze(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static void wait_for(const atomic_uint *number, unsigned n)
{
    for (int i = 0; i < 20000 && atomic_load(number) < n; i++)
        doze();
    assert_int_equal(atomic_load(number), n);
}

static bool content_is_intact(skua_slice content)
{
    for (size_t i = 0; i < content.len; i++) {
        if (content.ptr[i] != (char)('a' + i % 26)) return false;
    }
    return content.len == CONTENT;
}

static void handle(skua_request *request, void *user)
{
    skua_slice content = skua_request_content(request);
    scene *s = user;
    atomic_fetch_add(&s->begun, 1);
    // the connection ends meanwhile; nobody is told of that before this has returned
    while (!atomic_load(&s->go_on)) {
        doze();
        (void)skua_request_query_param(request, "q");
        if (atomic_load(&s->ended) && !atomic_load(&s->go_on)) atomic_store(&s->ended_early, true);
    }
    skua_slice q = skua_request_query_param(request, "q"), id = skua_request_param(request, "id");
    bool intact = content_is_intact(content) && q.len == 3 && memcmp(q.ptr, "x y", 3) == 0 &&
                  id.len == 4 && memcmp(id.ptr, "abcd", 4) == 0;
    if (intact && skua_respond(request, 200, NULL, content) == SKUA_ECLOSED)
        atomic_fetch_add(&s->intact, 1);
}

static void told_of_end(skua_request *request, skua_end how, void *user)
{
    (void)how;
    atomic_fetch_add(&((scene *)user)->ended, 1);
    skua_field param;
    for (size_t i = 0; i < 200; i++) {
        (void)skua_request_query_at(request, i % 2, &param);
        (void)skua_request_query_param(request, "q");
    }
}

static void take_log(skua_slice octets, void *user)
{
    scene *s = user; // the writer's thread, which has ended when the test looks
    size_t room = sizeof s->log - 1 - s->log_len, n = octets.len < room ? octets.len : room;
    memcpy(s->log + s->log_len, octets.ptr, n);
    s->log_len += n;
}

static skua_server *scene_open(scene *s)
{
    memset(s, 0, sizeof *s);
    skua_server *server = skua_server_new(&(skua_config){
        .listen = "127.0.0.1:0", .workers = 2, .log_write = take_log, .log_user = s });
    assert_non_null(server);
    assert_int_equal(skua_route_blocking(server, "POST /{id}", handle, s), SKUA_OK);
    assert_int_equal(skua_use(server, "/", &(skua_middleware){ .end = told_of_end, .user = s }),
                     SKUA_OK);
    return server;
}

static int ask(const skua_server *server, const char *path)
{
    const char *port = strrchr(skua_server_address(server, 0), ':') + 1;
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)strtol(port, NULL, 10)),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    char text[256];
    char *content = malloc(CONTENT);
    assert_non_null(content);
    for (size_t i = 0; i < CONTENT; i++)
        content[i] = (char)('a' + i % 26);
    int len = snprintf(text, sizeof text,
                       "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", path,
                       CONTENT);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(send(fd, text, (size_t)len, MSG_NOSIGNAL), len);
    for (size_t at = 0; at < CONTENT;) {
        ssize_t n = send(fd, content + at, CONTENT - at, MSG_NOSIGNAL);
        assert_true(n > 0);
        at += (size_t)n;
    }
    free(content);
    return fd;
}

static void test_blocking_routes_that_are_none(void **state)
{
    (void)state;
    scene s;
    skua_server *server = scene_open(&s);
    assert_int_equal(skua_route_blocking(server, "POST /{other}", handle, &s), SKUA_EEXIST);
    assert_int_equal(skua_route_blocking(server, "no pattern", handle, &s), SKUA_EINVAL);
    assert_int_equal(skua_start(server), SKUA_OK);
    assert_int_equal(skua_route_blocking(server, "GET /late", handle, &s), SKUA_ESTATE);
    skua_server_free(server);
    assert_int_equal(s.begun, 0);
}

static void test_blocking_more_threads_than_there_may_be(void **state)
{
    (void)state;
    skua_server *server =
        skua_server_new(&(skua_config){ .listen = "127.0.0.1:0", .blocking_threads = 1025 });
    assert_non_null(server);
    assert_int_equal(skua_start(server), SKUA_EINVAL);
    assert_non_null(strstr(skua_server_error(server), "blocking_threads"));
    skua_server_free(server);
}

static void *let_go(void *user)
{
    scene *s = user;
    for (int i = 0; i < 1000; i++)
        doze();
    atomic_store(&s->go_on, true);
    return NULL;
}

// The peers are gone and the server is being freed: what the handlers look at is all there.
static void test_blocking_handlers_outlive_connections_and_the_stop(void **state)
{
    (void)state;
    scene s;
    pthread_t thread;
    skua_server *server = scene_open(&s);
    assert_int_equal(skua_start(server), SKUA_OK);
    int peers[4];
    for (int i = 0; i < 4; i++)
        peers[i] = ask(server, "/abcd?q=x+y");
    wait_for(&s.begun, 4);
    struct linger abrupt = { .l_onoff = 1 };
    for (int i = 0; i < 2; i++) {
        assert_int_equal(setsockopt(peers[i], SOL_SOCKET, SO_LINGER, &abrupt, sizeof abrupt), 0);
        close(peers[i]);
    }
    assert_int_equal(pthread_create(&thread, NULL, let_go, &s), 0);
    skua_server_free(server);
    assert_true(atomic_load(&s.go_on)); // it has waited for them
    pthread_join(thread, NULL);
    assert_int_equal(s.intact, 4);
    assert_int_equal(s.ended, 4);
    assert_false(s.ended_early);
    assert_non_null(strstr(s.log, "4 blocking handlers still run past the deadline of skua_stop"));
    close(peers[2]);
    close(peers[3]);
}

static void give_up(skua_request *request, void *user)
{
    scene *s = user;
    if (skua_respond_stream(request, 200, NULL, -1, NULL, NULL) == SKUA_OK &&
        skua_write(request, SKUA_SLICE("part")) == SKUA_OK)
        atomic_fetch_add(&s->begun, 1);
    skua_request_abort(request);
    while (!atomic_load(&s->go_on))
        doze();
    if (skua_request_is_gone(request)) atomic_fetch_add(&s->intact, 1);
}

// The client does not wait for the handler's return.
static void test_blocking_streams_are_given_up_at_once(void **state)
{
    (void)state;
    scene s;
    char part[4096];
    skua_server *server = scene_open(&s);
    assert_int_equal(skua_route_blocking(server, "POST /{id}/{sub}", give_up, &s), SKUA_OK);
    assert_int_equal(skua_start(server), SKUA_OK);
    int fd = ask(server, "/a/b");
    ssize_t n;
    while ((n = recv(fd, part, sizeof part, 0)) > 0)
        assert_null(memmem(part, (size_t)n, "\r\n0\r\n", 5));
    atomic_store(&s.go_on, true);
    skua_server_free(server);
    assert_int_equal(s.begun, 1);
    assert_int_equal(s.intact, 1);
    assert_int_equal(s.ended, 1);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocking_routes_that_are_none),
        cmocka_unit_test(test_blocking_more_threads_than_there_may_be),
        cmocka_unit_test(test_blocking_handlers_outlive_connections_and_the_stop),
        cmocka_unit_test(test_blocking_streams_are_given_up_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
