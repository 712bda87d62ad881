// SPDX-License-Identifier: MIT
//
// Answers' heads. There is one Content-Type: of what was added as a field and what the answer states,
// the later counts. Middleware is told of a head once, when it is known to fit; what it then adds
// beyond the room is refused to it, and the response is 500.

#include <skua/skua.h>

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
    skua_prepared *answer;
    const skua_prepared_desc desc = { .status = 200,
                                      .fields = &type,
                                      .fields_count = played->stated ? 1 : 0,
                                      .content = SKUA_SLICE("x") };
    assert_int_equal(skua_prepared_new(skua_request_worker(request), &desc, &answer), SKUA_OK);
    assert_int_equal(skua_respond_prepared(request, answer), SKUA_OK);
    skua_prepared_unref(answer);
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

static skua_prepared *answer_of(skua_request *request, int status, size_t octets)
{
    skua_field field = { SKUA_SLICE("X-Made"), { filler, octets - 10 } };
    const skua_prepared_desc desc = { .status = status, .fields = &field, .fields_count = 1 };
    skua_prepared *answer;
    assert_int_equal(skua_prepared_new(skua_request_worker(request), &desc, &answer), SKUA_OK);
    return answer;
}

static void head_end(skua_request *request, skua_end how, void *user)
{
    (void)how;
    head_case *c = user;
    c->ended = skua_request_status(request);
}

