// SPDX-License-Identifier: MIT
//
// Changes, over inotify. The kernel has one watch for a directory however often it is asked.

#include "io/changes.h"
#include "io/io.h"

#if defined(__linux__) && !defined(IO_HAS_KQUEUE)

#include <errno.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { INOTIFY_READ_OCTETS = 16384, INOTIFY_READS_MAX = 64 };

enum {
    INOTIFY_MASK = IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM |
                   IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR,
    INOTIFY_FATAL = IN_IGNORED | IN_UNMOUNT | IN_MOVE_SELF | IN_DELETE_SELF
};

bool changes_include_writes(void)
{
    return true;
}

bool changes_include_remote(void)
{
    return false;
}

int changes_open(void)
{
    return inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
}

void changes_close(int fd)
{
    if (fd >= 0) (void)close(fd);
}

static skua_status inotify_status(int error)
{
    switch (error) {
    case ENOSPC: return SKUA_ELIMIT; // fs.inotify.max_user_watches
    case ENOMEM: return SKUA_ENOMEM;
    case EACCES: return SKUA_EACCES;
    default: return SKUA_EUNSUPPORTED; // without /proc, for one
    }
}

// The directory is named by its descriptor, since a path could have been turned elsewhere since it
// was resolved.
skua_status changes_add(int fd, int directory, int *number)
{
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", directory);
    int added = inotify_add_watch(fd, path, INOTIFY_MASK);
    if (added < 0) return inotify_status(errno);
    *number = added;
    return SKUA_OK;
}

void changes_remove(int fd, int number)
{
    (void)inotify_rm_watch(fd, number);
}

static void inotify_tell(int fd, const struct inotify_event *event, changes_fn *told, void *user)
{
    if (event->mask & IN_Q_OVERFLOW) {
        told(CHANGE_LOST, -1, user);
    } else if (event->mask & INOTIFY_FATAL) {
        if (!(event->mask & IN_IGNORED)) changes_remove(fd, event->wd);
        told(CHANGE_GONE, event->wd, user);
    } else {
        told(CHANGE_INSIDE, event->wd, user);
    }
}

static void inotify_tell_all(int fd, const char *octets, size_t len, changes_fn *told, void *user)
{
    for (size_t at = 0; at < len;) {
        struct inotify_event event;
        memcpy(&event, octets + at, sizeof event);
        inotify_tell(fd, &event, told, user);
        at += sizeof event + event.len;
    }
}

void changes_read(int fd, changes_fn *told, void *user)
{
    char octets[INOTIFY_READ_OCTETS];
    ssize_t n = 1;
    for (int i = 0; i < INOTIFY_READS_MAX && n > 0; i++) {
        n = read(fd, octets, sizeof octets);
        if (n > 0) inotify_tell_all(fd, octets, (size_t)n, told, user);
    }
}

#endif
