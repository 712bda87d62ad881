// SPDX-License-Identifier: MIT
//
// A pipe carries what signals ask for: its octets are one request each, and its end is the thread's.

#include "common/watch.h"

#include "common/say.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { WATCH_LOOK_MS = 2000 };

static struct {
    watch_desc desc;
    int wake[2];
    bool is_open; // wake
    pthread_t thread;
    volatile sig_atomic_t runs;
    int period_ms; // between looks
} watch;

static int64_t watch_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// Returns: false when the thread is to end.
static bool watch_take(const struct pollfd *wake)
{
    char asked[256];
    if (!wake->revents) return true;
    if (read(watch.wake[0], asked, sizeof asked) <= 0) return false;
    if (watch.desc.asked) watch.desc.asked();
    return true;
}

// The look is due by the clock, however much is heard meanwhile.
static void *watch_run(void *user)
{
    struct pollfd on[] = { { .fd = watch.wake[0], .events = POLLIN },
                           { .fd = watch.desc.heard ? watch.desc.fd : -1, .events = POLLIN } };
    int64_t due_ms = watch_now_ms() + WATCH_LOOK_MS;
    (void)user;
    for (;;) {
        int64_t left_ms = due_ms - watch_now_ms();
        int ready = poll(on, 2, watch.desc.look ? (int)(left_ms > 0 ? left_ms : 0) : -1);
        if (watch.desc.look && watch_now_ms() >= due_ms) {
            due_ms = watch_now_ms() + watch.period_ms;
            watch.desc.look();
        }
        if (ready <= 0) continue;
        if (!watch_take(&on[0])) return NULL;
        if (on[1].revents && !watch.desc.heard()) on[1].fd = -1;
        if (due_ms > watch_now_ms() + watch.period_ms) due_ms = watch_now_ms() + watch.period_ms;
    }
}

bool watch_prepare(void)
{
    if (watch.is_open) return true;
    if (pipe(watch.wake) != 0) return false;
    for (size_t i = 0; i < 2; i++)
        (void)fcntl(watch.wake[i], F_SETFD, FD_CLOEXEC);
    (void)fcntl(watch.wake[1], F_SETFL, O_NONBLOCK); // a handler must not wait
    watch.is_open = true;
    return true;
}

bool watch_begin(const watch_desc *desc)
{
    watch.desc = *desc;
    watch.period_ms = WATCH_LOOK_MS;
    watch.runs = watch_prepare() && pthread_create(&watch.thread, NULL, watch_run, NULL) == 0;
    if (watch.runs) return true;
    if (watch.is_open) {
        (void)close(watch.wake[0]);
        (void)close(watch.wake[1]);
    }
    watch.is_open = false;
    say_warning("changed files are not noticed until a restart: no thread could be started");
    return false;
}

void watch_every(int ms)
{
    watch.period_ms = ms;
}

void watch_wake(void)
{
    ssize_t written = watch.runs ? write(watch.wake[1], "", 1) : 0;
    (void)written; // a pipe that is full asks already
}

void watch_end(void)
{
    if (!watch.runs) return;
    watch.runs = false;
    (void)close(watch.wake[1]);
    (void)pthread_join(watch.thread, NULL);
    (void)close(watch.wake[0]);
    watch.is_open = false;
}
