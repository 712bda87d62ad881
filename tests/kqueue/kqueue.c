// SPDX-License-Identifier: MIT
//
// kqueue(2) and kevent(2). A queue is an epoll instance that holds one for reading and one for
// writing, an eventfd for the user filters and an inotify instance for the vnode filters.

#include "shim.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { QUEUES_MAX = 1024 };

static shim_queue *shim_queues[QUEUES_MAX];
static pthread_mutex_t shim_lock = PTHREAD_MUTEX_INITIALIZER; // of every queue

// ---- Notes ----

void shim_note_set(shim_note *note, const struct kevent *change)
{
    const unsigned kept = EV_CLEAR | EV_ONESHOT | EV_DISPATCH;
    note->ident = change->ident;
    note->udata = change->udata;
    if (change->flags & EV_ADD) note->flags = (note->flags & EV_DISABLE) | (change->flags & kept);
    if (change->flags & (EV_ADD | EV_ENABLE)) note->flags &= ~(unsigned)EV_DISABLE;
    if (change->flags & EV_DISABLE) note->flags |= EV_DISABLE;
}

struct kevent shim_note_event(const shim_note *note, int filter)
{
    return (struct kevent){
        .ident = note->ident,
        .filter = (short)filter,
        .flags = (unsigned short)(note->flags & ~(unsigned)EV_DISABLE),
        .udata = note->udata,
    };
}

// ---- Queues ----

bool shim_include(const shim_queue *queue, int fd)
{
    struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
    return fd >= 0 && epoll_ctl(queue->fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void shim_dispose(shim_queue *queue)
{
    int fds[] = { queue->sides[SHIM_READ].epoll, queue->sides[SHIM_WRITE].epoll, queue->user_fd,
                  queue->inotify };
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (fds[i] >= 0) (void)close(fds[i]);
    }
    free(queue->sides[SHIM_READ].notes);
    free(queue->sides[SHIM_WRITE].notes);
    free(queue);
}

static shim_queue *shim_queue_new(int fd)
{
    shim_queue *queue = calloc(1, sizeof *queue);
    if (!queue) return NULL;
    queue->fd = fd;
    queue->inotify = -1;
    queue->sides[SHIM_READ].epoll = epoll_create1(EPOLL_CLOEXEC);
    queue->sides[SHIM_WRITE].epoll = epoll_create1(EPOLL_CLOEXEC);
    queue->user_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (shim_include(queue, queue->sides[SHIM_READ].epoll) &&
        shim_include(queue, queue->sides[SHIM_WRITE].epoll) &&
        shim_include(queue, queue->user_fd)) {
        return queue;
    }
    shim_dispose(queue);
    errno = EMFILE;
    return NULL;
}

// close(2) of a queue is not seen here: it is disposed of when its number comes again.
int kqueue(void)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0) return -1;
    shim_queue *queue = fd < QUEUES_MAX ? shim_queue_new(fd) : NULL;
    if (!queue) {
        (void)close(fd);
        errno = EMFILE;
        return -1;
    }
    (void)pthread_mutex_lock(&shim_lock);
    shim_queue *old = shim_queues[fd];
    shim_queues[fd] = queue;
    (void)pthread_mutex_unlock(&shim_lock);
    if (old) shim_dispose(old);
    return fd;
}

// ---- User filters ----

static shim_note *shim_user_find(shim_queue *queue, uintptr_t ident, bool add)
{
    shim_note *free_note = NULL;
    for (size_t i = 0; i < SHIM_USERS_MAX; i++) {
        shim_note *note = &queue->users[i];
        if (note->used && note->ident == ident) return note;
        if (!note->used && !free_note) free_note = note;
    }
    return add ? free_note : NULL;
}

int shim_user_change(shim_queue *queue, const struct kevent *change)
{
    shim_note *note = shim_user_find(queue, change->ident, change->flags & EV_ADD);
    if (!note) return change->flags & EV_ADD ? ENOMEM : ENOENT;
    if (change->flags & EV_DELETE) {
        memset(note, 0, sizeof *note);
        return 0;
    }
    note->used = true;
    shim_note_set(note, change);
    if (change->fflags & NOTE_TRIGGER) note->triggered = true;
    uint64_t one = 1;
    if (note->triggered && !(note->flags & EV_DISABLE))
        (void)!write(queue->user_fd, &one, sizeof one);
    return 0;
}

