// SPDX-License-Identifier: MIT
//
// Includes are put in the place of their directive, so that an included file may hold what its place allows.
// A file is known by its device and number: a circle through links is one, too.

#include "conf/files.h"

#include "common/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// A file that is being read, inside of those that include it.
typedef struct open_file {
    const struct open_file *outer; // NULL: the one that was named
    const char *path;
    dev_t device;
    ino_t number;
} open_file;

typedef struct conf_files {
    conf_findings *findings;
    unsigned count;
    conf_reader reader; // of one file after the other
    char octets[16384];
} conf_files;

static conf_directive *files_read(conf_files *files, const char *path, conf_place from,
                                  const open_file *outer);

const char *conf_files_resolve(conf_memory *memory, const char *name, const char *file)
{
    const char *slash = strrchr(file, '/');
    if (name[0] == '/' || !slash) return name;
    return conf_print(memory, "%.*s/%s", (int)(slash - file), file, name);
}

static const char *files_error(int number)
{
    if (number == ENOENT || number == ENOTDIR) return "there is no such file";
    if (number == ETIMEDOUT) return "nobody has written all of it into this pipe within 10 s";
    if (number == EACCES || number == EPERM) return "there is no permission to read it";
    return "it cannot be read";
}

// ---- Includes ----

static conf_directive **files_include_one(conf_files *files, const char *path, conf_place from,
                                          const open_file *outer, conf_directive **end)
{
    const char *kept = conf_copy(files->findings->memory, path, strlen(path));
    *end = kept ? files_read(files, kept, from, outer) : NULL;
    while (*end)
        end = &(*end)->next;
    return end;
}

// Adds what files of the pattern hold. A pattern may match nothing, unlike the name of one file.
static conf_directive **files_include(conf_files *files, const conf_directive *include,
                                      const open_file *outer, conf_directive **end)
{
    const conf_word *word = &include->words[1];
    const char *pattern = conf_files_resolve(files->findings->memory, word->text, word->at.file);
    glob_t found;
    if (!pattern) return end;
    if (!strpbrk(pattern, "*?[")) return files_include_one(files, pattern, word->at, outer, end);
    int failed = source_glob(pattern, &found);
    if (failed && failed != GLOB_NOMATCH)
        conf_find(files->findings, word->at, "the folder of \"%s\" cannot be read", word->text);
    for (size_t i = 0; !failed && i < found.gl_pathc; i++)
        end = files_include_one(files, found.gl_pathv[i], word->at, outer, end);
    if (!failed) source_glob_free(&found);
    return end;
}

static bool files_may_include(conf_files *files, const conf_directive *include)
{
    if (include->count == 2 && !include->has_block) return true;
    conf_find(files->findings, include->words[0].at,
              "include takes one file, or a pattern: include PATTERN, as in include sites/*.conf");
    return false;
}

// Returns: the end of the list, behind what came in place of includes.
static void files_expand(conf_files *files, conf_directive **at, const open_file *outer)
{
    while (*at) {
        conf_directive *one = *at;
        if (strcmp(one->words[0].text, "include") != 0) {
            files_expand(files, &one->inner, outer);
            at = &one->next;
            continue;
        }
        conf_directive *next = one->next;
        *at = next;
        if (!files_may_include(files, one)) continue;
        at = files_include(files, one, outer, at);
        *at = next;
    }
}

// ---- One file ----

static bool files_is_circle(const conf_files *files, const open_file *file, conf_place from)
{
    for (const open_file *at = file->outer; at; at = at->outer) {
        if (at->device != file->device || at->number != file->number) continue;
        conf_find(files->findings, from, "\"%s\" includes itself%s%s", file->path,
                  file->outer == at ? "" : ", by way of ",
                  file->outer == at ? "" : file->outer->path);
        return true;
    }
    return false;
}

static bool files_take(conf_files *files, int fd, conf_place from, const char *path)
{
    size_t all = 0;
    ssize_t n;
    while ((n = read(fd, files->octets, sizeof files->octets)) > 0 && all <= CONF_FILE_OCTETS_MAX) {
        all += (size_t)n;
        conf_reader_feed(&files->reader, files->octets, (size_t)n);
    }
    if (n < 0) conf_find(files->findings, from, "\"%s\": %s", path, files_error(errno));
    else if (all > CONF_FILE_OCTETS_MAX)
        conf_find(files->findings, from, "\"%s\" has more than %d octets", path,
                  CONF_FILE_OCTETS_MAX);
    else return true;
    return false;
}

static bool files_may_open(conf_files *files, int fd, open_file *file, conf_place from)
{
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0) {
        conf_find(files->findings, from, "\"%s\": %s", file->path, files_error(errno));
    } else if (S_ISDIR(info.st_mode)) {
        conf_find(files->findings, from, "\"%s\" is a folder; include takes files: %s/*.conf",
                  file->path, file->path);
    } else if (files->count == CONF_FILES_MAX) {
        conf_find(files->findings, from, "there are more than %d files", CONF_FILES_MAX);
    } else {
        file->device = info.st_dev;
        file->number = info.st_ino;
        return !files_is_circle(files, file, from);
    }
    return false;
}

static const char *files_variable(const char *name)
{
    return getenv(name);
}

static conf_directive *files_read(conf_files *files, const char *path, conf_place from,
                                  const open_file *outer)
{
    conf_directive *first = NULL;
    open_file file = { .outer = outer, .path = path };
    int fd = source_open(path, true);
    if (files_may_open(files, fd, &file, from)) {
        files->count++;
        conf_reader_begin(&files->reader, path, files->findings, files_variable);
        if (files_take(files, fd, from, path)) first = conf_reader_end(&files->reader);
    }
    if (fd >= 0) (void)close(fd);
    files_expand(files, &first, &file);
    return first;
}

conf_directive *conf_files_read(const char *path, conf_findings *findings)
{
    conf_files *files = conf_take(findings->memory, sizeof *files);
    if (!files) return NULL;
    files->findings = findings;
    return files_read(files, path, (conf_place){ path, 1, 1 }, NULL);
}
