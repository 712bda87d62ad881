// SPDX-License-Identifier: MIT
//
// Descriptors are handed over as duplicates, which an execution leaves open and a failed one closes, so that no other
// process ever inherits one by accident.

#include "super/exec.h"

#ifdef __linux__

#include "conf/load.h"
#include "conf/log.h"
#include "common/source.h"
#include "super/client.h"
#include "super/conf.h"
#include "super/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { EXEC_LENT_MAX = 128, EXEC_LINE_OCTETS_MAX = PATH_MAX + 64 };

extern char **environ;

static struct {
    int all[EXEC_LENT_MAX];
    unsigned count;
} lent;

// ---- Writing ----

// Returns: the number under which the next program finds it; -1 makes that one refuse the state.
static int exec_lend(int fd)
{
    int copy = lent.count < EXEC_LENT_MAX ? fcntl(fd, F_DUPFD, 10) : -1;
    if (copy >= 0) lent.all[lent.count++] = copy;
    return copy;
}

static void exec_take_back(void)
{
    while (lent.count)
        (void)close(lent.all[--lent.count]);
}

static void exec_write_server(FILE *to, const char *name, const super_server *one)
{
    if (one->stage == SUPER_NONE) return;
    (void)fprintf(to, "%s %ld %d %lld %lld\n", name, (long)one->pid,
                  one->control < 0 ? -1 : exec_lend(one->control), (long long)one->since_ns,
                  (long long)one->until_ns);
}

// The file stands before the configurations, which are of that name.
static void exec_write(FILE *to, const super_state *s, const super_exec_desc *how)
{
    (void)fprintf(to, "skua-state %d\nversion %s\nprogram %s\nfile %s\n", SUPER_FORMAT,
                  skua_version(), super_server_path(), s->file);
    (void)fprintf(to, "quiet %d\ncounts %u %u %u\n", s->quiet, s->accepted, s->refused, s->crashes);
    (void)fprintf(to, "now %d\nstarted %d\n", exec_lend(s->now.source),
                  exec_lend(s->started.source));
    if (how->refusal) (void)fprintf(to, "refusal %s\n", how->refusal);
    else (void)fprintf(to, "before %d\n", exec_lend(super_server_program()));
    if (conf_log_output() >= 0) (void)fprintf(to, "output %d\n", exec_lend(conf_log_output()));
    exec_write_server(to, "serving", &s->serving);
    for (unsigned i = 0; i < SUPER_LEAVING_MAX; i++)
        exec_write_server(to, "leaving", &s->leaving[i]);
    super_sockets_save(to, exec_lend);
    super_client_save(to, exec_lend);
}

static int exec_state(const super_state *s, const super_exec_desc *how)
{
    int fd = memfd_create("skua-state", 0);
    FILE *to = fd >= 0 ? fdopen(fcntl(fd, F_DUPFD_CLOEXEC, 3), "w") : NULL;
    if (to) exec_write(to, s, how);
    if (to && fclose(to) == 0) return fd;
    if (fd >= 0) (void)close(fd);
    return -1;
}

static void exec_set_number(const char *name, int number)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%d", number);
    if (number >= 0) (void)setenv(name, text, 1);
}

void super_exec(const super_state *s, const super_exec_desc *how)
{
    static char option[] = "-c", quiet[] = "--quiet";
    char path[PATH_MAX], file[PATH_MAX];
    char *words[] = { path, option, file, s->quiet ? quiet : NULL, NULL };
    int fd = exec_state(s, how);
    if (fd < 0) return;
    (void)snprintf(path, sizeof path, "%s", super_server_path());
    (void)snprintf(file, sizeof file, "%s", s->file);
    exec_set_number("SKUA_STATE", fd);
    exec_set_number("SKUA_TRIAL", how->trial < 0 ? -1 : exec_lend(how->trial));
    if (how->path) (void)execve(how->path, words, environ);
    else (void)syscall(SYS_execveat, how->program, "", words, environ, AT_EMPTY_PATH);
    int error = errno;
    (void)unsetenv("SKUA_STATE");
    (void)unsetenv("SKUA_TRIAL");
    exec_take_back();
    (void)close(fd);
    errno = error;
}

