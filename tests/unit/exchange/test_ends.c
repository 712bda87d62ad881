// SPDX-License-Identifier: MIT
//
// Responses that end in another way than their handlers began: given up, closed behind, refused after
// the first, without content. Each is told of a handler on the worker and of a blocking one.

#include <skua/skua.h>

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static unsigned wrong, filtered;

// A handler may not stop the test in the middle of the server's code.
static void expect(skua_status got, skua_status wanted)
{
    if (got != wanted) print_error("%s, not %s\n", skua_status_text(got), skua_status_text(wanted));
    wrong += got != wanted;
}

static void discard(skua_slice octets, void *user)
{
    (void)octets, (void)user;
}

// ---- Handlers ----

static void give_twice(skua_request *request, void *user)
{
    (void)user;
    expect(skua_respond_text(request, 200, "first"), SKUA_OK);
    expect(skua_refuse(request, 404, SKUA_SLICE("second")), SKUA_ESTATE);
    expect(skua_respond_error(request, 404), SKUA_ESTATE);
}

static void abort_late(skua_request *request, void *user)
{
    (void)user;
    expect(skua_respond_text(request, 200, "whole"), SKUA_OK);
    skua_request_abort(request);
    skua_request_close(request);
}

static void abort_early(skua_request *request, void *user)
{
    (void)user;
    skua_request_abort(request);
    if (skua_respond_text(request, 200, "late") == SKUA_OK) wrong++;
}

static void abort_stream(skua_request *request, void *user)
{
    (void)user;
    expect(skua_respond_stream(request, 200, NULL, -1, NULL, NULL), SKUA_OK);
    expect(skua_write(request, SKUA_SLICE("part")), SKUA_OK);
    skua_request_abort(request);
    if (skua_write(request, SKUA_SLICE("more")) == SKUA_OK) wrong++;
    if (skua_finish(request) == SKUA_OK) wrong++;
}

static void close_stream(skua_request *request, void *user)
{
    (void)user;
    expect(skua_respond_stream(request, 200, NULL, -1, NULL, NULL), SKUA_OK);
    expect(skua_write(request, SKUA_SLICE("part")), SKUA_OK);
    skua_request_close(request);
    expect(skua_finish(request), SKUA_OK);
}

static void trail_stream(skua_request *request, void *user)
{
    (void)user;
    expect(skua_respond_stream(request, 200, NULL, -1, NULL, NULL), SKUA_OK);
    expect(skua_write(request, SKUA_SLICE("part")), SKUA_OK);
    expect(skua_trailer_add(request, "X-Sum", SKUA_SLICE("1")), SKUA_OK);
    expect(skua_finish(request), SKUA_OK);
}

// Of a HEAD nobody hears the events, which a blocking handler is told.
static void trail_events(skua_request *request, void *user)
{
    (void)user;
    expect(skua_events_open(request, NULL, NULL), SKUA_OK);
    skua_status sent = skua_event_send(request, &(skua_event){ .data = SKUA_SLICE("part") });
    if (sent == SKUA_ECLOSED) return;
    expect(sent, SKUA_OK);
    expect(skua_trailer_add(request, "X-Sum", SKUA_SLICE("1")), SKUA_OK);
    expect(skua_finish(request), SKUA_OK);
}

static void ask_for_error(skua_request *request, void *user)
{
    (void)user;
    expect(skua_field_add(request, "X-Own", SKUA_SLICE("1")), SKUA_OK);
    expect(skua_refuse(request, 409, SKUA_SLICE("It is there.")), SKUA_OK);
}

static skua_pulled pull_part(skua_request *request, char *buffer, size_t room, size_t *octets,
                             void *user)
{
    (void)request, (void)room, (void)user;
    memcpy(buffer, "part", *octets = 4);
    return SKUA_PULL_END;
}

// The head of this response does not fit, since middleware adds to it. What is written goes nowhere.
static void begin_in_vain(skua_request *request, void *user)
{
    (void)user;
    (void)skua_respond_stream(request, 200, NULL, -1, NULL, NULL);
    if (skua_write(request, SKUA_SLICE("part")) == SKUA_OK) (void)skua_finish(request);
}

static void add_much(skua_request *request, int status, void *user)
{
    static char value[8000];
    (void)status, (void)user;
    memset(value, 'x', sizeof value);
    (void)skua_field_add(request, "X-A", (skua_slice){ value, sizeof value });
    (void)skua_field_add(request, "X-B", (skua_slice){ value, sizeof value });
}

