// SPDX-License-Identifier: MIT
//
// Other processes may write to the same folder, of this machine during a reload or an upgrade, or of another one. Each
// holds a lock of its file, which goes with the process. A file is made a moment before it is locked, so that young ones
// are left alone.

#include "upload/stale.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define STALE_DIGITS "0123456789"

static struct {
    pthread_mutex_t lock;
    struct {
        dev_t device;
        ino_t number;
    } at[STALE_FOLDERS_MAX];
    unsigned count; // all that have been looked at; the latest ones are remembered
} folders = { .lock = PTHREAD_MUTEX_INITIALIZER };

void stale_mark(int fd)
{
    (void)flock(fd, LOCK_EX | LOCK_NB);
}

static bool stale_is_first(const struct stat *folder)
{
    bool is_known = false;
    (void)pthread_mutex_lock(&folders.lock);
    for (unsigned i = 0; i < folders.count && i < STALE_FOLDERS_MAX && !is_known; i++)
        is_known = folders.at[i].device == folder->st_dev && folders.at[i].number == folder->st_ino;
    if (!is_known) {
        unsigned place = folders.count++ % STALE_FOLDERS_MAX;
        folders.at[place].device = folder->st_dev;
        folders.at[place].number = folder->st_ino;
    }
    (void)pthread_mutex_unlock(&folders.lock);
    return !is_known;
}

static bool stale_is_name(const char *name)
{
    if (strncmp(name, STALE_PREFIX, sizeof STALE_PREFIX - 1) != 0) return false;
    name += sizeof STALE_PREFIX - 1;
    size_t first = strspn(name, STALE_DIGITS);
    if (!first || name[first] != '-') return false;
    size_t second = strspn(name + first + 1, STALE_DIGITS);
    return second && !name[first + 1 + second];
}

static void stale_remove_one(int folder, const char *name, int64_t unix_s)
{
    struct stat found;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return;
    bool is_left = fstat(fd, &found) == 0 && S_ISREG(found.st_mode) &&
                   found.st_mtime + STALE_AGE_S <= unix_s && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (is_left) (void)unlinkat(folder, name, 0);
    (void)close(fd);
}

void stale_remove(int folder, int64_t unix_ns)
{
    struct stat found;
    if (fstat(folder, &found) != 0 || !stale_is_first(&found)) return;
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listed = fd < 0 ? NULL : fdopendir(fd);
    if (!listed && fd >= 0) (void)close(fd);
    for (const struct dirent *at; listed && (at = readdir(listed));)
        if (stale_is_name(at->d_name)) stale_remove_one(folder, at->d_name, unix_ns / 1000000000);
    if (listed) (void)closedir(listed);
}