// ---- Reading ----

static int exec_number(const char *name)
{
    const char *text = getenv(name);
    int fd = text ? (int)strtol(text, NULL, 10) : -1;
    (void)unsetenv(name);
    return fd > STDERR_FILENO && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? fd : -1;
}

// Somebody may have set the variable for reasons of his own.
super_inherited super_inherit(void)
{
    static const char mark[] = "skua-state ";
    char begin[sizeof mark - 1];
    super_inherited found = { .state = exec_number("SKUA_STATE"),
                              .trial = exec_number("SKUA_TRIAL") };
    bool is_state = found.state >= 0 &&
                    pread(found.state, begin, sizeof begin, 0) == (ssize_t)sizeof begin &&
                    memcmp(begin, mark, sizeof begin) == 0;
    return is_state ? found : (super_inherited){ -1, -1 };
}

// One that was lent is this program's from now on. Returns: -1: it is none.
static int exec_take_fd(const char *text, char **rest)
{
    char *end = NULL;
    long fd = strtol(text, &end, 10);
    if (rest) *rest = *end == ' ' ? end + 1 : end;
    return fd > STDERR_FILENO && fcntl((int)fd, F_SETFD, FD_CLOEXEC) == 0 ? (int)fd : -1;
}

static bool exec_take_program(super_state *s, const char *text)
{
    (void)s;
    super_server_name(text);
    return true;
}

static bool exec_take_file(super_state *s, const char *text)
{
    static char file[PATH_MAX];
    (void)snprintf(file, sizeof file, "%s", text);
    s->file = file;
    return true;
}

static bool exec_take_quiet(super_state *s, const char *text)
{
    s->quiet = strcmp(text, "0") != 0;
    return true;
}

// Reads count numbers with a space between.
static bool exec_take_numbers(const char *text, int64_t *numbers, unsigned count)
{
    char *end = NULL;
    for (unsigned i = 0; i < count; i++) {
        errno = 0;
        numbers[i] = strtoll(text, &end, 10);
        if (end == text || errno || (*end && *end != ' ')) return false;
        text = end;
    }
    return true;
}

static bool exec_take_counts(super_state *s, const char *text)
{
    int64_t counts[3];
    if (!exec_take_numbers(text, counts, 3)) return false;
    s->accepted = (unsigned)counts[0];
    s->refused = (unsigned)counts[1];
    s->crashes = (unsigned)counts[2];
    return true;
}

// Another version may find faults in what this one does not know; the server that runs with it serves all the same.
static bool exec_take_conf(super_conf *c, const char *file, const char *text)
{
    c->source = exec_take_fd(text, NULL);
    c->conf = file && source_from(c->source) ? conf_new() : NULL;
    if (!c->conf) return false;
    c->conf->is_silent = true;
    (void)conf_load(c->conf, file);
    (void)source_from(-1);
    return true;
}

static bool exec_take_now(super_state *s, const char *text)
{
    return exec_take_conf(&s->now, s->file, text);
}

static bool exec_take_started(super_state *s, const char *text)
{
    return exec_take_conf(&s->started, s->file, text);
}

static bool exec_take_before(super_state *s, const char *text)
{
    s->before = exec_take_fd(text, NULL);
    return s->before >= 0;
}

static bool exec_take_output(super_state *s, const char *text)
{
    int fd = exec_take_fd(text, NULL);
    (void)s;
    if (fd >= 0) conf_log_resume(fd);
    return fd >= 0;
}

