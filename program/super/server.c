// SPDX-License-Identifier: MIT
//
// Each server is the program anew, and not a copy of the supervisor: it has addresses of its own in memory, so that
// nobody can find them out by crashing one after the other.

#include "super/server.h"

#ifdef __linux__

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static struct {
    int fd;
    char path[PATH_MAX];
} program = { .fd = -1 };

int64_t super_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// ---- The program ----

// The name by which it was started, and not the file that this led to: an upgrade may change a link.
static void program_find_path(void)
{
    const char *name = (const char *)getauxval(AT_EXECFN);
    char folder[PATH_MAX];
    ssize_t n = -1;
    while (name && strncmp(name, "./", 2) == 0)
        name += 2;
    if (name && *name == '/' && strncmp(name, "/dev/fd/", 8) != 0) {
        (void)snprintf(program.path, sizeof program.path, "%s", name);
    } else if (name && *name && *name != '/' && getcwd(folder, sizeof folder)) {
        int len = snprintf(program.path, sizeof program.path, "%s/%s", folder, name);
        if (len < 0 || (size_t)len >= sizeof program.path) program.path[0] = '\0';
    } else {
        n = readlink("/proc/self/exe", program.path, sizeof program.path - 1);
        program.path[n > 0 ? n : 0] = '\0';
    }
}

bool super_server_prepare(void)
{
    program_find_path();
    program.fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
    if (program.fd < 0) program.fd = open(program.path, O_PATH | O_CLOEXEC);
    return program.fd >= 0;
}

int super_server_program(void)
{
    return program.fd;
}

const char *super_server_path(void)
{
    return program.path;
}

void super_server_name(const char *path)
{
    (void)snprintf(program.path, sizeof program.path, "%s", path);
}

// ---- Starting ----

// Variables that systemd set are for the supervisor alone. So are signals to all processes of a terminal: the supervisor
// passes on what they ask for.
static void server_leave_parent(int control)
{
    static const char *const not_its[] = { "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID",
                                           "LISTEN_PID",    "LISTEN_FDS",    "LISTEN_FDNAMES" };
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE };
    char number[16];
    sigset_t none;
    for (size_t i = 0; i < sizeof not_its / sizeof *not_its; i++)
        (void)unsetenv(not_its[i]);
    (void)snprintf(number, sizeof number, "%d", control);
    (void)setenv("SKUA_SERVER", number, 1);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        (void)sigaction(signals[i], &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)fcntl(control, F_SETFD, 0);
}

static void server_become(int control)
{
    static char name[] = "skua: server";
    char *words[] = { name, NULL };
    server_leave_parent(control);
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    (void)syscall(SYS_execveat, program.fd, "", words, environ, AT_EMPTY_PATH);
    _exit(127);
}

bool super_server_start(super_server *s, int64_t until_ns)
{
    int ends[2];
    if (!control_pair(ends)) return false;
    pid_t pid = fork();
    if (pid == 0) server_become(ends[1]);
    (void)close(ends[1]);
    if (pid < 0) {
        (void)close(ends[0]);
        return false;
    }
    *s = (super_server){ .pid = pid, .control = ends[0] };
    super_server_enter(s, SUPER_STARTING, until_ns);
    return true;
}

void super_server_enter(super_server *s, super_stage stage, int64_t until_ns)
{
    s->stage = stage;
    s->since_ns = super_now_ns();
    s->until_ns = until_ns;
}

void super_server_forget(super_server *s)
{
    if (s->stage != SUPER_NONE) (void)close(s->control);
    *s = (super_server){ .control = -1 };
}

void super_server_end_text(int status, char *text, size_t room)
{
    if (WIFSIGNALED(status))
        (void)snprintf(text, room, "ended by signal %d (%s)", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    else (void)snprintf(text, room, "ended with %d", WEXITSTATUS(status));
}

#endif
