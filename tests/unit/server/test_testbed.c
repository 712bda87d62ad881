// SPDX-License-Identifier: MIT
//
// skua_test_request, as a program that tests its handlers would use it.

#include <skua/skua.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const int64_t ms_ns = 1000000;

static skua_slice text_of(const char *text)
{
    return (skua_slice){ text, strlen(text) };
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// ---- Handlers ----

static unsigned visits;

static void on_hello(skua_request *request, void *user)
{
    (void)user;
    visits++;
    assert_int_equal(skua_respond(request, 200, "text/plain", SKUA_SLICE("Hello")), SKUA_OK);
}

static void on_collected(skua_request *request, skua_status status, skua_slice content, void *user)
{
    (void)user;
    if (status == SKUA_OK) assert_int_equal(skua_respond(request, 200, NULL, content), SKUA_OK);
}

static void on_echo(skua_request *request, void *user)
{
    assert_int_equal(skua_content_collect(request, 0, on_collected, user), SKUA_OK);
}

typedef struct errand {
    skua_ticket ticket;
    skua_request *request;
    skua_server *server;
    pthread_t thread;
    bool worked;
} errand;

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static void errand_work(void *user)
{
    errand *e = user;
    sleep_ms(30);
    e->worked = true;
}

static void errand_done(skua_worker *worker, void *user)
{
    errand *e = user;
    (void)worker;
    assert_true(e->worked);
    assert_int_equal(skua_respond(e->request, 200, NULL, SKUA_SLICE("Offloaded")), SKUA_OK);
}

static void on_offload(skua_request *request, void *user)
{
    errand *e = user;
    e->request = request;
    assert_int_equal(skua_offload(skua_request_worker(request), errand_work, errand_done, e),
                     SKUA_OK);
}

static void resumed(skua_request *request, void *user)
{
    (void)user;
    assert_non_null(request);
    assert_int_equal(skua_respond(request, 200, NULL, SKUA_SLICE("Resumed")), SKUA_OK);
}

static void *resume_thread(void *user)
{
    errand *e = user;
    sleep_ms(30);
    assert_int_equal(skua_resume(e->ticket, resumed, e), SKUA_OK);
    return NULL;
}

static void on_ticket(skua_request *request, void *user)
{
    errand *e = user;
    assert_int_equal(skua_ticket_take(request, &e->ticket), SKUA_OK);
    assert_int_equal(pthread_create(&e->thread, NULL, resume_thread, e), 0);
}

static void timed(skua_worker *worker, void *user)
{
    errand *e = user;
    (void)worker;
    assert_int_equal(skua_resume(e->ticket, resumed, e), SKUA_OK);
}

// A minute, of which nobody has to wait.
static void on_minute(skua_request *request, void *user)
{
    errand *e = user;
    assert_int_equal(skua_ticket_take(request, &e->ticket), SKUA_OK);
    assert_int_equal(
        skua_timer_start(skua_request_worker(request), 60000 * ms_ns, 0, timed, e, NULL), SKUA_OK);
}

static void posted(skua_worker *worker, void *user)
{
    errand *e = user;
    (void)worker;
    assert_int_equal(skua_respond(e->request, 200, NULL, SKUA_SLICE("Posted")), SKUA_OK);
}

static void *post_thread(void *user)
{
    errand *e = user;
    sleep_ms(30);
    assert_int_equal(skua_post(e->server, 0, posted, e), SKUA_OK);
    return NULL;
}

static void on_post(skua_request *request, void *user)
{
    errand *e = user;
    e->request = request;
    e->server = skua_request_server(request);
    assert_int_equal(pthread_create(&e->thread, NULL, post_thread, e), 0);
}

static void on_blocking(skua_request *request, void *user)
{
    skua_slice content = skua_request_content(request);
    (void)request;
    (void)user;
    sleep_ms(5);
    assert_int_equal(skua_respond(request, 200, NULL, content), SKUA_OK);
}

static void on_silence(skua_request *request, void *user)
{
    (void)request;
    (void)user;
}

static void on_stop(skua_request *request, void *user)
{
    (void)user;
    skua_stop(skua_request_server(request), 0);
    assert_int_equal(skua_respond(request, 200, NULL, SKUA_SLICE("Stopping")), SKUA_OK);
}

static errand errands[4];

static skua_server *server_of(const skua_config *config)
{
    skua_server *server = skua_server_new(config);
    assert_non_null(server);
    memset(errands, 0, sizeof errands);
    assert_int_equal(skua_route(server, "GET /hello", on_hello, NULL), SKUA_OK);
    assert_int_equal(skua_route(server, "POST /echo", on_echo, NULL), SKUA_OK);
    assert_int_equal(skua_route(server, "/offload", on_offload, &errands[0]), SKUA_OK);
    assert_int_equal(skua_route(server, "/ticket", on_ticket, &errands[1]), SKUA_OK);
    assert_int_equal(skua_route(server, "/minute", on_minute, &errands[2]), SKUA_OK);
    assert_int_equal(skua_route(server, "/post", on_post, &errands[3]), SKUA_OK);
    assert_int_equal(skua_route(server, "/silence", on_silence, NULL), SKUA_OK);
    assert_int_equal(skua_route(server, "/stop", on_stop, NULL), SKUA_OK);
    assert_int_equal(skua_route_blocking(server, "/blocking", on_blocking, NULL), SKUA_OK);
    return server;
}

// How often a piece is in an answer.
static unsigned count(skua_slice answer, const char *piece)
{
    unsigned n = 0;
    for (const char *at = answer.ptr; (at = strstr(at, piece)); at++)
        n++;
    return n;
}

static void assert_answers(skua_server *server, const char *octets, const char *start,
                           const char *end)
{
    skua_slice answer;
    assert_int_equal(skua_test_request(server, text_of(octets), &answer), SKUA_OK);
    assert_int_equal(answer.len, strlen(answer.ptr));
    size_t end_len = strlen(end);
    bool right = strncmp(answer.ptr, start, strlen(start)) == 0 && answer.len >= end_len &&
                 strcmp(answer.ptr + answer.len - end_len, end) == 0;
    if (!right) fail_msg("%s: %s", octets, answer.ptr);
    skua_test_free(answer);
}

#define HOST "\r\nHost: a.example\r\n"

// ---- Tests ----

static void requests_are_answered_one_after_the_other(void **state)
{
    (void)state;
    skua_server *server = server_of(NULL);
    visits = 0;
    for (unsigned i = 1; i <= 3; i++) {
        assert_answers(server, "GET /hello HTTP/1.1" HOST "\r\n", "HTTP/1.1 200 OK\r\n",
                       "\r\n\r\nHello");
        assert_int_equal(visits, i);
    }
    assert_answers(server, "POST /echo HTTP/1.1" HOST "Content-Length: 5\r\n\r\nabcde",
                   "HTTP/1.1 200", "\r\n\r\nabcde");
    assert_answers(server, "GET /nothing HTTP/1.1" HOST "\r\n", "HTTP/1.1 404", "");
    assert_answers(server, "POST /hello HTTP/1.1" HOST "\r\n", "HTTP/1.1 405", "");
    assert_answers(server, "GET /hello HTTP/1.1\r\n\r\n", "HTTP/1.1 400", "");
    assert_answers(server, "nonsense\r\n\r\n", "HTTP/1.1 400", "");
    assert_answers(server, "", "", "");
    skua_server_free(server);
}

static void pipelined_requests_are_all_answered(void **state)
{
    (void)state;
    skua_server *server = server_of(NULL);
    skua_slice answer,
        three = SKUA_SLICE("GET /hello HTTP/1.1" HOST "\r\nGET /hello HTTP/1.1" HOST "\r\n"
                           "GET /hello HTTP/1.1" HOST "Connection: close\r\n\r\n");
    assert_int_equal(skua_test_request(server, three, &answer), SKUA_OK);
    assert_int_equal(count(answer, "HTTP/1.1 200 OK\r\n"), 3);
    assert_int_equal(count(answer, "Connection: close\r\n"), 1);
    skua_test_free(answer);
    skua_server_free(server);
}

static void equal_calls_give_equal_octets(void **state)
{
    (void)state;
    static const char *const calls[] = { "GET /hello HTTP/1.1" HOST "\r\n",
                                         "GET /minute HTTP/1.1" HOST "\r\n",
                                         "POST /echo HTTP/1.1" HOST "Content-Length: 2\r\n\r\nab",
                                         "GET / HTTP/1.1" };
    skua_slice first[4], again;
    skua_server *one = server_of(NULL);
    for (int i = 0; i < 4; i++)
        assert_int_equal(skua_test_request(one, text_of(calls[i]), &first[i]), SKUA_OK);
    skua_server_free(one);
    skua_server *two = server_of(NULL);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(skua_test_request(two, text_of(calls[i]), &again), SKUA_OK);
        assert_string_equal(again.ptr, first[i].ptr);
        skua_test_free(again);
        skua_test_free(first[i]); // also when its server is gone
    }
    skua_server_free(two);
}

