// SPDX-License-Identifier: MIT
//
// Programs whose skua.h is older than the library, or newer: their structs are shorter or longer, and what is behind
// those in the middle of another lies elsewhere. Each struct of theirs has memory of its own, so that a sanitizer sees
// what is read or written behind it.

#include "skua/skua.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

// A header whose structs have so many octets more each, or less.
typedef enum header { OLDER = -8, SAME = 0, NEWER = 8 } header;

// The sizes of the structs as such a header has them. What is in another struct makes that one longer, too.
static skua_sizes sizes_of(header more_octets)
{
    skua_sizes sizes = *skua_sizes_here();
    uint32_t *each = (uint32_t *)&sizes, more = (uint32_t)more_octets;
    for (size_t i = 1; i < sizeof sizes / sizeof *each; i++)
        each[i] += more;
    sizes.tls_desc += more;
    sizes.config += 3 * more;
    sizes.form_part += more;
    if (more_octets == OLDER)
        sizes.test_response = sizeof(skua_test_response); // no member of it is so new
    return sizes;
}

// Memory of size octets that ends there, begun by those of from that it has room for.
static void *copy(const void *from, size_t octets, size_t size)
{
    char *made = calloc(1, size);
    assert_non_null(made);
    memcpy(made, from, octets < size ? octets : size);
    return made;
}

// Copies members of a struct to their place in another header's.
static char *put(char *at, const void *from, size_t octets, size_t size)
{
    memcpy(at, from, octets < size ? octets : size);
    return at + size;
}

// ---- Configuration ----

static int begun;

static void on_begin(skua_worker *worker, void *user)
{
    (void)worker;
    assert_ptr_equal(user, &begun);
    begun++;
}

// As the header of those sizes has it.
static skua_config *config_as(const skua_config *config, const skua_sizes *sizes)
{
    size_t tls = offsetof(skua_config, tls), rest = offsetof(skua_config, on_worker_start);
    size_t clients = offsetof(skua_tls_desc, clients),
           tickets = offsetof(skua_tls_desc, ticket_file);
    char *made = calloc(1, sizes->config), *at = made;
    assert_non_null(made);
    at = put(at, config, tls, tls);
    at = put(at, &config->tls, clients, clients);
    at = put(at, &config->tls.clients, sizeof config->tls.clients, sizes->tls_clients);
    at = put(at, (const char *)&config->tls + tickets, sizeof config->tls - tickets,
             sizes->tls_desc - clients - sizes->tls_clients);
    at = put(at, &config->http2, sizeof config->http2, sizes->http2_desc);
    at = put(at, (const char *)config + rest, sizeof *config - rest,
             sizes->config - (size_t)(at - made));
    assert_ptr_equal(at, made + sizes->config);
    return (skua_config *)(void *)made;
}

static void hello(skua_request *request, void *user)
{
    (void)user;
    skua_respond_text(request, 200, "Hello");
}

static void check_configuration(header h)
{
    skua_sizes sizes = sizes_of(h);
    const skua_config config = { .hosts = "one.test",
                                 .target_octets_max = 70,
                                 .http2 = { .off = true },
                                 .on_worker_start = on_begin,
                                 .hook_user = &begun };
    skua_config *theirs = config_as(&config, &sizes);
    skua_server *server = skua_server_new_sized(theirs, &sizes);
    free(theirs);
    assert_non_null(server);
    assert_int_equal(skua_route(server, "GET /", hello, NULL), SKUA_OK);
    begun = 0;
    skua_test_response *response = calloc(1, sizes.test_response);
    assert_non_null(response);
    assert_int_equal(skua_test_sized(server, "GET", "/", NULL, response, &sizes), SKUA_OK);
    assert_int_equal(response->status, 200);
    assert_true(skua_slice_is(response->content, "Hello"));
    assert_true(skua_slice_is(skua_test_field_sized(response, "content-length", &sizes), "5"));
    assert_int_equal(begun, 1);
    skua_test_free(response->received);
    free(response);
    skua_server_free(server);
}

// ---- Routes ----

static void *copies(const void *from, size_t count, size_t octets, size_t size)
{
    char *made = calloc(count, size), *at = made;
    assert_non_null(made);
    for (size_t i = 0; i < count; i++)
        at = put(at, (const char *)from + i * octets, octets, size);
    return made;
}

static void expect_status(skua_server *server, const char *path, int status)
{
    skua_test_response response;
    assert_int_equal(skua_test(server, "GET", path, NULL, &response), SKUA_OK);
    assert_int_equal(response.status, status);
    skua_test_free(response.received);
}

static int passed;

static void pass(skua_request *request, void *user)
{
    (void)user;
    passed++;
    skua_next(request);
}

