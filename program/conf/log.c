// SPDX-License-Identifier: MIT
//
// The file takes the place of standard output, so that the library waits for a full disk and counts what it loses
// there as everywhere. One system call puts another file in its place, and no line is lost between the two.

#include "conf/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    char path[PATH_MAX]; // "": no file
    int first;           // standard output as it was; 0: it still is
} conf_log;

// A pipe without a reader is refused, and not waited for; one whose reader stalls is waited for by the library.
static int log_open_as(int access)
{
    return open(conf_log.path, access | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY,
                0640);
}

// A file is opened for reading as well where that is allowed, since the library looks whether it ends with a whole line.
// A pipe is not, because it would have a reader then.
static int log_open_file(void)
{
    struct stat info;
    int fd = log_open_as(O_WRONLY);
    if (fd < 0 || fstat(fd, &info) || !S_ISREG(info.st_mode)) return fd;
    int both = log_open_as(O_RDWR);
    if (both < 0) return fd;
    (void)close(fd);
    return both;
}

static bool log_take_place(void)
{
    int fd = log_open_file();
    bool done = fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0;
    if (fd >= 0) (void)close(fd);
    return done;
}

// Only system calls, since a handler calls it. Lines that come meanwhile wait in the library.
bool conf_log_again(void)
{
    static const char notice[] =
        "skua: the log cannot be opened again, and stays in its former file\n";
    if (!conf_log.path[0]) return false;
    if (log_take_place()) return true;
    ssize_t written = write(STDERR_FILENO, notice, sizeof notice - 1);
    (void)written; // nobody may be there to read it
    return false;
}

static void log_open_again(int number)
{
    int error = errno;
    (void)number;
    (void)conf_log_again();
    errno = error;
}

bool conf_log_open(const char *path)
{
    if (!path && !conf_log.first) return true;
    if (!conf_log.first) conf_log.first = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    (void)snprintf(conf_log.path, sizeof conf_log.path, "%s", path ? path : "");
    return path ? log_take_place() : dup2(conf_log.first, STDOUT_FILENO) >= 0;
}

int conf_log_output(void)
{
    return conf_log.first ? conf_log.first : -1;
}

void conf_log_resume(int output)
{
    conf_log.first = output;
}

bool conf_log_take_signal(void)
{
    struct sigaction action = { .sa_handler = log_open_again, .sa_flags = SA_RESTART };
    return sigaction(SIGUSR1, &action, NULL) == 0;
}