static void deadlines_pass_at_once(void **state)
{
    (void)state;
    int64_t began = now_ns();
    skua_server *server = server_of(&(skua_config){ .handler_timeout_ns = 90000 * ms_ns });
    assert_answers(server, "GET /hello HTT", "HTTP/1.1 408", "");
    assert_answers(server, "GET /silence HTTP/1.1" HOST "\r\n", "HTTP/1.1 503", "");
    assert_answers(server, "GET /minute HTTP/1.1" HOST "\r\n", "HTTP/1.1 200", "Resumed");
    assert_answers(server, "POST /echo HTTP/1.1" HOST "Content-Length: 5\r\n\r\nab", "", "");
    assert_true(now_ns() - began < 30000 * ms_ns);
    skua_server_free(server);
}

static void threads_are_waited_for(void **state)
{
    (void)state;
    // Shorter than the threads take: their time is not the simulated clock's.
    skua_server *server = server_of(&(skua_config){ .handler_timeout_ns = ms_ns });
    assert_answers(server, "GET /offload HTTP/1.1" HOST "\r\n", "HTTP/1.1 200", "Offloaded");
    assert_answers(server, "GET /ticket HTTP/1.1" HOST "\r\n", "HTTP/1.1 200", "Resumed");
    pthread_join(errands[1].thread, NULL);
    skua_server_free(server);
    server = server_of(NULL);
    assert_answers(server, "GET /post HTTP/1.1" HOST "\r\n", "HTTP/1.1 200", "Posted");
    pthread_join(errands[3].thread, NULL);
    assert_answers(server, "POST /blocking HTTP/1.1" HOST "Content-Length: 3\r\n\r\nabc",
                   "HTTP/1.1 200", "abc");
    skua_server_free(server);
}

