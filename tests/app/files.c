// SPDX-License-Identifier: MIT
//
// The application of the tests: files, and the folder they are in.

#include "app/app.h"

// From where /file is answered; /file/{name} is from its beginning.
enum { FILE_OFFSET = 10 };

static void file_respond(visit *v, skua_file *file, const skua_file_info *info)
{
    uint64_t from = skua_request_param(v->request, "name").ptr ? 0 : FILE_OFFSET;
    (void)app_must(v->app,
                   skua_respond_file(v->request, 200, "text/plain", file, from, info->size - from));
}

static void file_write(visit *v, skua_file *file, const skua_file_info *info)
{
    (void)info;
    (void)app_must(v->app, skua_respond_stream(v->request, 200, "text/plain", -1, NULL, NULL));
    (void)app_must(v->app, skua_write(v->request, SKUA_SLICE("before ")));
    (void)app_must(v->app, skua_write_file(v->request, file, 100, 5));
    (void)app_must(v->app, skua_write(v->request, SKUA_SLICE(" after")));
    (void)app_must(v->app, skua_finish(v->request));
}

static void file_opened(skua_worker *worker, skua_status status, skua_file *file,
                        const skua_file_info *info, void *user)
{
    (void)worker;
    visit *v = user;
    visit_note(v, "open: %s", skua_status_text(status));
    if (status && v->request) {
        int answer = status == SKUA_ENOENT ? 404 : 503;
        (void)app_must(v->app, skua_respond_error(v->request, answer));
    } else if (v->request) {
        (v->writes_file ? file_write : file_respond)(v, file, info);
    }
    if (!status) skua_file_unref(file);
    visit_let_go(v);
}

static void file_open(visit *v, skua_slice name)
{
    visit_keep(v);
    skua_file_open(skua_request_worker(v->request), v->app->root, name, file_opened, v);
}

static void on_file(skua_request *request, void *user)
{
    skua_slice name = skua_request_param(request, "name");
    file_open(visit_of(user, request), name.ptr ? name : SKUA_SLICE("large.bin"));
}

static void on_written(skua_request *request, void *user)
{
    visit *v = visit_of(user, request);
    v->writes_file = true;
    file_open(v, SKUA_SLICE("small.txt"));
}

void app_add_files(app *a)
{
    static const app_route routes[] = {
        { "GET /file", on_file },
        { "GET /file/{name}", on_file },
        { "GET /written", on_written },
    };
    static const struct {
        const char *pattern;
        skua_directory_config config;
    } folders[] = {
        { "GET /files/", { 0 } },
        { "GET /small/", { .small_octets_max = APP_FILE_OCTETS } },
        { "GET /kept/", { .list = true } },
        { "GET /lost/", { .list = true, .listings_octets_max = 1 } },
    };
    app_add(a, routes, sizeof routes / sizeof *routes);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        (void)app_must(
            a, skua_route_directory(a->server, folders[i].pattern, a->folder, &folders[i].config));
}