// text: "PID CONTROL SINCE UNTIL". CONTROL is the number of its socket; below 0: it is closed, and the process is about to
// end.
static bool exec_take_server(super_server *one, super_stage stage, const char *text)
{
    int64_t found[4];
    if (!exec_take_numbers(text, found, 4)) return false;
    int control = (int)found[1];
    if (control >= 0 && fcntl(control, F_SETFD, FD_CLOEXEC) != 0) return false;
    *one = (super_server){ stage, (pid_t)found[0], control, found[2], found[3] };
    return true;
}

static bool exec_take_serving(super_state *s, const char *text)
{
    return exec_take_server(&s->serving, SUPER_SERVING, text);
}

static bool exec_take_leaving(super_state *s, const char *text)
{
    for (unsigned i = 0; i < SUPER_LEAVING_MAX; i++) {
        if (s->leaving[i].stage == SUPER_NONE)
            return exec_take_server(&s->leaving[i], SUPER_LEAVING, text);
    }
    return false;
}

static bool exec_take_socket(super_state *s, const char *text)
{
    char *address;
    int fd = exec_take_fd(text, &address);
    (void)s;
    return fd >= 0 && super_sockets_restore(fd, address);
}

static bool exec_take_client(super_state *s, const char *text)
{
    char *rest;
    int fd = exec_take_fd(text, &rest);
    (void)s;
    return fd >= 0 && super_client_restore(fd, rest);
}

static bool exec_take_line(super_state *s, const char *line, const char *name,
                           bool (*take)(super_state *s, const char *text))
{
    size_t len = strlen(name);
    bool is_it = strncmp(line, name, len) == 0 && line[len] == ' ';
    return !is_it || take(s, line + len + 1);
}

static bool exec_take(super_state *s, const char *line)
{
    static const struct {
        const char *name;
        bool (*take)(super_state *s, const char *text);
    } lines[] = {
        { "program", exec_take_program }, { "file", exec_take_file },
        { "quiet", exec_take_quiet },     { "counts", exec_take_counts },
        { "now", exec_take_now },         { "started", exec_take_started },
        { "before", exec_take_before },   { "output", exec_take_output },
        { "serving", exec_take_serving }, { "leaving", exec_take_leaving },
        { "socket", exec_take_socket },   { "client", exec_take_client },
    };
    bool taken = true;
    for (size_t i = 0; i < sizeof lines / sizeof *lines && taken; i++)
        taken = exec_take_line(s, line, lines[i].name, lines[i].take);
    return taken;
}

static bool exec_is_known(const char *line)
{
    int64_t format = 0;
    bool is_state = strncmp(line, "skua-state ", 11) == 0;
    return is_state && exec_take_numbers(line + 11, &format, 1) && format == SUPER_FORMAT;
}

bool super_exec_read(super_state *s, int fd, char refusal[CONTROL_OCTETS_MAX / 2],
                     char why[CONTROL_OCTETS_MAX / 2])
{
    static char line[EXEC_LINE_OCTETS_MAX];
    FILE *from = lseek(fd, 0, SEEK_SET) == 0 ? fdopen(fd, "r") : NULL;
    bool taken = from && fgets(line, sizeof line, from);
    line[strcspn(line, "\n")] = '\0';
    taken = taken && exec_is_known(line);
    (void)snprintf(why, CONTROL_OCTETS_MAX / 2,
                   "skua %s cannot read what a supervisor of another version hands over: %.60s",
                   skua_version(), line);
    *refusal = '\0';
    while (taken && fgets(line, sizeof line, from)) {
        line[strcspn(line, "\n")] = '\0';
        taken = exec_take(s, line);
        if (strncmp(line, "refusal ", 8) == 0)
            (void)snprintf(refusal, CONTROL_OCTETS_MAX / 2, "%.1000s", line + 8);
        if (!taken)
            (void)snprintf(why, CONTROL_OCTETS_MAX / 2,
                           "skua %s cannot take over what it was handed: %.500s", skua_version(),
                           line);
    }
    if (from) (void)fclose(from);
    return taken && s->now.conf && s->started.conf;
}

#endif
