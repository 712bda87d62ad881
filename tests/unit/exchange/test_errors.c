// SPDX-License-Identifier: MIT
//
// Error functions of the program: which of them responds to which error, and what stays the server's.

#include <skua/skua.h>

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void tell(skua_request *request, int status, skua_slice sentence, void *user)
{
    char text[200];
    int len = snprintf(text, sizeof text, "%s %d %.*s", (const char *)user, status,
                       (int)sentence.len, sentence.ptr ? sentence.ptr : "");
    skua_field_add(request, "X-Error", SKUA_SLICE("yes"));
    skua_respond(request, status, "application/json", (skua_slice){ text, (size_t)len });
}

static void tell_nothing(skua_request *request, int status, skua_slice sentence, void *user)
{
    (void)status, (void)sentence, (void)user;
    skua_field_add(request, "X-Error", SKUA_SLICE("nothing"));
    skua_field_add(request, "Content-Type", SKUA_SLICE("text/css"));
}

static void tell_wrongly(skua_request *request, int status, skua_slice sentence, void *user)
{
    (void)status, (void)sentence, (void)user;
    skua_field_add(request, "X-Split", SKUA_SLICE("a\nb"));
    skua_respond_text(request, 200, "not sent");
}

static void tell_page(skua_request *request, int status, skua_slice sentence, void *user)
{
    (void)user;
    skua_refuse(request, status, sentence);
}

static skua_pulled pull_x(skua_request *request, char *buffer, size_t room, size_t *octets,
                          void *user)
{
    (void)request, (void)room, (void)user;
    *buffer = 'x';
    *octets = 1;
    return SKUA_PULL_END;
}

static void tell_in_pieces(skua_request *request, int status, skua_slice sentence, void *user)
{
    (void)sentence, (void)user;
    assert_int_equal(skua_respond_stream(request, status, NULL, -1, NULL, NULL), SKUA_ESTATE);
    assert_int_equal(skua_respond_pull(request, status, NULL, -1, pull_x, NULL), SKUA_ESTATE);
    assert_int_equal(skua_events_open(request, NULL, NULL), SKUA_ESTATE);
}

static void handle_good(skua_request *request, void *user)
{
    (void)user;
    skua_respond_text(request, 200, "good");
}

static void handle_refusal(skua_request *request, void *user)
{
    (void)user;
    skua_field_add(request, "X-Own", SKUA_SLICE("kept"));
    skua_refuse(request, 409, SKUA_SLICE("It is there."));
}

static void handle_loss(skua_request *request, void *user)
{
    (void)user;
    skua_field_add(request, "X-Own", SKUA_SLICE("dropped"));
    skua_respond(request, 99, NULL, SKUA_SLICE("x"));
}

static void collected(skua_request *request, skua_status status, skua_slice content, void *user)
{
    (void)user;
    if (status == SKUA_OK) skua_respond(request, 200, NULL, content);
}

static void handle_content(skua_request *request, void *user)
{
    (void)user;
    assert_int_equal(skua_content_collect(request, 4, collected, NULL), SKUA_OK);
}

typedef struct error_case {
    const char *wire;
    const char *begins;   // the response
    const char *holds[3]; // NULL: no more
    const char *lacks;    // NULL: nothing
} error_case;

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"

static const error_case cases[] = {
    { GET("/none"), "HTTP/1.1 404", { "\r\n\r\nroot 404 ", "X-Error: yes" }, "html" },
    { GET("/api/none"), "HTTP/1.1 404", { "\r\n\r\napi 404 " }, NULL },
    { "DELETE /api/none HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 404", { "delete 404 " }, NULL },
    { "GET /api/none HTTP/1.1\r\nHost: b.example\r\n\r\n", "HTTP/1.1 404", { "host 404 " }, NULL },
    { "POST /api/good HTTP/1.1\r\nHost: a\r\n\r\n",
      "HTTP/1.1 405",
      { "Allow: GET, HEAD\r\n", "api 405 " },
      NULL },
    { GET("/api/refusal"), "HTTP/1.1 409", { "api 409 It is there.", "X-Own: kept" }, NULL },
    { GET("/api/blocked"), "HTTP/1.1 409", { "api 409 It is there.", "X-Own: kept" }, NULL },
    { GET("/api/loss"), "HTTP/1.1 500", { "api 500 " }, "X-Own" },
    { "POST /api/content HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
      "HTTP/1.1 413",
      { "api 413 ", "Connection: close\r\n" },
      NULL },
    { "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
      "HTTP/1.1 400",
      { "root 400 ", "Connection: close\r\n" },
      NULL },
    { "GET /api/none HTTP/1.1\r\nHost: a\r\n", "HTTP/1.1 408", { "root 408 " }, NULL },
    { GET("/nothing/none"), "HTTP/1.1 404", { "404 Not Found. " }, "X-Error" },
    { GET("/wrongly/none"), "HTTP/1.1 404", { "404 Not Found. " }, "X-Split" },
    { GET("/pieces/none"), "HTTP/1.1 404", { "404 Not Found. " }, "Cache-Control" },
    { GET("/page/refusal"), "HTTP/1.1 409", { "409 Conflict. It is there." }, NULL },
    { "HEAD /api/none HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 404", { "X-Error" }, "api 404" },
    { GET("/api/good"), "HTTP/1.1 200", { "\r\n\r\ngood" }, "X-Error" },
};