// An error function that adds a field and responds not, or with less than everything.
static void tell_nothing(skua_request *request, int status, skua_slice sentence, void *user)
{
    (void)status, (void)sentence, (void)user;
    expect(skua_field_add(request, "X-Error", SKUA_SLICE("1")), SKUA_OK);
}

static void tell_in_pieces(skua_request *request, int status, skua_slice sentence, void *user)
{
    (void)sentence, (void)user;
    expect(skua_respond_stream(request, status, NULL, -1, NULL, NULL), SKUA_ESTATE);
}

// ---- Each on the worker and blocking ----

#define ASK(method, path) method " " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define NEXT ASK("GET", "/next")

typedef struct end_case {
    const char *path;
    skua_handler *handler;
    const char *method;
    const char *begins;   // of what is received; "": nothing is
    const char *holds[2]; // NULL: no more
    const char *lacks;    // NULL: nothing
    bool goes_on;         // the next request is served
} end_case;

static const end_case cases[] = {
    { "/twice", give_twice, "GET", "HTTP/1.1 200", { "\r\n\r\nfirst" }, "second", true },
    { "/abort/late", abort_late, "GET", "HTTP/1.1 200", { "\r\n\r\nwhole" }, NULL, true },
    { "/abort/early", abort_early, "GET", "", { NULL }, "late", false },
    { "/abort/stream", abort_stream, "GET", "", { NULL }, "\r\n0\r\n", false },
    { "/close/stream", close_stream, "GET", "HTTP/1.1 200", { "part\r\n0\r\n\r\n" }, NULL, false },
    { "/trail/stream",
      trail_stream,
      "GET",
      "HTTP/1.1 200",
      { "part\r\n0\r\nX-Sum: 1" },
      NULL,
      true },
    { "/trail/stream", trail_stream, "HEAD", "HTTP/1.1 200", { NULL }, "X-Sum", true },
    { "/trail/events", trail_events, "GET", "HTTP/1.1 200", { "part", "X-Sum: 1" }, NULL, true },
    { "/trail/events", trail_events, "HEAD", "HTTP/1.1 200", { NULL }, "X-Sum", true },
    { "/error/plain",
      ask_for_error,
      "GET",
      "HTTP/1.1 409",
      { "X-Own", "It is there." },
      NULL,
      true },
    { "/error/none", ask_for_error, "GET", "HTTP/1.1 409", { "X-Own", "there." }, "X-Error", true },
    { "/error/part",
      ask_for_error,
      "GET",
      "HTTP/1.1 409",
      { "X-Own", "It is there." },
      NULL,
      true },
    { "/much/stream", begin_in_vain, "GET", "HTTP/1.1 500", { NULL }, "part", true },
};

enum { CASES = sizeof cases / sizeof *cases };

static void give_next(skua_request *request, void *user)
{
    (void)user;
    (void)skua_respond_text(request, 200, "the next");
}

static void add_route(skua_server *server, const char *path, skua_handler *handler, bool blocks)
{
    char pattern[40];
    (void)snprintf(pattern, sizeof pattern, "GET %s", path);
    skua_status added = blocks ? skua_route_blocking(server, pattern, handler, NULL)
                               : skua_route(server, pattern, handler, NULL);
    assert_true(added == SKUA_OK || added == SKUA_EEXIST);
}

static skua_server *open_server(bool blocks)
{
    skua_server *server = skua_server_new(&(skua_config){ .log_write = discard });
    assert_non_null(server);
    for (size_t i = 0; i < CASES; i++)
        add_route(server, cases[i].path, cases[i].handler, blocks);
    add_route(server, "/next", give_next, false);
    assert_int_equal(skua_use(server, "/much", &(skua_middleware){ .head = add_much }), SKUA_OK);
    assert_int_equal(skua_on_error(server, "/error/none", tell_nothing, NULL), SKUA_OK);
    assert_int_equal(skua_on_error(server, "/error/part", tell_in_pieces, NULL), SKUA_OK);
    return server;
}

static bool end_is_right(const end_case *c, const char *received)
{
    bool right =
        *c->begins || c->lacks ? strncmp(received, c->begins, strlen(c->begins)) == 0 : false;
    for (int i = 0; i < 2 && c->holds[i]; i++)
        right = right && strstr(received, c->holds[i]);
    right = right && (!c->lacks || !strstr(received, c->lacks));
    return right && c->goes_on == (strstr(received, "the next") != NULL);
}

