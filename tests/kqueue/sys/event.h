// SPDX-License-Identifier: MIT
//
// FreeBSD's <sys/event.h> over Linux's epoll and inotify, so that the kqueue backend runs where it
// is developed.
// Only what Skua uses is here, and that as kqueue(2) of FreeBSD says it: EVFILT_READ, EVFILT_WRITE,
// EVFILT_USER and EVFILT_VNODE; no timers, processes or signals.
#ifndef SKUA_TESTS_KQUEUE_EVENT_H
#define SKUA_TESTS_KQUEUE_EVENT_H

#include <stdint.h>
#include <time.h>

enum { EVFILT_READ = -1, EVFILT_WRITE = -2, EVFILT_VNODE = -4, EVFILT_USER = -11 };

enum {
    EV_ADD = 0x0001,
    EV_DELETE = 0x0002,
    EV_ENABLE = 0x0004,
    EV_DISABLE = 0x0008,
    EV_ONESHOT = 0x0010,
    EV_CLEAR = 0x0020,
    EV_RECEIPT = 0x0040,
    EV_DISPATCH = 0x0080,
    EV_ERROR = 0x4000,
    EV_EOF = 0x8000
};

enum { NOTE_TRIGGER = 0x01000000 };

enum {
    NOTE_DELETE = 0x0001,
    NOTE_WRITE = 0x0002,
    NOTE_EXTEND = 0x0004,
    NOTE_ATTRIB = 0x0008,
    NOTE_LINK = 0x0010,
    NOTE_RENAME = 0x0020,
    NOTE_REVOKE = 0x0040
};

struct kevent {
    uintptr_t ident;
    short filter;
    unsigned short flags;
    unsigned int fflags;
    int64_t data;
    void *udata;
    uint64_t ext[4];
};

int kqueue(void);
int kevent(int kq, const struct kevent *changelist, int nchanges, struct kevent *eventlist,
           int nevents, const struct timespec *timeout);

#endif
