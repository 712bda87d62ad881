// SPDX-License-Identifier: MIT
//
// EVFILT_VNODE over inotify. Of a directory NOTE_WRITE tells that entries came, went or were
// renamed, and not that a file in it was written to: as vnodes have it.

#include "shim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VNODE_READ_OCTETS = 16384 };

static shim_note *vnode_find(shim_queue *queue, uintptr_t ident)
{
    for (size_t i = 0; i < SHIM_VNODES_MAX; i++) {
        shim_note *note = &queue->vnodes[i];
        if (note->used && note->ident == ident) return note;
    }
    return NULL;
}

static shim_note *vnode_free_note(shim_queue *queue)
{
    for (size_t i = 0; i < SHIM_VNODES_MAX; i++) {
        if (!queue->vnodes[i].used) return &queue->vnodes[i];
    }
    return NULL;
}

static bool vnode_open(shim_queue *queue)
{
    if (queue->inotify >= 0) return true;
    queue->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    return shim_include(queue, queue->inotify);
}

static uint32_t vnode_mask(int fd)
{
    struct stat st;
    bool directory = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
    uint32_t entries = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
    return (directory ? entries : IN_MODIFY) | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;
}

static int vnode_add(shim_queue *queue, const struct kevent *change)
{
    char path[64];
    shim_note *note = vnode_free_note(queue);
    if (!note || !vnode_open(queue)) return ENOMEM;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", (int)change->ident);
    int watch = inotify_add_watch(queue->inotify, path, vnode_mask((int)change->ident));
    if (watch < 0) return errno == ENOENT ? EBADF : errno;
    *note = (shim_note){ .used = true, .watch = watch };
    shim_note_set(note, change);
    note->wanted = change->fflags;
    return 0;
}

static bool vnode_is_watched(const shim_queue *queue, int watch)
{
    for (size_t i = 0; i < SHIM_VNODES_MAX; i++) {
        if (queue->vnodes[i].used && queue->vnodes[i].watch == watch) return true;
    }
    return false;
}

static int vnode_delete(shim_queue *queue, shim_note *note)
{
    int watch = note->watch;
    memset(note, 0, sizeof *note);
    if (!vnode_is_watched(queue, watch)) (void)inotify_rm_watch(queue->inotify, watch);
    return 0;
}

int shim_vnode_change(shim_queue *queue, const struct kevent *change)
{
    shim_note *note = vnode_find(queue, change->ident);
    if (!note) return change->flags & EV_ADD ? vnode_add(queue, change) : ENOENT;
    if (change->flags & EV_DELETE) return vnode_delete(queue, note);
    shim_note_set(note, change);
    if (change->flags & EV_ADD) note->wanted = change->fflags;
    return 0;
}

// inotify tells a directory of its entries' attributes too, by their names; a vnode is told of its
// own.
static unsigned vnode_fflags(const struct inotify_event *event)
{
    unsigned fflags = 0;
    uint32_t mask = event->len ? event->mask & ~(uint32_t)IN_ATTRIB : event->mask;
    if (mask & (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)) fflags |= NOTE_WRITE;
    if (mask & IN_MODIFY) fflags |= NOTE_WRITE | NOTE_EXTEND;
    if (mask & IN_ATTRIB) fflags |= NOTE_ATTRIB;
    if (mask & IN_MOVE_SELF) fflags |= NOTE_RENAME;
    if (mask & IN_DELETE_SELF) fflags |= NOTE_DELETE;
    if (mask & IN_UNMOUNT) fflags |= NOTE_REVOKE;
    return fflags;
}

static void vnode_note_event(shim_queue *queue, const struct inotify_event *event)
{
    for (size_t i = 0; i < SHIM_VNODES_MAX; i++) {
        shim_note *note = &queue->vnodes[i];
        if (note->used && note->watch == event->wd)
            note->pending |= vnode_fflags(event) & note->wanted;
    }
}

// The descriptor keeps what was deleted, so that inotify says nothing of it: its count of links
// does, whenever the queue is looked at. That does not wake a waiter.
static void vnode_note_deletions(shim_queue *queue)
{
    for (size_t i = 0; i < SHIM_VNODES_MAX; i++) {
        struct stat st;
        shim_note *note = &queue->vnodes[i];
        if (!note->used || !(note->wanted & NOTE_DELETE)) continue;
        if (fstat((int)note->ident, &st) == 0 && st.st_nlink == 0) note->pending |= NOTE_DELETE;
    }
}

static void vnode_read(shim_queue *queue)
{
    char octets[VNODE_READ_OCTETS];
    ssize_t n = read(queue->inotify, octets, sizeof octets);
    if (n <= 0) return;
    for (ssize_t at = 0; at < n;) {
        struct inotify_event event;
        memcpy(&event, octets + at, sizeof event);
        vnode_note_event(queue, &event);
        at += (ssize_t)(sizeof event + event.len);
    }
}

int shim_vnode_collect(shim_queue *queue, struct kevent *events, int room)
{
    int n = 0;
    if (queue->inotify < 0) return 0;
    vnode_read(queue);
    vnode_note_deletions(queue);
    for (size_t i = 0; i < SHIM_VNODES_MAX && n < room; i++) {
        shim_note *note = &queue->vnodes[i];
        if (!note->used || !note->pending || (note->flags & EV_DISABLE)) continue;
        events[n] = shim_note_event(note, EVFILT_VNODE);
        events[n++].fflags = note->pending;
        if (note->flags & EV_CLEAR) note->pending = 0;
        if (note->flags & EV_ONESHOT) (void)vnode_delete(queue, note);
    }
    return n;
}
