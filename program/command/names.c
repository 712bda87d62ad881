// SPDX-License-Identifier: MIT
//
// A file is written anew beside the one before, and takes its place when it is whole.

#include "command/names.h"

#include "common/say.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool names_is_name(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)name[i] < ' ' || name[i] == ':' || name[i] == 0x7f) return false;
    }
    return len > 0 && len <= CONF_NAME_OCTETS_MAX && name[0] != '#';
}

bool conf_names_is_name(const char *name)
{
    if (names_is_name(name)) return true;
    say_error("\"%s\" cannot be the name of a user; a name has no colon, no control characters, "
              "and no # at its beginning",
              name);
    return false;
}

// Copies the lines of all others.
static void names_copy(FILE *from, FILE *to, const char *name)
{
    char *line = NULL;
    size_t room = 0, len = strlen(name);
    ssize_t n;
    while ((n = getline(&line, &room, from)) > 0) {
        bool is_own = (size_t)n > len && strncmp(line, name, len) == 0 && line[len] == ':';
        if (is_own) continue;
        (void)fputs(line, to);
        if (line[n - 1] != '\n') (void)fputc('\n', to);
    }
    free(line);
}

// A file that is there keeps its owner and its mode.
static void names_keep_mode(FILE *from, int fd)
{
    struct stat info;
    mode_t mode = 0640;
    if (from && fstat(fileno(from), &info) == 0) {
        mode = info.st_mode & 0777;
        if (fchown(fd, info.st_uid, info.st_gid) != 0) mode &= 0770;
    }
    (void)fchmod(fd, mode);
}

static bool names_write(FILE *from, FILE *to, const char *name, const char *hash)
{
    if (from) names_copy(from, to, name);
    (void)fprintf(to, "%s:%s\n", name, hash);
    names_keep_mode(from, fileno(to));
    return fflush(to) == 0 && !ferror(to) && fsync(fileno(to)) == 0;
}

static bool names_replace(const char *file, const char *name, const char *hash)
{
    char made[PATH_MAX];
    int n = snprintf(made, sizeof made, "%s.XXXXXX", file);
    int fd = n > 0 && (size_t)n < sizeof made ? mkstemp(made) : -1;
    FILE *to = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!to) {
        if (fd >= 0) (void)close(fd);
        return false;
    }
    FILE *from = fopen(file, "r");
    bool is_new = !from && errno == ENOENT;
    bool written = (from || is_new) && names_write(from, to, name, hash);
    if (from) (void)fclose(from);
    written = fclose(to) == 0 && written && rename(made, file) == 0;
    if (!written) (void)unlink(made);
    return written;
}

// A link stays one: what it leads to is replaced.
bool conf_names_put(const char *file, const char *name, const char *hash)
{
    char *real = realpath(file, NULL);
    bool put = names_replace(real ? real : file, name, hash);
    free(real);
    return put;
}
