// SPDX-License-Identifier: MIT
//
// A server of files that handlers choose, and of directories whose files a function decides about, so
// that the end-to-end tests can compare them with a plain directory. All are those of FILES_ROOT.
#include "options.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void must(skua_status status)
{
    if (status == SKUA_OK) return;
    (void)fprintf(stderr, "files: unexpected status: %s\n", skua_status_text(status));
    abort();
}

static skua_root *root;
static skua_directory *directory, *listed;

// ---- Ends that the program is told of ----

static _Atomic unsigned ended;

static void count_end(skua_request *request, skua_end how, void *user)
{
    (void)request, (void)how, (void)user;
    ended++;
}

// In place of the one before.
static void count_later(skua_request *request, int status, void *user)
{
    (void)status, (void)user;
    skua_on_end(request, count_end, NULL);
}

static void answer_ended(skua_request *request, void *user)
{
    (void)user;
    skua_respond_format(request, 200, NULL, "%u", ended);
}

// ---- Files ----

static void answer_file(skua_request *request, void *user)
{
    skua_on_end(request, count_end, NULL);
    skua_field_add(request, "X-By", SKUA_SLICE("handler"));
    skua_serve_file(request, root, skua_request_param(request, "path"), user);
}

static void answer_from_directory(skua_request *request, void *user)
{
    skua_directory **from = user;
    skua_on_end(request, count_end, NULL);
    skua_directory_serve(request, *from, skua_request_param(request, "path"));
}

// Refuses what begins with "secret", responds itself for "own", and lets the others have a field.
static int decide(skua_request *request, skua_slice path, const skua_file_info *info, void *user)
{
    (void)user;
    if (skua_slice_starts(path, "secret")) return 403;
    if (skua_slice_starts(path, "odd")) return 200;
    if (skua_slice_starts(path, "own")) {
        skua_redirect(request, 303, "/elsewhere");
        return -1;
    }
    char size[24];
    (void)snprintf(size, sizeof size, "%llu", (unsigned long long)info->size);
    skua_field_add(request, "X-Path", path);
    skua_field_add(request, "X-Size", skua_slice_of(size));
    return 0;
}

// A handler that is wrong, so that the log has reason to name its route.
static void answer_twice(skua_request *request, void *user)
{
    (void)user;
    skua_respond_text(request, 200, skua_request_route(request));
    skua_respond_text(request, 200, "again");
}

static void answer_id(skua_request *request, void *user)
{
    (void)user;
    skua_respond(request, 200, "text/plain", skua_request_id(request));
}

int main(int argc, char **argv)
{
    static skua_serve_desc typed = { .type = "text/x-own", .cache_control = "max-age=60" };
    static skua_serve_desc bare = { .etags = SKUA_ETAGS_OFF, .dotfiles = true };
    static skua_serve_desc hashed = { .etags = SKUA_ETAGS_CONTENT };
    static skua_serve_desc coded = { .precompressed = true };
    static skua_serve_desc compressing = { .precompressed = true, .compress = true };
    static skua_serve_desc digested = { .precompressed = true,
                                        .compress = true,
                                        .etags = SKUA_ETAGS_CONTENT };
    const skua_directory_config digested_files = { .precompressed = true,
                                                   .compress = true,
                                                   .etags = SKUA_ETAGS_CONTENT };
    static skua_serve_desc pictures = { .type = "image/x-own", .compress = true };
    const skua_directory_config small = { .decide = decide, .precompressed = true };
    const skua_directory_config large = { .decide = decide,
                                          .small_octets_max = 1,
                                          .compress = true };
    const char *folder = getenv("FILES_ROOT");
    if (!folder) return 2;
    const skua_config config = { .hosts = "*", .log = SKUA_LOG_JSON };
    skua_server *server = server_with_options(&config, argc, argv);
    must(skua_root_open(folder, &root));
    must(skua_route_directory(server, "/files/", folder,
                              &(skua_directory_config){ .opened = &directory }));
    must(skua_route(server, "/from/{path...}", answer_from_directory, &directory));
    must(skua_route_directory(server, "/listed/", folder,
                              &(skua_directory_config){ .list = true, .opened = &listed }));
    must(skua_route(server, "/from-listed/{path...}", answer_from_directory, &listed));
    must(skua_use(server, "/late/", &(skua_middleware){ .head = count_later }));
    must(skua_route(server, "/late/{path...}", answer_from_directory, &listed));
    must(skua_route(server, "GET /ended", answer_ended, NULL));
    must(skua_route_directory(server, "/decided/", folder, &small));
    must(skua_route_directory(server, "/decided-large/", folder, &large));
    must(skua_route(server, "/file/{path...}", answer_file, NULL));
    must(skua_route(server, "GET /typed-file/{path...}", answer_file, &typed));
    must(skua_route(server, "GET /bare-file/{path...}", answer_file, &bare));
    must(skua_route(server, "GET /hashed-file/{path...}", answer_file, &hashed));
    must(skua_route_directory(server, "/coded-files/", folder,
                              &(skua_directory_config){ .precompressed = true }));
    must(skua_route_directory(server, "/compressing-files/", folder,
                              &(skua_directory_config){ .precompressed = true, .compress = true }));
    must(skua_route(server, "/coded-file/{path...}", answer_file, &coded));
    must(skua_route(server, "/compressing-file/{path...}", answer_file, &compressing));
    must(skua_route_directory(server, "/digested-files/", folder, &digested_files));
    must(skua_route(server, "/digested-file/{path...}", answer_file, &digested));
    must(skua_route(server, "/typed-coded-file/{path...}", answer_file, &pictures));
    must(skua_route_add(server, &(skua_route_desc){ .pattern = "GET /named/{x}",
                                                    .name = "orders \"one\"",
                                                    .handler = answer_twice }));
    must(skua_route(server, "GET /nameless/{x}", answer_twice, NULL));
    must(skua_route(server, "GET /id/{x}", answer_id, NULL));
    must(skua_route_add(server, &(skua_route_desc){ .pattern = "/assets/",
                                                    .name = "assets",
                                                    .directory = folder,
                                                    .directory_config = &small }));
    int status = server_serve(server, "files");
    skua_root_close(root);
    return status;
}
