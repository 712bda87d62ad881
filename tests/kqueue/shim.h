// SPDX-License-Identifier: MIT
//
// The state that the files of the shim share: a queue, its filters, and what each keeps of a
// registration.
#ifndef SKUA_TESTS_KQUEUE_SHIM_H
#define SKUA_TESTS_KQUEUE_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/event.h>

enum { SHIM_USERS_MAX = 64, SHIM_VNODES_MAX = 1024 };

typedef enum shim_side_name { SHIM_READ, SHIM_WRITE, SHIM_SIDES } shim_side_name;

// A registration. flags: EV_CLEAR, EV_ONESHOT and EV_DISPATCH as they were given, EV_DISABLE as it
// is now.
typedef struct shim_note {
    uintptr_t ident;
    void *udata;
    unsigned flags;
    bool used;
    bool triggered;   // USER
    unsigned wanted;  // VNODE: fflags asked for
    unsigned pending; // VNODE: fflags that came
    int watch;        // VNODE: inotify's number
} shim_note;

// One filter of descriptors: an epoll instance, and a note for each descriptor.
typedef struct shim_side {
    int epoll;
    size_t room;
    shim_note *notes; // by descriptor
} shim_side;

typedef struct shim_queue {
    int fd; // of the outer epoll instance
    int user_fd;
    int inotify; // -1 until something is watched
    shim_side sides[SHIM_SIDES];
    shim_note users[SHIM_USERS_MAX];
    shim_note vnodes[SHIM_VNODES_MAX];
} shim_queue;

// Each applies one change, and returns 0 or an errno; each collects at most room events.
int shim_fd_change(shim_queue *queue, shim_side_name name, const struct kevent *change);
int shim_fd_collect(shim_queue *queue, shim_side_name name, struct kevent *events, int room);
int shim_user_change(shim_queue *queue, const struct kevent *change);
int shim_user_collect(shim_queue *queue, struct kevent *events, int room);
int shim_vnode_change(shim_queue *queue, const struct kevent *change);
int shim_vnode_collect(shim_queue *queue, struct kevent *events, int room);

// Adds fd to the descriptors that the queue waits for.
bool shim_include(const shim_queue *queue, int fd);

// Changes what a second registration changes: udata, and what is told how. EV_DISABLE is kept.
void shim_note_set(shim_note *note, const struct kevent *change);

// An event of a note.
struct kevent shim_note_event(const shim_note *note, int filter);

#endif