// A second response is refused, whether the first has been given or has become 500.
static void answer_large(skua_request *request, void *user)
{
    head_case *c = user;
    skua_on_end(request, head_end, c);
    if (c->own) assert_int_equal(add_field(request, "X-Own", c->own), SKUA_OK);
    skua_prepared *large = answer_of(request, 200, FIELDS_MAX);
    c->refused = skua_respond_prepared(request, large);
    skua_prepared_unref(large);
    assert_int_equal(skua_request_status(request), c->refused ? 500 : 200);
    assert_int_equal(skua_respond(request, 202, "text/plain", SKUA_SLICE("small")), SKUA_ESTATE);
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

// The handler's response does not fit, so middleware hears of the 500 alone.
static void test_respond_tells_middleware_once(void **state)
{
    (void)state;
    head_case c = { .own = FIELDS_MAX - 200, .behind = 100 };
    skua_slice answer;
    assert_true(play_head(&c, answer_large, &answer));
    assert_int_equal(c.refused, SKUA_ELIMIT);
    assert_int_equal(c.heads, 1);
    assert_int_equal(c.told, 500);
    assert_int_equal(c.added, SKUA_OK);
    assert_int_equal(c.ended, 500);
    assert_int_equal(count_of(answer, "X-Own: "), 0);
    assert_int_equal(count_of(answer, "X-Behind: "), 1);
    skua_test_free(answer);
}

// A field of middleware's is taken while it fits. One octet more is refused, and the response is 500
// without any of the fields; middleware is not told again.
static void test_respond_refuses_what_middleware_adds_beyond_the_room(void **state)
{
    (void)state;
    size_t taken = 0;
    for (size_t low = 20, high = FIELDS_MAX; low <= high;) {
        size_t middle = (low + high) / 2;
        head_case c = { .own = 7000, .behind = middle };
        skua_slice answer;
        assert_true(play_head(&c, answer_large, &answer));
        assert_int_equal(c.refused, c.added);
        assert_int_equal(c.heads, 1);
        assert_int_equal(c.told, 200);
        assert_int_equal(c.ended, c.added ? 500 : 200);
        assert_int_equal(count_of(answer, "X-Behind: "), c.added == SKUA_OK);
        assert_int_equal(count_of(answer, "X-Own: "), c.added == SKUA_OK);
        assert_int_equal(count_of(answer, "X-Made: "), c.added == SKUA_OK);
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
    unsigned refused = 0;
    for (size_t own = FIELDS_MAX - 400; own <= FIELDS_MAX; own++) {
        head_case c = { .own = own, .typed = true };
        skua_slice answer;
        assert_true(play_head(&c, answer_large, &answer));
        assert_int_equal(c.heads, 1);
        assert_int_equal(count_of(answer, "Content-Type: text/css"), c.added == SKUA_OK);
        assert_int_equal(c.ended, c.refused ? 500 : 200);
        skua_test_free(answer);
        refused += c.added == SKUA_ELIMIT;
    }
    assert_int_equal(refused, 8); // there was room for none to seven of its eight octets
}

// ---- What nobody has to look at ----

typedef struct lost_case {
    const char *name;
    const char *log;
    skua_status gives;
    skua_status (*respond)(skua_request *request);
} lost_case;

static unsigned released;

static void release(void *user)
{
    (void)user;
    released++;
}

static skua_status lose_field(skua_request *r)
{
    skua_field_add(r, "X-Split", SKUA_SLICE("a\r\nX: b"));
    return skua_respond(r, 200, NULL, SKUA_SLICE("x"));
}

static skua_status lose_length(skua_request *r)
{
    skua_field_add(r, "Content-Length", SKUA_SLICE("1"));
    return skua_respond_borrowed(r, 200, NULL, SKUA_SLICE("x"), release, NULL);
}

static skua_status lose_too_much(skua_request *r)
{
    (void)add_field(r, "X-Own", FIELDS_MAX);
    (void)add_field(r, "X-More", 20);
    return skua_respond_text(r, 200, "x");
}

static skua_status lose_cookie(skua_request *r)
{
    skua_cookie_set(r, &(skua_cookie){ .name = "a", .value = SKUA_SLICE("b;c") });
    return skua_redirect(r, 303, "/");
}

static skua_status lose_trailer(skua_request *r)
{
    skua_trailer_add(r, "Content-Length", SKUA_SLICE("1"));
    return skua_respond_stream(r, 200, NULL, -1, NULL, NULL);
}

static skua_status give_type(skua_request *r)
{
    return skua_respond(r, 200, "a\nb", SKUA_SLICE("x"));
}

static skua_status give_page(skua_request *r)
{
    (void)add_field(r, "X-Own", FIELDS_MAX - 10);
    return skua_respond_error(r, 404);
}

static skua_status give_location(skua_request *r)
{
    return skua_redirect(r, 303, "//elsewhere.example");
}

static skua_status give_status(skua_request *r)
{
    return skua_respond_borrowed(r, 199, NULL, SKUA_SLICE("x"), release, NULL);
}

static skua_status give_error(skua_request *r)
{
    return skua_respond_error(r, 200);
}

static skua_status give_redirect(skua_request *r)
{
    return skua_redirect(r, 200, "/");
}

static skua_status give_length(skua_request *r)
{
    return skua_respond_stream(r, 200, NULL, -2, NULL, NULL);
}

static skua_status give_twice(skua_request *r)
{
    skua_respond_error(r, 500);
    return skua_respond_borrowed(r, 200, NULL, SKUA_SLICE("x"), release, NULL);
}

static skua_status add_late(skua_request *r)
{
    skua_respond_error(r, 500);
    return skua_field_add(r, "X-Late", SKUA_SLICE("x"));
}

static skua_status give_late_page(skua_request *r)
{
    skua_respond_error(r, 500);
    return skua_respond_error(r, 404);
}

static const lost_case lost_cases[] = {
    { "field", "a field was not one that a program may add", SKUA_EINVAL, lose_field },
    { "length", "a field was not one that a program may add", SKUA_EINVAL, lose_length },
    { "room", "a field did not fit into the response's head", SKUA_EINVAL, lose_too_much },
    { "cookie", "a field was not one that a program may add", SKUA_EINVAL, lose_cookie },
    { "trailer", "a field was not one that a program may add", SKUA_EINVAL, lose_trailer },
    { "type", "the media type of the response cannot be sent", SKUA_EINVAL, give_type },
    { "page", "a field did not fit into the response's head", SKUA_EINVAL, give_page },
    { "location", "a redirect's location is empty or begins with \"//\"", SKUA_EINVAL,
      give_location },
};

static const lost_case misuses[] = {
    { "status", "the status of a response is 200 to 599", SKUA_EINVAL, give_status },
    { "error", "an error's status is 400 to 599", SKUA_EINVAL, give_error },
    { "redirect", "a redirect's status is 301, 302, 303, 307 or 308", SKUA_EINVAL, give_redirect },
    { "length", "the length of a response is out of range", SKUA_EINVAL, give_length },
    { "twice", "a second response was given, and dropped", SKUA_ESTATE, give_twice },
    { "late field", "a field was added behind the response", SKUA_ESTATE, add_late },
    { "late page", "a second response was given, and dropped", SKUA_ESTATE, give_late_page },
};

typedef struct lost_play {
    const lost_case *played;
    skua_status given;
    char log[4096];
    size_t log_len;
} lost_play;

static void lost_take_log(skua_slice octets, void *user)
{
    lost_play *p = user;
    size_t room = sizeof p->log - 1 - p->log_len, n = octets.len < room ? octets.len : room;
    memcpy(p->log + p->log_len, octets.ptr, n);
    p->log_len += n;
}

static void lost_respond(skua_request *request, void *user)
{
    lost_play *p = user;
    p->given = p->played->respond(request);
}

static void lost_play_one(const lost_case *played_case, bool strict)
{
    lost_play p = { .played = played_case };
    released = 0;
    skua_server *server = skua_server_new(
        &(skua_config){ .log_write = lost_take_log, .log_user = &p, .strict = strict });
    assert_int_equal(skua_route(server, "GET /lost/{x}", lost_respond, &p), SKUA_OK);
    skua_slice answer;
    assert_int_equal(
        skua_test_request(server, SKUA_SLICE("GET /lost/1 HTTP/1.1\r\nHost: a\r\n\r\n"), &answer),
        SKUA_OK);
    assert_int_equal(p.given, played_case->gives);
    assert_memory_equal(answer.ptr, "HTTP/1.1 500 ", 13);
    assert_int_equal(count_of(answer, "HTTP/1.1"), 1);
    skua_test_free(answer);
    skua_server_free(server);
    assert_non_null(strstr(p.log, "GET /lost/1, route \"GET /lost/{x}\": "));
    assert_non_null(strstr(p.log, played_case->log));
    bool lends = played_case->respond == lose_length || played_case->respond == give_status ||
                 played_case->respond == give_twice;
    assert_int_equal(released, lends);
}

// Octets that come from clients are never misuse: strict does not stop.
static void test_respond_what_is_lost_becomes_500(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lost_cases / sizeof *lost_cases; i++) {
        lost_play_one(&lost_cases[i], false);
        lost_play_one(&lost_cases[i], true);
    }
}

static void test_respond_misuse_is_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof misuses / sizeof *misuses; i++)
        lost_play_one(&misuses[i], false);
}