static void check_group(header h)
{
    skua_sizes sizes = sizes_of(h);
    const skua_route_desc routes[] = { { .pattern = "GET /one", .handler = hello },
                                       { .pattern = "GET /two", .handler = hello } };
    // Its user, the last member, is one that an older header does not have.
    const skua_middleware middleware[] = { { .before = pass }, { .before = pass } };
    const skua_group group = { .prefix = "/a",
                               .middleware =
                                   copies(middleware, 2, sizeof *middleware, sizes.middleware),
                               .middleware_count = 2,
                               .routes = copies(routes, 2, sizeof *routes, sizes.route_desc),
                               .route_count = 2 };
    // Its last member is the count of routes, which an older header has in any case.
    if (h == OLDER) sizes.group = sizeof group;
    skua_group *theirs = copy(&group, sizeof group, sizes.group);
    skua_server *server = skua_server_new(NULL);
    assert_int_equal(skua_route_group_sized(server, theirs, &sizes), SKUA_OK);
    free((void *)(uintptr_t)group.middleware);
    free((void *)(uintptr_t)group.routes);
    free(theirs);
    passed = 0;
    expect_status(server, "/a/one", 200);
    expect_status(server, "/a/two", 200);
    assert_int_equal(passed, 4);
    skua_server_free(server);
}

static void check_types(header h)
{
    skua_sizes sizes = sizes_of(h);
    if (h == OLDER) sizes.media = sizeof(skua_media);
    const skua_media types[] = { { ".a", "a/a" }, { ".b", "b/b" } };
    const skua_directory_config config = { .types = copies(types, 2, sizeof *types, sizes.media),
                                           .types_count = 2 };
    skua_directory_config *theirs = copy(&config, sizeof config, sizes.directory_config);
    skua_server *server = skua_server_new(NULL);
    assert_int_equal(skua_route_directory_sized(server, "/", "/", theirs, &sizes), SKUA_OK);
    free((void *)(uintptr_t)config.types);
    free(theirs);
    skua_server_free(server);
}

// ---- What is told ----

static void check_stats(header h)
{
    skua_sizes sizes = sizes_of(h);
    const size_t last = offsetof(skua_stats, refused_busy);
    char *theirs = malloc(sizes.stats);
    assert_non_null(theirs);
    memset(theirs, 'x', sizes.stats);
    skua_server *server = skua_server_new(&(skua_config){ .memory_max = 1 << 20 });
    expect_status(server, "/", 404);
    skua_stats *stats = (skua_stats *)(void *)theirs;
    skua_server_stats_sized(server, stats, &sizes);
    assert_int_equal(stats->memory_max, 1 << 20);
    for (size_t i = last; i < sizes.stats; i++)
        assert_int_equal(theirs[i], 0);
    assert_int_equal(skua_stats_quantile_ns_sized(stats, 0.5, &sizes), 0);
    assert_true(skua_stats_write_sized(stats, NULL, 0, &sizes) > 100);
    free(theirs);
    skua_server_free(server);
}

// Takes the parts as the header has them whose sizes are the route's user.
static void take_form(skua_request *request, skua_status status, const skua_form_part *parts,
                      size_t count, void *user)
{
    const skua_sizes *sizes = user;
    assert_int_equal(status, SKUA_OK);
    const char *at = (const char *)parts;
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++, at += sizes->form_part) {
        const skua_part *part = (const skua_part *)(const void *)at;
        const skua_upload *upload = (const skua_upload *)(const void *)(at + sizes->part);
        assert_true(skua_slice_is(part->name, i ? "b" : "a"));
        sum += upload->octets.len;
    }
    skua_respond_format(request, 200, NULL, "%u parts, %u octets", (unsigned)count, (unsigned)sum);
}

static void handle_form(skua_request *request, void *user)
{
    if (skua_multipart_collect_sized(request, 0, 0, take_form, user, user))
        skua_request_abort(request);
}

#define FORM                                                                                       \
    "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n12345\r\n"                           \
    "--x\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\n678\r\n--x--\r\n"

static void check_form(header h)
{
    skua_sizes sizes = sizes_of(h);
    char request[1024];
    int len =
        snprintf(request, sizeof request,
                 "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=x\r\n"
                 "Content-Length: %zu\r\n\r\n%s",
                 strlen(FORM), FORM);
    skua_server *server = skua_server_new(NULL);
    assert_int_equal(skua_route(server, "POST /", handle_form, &sizes), SKUA_OK);
    skua_slice received, octets = { request, (size_t)len };
    assert_int_equal(skua_test_request(server, octets, &received), SKUA_OK);
    assert_non_null(strstr(received.ptr, "2 parts, 8 octets"));
    skua_test_free(received);
    skua_server_free(server);
}

#define EACH_HEADER(check)                                                                         \
    static void test_##check(void **state)                                                         \
    {                                                                                              \
        (void)state;                                                                               \
        check(OLDER);                                                                              \
        check(SAME);                                                                               \
        check(NEWER);                                                                              \
    }
EACH_HEADER(check_configuration)
EACH_HEADER(check_group)
EACH_HEADER(check_types)
EACH_HEADER(check_stats)

// Members that only a newer header has would be read where nothing is: the table of misuses has that.
static void test_check_form(void **state)
{
    (void)state;
    check_form(OLDER);
    check_form(SAME);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check_configuration), cmocka_unit_test(test_check_group),
        cmocka_unit_test(test_check_types),         cmocka_unit_test(test_check_stats),
        cmocka_unit_test(test_check_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
