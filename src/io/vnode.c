// SPDX-License-Identifier: MIT
//
// Changes, over kqueue's vnode filter. Each directory is kept open while it is watched: its
// descriptor is its number, and closing that ends the watch.

#include "io/changes.h"
#include "io/io.h"

#ifdef IO_HAS_KQUEUE

#include <errno.h>
#include <fcntl.h>
#include <sys/event.h>
#include <unistd.h>

enum { VNODE_EVENTS = 64, VNODE_READS_MAX = 64 };

enum {
    VNODE_FATAL = NOTE_DELETE | NOTE_RENAME | NOTE_REVOKE,
    VNODE_ALL = VNODE_FATAL | NOTE_WRITE | NOTE_EXTEND | NOTE_ATTRIB | NOTE_LINK
};

bool changes_include_writes(void)
{
    return false;
}

bool changes_include_remote(void)
{
    return true;
}

int changes_open(void)
{
    int fd = kqueue();
    if (fd >= 0) (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

void changes_close(int fd)
{
    if (fd >= 0) (void)close(fd);
}

static skua_status vnode_status(int error)
{
    switch (error) {
    case EMFILE:
    case ENFILE: return SKUA_ENOFILE;
    case ENOMEM: return SKUA_ENOMEM;
    case EACCES:
    case EPERM: return SKUA_EACCES;
    default: return SKUA_EUNSUPPORTED; // of this file system
    }
}

skua_status changes_add(int fd, int directory, int *number)
{
    int kept = fcntl(directory, F_DUPFD_CLOEXEC, 0);
    if (kept < 0) return vnode_status(errno);
    struct kevent change = {
        .ident = (uintptr_t)kept,
        .filter = EVFILT_VNODE,
        .flags = EV_ADD | EV_CLEAR,
        .fflags = VNODE_ALL,
    };
    if (kevent(fd, &change, 1, NULL, 0, NULL) == 0) {
        *number = kept;
        return SKUA_OK;
    }
    skua_status status = vnode_status(errno);
    (void)close(kept);
    return status;
}

void changes_remove(int fd, int number)
{
    struct kevent change = { .ident = (uintptr_t)number,
                             .filter = EVFILT_VNODE,
                             .flags = EV_DELETE };
    (void)kevent(fd, &change, 1, NULL, 0, NULL);
    (void)close(number);
}

static void vnode_tell(int fd, const struct kevent *event, changes_fn *told, void *user)
{
    int number = (int)event->ident;
    bool gone = event->fflags & VNODE_FATAL;
    if (gone) changes_remove(fd, number);
    told(gone ? CHANGE_GONE : CHANGE_INSIDE, number, user);
}

void changes_read(int fd, changes_fn *told, void *user)
{
    static const struct timespec at_once;
    struct kevent events[VNODE_EVENTS];
    int n = VNODE_EVENTS;
    for (int i = 0; i < VNODE_READS_MAX && n == VNODE_EVENTS; i++) {
        n = kevent(fd, NULL, 0, events, VNODE_EVENTS, &at_once);
        for (int k = 0; k < n; k++)
            vnode_tell(fd, &events[k], told, user);
    }
}

#endif
