// SPDX-License-Identifier: MIT

#include "common/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static struct {
    int fd; // -1: nobody asks
    struct sockaddr_un to;
    socklen_t to_len;
    bool wants_pulse;
} notify = { .fd = -1 };

// A name that begins with "@" is in the abstract namespace, where a NUL stands for it.
static bool notify_read_address(const char *path)
{
    size_t len = path ? strlen(path) : 0;
    if (len < 2 || (path[0] != '/' && path[0] != '@')) return false;
    if (len >= sizeof notify.to.sun_path) return false;
    notify.to.sun_family = AF_UNIX;
    memcpy(notify.to.sun_path, path, len + 1);
    if (path[0] == '@') notify.to.sun_path[0] = '\0';
    notify.to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    return true;
}

// The watchdog is another process's when WATCHDOG_PID says so.
static bool notify_reads_pulse(void)
{
    const char *period = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    bool is_ours = !pid || strtol(pid, NULL, 10) == (long)getpid();
    return is_ours && period && strtoull(period, NULL, 10) > 0;
}

void notify_open(void)
{
    if (!notify_read_address(getenv("NOTIFY_SOCKET"))) return;
    notify.fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (notify.fd < 0) return;
    (void)fcntl(notify.fd, F_SETFD, FD_CLOEXEC);
    (void)fcntl(notify.fd, F_SETFL, O_NONBLOCK);
    notify.wants_pulse = notify_reads_pulse();
}

// Only system calls, since a signal handler may be what sends.
static void notify_send(const char *text)
{
    if (notify.fd < 0) return;
    int error = errno;
    ssize_t sent = sendto(notify.fd, text, strlen(text), 0, (const struct sockaddr *)&notify.to,
                          notify.to_len);
    (void)sent; // a manager that takes nothing is its own affair
    errno = error;
}

void notify_ready(void)
{
    notify_send("READY=1");
}

void notify_reloading(void)
{
    char text[64];
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    (void)snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%lld",
                   (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    notify_send(text);
}

void notify_stopping(void)
{
    notify_send("STOPPING=1");
}

// ---- The watchdog ----

bool notify_wants_pulse(void)
{
    return notify.wants_pulse;
}

void notify_alive(void)
{
    if (notify.wants_pulse) notify_send("WATCHDOG=1");
}
