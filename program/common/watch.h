// SPDX-License-Identifier: MIT
//
// Watch: a thread of the program that looks at files every two seconds, and does what a signal has asked for.
#ifndef PROGRAM_COMMON_WATCH_H
#define PROGRAM_COMMON_WATCH_H

#include <stdbool.h>

// All are called on the thread, one after the other.
typedef struct watch_desc {
    void (*look)(void);  // every two seconds; NULL: never
    void (*asked)(void); // after watch_wake, once for all calls that have come; NULL: never
    int fd;              // a descriptor that is read, beside; only with heard
    bool (*heard)(
        void); // it can be read; false: it is not to be looked at any more. NULL: there is none
} watch_desc;

// Takes the descriptors that it needs, for a process that is about to have none left.  Returns: false when there are none.
bool watch_prepare(void);

// Begins it, or says that it cannot be had. Signals are held back meanwhile.  Returns: whether it runs.
bool watch_begin(const watch_desc *desc);

// Looks so often from now on, in place of every two seconds.  Thread: the watch's.
void watch_every(int ms);

// Does nothing without a thread.  Thread: any, and signal handlers.
void watch_wake(void);

// Ends it, when no signal is taken any more; what it is at is finished before.
void watch_end(void);

#endif