static void play(bool blocks)
{
    skua_server *server = open_server(blocks);
    for (size_t i = 0; i < CASES; i++) {
        char wire[200];
        const end_case *c = &cases[i];
        int len = snprintf(wire, sizeof wire, "%s %s HTTP/1.1\r\nHost: a\r\n\r\n" NEXT, c->method,
                           c->path);
        skua_slice received;
        wrong = 0;
        assert_int_equal(skua_test_request(server, (skua_slice){ wire, (size_t)len }, &received),
                         SKUA_OK);
        bool right = wrong == 0 && end_is_right(c, received.ptr);
        if (!right)
            print_error("%s %s, blocking: %d\n%s\n", c->method, c->path, blocks, received.ptr);
        assert_true(right);
        skua_test_free(received);
    }
    skua_server_free(server);
}

static void test_ends_on_the_worker(void **state)
{
    (void)state;
    play(false);
}

static void test_ends_of_blocking_handlers(void **state)
{
    (void)state;
    play(true);
}

// ---- What comes behind the end ----

static skua_request *held;

static void hold_twice(skua_request *request, void *user)
{
    (void)user;
    skua_request_hold(held = request);
    skua_request_hold(request);
    (void)skua_respond_text(request, 201, "held");
}

static void drop_twice(skua_request *request, void *user)
{
    (void)user;
    skua_request_drop(held);
    expect(skua_request_status(held) == 201 ? SKUA_OK : SKUA_ESTATE, SKUA_OK);
    skua_request_drop(held);
    (void)skua_respond_text(request, 200, "dropped");
}

// The first of two drops leaves the request to the second.
static void test_ends_of_holds(void **state)
{
    (void)state;
    skua_server *server = skua_server_new(NULL);
    skua_slice received;
    wrong = 0;
    assert_int_equal(skua_route(server, "GET /hold", hold_twice, NULL), SKUA_OK);
    assert_int_equal(skua_route(server, "GET /drop", drop_twice, NULL), SKUA_OK);
    assert_int_equal(
        skua_test_request(server, SKUA_SLICE(ASK("GET", "/hold") ASK("GET", "/drop")), &received),
        SKUA_OK);
    assert_non_null(strstr(received.ptr, "dropped"));
    assert_int_equal(wrong, 0);
    skua_test_free(received);
    skua_server_free(server);
}

// ---- Followers ----

static char followed[8]; // who was told, in that order
static char name_a[] = "a", name_b[] = "b", name_c[] = "c", name_x[] = "x", name_e[] = "e",
            name_last[] = "E";

static void note_end(skua_request *request, skua_end how, void *user)
{
    (void)request;
    expect(how == SKUA_END_SENT ? SKUA_OK : SKUA_ESTATE, SKUA_OK);
    followed[strlen(followed)] = *(const char *)user;
}

static void take_back_next(skua_request *request, skua_end how, void *user)
{
    note_end(request, how, user);
    skua_request_unfollow(request, note_end, name_b);
    expect(skua_request_follow(request, note_end, name_x), SKUA_ECLOSED);
}

static void follow(skua_request *request, void *user)
{
    (void)user;
    expect(skua_request_follow(request, note_end, name_x), SKUA_OK);
    skua_request_unfollow(request, note_end, name_x); // none is left: as if there had been none
    skua_request_unfollow(request, note_end, name_x);
    skua_on_end(request, note_end, name_e);
    expect(skua_request_follow(request, note_end, name_a), SKUA_OK);
    expect(skua_request_follow(request, note_end, name_x), SKUA_OK);
    expect(skua_request_follow(request, note_end, name_b), SKUA_OK);
    expect(skua_request_follow(request, take_back_next, name_c), SKUA_OK);
    skua_request_unfollow(request, note_end, name_x);
    skua_on_end(request, note_end, name_last);
    (void)skua_respond_text(request, 200, "followed");
}

// The last one added is told first, the function of skua_on_end last, and nobody who was taken back.
static void test_ends_are_told_to_followers(void **state)
{
    (void)state;
    skua_server *server = skua_server_new(NULL);
    skua_slice received;
    wrong = 0;
    memset(followed, 0, sizeof followed);
    assert_int_equal(skua_route(server, "GET /", follow, NULL), SKUA_OK);
    assert_int_equal(skua_test_request(server, SKUA_SLICE(ASK("GET", "/")), &received), SKUA_OK);
    assert_non_null(strstr(received.ptr, "followed"));
    skua_test_free(received);
    skua_server_free(server);
    assert_string_equal(followed, "caE");
    assert_int_equal(wrong, 0);
}