static void lost_panic(const char *sentence)
{
    // only what the parent looks for leaves the child
    (void)!write(STDERR_FILENO, sentence, strlen(sentence));
    _exit(7);
}

// The process that plays it stops with the sentence.
static void lost_stop_one(const lost_case *played_case)
{
    int ends[2], how;
    char told[512] = { 0 };
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        lost_play p = { .played = played_case };
        skua_server *server =
            skua_server_new(&(skua_config){ .strict = true, .panic = lost_panic });
        skua_slice answer;
        if (!server || skua_route(server, "/", lost_respond, &p)) _exit(1);
        if (skua_test_request(server, SKUA_SLICE("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), &answer))
            _exit(2);
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(read(ends[0], told, sizeof told - 1) > 0);
    close(ends[0]);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 7);
    assert_non_null(strstr(told, played_case->log));
}

static void test_respond_misuse_stops_where_it_is_strict(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof misuses / sizeof *misuses; i++)
        lost_stop_one(&misuses[i]);
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
        cmocka_unit_test(test_respond_what_is_lost_becomes_500),
        cmocka_unit_test(test_respond_misuse_is_told),
        cmocka_unit_test(test_respond_misuse_stops_where_it_is_strict),
        cmocka_unit_test(test_respond_redirect_in_head_adds_nothing),
        cmocka_unit_test(test_respond_completes_nothing_that_is_aborted),
    };
    memset(filler, 'f', sizeof filler);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
