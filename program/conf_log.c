// SPDX-License-Identifier: MIT
//
// The file takes the place of standard output, so that the library waits for a full disk and counts what it loses
// there as everywhere. One system call puts another file in its place, and no line is lost between the two.

#include "conf_log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const char *conf_log_path;

static bool log_take_place(void)
{
    int fd = open(conf_log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0640);
    bool done = fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0;
    if (fd >= 0) (void)close(fd);
    return done;
}

// In a handler, where only system calls are safe. Lines that come meanwhile wait in the library.
static void log_open_again(int number)
{
    static const char notice[] =
        "skua: the log cannot be opened again, and stays in its former file\n";
    int error = errno;
    (void)number;
    if (!log_take_place()) {
        ssize_t written = write(STDERR_FILENO, notice, sizeof notice - 1);
        (void)written; // nobody may be there to read it
    }
    errno = error;
}

bool conf_log_open(const char *path)
{
    struct sigaction action = { .sa_handler = log_open_again, .sa_flags = SA_RESTART };
    conf_log_path = path;
    return log_take_place() && sigaction(SIGUSR1, &action, NULL) == 0;
}
