// SPDX-License-Identifier: MIT
//
// The file is opened again before lines are written to it: lines of before the signal are in the old file,
// which was renamed, and none is lost between the two.

#include "conf_log.h"

#include "say.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static struct {
    const char *path;
    int fd;
    bool is_failing; // and somebody has been told
    volatile sig_atomic_t is_asked;
} conf_log = { .fd = -1 };

static void log_ask(int number)
{
    (void)number;
    conf_log.is_asked = 1;
}

static int log_file(void)
{
    return open(conf_log.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0640);
}

bool conf_log_open(const char *path)
{
    struct sigaction action = { .sa_handler = log_ask, .sa_flags = SA_RESTART };
    conf_log.path = path;
    conf_log.fd = log_file();
    if (conf_log.fd >= 0) (void)sigaction(SIGUSR1, &action, NULL);
    return conf_log.fd >= 0;
}

// One that cannot be opened leaves the old one in use.
static void log_open_again(void)
{
    conf_log.is_asked = 0;
    int fd = log_file();
    if (fd < 0) {
        say_warning("the log stays in its former file: %s cannot be opened", conf_log.path);
        return;
    }
    (void)close(conf_log.fd);
    conf_log.fd = fd;
}

static void log_say_failing(bool is_failing)
{
    if (is_failing && !conf_log.is_failing)
        say_warning("lines of the log are lost: %s cannot be written", conf_log.path);
    if (!is_failing && conf_log.is_failing) say_warning("the log is written again");
    conf_log.is_failing = is_failing;
}

void conf_log_write(skua_slice octets, void *user)
{
    (void)user;
    if (conf_log.is_asked) log_open_again();
    while (octets.len) {
        ssize_t n = write(conf_log.fd, octets.ptr, octets.len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        octets.ptr += n;
        octets.len -= (size_t)n;
    }
    log_say_failing(octets.len > 0);
}

void conf_log_close(void)
{
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    (void)sigaction(SIGUSR1, &ignore, NULL);
    if (conf_log.fd >= 0) (void)close(conf_log.fd);
    conf_log.fd = -1;
}