static bool refuse(skua_connection *conn, void *user)
{
    (void)conn;
    (void)user;
    return false;
}

static void the_configuration_holds(void **state)
{
    (void)state;
    skua_server *server = server_of(&(skua_config){ .on_connect = refuse });
    assert_answers(server, "GET /hello HTTP/1.1" HOST "\r\n", "", "");
    skua_server_free(server);
    server = server_of(&(skua_config){ .hosts = "a.example", .head_octets_max = 100 });
    assert_answers(server, "GET /hello HTTP/1.1" HOST "\r\n", "HTTP/1.1 200", "");
    assert_answers(server, "GET /hello HTTP/1.1\r\nHost: b.example\r\n\r\n", "HTTP/1.1 421", "");
    char long_head[256];
    (void)snprintf(long_head, sizeof long_head, "GET /hello HTTP/1.1" HOST "X: %0150d\r\n\r\n", 0);
    assert_answers(server, long_head, "HTTP/1.1 431", "");
    skua_server_free(server);
    server = server_of(&(skua_config){ .hosts = "*" });
    assert_answers(server, "GET /hello HTTP/1.1\r\nHost: c.example\r\n\r\n", "HTTP/1.1 200", "");
    skua_server_free(server);
}

static unsigned occurrences(skua_slice text, const char *word)
{
    unsigned count = 0;
    for (size_t i = 0; i + strlen(word) <= text.len; i++)
        count += memcmp(text.ptr + i, word, strlen(word)) == 0;
    return count;
}

