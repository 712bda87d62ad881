// SPDX-License-Identifier: MIT
//
// Here: which thread this is, as something that is cheap to compare.
#ifndef SKUA_THREAD_HERE_H
#define SKUA_THREAD_HERE_H

// Each thread has one. Its address is the thread's name until the thread has ended.
extern _Thread_local char here_mark;

static inline const void *thread_here(void)
{
    return &here_mark;
}

#endif
