// SPDX-License-Identifier: MIT
//
// A log that cannot be reached, or takes nothing for a second, is left alone for another second; what comes meanwhile
// is lost, and counted. Only the thread that writes the log ever waits.

#include "conf/syslog.h"

#include "common/say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    SYSLOG_PRIORITY = 3 * 8 + 6, // of daemons, informational
    SYSLOG_HEAD_OCTETS = 64,
    SYSLOG_WAIT_S = 1
};

static struct {
    const char *path;
    int fd;               // -1: not connected
    time_t rests_until_s; // of the monotonic clock
    unsigned long lost;
} syslogger = { .fd = -1 };

void conf_syslog_open(const char *path)
{
    syslogger.path = path;
}

static time_t syslog_now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static void syslog_close(void)
{
    if (syslogger.fd >= 0) (void)close(syslogger.fd);
    syslogger.fd = -1;
}

static bool syslog_connect(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const struct timeval wait = { .tv_sec = SYSLOG_WAIT_S };
    size_t len = strlen(syslogger.path);
    if (syslogger.fd >= 0) return true;
    if (len >= sizeof address.sun_path) return false;
    memcpy(address.sun_path, syslogger.path, len + 1);
    syslogger.fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (syslogger.fd < 0) return false;
    (void)fcntl(syslogger.fd, F_SETFD, FD_CLOEXEC);
    (void)setsockopt(syslogger.fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    if (connect(syslogger.fd, (const struct sockaddr *)&address, sizeof address) == 0) return true;
    syslog_close();
    return false;
}

// As RFC 3164 has it, without a host, which local sockets do not have.
static bool syslog_send(const char *line, size_t len)
{
    char head[SYSLOG_HEAD_OCTETS], stamp[32];
    time_t now = time(NULL);
    struct tm local;
    if (!localtime_r(&now, &local) || !strftime(stamp, sizeof stamp, "%b %e %H:%M:%S", &local))
        return false;
    int head_len =
        snprintf(head, sizeof head, "<%d>%s skua[%ld]: ", SYSLOG_PRIORITY, stamp, (long)getpid());
    struct iovec parts[] = { { head, head_len > 0 ? (size_t)head_len : 0 },
                             { (void *)(uintptr_t)line, len } };
    const struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
    ssize_t sent = syslog_connect() ? sendmsg(syslogger.fd, &message, MSG_NOSIGNAL) : -1;
    return sent >= 0 || errno == EMSGSIZE; // one that is too long for it never fits
}

static void syslog_give(const char *line, size_t len)
{
    bool rests = syslogger.lost && syslog_now_s() < syslogger.rests_until_s;
    bool given = !rests && syslog_send(line, len);
    if (!given && !rests) { // perhaps its reader was started again
        syslog_close();
        given = syslog_send(line, len);
    }
    if (given && syslogger.lost) say_warning("%lu lines of the log were lost", syslogger.lost);
    if (given) {
        syslogger.lost = 0;
        return;
    }
    if (!syslogger.lost++) say_warning("the system's log cannot be reached at %s", syslogger.path);
    if (!rests) syslogger.rests_until_s = syslog_now_s() + SYSLOG_WAIT_S;
}

void conf_syslog_write(skua_slice lines, void *nothing)
{
    (void)nothing;
    while (lines.len) {
        const char *end = memchr(lines.ptr, '\n', lines.len);
        size_t len = end ? (size_t)(end - lines.ptr) : lines.len;
        syslog_give(lines.ptr, len);
        size_t taken = len + (end != NULL);
        lines.ptr += taken;
        lines.len -= taken;
    }
}
