// SPDX-License-Identifier: MIT
//
// Routes that are directories: by themselves and in groups, of a server and of a site.

#include <skua/skua.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct fixture {
    char folder[40], file[64];
    skua_server *server;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    memcpy(f->folder, "/tmp/skua-directory-XXXXXX", sizeof "/tmp/skua-directory-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->file, sizeof f->file, "%s/a.txt", f->folder);
    FILE *file = fopen(f->file, "w");
    assert_non_null(file);
    assert_true(fputs("content", file) >= 0);
    assert_int_equal(fclose(file), 0);
    f->server = skua_server_new(&(skua_config){ .workers = 1 });
    assert_non_null(f->server);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    skua_server_free(f->server);
    (void)unlink(f->file);
    (void)rmdir(f->folder);
    free(f);
    return 0;
}

static void expect_served(const fixture *f, const char *path)
{
    skua_test_response response;
    assert_int_equal(skua_test(f->server, "GET", path, NULL, &response), SKUA_OK);
    assert_int_equal(response.status, 200);
    assert_string_equal(response.content.ptr, "content");
    assert_true(skua_slice_is(skua_test_field(&response, "Cache-Control"), "max-age=7"));
    skua_test_free(response.received);
}

static const skua_directory_config kept = { .cache_control = "max-age=7" };

static void test_of_a_server(void **state)
{
    fixture *f = *state;
    skua_route_desc desc = { .pattern = "/d/", .directory = f->folder, .directory_config = &kept };
    skua_group group = { .prefix = "/api", .routes = &desc, .route_count = 1 };
    assert_int_equal(skua_route_add(f->server, &desc), SKUA_OK);
    assert_int_equal(skua_route_group(f->server, &group), SKUA_OK);
    desc.directory = "/there is none";
    group.prefix = "/other";
    assert_int_equal(skua_route_group(f->server, &group), SKUA_ENOENT);
    assert_non_null(strstr(skua_server_error(f->server), "/there is none"));
    desc.pattern = "/file";
    assert_int_equal(skua_route_add(f->server, &desc), SKUA_EINVAL);
    assert_non_null(strstr(skua_server_error(f->server), "a directory's pattern is"));
    expect_served(f, "/d/a.txt");
    expect_served(f, "/api/d/a.txt");
}

static void test_of_a_site(void **state)
{
    fixture *f = *state;
    skua_route_desc desc = { .pattern = "/d/", .directory = f->folder, .directory_config = &kept };
    skua_group group = { .prefix = "/api", .routes = &desc, .route_count = 1 };
    skua_site *site = skua_site_new(f->server, &(skua_site_desc){ .hosts = "localhost" });
    assert_non_null(site);
    assert_int_equal(skua_site_route_add(site, &desc), SKUA_OK);
    assert_int_equal(skua_site_group(site, &group), SKUA_OK);
    desc.directory = "/there is none";
    group.prefix = "/other";
    assert_int_equal(skua_site_group(site, &group), SKUA_ENOENT);
    assert_non_null(strstr(skua_site_error(site), "/there is none"));
    assert_int_equal(skua_site_put(site), SKUA_OK);
    expect_served(f, "/d/a.txt");
    expect_served(f, "/api/d/a.txt");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_of_a_server, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_of_a_site, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
