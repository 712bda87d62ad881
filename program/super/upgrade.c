// SPDX-License-Identifier: MIT
//
// The trial is the hand-over itself, to a process that only looks. So a file that is no program, is none of Skua's, or
// cannot read what it is handed, changes nothing. A supervisor that dies in between takes its servers along as ever.

#include "super/upgrade.h"

#ifdef __linux__

#include "common/notify.h"
#include "common/say.h"
#include "super/conf.h"
#include "super/task.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *upgrade_error_text(int error)
{
    if (error == ENOENT) return "there is no such file";
    if (error == EACCES || error == EPERM) return "it may not be";
    if (error == ENOEXEC) return "it is no program of this machine";
    if (error == ETXTBSY) return "it is being written";
    return error == ENOMEM ? "memory ran out" : "the system refused it";
}

// ---- The trial ----

// A program that hangs must not hold the descriptors of a supervisor that is gone.
static void upgrade_try_here(const super_state *s, pid_t parent, int control)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    super_exec(s, &(super_exec_desc){ .path = super_server_path(), .trial = control });
    (void)control_send(control, NULL, 0, "unable %s cannot be executed: %s", super_server_path(),
                       upgrade_error_text(errno));
    _exit(127);
}

void super_upgrade_begin(super_state *s)
{
    int ends[2];
    pid_t parent = getpid(), pid = -1;
    notify_reloading();
    if (control_pair(ends)) {
        pid = fork();
        if (pid == 0) upgrade_try_here(s, parent, ends[1]);
        (void)close(ends[1]);
        if (pid < 0) (void)close(ends[0]);
    }
    if (pid < 0) {
        super_task_refuse(s, "no process can be started to try the new program");
        return;
    }
    s->trial = pid;
    s->trial_control = ends[0];
    s->task_until_ns = super_now_ns() + s->now.conf->start_timeout_ns;
}

static bool upgrade_say_trial(int control, bool able, const char *text)
{
    return control_send(control, NULL, 0, "%s %s", able ? "able" : "unable", text) && able;
}

bool super_try(const super_inherited *handed)
{
    static super_state s = { .before = -1 };
    static super_fault fault;
    char refusal[CONTROL_OCTETS_MAX / 2], why[CONTROL_OCTETS_MAX / 2];
    s.now.source = s.started.source = s.coming.source = -1;
    bool able = super_exec_read(&s, handed->state, refusal, why);
    if (able && !super_check(s.file, &fault)) {
        (void)snprintf(why, sizeof why, "%s", fault.first);
        able = false;
    }
    super_drop(&s.now);
    super_started(&s, NULL);
    return upgrade_say_trial(handed->trial, able, able ? skua_version() : why);
}

// ---- Its outcome ----

static void upgrade_refuse(super_state *s, const char *why)
{
    say_error("no upgrade: %s", why);
    super_task_refuse(s, why);
}

static void upgrade_execute(super_state *s)
{
    char why[CONTROL_OCTETS_MAX / 2];
    super_exec(s, &(super_exec_desc){ .path = super_server_path(), .trial = -1 });
    (void)snprintf(why, sizeof why, "%.500s cannot be executed: %s", super_server_path(),
                   upgrade_error_text(errno));
    upgrade_refuse(s, why);
}

void super_upgrade_tried(super_state *s, pid_t pid, int status)
{
    static control_message m;
    char how[128], why[CONTROL_OCTETS_MAX / 2];
    const char *rest;
    if (!s->trial || pid != s->trial) return;
    bool heard = control_receive(s->trial_control, false, &m) == CONTROL_MESSAGE;
    (void)close(s->trial_control);
    s->trial = 0;
    s->task_until_ns = 0;
    if (heard) control_close(&m);
    super_server_end_text(status, how, sizeof how);
    if (heard && control_is(&m, "unable", &rest)) (void)snprintf(why, sizeof why, "%.1000s", rest);
    else if (heard && control_is(&m, "able", NULL) && status == 0 && !s->stopping) {
        upgrade_execute(s);
        return;
    } else
        (void)snprintf(why, sizeof why, "%.500s %s, and did not say that it can go on from skua %s",
                       super_server_path(), how, skua_version());
    upgrade_refuse(s, why);
}

void super_upgrade_look(super_state *s, int64_t now_ns)
{
    if (!s->trial || !s->task_until_ns || now_ns < s->task_until_ns) return;
    s->task_until_ns = 0;
    (void)kill(s->trial, SIGKILL);
}

// ---- In the new program ----

void super_upgrade_go_on(super_state *s, const char *refusal)
{
    super_fault fault;
    s->task = SUPER_UPGRADE;
    if (*refusal) upgrade_refuse(s, refusal);
    else if (super_read(s->file, &s->coming, &fault)) super_task_replace(s);
    else super_task_refuse(s, fault.first);
}

void super_upgrade_back(super_state *s, const char *why)
{
    if (s->before < 0 || s->stopping) return;
    super_exec(s, &(super_exec_desc){ .program = s->before, .trial = -1, .refusal = why });
    say_error("the former program cannot be started again (%s); this one goes on with its server",
              upgrade_error_text(errno));
    (void)close(s->before);
    s->before = -1;
}

#endif