// Answers of HTTP/1.1 say that the connection stays open when they are told to, errors too.
static void kept_connections_are_named(void **state)
{
    (void)state;
    static const char wire[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
                               "GET /none HTTP/1.1\r\nHost: a\r\n\r\n"
                               "GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n"
                               "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    for (int said = 0; said < 2; said++) {
        skua_server *server = skua_server_new(&(skua_config){ .keep_alive_field = said });
        assert_int_equal(skua_route(server, "GET /{$}", on_hello, NULL), SKUA_OK);
        skua_slice answer = { 0 };
        assert_int_equal(skua_test_request(server, text_of(wire), &answer), SKUA_OK);
        assert_int_equal(occurrences(answer, "\r\nConnection: keep-alive\r\n"), said ? 3 : 1);
        assert_int_equal(occurrences(answer, "\r\nConnection: close\r\n"), 1);
        skua_server_free(server);
        skua_test_free(answer);
    }
}

static void a_directory_answers_so_many_ranges(void **state)
{
    (void)state;
    char folder[] = "/tmp/skua-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/digits", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fputs("0123456789", file) >= 0 && fclose(file) == 0, 1);
    skua_server *server = server_of(NULL);
    assert_int_equal(
        skua_route_directory(server, "/two/", folder, &(skua_directory_config){ .ranges_max = 2 }),
        SKUA_OK);
    assert_int_equal(skua_route_directory(server, "/many/", folder, NULL), SKUA_OK);
    assert_int_equal(
        skua_route_directory(server, "/x/", folder, &(skua_directory_config){ .ranges_max = 17 }),
        SKUA_EINVAL);
    assert_non_null(strstr(skua_server_error(server), "ranges_max"));
    assert_answers(server, "GET /two/digits HTTP/1.1" HOST "Range: bytes=0-0,2-2\r\n\r\n",
                   "HTTP/1.1 206", "");
    assert_answers(server, "GET /two/digits HTTP/1.1" HOST "Range: bytes=0-0,2-2,4-4\r\n\r\n",
                   "HTTP/1.1 200", "0123456789");
    assert_answers(server, "GET /many/digits HTTP/1.1" HOST "Range: bytes=0-0,2-2,4-4\r\n\r\n",
                   "HTTP/1.1 206", "");
    skua_server_free(server);
    assert_int_equal(remove(path), 0);
    assert_int_equal(remove(folder), 0);
}

static void a_server_is_tested_or_started(void **state)
{
    (void)state;
    skua_slice answer = { .len = 77 };
    skua_server *server = server_of(&(skua_config){ .listen = "127.0.0.1:0", .workers = 1 });
    assert_int_equal(skua_start(server), SKUA_OK);
    assert_int_equal(
        skua_test_request(server, SKUA_SLICE("GET /hello HTTP/1.1" HOST "\r\n"), &answer),
        SKUA_ESTATE);
    assert_int_equal(answer.len, 77);
    skua_server_free(server);
    server = server_of(NULL);
    assert_answers(server, "GET /hello HTTP/1.1" HOST "\r\n", "HTTP/1.1 200", "Hello");
    assert_int_equal(skua_start(server), SKUA_ESTATE);
    assert_answers(server, "GET /stop HTTP/1.1" HOST "\r\n", "", "");
    assert_int_equal(
        skua_test_request(server, SKUA_SLICE("GET /hello HTTP/1.1" HOST "\r\n"), &answer),
        SKUA_ECLOSED);
    skua_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_answered_one_after_the_other),
        cmocka_unit_test(pipelined_requests_are_all_answered),
        cmocka_unit_test(equal_calls_give_equal_octets),
        cmocka_unit_test(deadlines_pass_at_once),
        cmocka_unit_test(threads_are_waited_for),
        cmocka_unit_test(the_configuration_holds),
        cmocka_unit_test(kept_connections_are_named),
        cmocka_unit_test(a_directory_answers_so_many_ranges),
        cmocka_unit_test(a_server_is_tested_or_started),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
