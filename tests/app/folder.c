// SPDX-License-Identifier: MIT
//
// The folder that the application of the tests serves.

#include "app/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const struct {
    const char *name;
    size_t octets;
} folder_files[] = { { "small.txt", 300 },
                     { "empty.txt", 0 },
                     { "large.bin", 1500000 },
                     { "index.html", 40 },
                     { "file", APP_FILE_OCTETS } };

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
        (void)fputc(app_octet(APP_FILE_TAG, i), file);
    struct timespec times[2] = { { .tv_sec = folder_mtime }, { .tv_sec = folder_mtime } };
    return fflush(file) == 0 && futimens(fileno(file), times) == 0 && fclose(file) == 0;
}

static bool folder_make_many(const char *folder)
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

static void folder_remove_many(const char *folder)
{
    char path[FOLDER_PATH_OCTETS];
    for (unsigned i = 0; i < FOLDER_MANY; i++) {
        folder_path_of_many(path, folder, i);
        (void)unlink(path);
    }
    (void)snprintf(path, sizeof path, "%s/many", folder);
    (void)rmdir(path);
}

bool app_folder_make(char *folder)
{
    char path[FOLDER_PATH_OCTETS];
    (void)snprintf(folder, APP_FOLDER_OCTETS, "/tmp/skua-app-XXXXXX");
    if (!mkdtemp(folder)) return false;
    for (size_t i = 0; i < FOLDER_FILES; i++) {
        folder_path(path, folder, i);
        if (!folder_write(path, folder_files[i].octets)) return false;
    }
    return folder_make_many(folder);
}

void app_folder_remove(const char *folder)
{
    char path[FOLDER_PATH_OCTETS];
    folder_remove_many(folder);
    for (size_t i = 0; i < FOLDER_FILES; i++) {
        folder_path(path, folder, i);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}
