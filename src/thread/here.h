// SPDX-License-Identifier: MIT
//
// Here: identifies the current thread by a value that is cheap to compare.
#ifndef SKUA_THREAD_HERE_H
#define SKUA_THREAD_HERE_H

// Each thread has one. Its address is the thread's name until the thread has ended.
extern _Thread_local char here_mark;

static inline const void *thread_here(void)
{
    return &here_mark;
}

#endif
