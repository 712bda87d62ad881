// SPDX-License-Identifier: MIT
//
// Watch: a thread of the program that looks at files every two seconds, and does what a signal has asked for.
#ifndef PROGRAM_WATCH_H
#define PROGRAM_WATCH_H

// Both are called on the thread, one after the other.
typedef struct watch_desc {
    void (*look)(void);  // every two seconds; NULL: never
    void (*asked)(void); // after watch_wake, once for all calls that have come
} watch_desc;

// Begins it, or says that it cannot be had. Signals are held back meanwhile.
void watch_begin(const watch_desc *desc);

// Does nothing without a thread.  Thread: any, and signal handlers.
void watch_wake(void);

// Ends it, when no signal is taken any more; what it is at is finished before.
void watch_end(void);

#endif
