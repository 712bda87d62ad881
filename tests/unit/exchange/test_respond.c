// SPDX-License-Identifier: MIT
//
// Answers' heads. There is one Content-Type: of what was added as a field and what the answer states,
// the later counts. Middleware is told of a head once, when it is known to fit; what it then adds
// beyond the room is refused to it, and the answer is sent.

#include <skua/skua.h>

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

typedef struct type_case {
    const char *first, *second; // added by the handler, NULL: not
    const char *stated;         // by the answer, NULL: none
    const char *behind;         // added by middleware to the head, NULL: not
    bool prepared;
    const char *sent; // NULL: no Content-Type
} type_case;

static const type_case cases[] = {
    { NULL, NULL, NULL, NULL, false, NULL },    { "a/a", NULL, NULL, NULL, false, "a/a" },
    { "a/a", "b/b", NULL, NULL, false, "b/b" }, { "a/a", "b/b", "c/c", NULL, false, "c/c" },
    { "a/a", NULL, "c/c", NULL, true, "c/c" },  { "a/a", NULL, NULL, NULL, true, "a/a" },
    { NULL, NULL, "c/c", "d/d", false, "d/d" }, { NULL, NULL, "c/c", "d/d", true, "d/d" },
    { "a/a", NULL, NULL, "d/d", true, "d/d" },
};

static const type_case *played;

static void add_type(skua_request *request, const char *type)
{
    if (!type) return;
    skua_slice value = { type, strlen(type) };
    assert_int_equal(skua_field_add(request, "content-TYPE", value), SKUA_OK);
}

static void on_request(skua_request *request, void *user)
{
    (void)user;
    add_type(request, played->first);
    add_type(request, played->second);
    if (!played->prepared) {
        assert_int_equal(skua_respond(request, 200, played->stated, SKUA_SLICE("x")), SKUA_OK);
        return;
    }
    skua_field type = { SKUA_SLICE("Content-Type"),
                        { played->stated, played->stated ? strlen(played->stated) : 0 } };
    skua_answer *answer;
    const skua_answer_desc desc = { .status = 200,
                                    .fields = &type,
                                    .fields_count = played->stated ? 1 : 0,
                                    .content = SKUA_SLICE("x") };
    assert_int_equal(skua_answer_new(skua_request_worker(request), &desc, &answer), SKUA_OK);
    assert_int_equal(skua_respond_answer(request, answer), SKUA_OK);
    skua_answer_unref(answer);
}

static void on_head(skua_request *request, int status, void *user)
{
    (void)status, (void)user;
    add_type(request, played->behind);
}

static void check(skua_slice answer)
{
    const char *type = strcasestr(answer.ptr, "content-type: ");
    if (!played->sent) {
        assert_null(type);
        return;
    }
    assert_non_null(type);
    assert_memory_equal(type + 14, played->sent, strlen(played->sent));
    assert_null(strcasestr(type + 14, "content-type: "));
    assert_non_null(strstr(answer.ptr, "Content-Length: 1\r\n"));
    assert_memory_equal(answer.ptr + answer.len - 5, "\r\n\r\nx", 5);
}