// Without EV_CLEAR a trigger stays until the registration goes: the eventfd stays readable.
int shim_user_collect(shim_queue *queue, struct kevent *events, int room)
{
    int n = 0;
    bool stays = false;
    for (size_t i = 0; i < SHIM_USERS_MAX; i++) {
        shim_note *note = &queue->users[i];
        if (!note->used || !note->triggered || (note->flags & EV_DISABLE)) continue;
        if (n == room) {
            stays = true;
            break;
        }
        events[n++] = shim_note_event(note, EVFILT_USER);
        if (note->flags & EV_CLEAR) note->triggered = false;
        if (note->flags & EV_DISPATCH) note->flags |= EV_DISABLE;
        if (note->flags & EV_ONESHOT) memset(note, 0, sizeof *note);
        stays |= note->triggered && !(note->flags & EV_DISABLE);
    }
    uint64_t count;
    if (!stays) (void)!read(queue->user_fd, &count, sizeof count);
    return n;
}

// ---- kevent ----

static int shim_change(shim_queue *queue, const struct kevent *change)
{
    switch (change->filter) {
    case EVFILT_READ: return shim_fd_change(queue, SHIM_READ, change);
    case EVFILT_WRITE: return shim_fd_change(queue, SHIM_WRITE, change);
    case EVFILT_USER: return shim_user_change(queue, change);
    case EVFILT_VNODE: return shim_vnode_change(queue, change);
    default: return EINVAL;
    }
}

// "If an error occurs while processing an element of the changelist and there is enough room in the
// eventlist, then the event will be placed in the eventlist with EV_ERROR set in flags and the
// system error in data.
// Otherwise, -1 will be returned." EV_RECEIPT asks for that of successes too, with a data of 0.
// Returns: how many were placed, or -1 and errno.
static int shim_changes(shim_queue *queue, const struct kevent *changes, int count,
                        struct kevent *events, int room)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        struct kevent change = changes[i]; // the lists may be one
        int error = shim_change(queue, &change);
        if (!error && !(change.flags & EV_RECEIPT)) continue;
        if (n == room) {
            errno = error ? error : EINVAL;
            return -1;
        }
        events[n] = change;
        events[n].flags = EV_ERROR;
        events[n++].data = error;
    }
    return n;
}

static int shim_collect(shim_queue *queue, struct kevent *events, int room)
{
    int n = shim_user_collect(queue, events, room);
    n += shim_vnode_collect(queue, events + n, room - n);
    n += shim_fd_collect(queue, SHIM_WRITE, events + n, room - n);
    return n + shim_fd_collect(queue, SHIM_READ, events + n, room - n);
}

static int64_t shim_now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t shim_left_ns(int64_t end_ns)
{
    if (end_ns < 0) return -1;
    int64_t left = end_ns - shim_now_ns();
    return left > 0 ? left : 0;
}

// To the nanosecond, as kevent waits.
static int shim_poll(const shim_queue *queue, int64_t left_ns)
{
    struct pollfd fd = { .fd = queue->fd, .events = POLLIN };
    struct timespec left = { .tv_sec = (time_t)(left_ns / 1000000000),
                             .tv_nsec = (long)(left_ns % 1000000000) };
    return ppoll(&fd, 1, left_ns < 0 ? NULL : &left, NULL);
}

// Waits until something is collected or the end has come. What woke the queue may have gone
// meanwhile.
static int shim_wait(shim_queue *queue, struct kevent *events, int room, int64_t end_ns)
{
    for (;;) {
        int woken = shim_poll(queue, shim_left_ns(end_ns));
        if (woken < 0) return -1;
        (void)pthread_mutex_lock(&shim_lock);
        int n = shim_collect(queue, events, room);
        (void)pthread_mutex_unlock(&shim_lock);
        if (n || (end_ns >= 0 && shim_left_ns(end_ns) == 0)) return n;
    }
}

int kevent(int kq, const struct kevent *changelist, int nchanges, struct kevent *eventlist,
           int nevents, const struct timespec *timeout)
{
    int64_t end_ns =
        timeout ? shim_now_ns() + (int64_t)timeout->tv_sec * 1000000000 + timeout->tv_nsec : -1;
    (void)pthread_mutex_lock(&shim_lock);
    shim_queue *queue = kq >= 0 && kq < QUEUES_MAX ? shim_queues[kq] : NULL;
    errno = EBADF;
    int n = queue ? shim_changes(queue, changelist, nchanges, eventlist, nevents) : -1;
    (void)pthread_mutex_unlock(&shim_lock);
    if (n || nevents == 0) return n; // a list without room ends the call at once
    return shim_wait(queue, eventlist, nevents, end_ns);
}
