// SPDX-License-Identifier: MIT
//
// The application of the scenarios: files, and the folder they are in.

#include "scenarios/house.h"

#include "support/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// ---- The folder ----

static const struct {
    const char *name;
    size_t octets;
} folder_files[] = {
    { "small.txt", 300 }, { "empty.txt", 0 }, { "large.bin", 1500000 }, { "index.html", 40 }
};

enum {
    FOLDER_FILES = sizeof folder_files / sizeof *folder_files,
    FOLDER_MANY = 150, // files of "many", whose listing is several pieces long
    FOLDER_PATH_OCTETS = 160
};

static const time_t folder_mtime = 1577836800; // 2020: Last-Modified is to be the same each time

static void folder_path(char *path, const char *folder, size_t i)
{
    if (snprintf(path, FOLDER_PATH_OCTETS, "%s/%s", folder, folder_files[i].name) >=
        FOLDER_PATH_OCTETS)
        abort();
}

static void folder_path_of_many(char *path, const char *folder, unsigned i)
{
    if (snprintf(path, FOLDER_PATH_OCTETS,
                 "%s/many/%03u-of-very-many-files-that-all-have-long-names", folder,
                 i) >= FOLDER_PATH_OCTETS)
        abort();
}

static bool folder_write(const char *path, size_t octets)
{
    FILE *file = fopen(path, "w");
    if (!file) return false;
    for (size_t i = 0; i < octets; i++)
        (void)fputc(site_octet(3, i), file);
    struct timespec times[2] = { { .tv_sec = folder_mtime }, { .tv_sec = folder_mtime } };
    return fflush(file) == 0 && futimens(fileno(file), times) == 0 && fclose(file) == 0;
}

static bool house_folder_make_many(const char *folder)
{
    char path[FOLDER_PATH_OCTETS];
    (void)snprintf(path, sizeof path, "%s/many", folder);
    if (mkdir(path, 0777) != 0) return false;
    for (unsigned i = 0; i < FOLDER_MANY; i++) {
        folder_path_of_many(path, folder, i);
        if (!folder_write(path, i)) return false;
    }
    return true;
}

static void house_folder_remove_many(const char *folder)
{
    char path[FOLDER_PATH_OCTETS];
    for (unsigned i = 0; i < FOLDER_MANY; i++) {
        folder_path_of_many(path, folder, i);
        (void)unlink(path);
    }
    (void)snprintf(path, sizeof path, "%s/many", folder);
    (void)rmdir(path);
}

bool house_folder_make(char *folder)
{
    char path[FOLDER_PATH_OCTETS];
    (void)snprintf(folder, HOUSE_FOLDER_OCTETS, "/tmp/skua-scenarios-XXXXXX");
    if (!mkdtemp(folder)) return false;
    for (size_t i = 0; i < FOLDER_FILES; i++) {
        folder_path(path, folder, i);
        if (!folder_write(path, folder_files[i].octets)) return false;
    }
    return house_folder_make_many(folder);
}

void house_folder_remove(const char *folder)
{
    char path[FOLDER_PATH_OCTETS];
    house_folder_remove_many(folder);
    for (size_t i = 0; i < FOLDER_FILES; i++) {
        folder_path(path, folder, i);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

// ---- A file of the handler's ----

static void file_opened(skua_worker *worker, skua_status status, skua_file *file,
                        const skua_file_info *info, void *user)
{
    (void)worker;
    visit *v = user;
    visit_note(v, "open: %s", skua_status_text(status));
    if (status && v->request) house_must(skua_respond_error(v->request, 404));
    if (status) return;
    if (v->request)
        house_must(skua_respond_file(v->request, 200, "text/plain", file, 10, info->size - 10));
    skua_file_unref(file);
}

static void on_file(skua_request *request, void *user)
{
    run *r = user;
    skua_file_open(skua_request_worker(request), r->root, SKUA_SLICE("large.bin"), file_opened,
                   house_visit(request));
}

static void on_file_missing(skua_request *request, void *user)
{
    run *r = user;
    skua_file_open(skua_request_worker(request), r->root, SKUA_SLICE("missing"), file_opened,
                   house_visit(request));
}

static void file_written(skua_worker *worker, skua_status status, skua_file *file,
                         const skua_file_info *info, void *user)
{
    (void)worker;
    (void)info;
    visit *v = user;
    visit_note(v, "open: %s", skua_status_text(status));
    if (status || !v->request) abort();
    house_must(skua_respond_stream(v->request, 200, "text/plain", -1, NULL, NULL));
    house_must(skua_write(v->request, SKUA_SLICE("before ")));
    house_must(skua_write_file(v->request, file, 100, 5));
    house_must(skua_write(v->request, SKUA_SLICE(" after")));
    house_must(skua_finish(v->request));
    skua_file_unref(file);
}

static void on_written(skua_request *request, void *user)
{
    run *r = user;
    skua_file_open(skua_request_worker(request), r->root, SKUA_SLICE("small.txt"), file_written,
                   house_visit(request));
}

void house_add_files(run *r, skua_server *server)
{
    static const house_route routes[] = {
        { "GET /file", on_file },
        { "GET /file/missing", on_file_missing },
        { "GET /written", on_written },
    };
    house_add(r, server, routes, sizeof routes / sizeof *routes);
    house_must(skua_route_directory(server, "GET /files/", r->folder, NULL));
    const skua_directory_config kept = { .list = true };
    const skua_directory_config forgotten = { .list = true, .listings_octets_max = 1 };
    house_must(skua_route_directory(server, "GET /kept/", r->folder, &kept));
    house_must(skua_route_directory(server, "GET /lost/", r->folder, &forgotten));
}