static void follow_in_middleware(skua_request *request, skua_end how, void *user)
{
    (void)how, (void)user;
    expect(skua_request_follow(request, take_back_next, name_a), SKUA_OK);
    skua_on_end(request, note_end, name_e);
}

static void respond_only(skua_request *request, void *user)
{
    (void)user;
    (void)skua_respond_text(request, 200, "told");
}

// Middleware's end comes before followers and the function of skua_on_end, so what it sets is still told.
static void test_ends_are_told_to_what_middleware_sets(void **state)
{
    (void)state;
    skua_server *server = skua_server_new(NULL);
    skua_slice received;
    skua_middleware late = { .end = follow_in_middleware };
    wrong = 0;
    memset(followed, 0, sizeof followed);
    assert_int_equal(skua_use(server, "/", &late), SKUA_OK);
    assert_int_equal(skua_route(server, "GET /", respond_only, NULL), SKUA_OK);
    assert_int_equal(skua_test_request(server, SKUA_SLICE(ASK("GET", "/")), &received), SKUA_OK);
    skua_test_free(received);
    skua_server_free(server);
    assert_string_equal(followed, "ae");
    assert_int_equal(wrong, 0);
}

// ---- Trailers ----

// A HEAD has no content, and so no trailers either, however the content would have been given.
static void pull_and_trail(skua_request *request, void *user)
{
    (void)user;
    expect(skua_respond_pull(request, 200, NULL, -1, pull_part, NULL), SKUA_OK);
    expect(skua_trailer_add(request, "X-Sum", SKUA_SLICE("1")), SKUA_OK);
}

static void test_ends_of_pulled_content_with_trailers(void **state)
{
    (void)state;
    skua_server *server = skua_server_new(&(skua_config){ .strict = true });
    skua_slice received;
    wrong = 0;
    assert_int_equal(skua_route(server, "GET /", pull_and_trail, NULL), SKUA_OK);
    assert_int_equal(skua_test_request(server, SKUA_SLICE(ASK("GET", "/")), &received), SKUA_OK);
    assert_non_null(strstr(received.ptr, "part\r\n0\r\nX-Sum: 1"));
    skua_test_free(received);
    assert_int_equal(skua_test_request(server, SKUA_SLICE(ASK("HEAD", "/")), &received), SKUA_OK);
    assert_null(strstr(received.ptr, "part"));
    skua_test_free(received);
    assert_int_equal(wrong, 0);
    skua_server_free(server);
}

// ---- Filters ----

static void *filter_begin(skua_request *request, int status, void *user)
{
    (void)request, (void)status, (void)user;
    filtered++;
    return NULL;
}

static skua_filtered filter_run(void *state, skua_slice *content, skua_flush flush, char *out,
                                size_t room, size_t *octets)
{
    (void)state, (void)content, (void)flush, (void)out, (void)room, (void)octets;
    return SKUA_FILTER_FAILED;
}

static void respond_wrongly(skua_request *request, void *user)
{
    (void)user;
    const skua_filter filter = { .begin = filter_begin, .run = filter_run };
    expect(skua_filter_add(request, &filter), SKUA_OK);
    expect(skua_respond(request, 999, NULL, SKUA_SLICE("x")), SKUA_EINVAL);
}

// The server's own page may be sent where the connection is about to end: no filter may hold it back.
static void test_ends_with_errors_that_are_not_filtered(void **state)
{
    (void)state;
    skua_server *server = skua_server_new(&(skua_config){ .log_write = discard });
    skua_slice received;
    wrong = filtered = 0;
    assert_int_equal(skua_route(server, "GET /", respond_wrongly, NULL), SKUA_OK);
    assert_int_equal(skua_test_request(server, SKUA_SLICE(ASK("GET", "/")), &received), SKUA_OK);
    assert_non_null(strstr(received.ptr, "HTTP/1.1 500"));
    assert_int_equal(wrong + filtered, 0);
    skua_test_free(received);
    skua_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends_on_the_worker),
        cmocka_unit_test(test_ends_of_blocking_handlers),
        cmocka_unit_test(test_ends_of_holds),
        cmocka_unit_test(test_ends_are_told_to_followers),
        cmocka_unit_test(test_ends_are_told_to_what_middleware_sets),
        cmocka_unit_test(test_ends_of_pulled_content_with_trailers),
        cmocka_unit_test(test_ends_with_errors_that_are_not_filtered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
