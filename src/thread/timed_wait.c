// SPDX-License-Identifier: MIT
//
// Timed waits. macOS cannot bind a condition to a clock, but has a wait that is relative.

#include "thread/timed_wait.h"

#include <errno.h>
#include <time.h>

static struct timespec condition_time(int64_t ns)
{
    return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000),
                              .tv_nsec = (long)(ns % 1000000000) };
}

#ifdef __APPLE__

bool timed_wait_init(pthread_cond_t *condition)
{
    return pthread_cond_init(condition, NULL) == 0;
}

bool timed_wait_ns(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t delay_ns)
{
    struct timespec delay = condition_time(delay_ns);
    return pthread_cond_timedwait_relative_np(condition, lock, &delay) != ETIMEDOUT;
}

#else

bool timed_wait_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes)) return false;
    bool done = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                pthread_cond_init(condition, &attributes) == 0;
    (void)pthread_condattr_destroy(&attributes);
    return done;
}

bool timed_wait_ns(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t delay_ns)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    struct timespec until =
        condition_time((int64_t)now.tv_sec * 1000000000 + now.tv_nsec + delay_ns);
    return pthread_cond_timedwait(condition, lock, &until) != ETIMEDOUT;
}

#endif
