// SPDX-License-Identifier: MIT
//
// A pipe carries what signals ask for: its octets are one request each, and its end is the thread's.

#include "watch.h"

#include "say.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

enum { WATCH_LOOK_MS = 2000 };

static struct {
    watch_desc desc;
    int wake[2];
    pthread_t thread;
    volatile sig_atomic_t runs;
} watch;

static void *watch_run(void *user)
{
    struct pollfd wake = { .fd = watch.wake[0], .events = POLLIN };
    (void)user;
    for (;;) {
        char asked[256];
        int ready = poll(&wake, 1, watch.desc.look ? WATCH_LOOK_MS : -1);
        if (ready <= 0 && watch.desc.look) watch.desc.look();
        if (ready <= 0) continue;
        if (read(watch.wake[0], asked, sizeof asked) <= 0) return NULL;
        watch.desc.asked();
    }
}

static bool watch_open_pipe(void)
{
    if (pipe(watch.wake) != 0) return false;
    for (size_t i = 0; i < 2; i++)
        (void)fcntl(watch.wake[i], F_SETFD, FD_CLOEXEC);
    (void)fcntl(watch.wake[1], F_SETFL, O_NONBLOCK); // a handler must not wait
    return true;
}

void watch_begin(const watch_desc *desc)
{
    watch.desc = *desc;
    bool is_open = watch_open_pipe();
    watch.runs = is_open && pthread_create(&watch.thread, NULL, watch_run, NULL) == 0;
    if (watch.runs) return;
    if (is_open) {
        (void)close(watch.wake[0]);
        (void)close(watch.wake[1]);
    }
    say_warning("changes of files need another start: no thread could be had");
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
}
