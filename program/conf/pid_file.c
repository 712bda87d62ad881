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

static pid_t pid_file_read(const char *path)
{
    char text[32], *end = NULL;
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
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

pid_t pid_file_of(const char *configuration)
{
    conf *c = conf_new();
    const char *path = NULL;
    if (!c) return 0;
    c->first = conf_files_read(configuration, &c->findings);
    for (const conf_directive *d = c->first; d && !path; d = d->next) {
        const conf_word *words = d->words;
        if (d->count == 2 && strcmp(words[0].text, "pid_file") == 0)
            path = conf_files_resolve(&c->memory, words[1].text, words[1].at.file);
    }
    pid_t pid = pid_file_read(path);
    conf_drop(c);
    return pid;
}
