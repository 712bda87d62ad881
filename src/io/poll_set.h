// SPDX-License-Identifier: MIT
//
// A set of descriptors that belong to somebody else: an epoll instance or a kqueue of its own, whose
// descriptor a loop polls. So every backend takes such descriptors in the same way, and however many
// there are, they take one operation of the loop's.
#ifndef SKUA_IO_POLL_SET_H
#define SKUA_IO_POLL_SET_H

#include "io/readiness.h"

// A descriptor that is ready for READY_IN, READY_OUT or READY_ERROR, as far as the kernel tells.
typedef struct poll_set_event {
    uint64_t key;
    unsigned ready;
} poll_set_event;

enum { POLL_SET_TAKEN_MAX = 64 };

// *set: the descriptor of a new set, to be closed by close(2); readable when an event can be taken.
// Errors: SKUA_ENOFILE, SKUA_ENOMEM.
skua_status poll_set_open(int *set);

// Adds a descriptor, level-triggered. A set does not keep it from being closed, and forgets it then.
// wanted: READY_IN, READY_OUT, both, or 0 for nothing yet.  key: given back with its events.
// Errors: SKUA_EINVAL it is not open; SKUA_EUNSUPPORTED it cannot be waited for, as a regular file;
// SKUA_ELIMIT, SKUA_ENOMEM.
skua_status poll_set_add(int set, int fd, unsigned wanted, uint64_t key);

// Changes what is waited for; after an error it is as before.
// Errors: SKUA_ENOENT it is not in the set any more; SKUA_ENOMEM.
skua_status poll_set_change(int set, int fd, unsigned before, unsigned wanted, uint64_t key);

// Errors: SKUA_ENOENT it is not in the set any more.
skua_status poll_set_remove(int set, int fd, unsigned before);

// Takes at most room events, at most POLL_SET_TAKEN_MAX, of those that there are now; the same
// descriptor may be told of twice, once for each direction. Those that are ready take turns.
int poll_set_take(int set, poll_set_event *events, int room);

#endif
