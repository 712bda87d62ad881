// SPDX-License-Identifier: MIT
//
// skua_test: one request in words, and its response read.

#include <skua/skua.h>

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void on_collected(skua_request *request, skua_status status, skua_slice content, void *user)
{
    (void)user;
    if (status) return;
    skua_field_add(request, "X-Type", skua_request_field(request, "content-type"));
    skua_field_add(request, "Location", SKUA_SLICE("/items/1"));
    skua_respond(request, 201, "text/plain", content);
}

static void on_post(skua_request *request, void *user)
{
    (void)!skua_content_collect(request, 0, on_collected, user);
}

static void on_host(skua_request *request, void *user)
{
    (void)user;
    skua_respond(request, 200, "text/plain", skua_request_authority(request));
}

// In pieces, each a chunk.
static void on_chunks(skua_request *request, void *user)
{
    (void)user;
    (void)!skua_respond_stream(request, 200, "text/plain", -1, NULL, NULL);
    (void)!skua_write(request, SKUA_SLICE("one, "));
    (void)!skua_write(request, SKUA_SLICE("two\r\n, "));
    (void)!skua_write(request, SKUA_SLICE("three"));
    (void)!skua_finish(request);
}

static void on_cut(skua_request *request, void *user)
{
    (void)user;
    (void)!skua_respond_stream(request, 200, "text/plain", -1, NULL, NULL);
    (void)!skua_write(request, SKUA_SLICE("not all"));
    skua_request_abort(request);
}

static void on_abort(skua_request *request, void *user)
{
    (void)user;
    skua_request_abort(request);
}

static void on_hints(skua_request *request, void *user)
{
    (void)user;
    skua_field field = { SKUA_SLICE("link"), SKUA_SLICE("</a.css>; rel=preload") };
    (void)!skua_inform(request, 103, &field, 1);
    skua_respond(request, 200, "text/plain", SKUA_SLICE("behind hints"));
}

static skua_server *server_of(const skua_config *config)
{
    skua_server *server = skua_server_new(config);
    assert_int_equal(skua_route(server, "POST /items", on_post, NULL), SKUA_OK);
    assert_int_equal(skua_route(server, "GET /host", on_host, NULL), SKUA_OK);
    assert_int_equal(skua_route(server, "GET /chunks", on_chunks, NULL), SKUA_OK);
    assert_int_equal(skua_route(server, "GET /cut", on_cut, NULL), SKUA_OK);
    assert_int_equal(skua_route(server, "GET /abort", on_abort, NULL), SKUA_OK);
    assert_int_equal(skua_route(server, "GET /hints", on_hints, NULL), SKUA_OK);
    return server;
}

static void expect(skua_server *server, const char *method, const char *target, int status,
                   const char *content)
{
    skua_test_response response;
    assert_int_equal(skua_test(server, method, target, NULL, &response), SKUA_OK);
    assert_int_equal(response.status, status);
    if (content) assert_string_equal(response.content.ptr, content);
    if (content) assert_int_equal(response.content.len, strlen(content));
    assert_int_equal(response.content.ptr[response.content.len], 0);
    skua_test_free(response.received);
}

static void content_goes_there_and_comes_back(void **state)
{
    (void)state;
    skua_server *server = server_of(NULL);
    skua_test_response response;
    assert_int_equal(skua_test(server, "POST", "/items", "{\"a\":1}", &response), SKUA_OK);
    assert_int_equal(response.status, 201);
    assert_string_equal(response.content.ptr, "{\"a\":1}");
    assert_true(skua_slice_is(skua_test_field(&response, "location"), "/items/1"));
    assert_true(skua_slice_is(skua_test_field(&response, "X-TYPE"), "application/json"));
    assert_true(skua_slice_is(skua_test_field(&response, "Content-Length"), "7"));
    assert_null(skua_test_field(&response, "Content").ptr); // not a part of a name
    assert_null(skua_test_field(&response, "").ptr);
    skua_test_free(response.received);
    assert_int_equal(skua_test(server, "POST", "/items", "", &response), SKUA_OK);
    assert_int_equal(response.content.len, 0);
    assert_true(skua_slice_is(skua_test_field(&response, "x-type"), "text/plain; charset=utf-8"));
    skua_test_free(response.received);
    skua_server_free(server);
}

static void responses_of_every_framing_are_read(void **state)
{
    (void)state;
    skua_server *server = server_of(NULL);
    expect(server, "GET", "/chunks", 200, "one, two\r\n, three");
    expect(server, "GET", "/cut", 200, "not all");
    expect(server, "GET", "/abort", 0, "");
    expect(server, "GET", "/hints", 200, "behind hints");
    expect(server, "HEAD", "/host", 200, "");
    expect(server, "GET", "/nowhere", 404, NULL);
    expect(server, "PUT", "/items", 405, NULL);
    expect(server, "no method", "/", 400, NULL);
    skua_server_free(server);
}

// It has the one worker that is turned for it.
static void it_has_no_other_workers(void **state)
{
    (void)state;
    skua_server *server = server_of(NULL);
    expect(server, "GET", "/host", 200, "localhost");
    assert_int_equal(skua_workers_set(server, 2), SKUA_ESTATE);
    assert_int_equal(skua_listener_add(server, &(skua_listener_desc){ .address = ":0" }, NULL),
                     SKUA_ESTATE);
    expect(server, "GET", "/host", 200, "localhost");
    skua_server_free(server);
}

static void the_host_is_one_that_is_served(void **state)
{
    (void)state;
    const struct {
        const char *hosts, *seen;
    } cases[] = { { NULL, "localhost" }, { "*", "localhost" }, { "a.test b.test", "a.test" } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        skua_server *server = server_of(&(skua_config){ .hosts = cases[i].hosts });
        expect(server, "GET", "/host", 200, cases[i].seen);
        skua_server_free(server);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_goes_there_and_comes_back),
        cmocka_unit_test(responses_of_every_framing_are_read),
        cmocka_unit_test(it_has_no_other_workers),
        cmocka_unit_test(the_host_is_one_that_is_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
