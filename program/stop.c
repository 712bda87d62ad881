// SPDX-License-Identifier: MIT
//
// Signals. A handler may only call what is safe in one, so what it says has been written before.

#include "stop.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct {
    skua_server *server;
    int64_t grace_ns;
    char notice[128]; // "" to say nothing
    size_t notice_len;
    volatile sig_atomic_t asked;
} stopping;

static void stop_set_action(void (*handler)(int))
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
    (void)sigemptyset(&action.sa_mask);
    (void)sigaddset(&action.sa_mask, SIGINT);
    (void)sigaddset(&action.sa_mask, SIGTERM);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

static void stop_asked(int number)
{
    (void)number;
    int error = errno;
    if (stopping.asked) {
        stop_set_action(SIG_DFL);
        skua_stop(stopping.server, 0);
    } else {
        stopping.asked = 1;
        skua_stop(stopping.server, stopping.grace_ns);
        if (write(STDERR_FILENO, stopping.notice, stopping.notice_len) < 0) error = errno;
    }
    errno = error;
}

// On a terminal, the "^C" that it shows is written over.
static void stop_write_notice(void)
{
    int n = snprintf(stopping.notice, sizeof stopping.notice,
                     "%sskua: finishing what runs, for %g s at most; once more ends it at once\n",
                     isatty(STDERR_FILENO) ? "\r" : "", (double)stopping.grace_ns / 1e9);
    stopping.notice_len = n > 0 ? (size_t)n : 0;
}

static void stop_mask(int how)
{
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigprocmask(how, &signals, NULL);
}

void stop_hold_signals(void)
{
    stop_mask(SIG_BLOCK);
}

void stop_on_signals(skua_server *server, int64_t grace_ns, bool quiet)
{
    stopping.server = server;
    stopping.grace_ns = grace_ns;
    if (!quiet && grace_ns > 0) stop_write_notice();
    stop_set_action(stop_asked);
    stop_mask(SIG_UNBLOCK);
}

void stop_forget(void)
{
    stop_set_action(SIG_DFL);
}
