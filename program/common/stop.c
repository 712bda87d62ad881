// SPDX-License-Identifier: MIT
//
// Signals. A handler may only call what is safe in one, so what it says has been written before.

#include "common/stop.h"

#include "common/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct {
    skua_server *server;
    int64_t grace_ns;
    void (*reload)(void);
    int terminal;     // -1: there was none to begin with
    char notice[128]; // "" to say nothing
    size_t notice_len;
    atomic_bool asked; // also read by other threads
} stopping = { .terminal = -1 };

static void stop_write_mask(sigset_t *signals)
{
    (void)sigemptyset(signals);
    (void)sigaddset(signals, SIGINT);
    (void)sigaddset(signals, SIGTERM);
    (void)sigaddset(signals, SIGHUP);
}

static void stop_set_action(void (*handler)(int))
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
    stop_write_mask(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

// One that is ignored stays so: by nohup somebody has said that the program outlives its terminal.
static void stop_set_hangup(void (*handler)(int))
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART }, before;
    stop_write_mask(&action.sa_mask);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler == SIG_IGN) return;
    (void)sigaction(SIGHUP, &action, NULL);
}

// ---- In a handler ----

static void stop_begin(void)
{
    stopping.asked = true;
    notify_stopping();
    skua_stop(stopping.server, stopping.grace_ns);
    ssize_t written = write(STDERR_FILENO, stopping.notice, stopping.notice_len);
    (void)written; // nobody may be there to read it
}

static void stop_asked(int number)
{
    (void)number;
    int error = errno;
    if (stopping.asked) {
        stop_set_action(SIG_DFL);
        skua_stop(stopping.server, 0);
    } else {
        stop_begin();
    }
    errno = error;
}

// The shell and the kernel may both tell of it, so a second one is not somebody's impatience. A
// terminal that has gone has no foreground group.
static void stop_hung_up(int number)
{
    (void)number;
    int error = errno;
    bool gone = stopping.terminal >= 0 && tcgetpgrp(stopping.terminal) < 0;
    if (!gone) stopping.reload();
    else if (!stopping.asked) stop_begin();
    errno = error;
}

// ---- For the program ----

// On a terminal, the "^C" that it shows is written over.
static void stop_write_notice(void)
{
    int n = snprintf(stopping.notice, sizeof stopping.notice,
                     "%sskua: finishing what runs, for %g s at most; once more ends it at once\n",
                     isatty(STDERR_FILENO) ? "\r" : "", (double)stopping.grace_ns / 1e9);
    stopping.notice_len = n > 0 ? (size_t)n : 0;
}

void stop_hold_signals(void)
{
    sigset_t signals;
    stop_write_mask(&signals);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
}

void stop_on_signals(skua_server *server, int64_t grace_ns, bool quiet, void (*reload)(void))
{
    sigset_t signals;
    stopping.server = server;
    stopping.grace_ns = grace_ns;
    stopping.reload = reload;
    stopping.terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (!quiet && grace_ns > 0) stop_write_notice();
    stop_set_action(stop_asked);
    stop_set_hangup(stop_hung_up);
    stop_write_mask(&signals);
    (void)sigprocmask(SIG_UNBLOCK, &signals, NULL);
}

bool stop_is_asked(void)
{
    return stopping.asked;
}

void stop_note(void)
{
    stopping.asked = true;
}

void stop_forget(void)
{
    stop_set_action(SIG_DFL);
    stop_set_hangup(SIG_IGN); // the end has begun already
}
