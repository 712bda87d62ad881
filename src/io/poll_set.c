// SPDX-License-Identifier: MIT
//
// Sets of other people's descriptors, over epoll and over kqueue.

#include "io/poll_set.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef IO_HAS_KQUEUE
#include <fcntl.h>
#include <sys/event.h>
#include <time.h>
#else
#include <sys/epoll.h>
#endif

static skua_status poll_set_opened(int fd, int *set)
{
    if (fd < 0) return errno == EMFILE || errno == ENFILE ? SKUA_ENOFILE : SKUA_ENOMEM;
    *set = fd;
    return SKUA_OK;
}

#ifdef IO_HAS_KQUEUE

_Static_assert(sizeof(void *) >= sizeof(uint64_t), "udata holds a key");

skua_status poll_set_open(int *set)
{
    int fd = kqueue();
    if (fd >= 0) (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    return poll_set_opened(fd, set);
}

// Applies one change. Asked for a receipt, kevent hands back no events.
// Returns: 0 or an errno.
static int poll_set_apply(int set, int fd, int filter, unsigned flags, uint64_t key)
{
    static const struct timespec at_once;
    struct kevent receipt, change = {
        .ident = (uintptr_t)fd,
        .filter = (short)filter,
        .flags = (unsigned short)(flags | EV_RECEIPT),
        .udata = (void *)(uintptr_t)key,
    };
    if (kevent(set, &change, 1, &receipt, 1, &at_once) < 0) return errno;
    return receipt.flags & EV_ERROR ? (int)receipt.data : 0;
}

// One direction. What stays is enabled again: the kernel refuses that for what it has forgotten.
static int poll_set_turn(int set, int fd, int filter, bool before, bool wanted, uint64_t key)
{
    if (!before && !wanted) return 0;
    unsigned flags = before && wanted ? EV_ENABLE : wanted ? EV_ADD : EV_DELETE;
    return poll_set_apply(set, fd, filter, flags, key);
}

skua_status poll_set_change(int set, int fd, unsigned before, unsigned wanted, uint64_t key)
{
    int error = poll_set_turn(set, fd, EVFILT_READ, before & READY_IN, wanted & READY_IN, key);
    if (error) return error == ENOENT || error == EBADF ? SKUA_ENOENT : SKUA_ENOMEM;
    error = poll_set_turn(set, fd, EVFILT_WRITE, before & READY_OUT, wanted & READY_OUT, key);
    if (!error) return SKUA_OK;
    (void)poll_set_turn(set, fd, EVFILT_READ, wanted & READY_IN, before & READY_IN, key);
    return error == ENOENT || error == EBADF ? SKUA_ENOENT : SKUA_ENOMEM;
}

// A kqueue takes regular files too, and tells of their growing.
skua_status poll_set_add(int set, int fd, unsigned wanted, uint64_t key)
{
    struct stat is;
    if (fstat(fd, &is) != 0) return SKUA_EINVAL;
    if (S_ISREG(is.st_mode) || S_ISDIR(is.st_mode)) return SKUA_EUNSUPPORTED;
    skua_status status = poll_set_change(set, fd, 0, wanted, key);
    return status == SKUA_ENOENT ? SKUA_EUNSUPPORTED : status;
}

skua_status poll_set_remove(int set, int fd, unsigned before)
{
    return poll_set_change(set, fd, before, 0, 0);
}

static unsigned poll_set_ready(const struct kevent *event)
{
    bool failed = event->flags & EV_EOF && (event->fflags || event->filter == EVFILT_WRITE);
    return (event->filter == EVFILT_WRITE ? READY_OUT : READY_IN) | (failed ? READY_ERROR : 0);
}

int poll_set_take(int set, poll_set_event *events, int room)
{
    static const struct timespec at_once;
    struct kevent taken[POLL_SET_TAKEN_MAX];
    int n = kevent(set, NULL, 0, taken, room < POLL_SET_TAKEN_MAX ? room : POLL_SET_TAKEN_MAX,
                   &at_once);
    for (int i = 0; i < n; i++) {
        events[i] =
            (poll_set_event){ (uint64_t)(uintptr_t)taken[i].udata, poll_set_ready(&taken[i]) };
    }
    return n < 0 ? 0 : n;
}

#else

skua_status poll_set_open(int *set)
{
    return poll_set_opened(epoll_create1(EPOLL_CLOEXEC), set);
}

// Errors and hang-ups are always told. Of a descriptor that nothing is wanted of they are told once
// at most, edge-triggered, so that they cannot keep the loop busy.
static struct epoll_event poll_set_events(unsigned wanted, uint64_t key)
{
    struct epoll_event event = { .events = wanted ? 0 : (uint32_t)EPOLLET, .data.u64 = key };
    if (wanted & READY_IN) event.events |= EPOLLIN;
    if (wanted & READY_OUT) event.events |= EPOLLOUT;
    return event;
}

static skua_status poll_set_why(int error)
{
    switch (error) {
    case EBADF: return SKUA_EINVAL;
    case EPERM:
    case ELOOP: return SKUA_EUNSUPPORTED;
    case EINVAL: // one file by very many descriptors
    case ENOSPC: return SKUA_ELIMIT;
    default: return SKUA_ENOMEM;
    }
}

skua_status poll_set_add(int set, int fd, unsigned wanted, uint64_t key)
{
    struct epoll_event event = poll_set_events(wanted, key);
    return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0 ? SKUA_OK : poll_set_why(errno);
}

skua_status poll_set_change(int set, int fd, unsigned before, unsigned wanted, uint64_t key)
{
    (void)before;
    struct epoll_event event = poll_set_events(wanted, key);
    return epoll_ctl(set, EPOLL_CTL_MOD, fd, &event) == 0 ? SKUA_OK : SKUA_ENOENT;
}

skua_status poll_set_remove(int set, int fd, unsigned before)
{
    (void)before;
    return epoll_ctl(set, EPOLL_CTL_DEL, fd, NULL) == 0 ? SKUA_OK : SKUA_ENOENT;
}

static unsigned poll_set_ready(uint32_t events)
{
    unsigned ready = 0;
    if (events & EPOLLIN) ready |= READY_IN;
    if (events & EPOLLOUT) ready |= READY_OUT;
    if (events & (EPOLLERR | EPOLLHUP)) ready |= READY_ERROR;
    return ready;
}

int poll_set_take(int set, poll_set_event *events, int room)
{
    struct epoll_event taken[POLL_SET_TAKEN_MAX];
    int n = epoll_wait(set, taken, room < POLL_SET_TAKEN_MAX ? room : POLL_SET_TAKEN_MAX, 0);
    for (int i = 0; i < n; i++)
        events[i] = (poll_set_event){ taken[i].data.u64, poll_set_ready(taken[i].events) };
    return n < 0 ? 0 : n;
}

#endif