static void discard(skua_slice octets, void *user)
{
    (void)octets;
    (void)user;
}

static skua_server *open_server(void)
{
    static const struct {
        const char *prefix;
        skua_error_fn *fn;
        const char *name;
    } functions[] = {
        { "/", tell, "root" },
        { "/api/", tell, "api" },
        { "DELETE /api/", tell, "delete" },
        { "b.example/", tell, "host" },
        { "/nothing", tell_nothing, "" },
        { "/wrongly", tell_wrongly, "" },
        { "/page", tell_page, "" },
        { "/pieces", tell_in_pieces, "" },
    };
    skua_server *server = skua_server_new(&(skua_config){ .hosts = "*", .log_write = discard });
    assert_non_null(server);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        static char names[9][8];
        (void)snprintf(names[i], sizeof names[i], "%s", functions[i].name);
        assert_int_equal(skua_on_error(server, functions[i].prefix, functions[i].fn, names[i]),
                         SKUA_OK);
    }
    assert_int_equal(skua_route(server, "GET /api/good", handle_good, NULL), SKUA_OK);
    assert_int_equal(skua_route(server, "GET /api/refusal", handle_refusal, NULL), SKUA_OK);
    assert_int_equal(skua_route(server, "GET /page/refusal", handle_refusal, NULL), SKUA_OK);
    assert_int_equal(skua_route(server, "GET /api/loss", handle_loss, NULL), SKUA_OK);
    assert_int_equal(skua_route(server, "POST /api/content", handle_content, NULL), SKUA_OK);
    assert_int_equal(skua_route_blocking(server, "GET /api/blocked", handle_refusal, NULL),
                     SKUA_OK);
    return server;
}

static void test_error_functions_respond(void **state)
{
    (void)state;
    skua_server *server = open_server();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const error_case *c = &cases[i];
        skua_slice received;
        skua_slice wire = { c->wire, strlen(c->wire) };
        assert_int_equal(skua_test_request(server, wire, &received), SKUA_OK);
        bool right = strncmp(received.ptr, c->begins, strlen(c->begins)) == 0;
        for (size_t j = 0; j < 3 && c->holds[j]; j++)
            right = right && strstr(received.ptr, c->holds[j]);
        right = right && (!c->lacks || !strstr(received.ptr, c->lacks));
        if (!right) print_error("%s\nwas answered\n%s\n", c->wire, received.ptr);
        assert_true(right);
        skua_test_free(received);
    }
    skua_server_free(server);
}

static void test_error_functions_that_are_refused(void **state)
{
    (void)state;
    skua_server *server = skua_server_new(NULL);
    static const char *const wrong[] = { "", "api", "/{x}", "GET" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(skua_on_error(server, wrong[i], tell, NULL), SKUA_EINVAL);
        assert_non_null(strstr(skua_server_error(server), "is not \"[METHOD ][HOST]/PREFIX\""));
    }
    for (int i = 0; i < 64; i++)
        assert_int_equal(skua_on_error(server, "/", tell, NULL), SKUA_OK);
    assert_int_equal(skua_on_error(server, "/", tell, NULL), SKUA_ELIMIT);
    skua_slice received;
    assert_int_equal(skua_test_request(server, SKUA_SLICE(""), &received), SKUA_OK);
    skua_test_free(received);
    assert_int_equal(skua_on_error(server, "/", tell, NULL), SKUA_ESTATE);
    skua_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_functions_respond),
        cmocka_unit_test(test_error_functions_that_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