static void test_respond_later_type_replaces(void **state)
{
    (void)state;
    skua_server *server = skua_server_new(NULL);
    assert_int_equal(skua_route(server, "/", on_request, NULL), SKUA_OK);
    assert_int_equal(skua_use(server, "/", &(skua_middleware){ .head = on_head }), SKUA_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        skua_slice answer;
        played = &cases[i];
        assert_int_equal(
            skua_test_request(server, SKUA_SLICE("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), &answer),
            SKUA_OK);
        check(answer);
        skua_test_free(answer);
    }
    skua_server_free(server);
}

// ---- Heads that do not fit ----

enum { FIELDS_MAX = 8192 }; // of a handler's fields, and of a prepared answer's

typedef struct head_case {
    size_t own, behind; // octets of the fields that the handler and middleware add
    bool typed;         // middleware adds a type
    unsigned heads;     // how often middleware was told
    int told;           // of which status
    skua_status refused, added;
    int ended; // the status at the end
} head_case;

static char filler[FIELDS_MAX];

// A field that takes so many octets, with ": " and CRLF.
static skua_status add_field(skua_request *request, const char *name, size_t octets)
{
    skua_slice value = { filler, octets - strlen(name) - 4 };
    return skua_field_add(request, name, value);
}

static skua_answer *answer_of(skua_request *request, int status, size_t octets)
{
    skua_field field = { SKUA_SLICE("X-Made"), { filler, octets - 10 } };
    const skua_answer_desc desc = { .status = status, .fields = &field, .fields_count = 1 };
    skua_answer *answer;
    assert_int_equal(skua_answer_new(skua_request_worker(request), &desc, &answer), SKUA_OK);
    return answer;
}

static void head_end(skua_request *request, skua_end how, void *user)
{
    (void)how;
    head_case *c = user;
    c->ended = skua_request_status(request);
}

// The large answer, and when it is refused a small one.
static void answer_large(skua_request *request, void *user)
{
    head_case *c = user;
    skua_on_end(request, head_end, c);
    if (c->own) assert_int_equal(add_field(request, "X-Own", c->own), SKUA_OK);
    skua_answer *large = answer_of(request, 200, FIELDS_MAX);
    c->refused = skua_respond_answer(request, large);
    skua_answer_unref(large);
    if (c->refused == SKUA_OK) return;
    assert_int_equal(skua_request_status(request), 0);
    assert_int_equal(skua_respond(request, 202, "text/plain", SKUA_SLICE("small")), SKUA_OK);
}

// The large answer, and nothing when it is refused: middleware has nothing to hear of.
static void answer_nothing_else(skua_request *request, void *user)
{
    head_case *c = user;
    skua_on_end(request, head_end, c);
    assert_int_equal(add_field(request, "X-Own", c->own), SKUA_OK);
    skua_answer *large = answer_of(request, 200, FIELDS_MAX);
    c->refused = skua_respond_answer(request, large);
    skua_answer_unref(large);
    skua_request_abort(request);
}

static void tell_head(skua_request *request, int status, void *user)
{
    head_case *c = user;
    c->heads++;
    c->told = status;
    if (c->typed) c->added = skua_field_add(request, "Content-Type", SKUA_SLICE("text/css"));
    else c->added = add_field(request, "X-Behind", c->behind);
}

static bool play_head(head_case *c, skua_handler *handler, skua_slice *answer)
{
    skua_server *server = skua_server_new(NULL);
    assert_int_equal(skua_route(server, "/", handler, c), SKUA_OK);
    assert_int_equal(skua_use(server, "/", &(skua_middleware){ .head = tell_head, .user = c }),
                     SKUA_OK);
    skua_status played_as =
        skua_test_request(server, SKUA_SLICE("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), answer);
    skua_server_free(server);
    return played_as == SKUA_OK;
}

static unsigned count_of(skua_slice answer, const char *name)
{
    unsigned n = 0;
    for (const char *at = answer.ptr; (at = strstr(at, name)); at++)
        n++;
    return n;
}

static void test_respond_tells_middleware_once(void **state)
{
    (void)state;
    head_case c = { .own = FIELDS_MAX - 200, .behind = 100 };
    skua_slice answer;
    assert_true(play_head(&c, answer_large, &answer));
    assert_int_equal(c.refused, SKUA_ELIMIT);
    assert_int_equal(c.heads, 1);
    assert_int_equal(c.told, 202);
    assert_int_equal(c.added, SKUA_OK);
    assert_int_equal(c.ended, 202);
    assert_int_equal(count_of(answer, "X-Own: "), 1);
    assert_int_equal(count_of(answer, "X-Behind: "), 1);
    skua_test_free(answer);
}

// A field of middleware's is taken while it fits, one octet more is refused, and the answer is sent
// in either case.
static void test_respond_refuses_what_middleware_adds_beyond_the_room(void **state)
{
    (void)state;
    size_t taken = 0;
    for (size_t low = 20, high = FIELDS_MAX; low <= high;) {
        size_t middle = (low + high) / 2;
        head_case c = { .own = 7000, .behind = middle };
        skua_slice answer;
        assert_true(play_head(&c, answer_large, &answer));
        assert_int_equal(c.refused, SKUA_OK);
        assert_int_equal(c.heads, 1);
        assert_int_equal(count_of(answer, "X-Behind: "), c.added == SKUA_OK);
        assert_int_equal(count_of(answer, "X-Own: "), 1);
        assert_int_equal(count_of(answer, "X-Made: "), 1);
        skua_test_free(answer);
        if (c.added == SKUA_OK) taken = middle, low = middle + 1;
        else high = middle - 1;
    }
    assert_in_range(taken, 100, FIELDS_MAX - 7000 - 100);
}

// A type of middleware's that has no place in the head is refused, too, whatever the handler's
// fields take.
static void test_respond_holds_types_of_middleware_against_the_room(void **state)
{
    (void)state;
    unsigned taken = 0, refused = 0;
    for (size_t own = 7000; own <= FIELDS_MAX; own++) {
        head_case c = { .own = own, .typed = true };
        skua_slice answer;
        assert_true(play_head(&c, answer_large, &answer));
        assert_int_equal(c.heads, 1);
        assert_int_equal(count_of(answer, "Content-Type: text/css"), c.added == SKUA_OK);
        skua_test_free(answer);
        taken += c.added == SKUA_OK;
        refused += c.added == SKUA_ELIMIT && c.refused == SKUA_OK;
    }
    assert_in_range(taken, 1, FIELDS_MAX);
    assert_int_equal(refused, 8); // there was room for none to seven of its eight octets
}

static void test_respond_says_nothing_of_a_refused_answer(void **state)
{
    (void)state;
    head_case c = { .own = FIELDS_MAX, .behind = 100, .ended = -1 };
    skua_slice answer;
    if (play_head(&c, answer_nothing_else, &answer)) skua_test_free(answer);
    assert_int_equal(c.refused, SKUA_ELIMIT);
    assert_int_equal(c.heads, 0);
    assert_int_equal(c.ended, 0);
}

// An error page whose own fields do not fit leaves none of them behind.
static void refuse_twice(skua_request *request, void *user)
{
    (void)user;
    assert_int_equal(add_field(request, "X-Own", FIELDS_MAX - 20), SKUA_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(skua_respond_error(request, 404), SKUA_ELIMIT);
    assert_int_equal(skua_respond(request, 404, NULL, SKUA_SLICE("x")), SKUA_OK);
}

static void test_respond_error_page_leaves_no_fields(void **state)
{
    (void)state;
    skua_server *server = skua_server_new(NULL);
    assert_int_equal(skua_route(server, "/", refuse_twice, NULL), SKUA_OK);
    skua_slice answer;
    assert_int_equal(
        skua_test_request(
            server, SKUA_SLICE("GET / HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\n\r\n"), &answer),
        SKUA_OK);
    assert_int_equal(count_of(answer, "Vary"), 0);
    skua_test_free(answer);
    skua_server_free(server);
}

// A redirect that comes too late leaves no Location behind.
static void redirect_in_head(skua_request *request, int status, void *user)
{
    (void)status, (void)user;
    assert_int_equal(skua_redirect(request, 302, "/elsewhere"), SKUA_ESTATE);
}

static void answer_short(skua_request *request, void *user)
{
    (void)user;
    assert_int_equal(skua_respond(request, 200, NULL, SKUA_SLICE("x")), SKUA_OK);
}

static void test_respond_redirect_in_head_adds_nothing(void **state)
{
    (void)state;
    skua_server *server = skua_server_new(NULL);
    assert_int_equal(skua_route(server, "/", answer_short, NULL), SKUA_OK);
    assert_int_equal(skua_use(server, "/", &(skua_middleware){ .head = redirect_in_head }),
                     SKUA_OK);
    skua_slice answer;
    assert_int_equal(
        skua_test_request(server, SKUA_SLICE("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), &answer),
        SKUA_OK);
    assert_int_equal(count_of(answer, "Location"), 0);
    skua_test_free(answer);
    skua_server_free(server);
}

// ---- Aborting while the response is given ----

typedef struct abort_case {
    bool pulls, in_head, answered;
    skua_pulled last; // what the source says behind the abort
    skua_status given;
    skua_end how;
    unsigned ends;
} abort_case;

static skua_pulled abort_pull(skua_request *request, char *buffer, size_t room, size_t *octets,
                              void *user)
{
    const abort_case *c = user;
    assert_true(room >= 4);
    memcpy(buffer, "late", 4);
    *octets = c->last == SKUA_PULL_OCTETS ? 4 : 0;
    skua_request_abort(request);
    skua_wake(request);
    return c->last;
}

static void abort_head(skua_request *request, int status, void *user)
{
    (void)status;
    const abort_case *c = user;
    if (c->in_head) skua_request_abort(request);
}

static void abort_end(skua_request *request, skua_end how, void *user)
{
    (void)request;
    abort_case *c = user;
    c->how = how;
    c->ends++;
}

static void abort_answer(skua_request *request, void *user)
{
    abort_case *c = user;
    skua_on_end(request, abort_end, c);
    if (c->pulls) c->given = skua_respond_pull(request, 200, "text/plain", -1, abort_pull, c);
    else c->given = skua_respond(request, 200, "text/plain", SKUA_SLICE("late"));
}

// A response that middleware or its source aborts is not completed, whatever follows: no last
// chunk, no content.
static void test_respond_completes_nothing_that_is_aborted(void **state)
{
    (void)state;
    abort_case aborted[] = {
        { .in_head = true },
        { .in_head = true, .pulls = true },
        { .pulls = true, .answered = true, .last = SKUA_PULL_OCTETS },
        { .pulls = true, .answered = true, .last = SKUA_PULL_END },
        { .pulls = true, .answered = true, .last = SKUA_PULL_PENDING },
        { .pulls = true, .answered = true, .last = SKUA_PULL_ERROR },
    };
    for (size_t i = 0; i < sizeof aborted / sizeof *aborted; i++) {
        abort_case *c = &aborted[i];
        skua_server *server = skua_server_new(NULL);
        assert_int_equal(skua_route(server, "/", abort_answer, c), SKUA_OK);
        assert_int_equal(skua_use(server, "/", &(skua_middleware){ .head = abort_head, .user = c }),
                         SKUA_OK);
        skua_slice answer = { 0 };
        skua_status played_as =
            skua_test_request(server, SKUA_SLICE("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), &answer);
        assert_int_equal(c->given, c->in_head ? SKUA_ESTATE : SKUA_OK);
        assert_int_equal(c->ends, 1);
        assert_int_equal(c->how, SKUA_END_ERROR);
        if (c->answered) assert_memory_equal(answer.ptr + answer.len - 4, "\r\n\r\n", 4);
        if (played_as == SKUA_OK) assert_int_equal(count_of(answer, "\r\n\r\n"), c->answered);
        if (played_as == SKUA_OK) skua_test_free(answer);
        skua_server_free(server);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_respond_later_type_replaces),
        cmocka_unit_test(test_respond_tells_middleware_once),
        cmocka_unit_test(test_respond_refuses_what_middleware_adds_beyond_the_room),
        cmocka_unit_test(test_respond_holds_types_of_middleware_against_the_room),
        cmocka_unit_test(test_respond_says_nothing_of_a_refused_answer),
        cmocka_unit_test(test_respond_error_page_leaves_no_fields),
        cmocka_unit_test(test_respond_redirect_in_head_adds_nothing),
        cmocka_unit_test(test_respond_completes_nothing_that_is_aborted),
    };
    memset(filler, 'f', sizeof filler);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
