// SPDX-License-Identifier: MIT
//
// A file that is renamed into its place is never seen half written, and a link that stands there leads nobody astray.

#include "conf/pid_file.h"

#include "conf/conf.h"
#include "conf/files.h"
#include "common/say.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char pid_file_kept[PATH_MAX]; // "": none

static bool pid_file_write(const char *path)
{
    char made[PATH_MAX], text[32];
    int len = snprintf(made, sizeof made, "%s.%ld", path, (long)getpid());
    if (len < 0 || (size_t)len >= sizeof made) return false;
    int fd = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) return false;
    len = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    bool written = write(fd, text, (size_t)len) == len && fchmod(fd, 0644) == 0;
    written = close(fd) == 0 && written && rename(made, path) == 0;
    if (!written) (void)unlink(made);
    return written;
}

// Only a file is opened: a device or a pipe would notice.
static pid_t pid_file_read(const char *path)
{
    char text[32], *end = NULL;
    struct stat info;
    bool is_file = stat(path, &info) == 0 && S_ISREG(info.st_mode);
    int fd = is_file ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0) (void)close(fd);
    if (n <= 0) return 0;
    text[n] = '\0';
    long pid = strtol(text, &end, 10);
    return end != text && (*end == '\n' || !*end) && pid > 0 && pid <= INT_MAX ? (pid_t)pid : 0;
}

// Another process may have taken the file.
static void pid_file_remove(void)
{
    if (pid_file_read(pid_file_kept) == getpid()) (void)unlink(pid_file_kept);
}

bool pid_file_keep(const char *path)
{
    bool is_same = path && strcmp(path, pid_file_kept) == 0;
    if (is_same && access(path, F_OK) == 0) return true;
    if (path && !pid_file_write(path)) {
        say_error("the pid_file %s cannot be written", path);
        return false;
    }
    if (pid_file_kept[0] && !is_same) pid_file_remove();
    (void)snprintf(pid_file_kept, sizeof pid_file_kept, "%s", path ? path : "");
    return true;
}

// ---- For commands ----

// Whether only root and the owner may write there. A sticky folder such as /tmp is everybody's: whoever comes first has the
// name.
static bool pid_file_is_closed(const char *path, uid_t owner)
{
    struct stat info;
    return stat(path, &info) == 0 && (info.st_uid == 0 || info.st_uid == owner) &&
           (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Looks at the file, and at each folder above it; path: without links, and is cut down.
static bool pid_file_is_owners(char *path, uid_t owner)
{
    bool is_closed = pid_file_is_closed(path, owner);
    for (char *slash; is_closed && (slash = strrchr(path, '/')) != NULL;) {
        *slash = '\0';
        is_closed = pid_file_is_closed(*path ? path : "/", owner);
    }
    return is_closed;
}

static pid_file_found pid_file_find(const char *path)
{
    char whole[PATH_MAX];
    struct stat info;
    pid_file_found found = { 0 };
    if (!path || !realpath(path, whole) || stat(whole, &info) != 0) return found;
    found.pid = pid_file_read(whole);
    found.owner = info.st_uid;
    found.is_owners = pid_file_is_owners(whole, info.st_uid);
    return found;
}

pid_file_found pid_file_of(const char *configuration)
{
    conf *c = conf_new();
    const char *path = NULL;
    if (!c) return (pid_file_found){ 0 };
    c->first = conf_files_read(configuration, &c->findings);
    for (const conf_directive *d = c->first; d && !path; d = d->next) {
        const conf_word *words = d->words;
        if (d->count == 2 && strcmp(words[0].text, "pid_file") == 0)
            path = conf_files_resolve(&c->memory, words[1].text, words[1].at.file);
    }
    pid_file_found found = pid_file_find(path);
    conf_drop(c);
    return found;
}
