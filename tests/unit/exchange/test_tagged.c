// SPDX-License-Identifier: MIT
//
// skua_etag and skua_respond_tagged: what is generated is judged by entity tags.

#include <skua/skua.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const char *tag; // of the item; NULL: there is none

static void on_item(skua_request *request, void *user)
{
    (void)user;
    if (!skua_etag(request, tag ? skua_slice_of(tag) : (skua_slice){ 0 })) return;
    bool puts = skua_slice_is(skua_request_method(request), "PUT");
    skua_respond(request, puts ? 204 : 200, NULL, puts ? (skua_slice){ 0 } : SKUA_SLICE("item"));
}

static void on_page(skua_request *request, void *user)
{
    (void)user;
    skua_respond_tagged(request, "text/plain", SKUA_SLICE("generated"));
}

static void on_blocking(skua_request *request, void *user)
{
    on_page(request, user);
}

static skua_server *server_of(void)
{
    skua_server *server = skua_server_new(NULL);
    assert_int_equal(skua_route(server, "/item", on_item, NULL), SKUA_OK);
    assert_int_equal(skua_route(server, "GET /page", on_page, NULL), SKUA_OK);
    assert_int_equal(skua_route_blocking(server, "GET /blocking", on_blocking, NULL), SKUA_OK);
    return server;
}

// Returns the status, and the ETag of the response in etag, which has room for 64.
static int ask(skua_server *server, const char *line, const char *field, char *etag)
{
    char text[512];
    skua_slice received;
    (void)snprintf(text, sizeof text, "%s HTTP/1.1\r\nHost: a\r\n%s%sConnection: close\r\n\r\n",
                   line, field, *field ? "\r\n" : "");
    assert_int_equal(skua_test_request(server, skua_slice_of(text), &received), SKUA_OK);
    const char *found = strstr(received.ptr, "\r\nETag: ");
    assert_memory_equal(received.ptr, "HTTP/1.1 ", 9);
    int status = (int)strtol(received.ptr + 9, NULL, 10);
    etag[0] = 0;
    if (found) (void)snprintf(etag, 64, "%.*s", (int)strcspn(found + 8, "\r"), found + 8);
    if (status == 304) assert_null(strstr(received.ptr, "item"));
    skua_test_free(received);
    return status;
}

static void the_state_of_a_resource_judges_requests(void **state)
{
    (void)state;
    const struct {
        const char *tag, *line, *field;
        int status;
    } cases[] = {
        { "\"1\"", "GET /item", "", 200 },
        { "\"1\"", "GET /item", "If-None-Match: \"1\"", 304 },
        { "\"1\"", "HEAD /item", "If-None-Match: \"0\", W/\"1\"", 304 },
        { "\"1\"", "GET /item", "If-None-Match: *", 304 },
        { "\"1\"", "GET /item", "If-None-Match: \"2\"", 200 },
        { "\"1\"", "GET /item", "If-None-Match: \"0\"\r\nIf-None-Match: \"1\"", 304 },
        { "\"1\"", "GET /item", "If-Match: \"2\"", 412 },
        { "\"1\"", "GET /item", "If-Modified-Since: Sun, 06 Nov 2094 08:49:37 GMT", 200 },
        { "W/\"1\"", "GET /item", "If-None-Match: \"1\"", 304 },
        { "W/\"1\"", "PUT /item", "If-Match: W/\"1\"", 412 }, // is compared strongly
        { "\"1\"", "PUT /item", "If-Match: \"1\"", 204 },
        { "\"1\"", "PUT /item", "If-Match: \"2\"", 412 },
        { "\"1\"", "PUT /item", "If-Match: *", 204 },
        { "\"1\"", "PUT /item", "If-None-Match: *", 412 },
        { "\"1\"", "PUT /item", "", 204 },
        { NULL, "PUT /item", "If-None-Match: *", 204 },
        { NULL, "PUT /item", "If-Match: *", 412 },
        { NULL, "GET /item", "", 200 },
    };
    skua_server *server = server_of();
    char etag[64];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tag = cases[i].tag;
        int status = ask(server, cases[i].line, cases[i].field, etag);
        assert_int_equal(status, cases[i].status);
        bool shows = tag && cases[i].line[0] != 'P';
        assert_string_equal(etag, shows ? tag : "");
    }
    skua_server_free(server);
}

static void what_is_no_tag_is_an_error_of_the_server(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "1", "\"", "", "\"1", "1\"", "\"a b\"", "\"a\"b\"", "w/\"1\"", "\"a\r\nX: b\"", "W/\""
    };
    skua_server *server = server_of();
    char etag[64];
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        tag = wrong[i];
        assert_int_equal(ask(server, "GET /item", "", etag), 500);
        assert_string_equal(etag, "");
    }
    skua_server_free(server);
}

static void content_has_a_tag_of_its_own(void **state)
{
    (void)state;
    skua_server *server = server_of();
    char etag[64], field[96], again[64];
    static const char *const lines[] = { "GET /page", "HEAD /page", "GET /blocking" };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_int_equal(ask(server, lines[i], "", etag), 200);
        assert_int_equal(strlen(etag), 34);
        (void)snprintf(field, sizeof field, "If-None-Match: %s", etag);
        assert_int_equal(ask(server, lines[i], field, again), 304);
        assert_string_equal(again, etag);
    }
    skua_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_state_of_a_resource_judges_requests),
        cmocka_unit_test(what_is_no_tag_is_an_error_of_the_server),
        cmocka_unit_test(content_has_a_tag_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
