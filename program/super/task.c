// SPDX-License-Identifier: MIT
//
// A reload that the server cannot take as it is, since it changes what belongs to the whole server or needs what its
// sandbox does not allow, is done as an upgrade is: by another server beside it, which takes over when it is ready.

#include "super/task.h"

#ifdef __linux__

#include "conf/difference.h"
#include "conf/log.h"
#include "common/notify.h"
#include "common/say.h"
#include "conf/pid_file.h"
#include "super/client.h"
#include "super/conf.h"
#include "super/sockets.h"
#include "super/upgrade.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SUPER_ANSWER_NS 60000000000  // for a reload in a server
#define SUPER_BEYOND_NS 5000000000   // behind its grace a server has that long to end
#define SUPER_IDLE_NS 60000000000    // keep_alive_timeout, when the file says nothing
#define SUPER_LEFT_NS 30000000000    // for a server to accept no more, at up to 16 addresses
#define SUPER_TRIM_NS 2500000000     // a server accepts meanwhile who waits at an address that goes
#define SUPER_TRIM_LOOK_NS 100000000 // between two looks whether somebody still waits
#define SUPER_TRIM_MOST_NS 30000000000

// ---- Servers ----

bool super_begin_server(super_state *s, super_server *place, const super_conf *with)
{
    int64_t until_ns = super_now_ns() + with->conf->start_timeout_ns;
    bool started = super_server_start(place, until_ns);
    if (started && super_sockets_send(with->conf, place->control) &&
        control_send(place->control, &with->source, 1, "start %d %u %u %s",
                     s->quiet || s->has_served, s->accepted, s->refused, s->file))
        return true;
    say_error("no server process can be started");
    if (started) (void)kill(place->pid, SIGKILL);
    return false;
}

static super_server *task_free_place(super_state *s)
{
    for (unsigned i = 0; i < SUPER_LEAVING_MAX; i++) {
        if (s->leaving[i].stage == SUPER_NONE) return &s->leaving[i];
    }
    return NULL;
}

static int64_t task_grace_ns(const super_state *s)
{
    return s->now.conf ? s->now.conf->grace_ns : (int64_t)10 * 1000000000;
}

// Idle connections of a server that leaves stay for as long as they could have stayed anyway.
static int64_t task_leave_ns(const super_state *s)
{
    int64_t idle_ns = s->now.conf->server.keep_alive_timeout_ns, grace_ns = task_grace_ns(s);
    if (!idle_ns) idle_ns = SUPER_IDLE_NS;
    return idle_ns > grace_ns ? idle_ns : grace_ns;
}

static void stop_tell(super_server *one, int64_t grace_ns, int64_t delay_ns)
{
    int64_t until_ns = super_now_ns() + delay_ns + grace_ns + SUPER_BEYOND_NS;
    if (one->stage == SUPER_NONE) return;
    (void)control_send(one->control, NULL, 0, "stop %lld %lld", (long long)grace_ns,
                       (long long)delay_ns);
    if (one->until_ns > until_ns) one->until_ns = until_ns;
}

static super_server *task_oldest(super_state *s)
{
    super_server *oldest = &s->leaving[0];
    for (unsigned i = 1; i < SUPER_LEAVING_MAX; i++) {
        if (s->leaving[i].since_ns < oldest->since_ns) oldest = &s->leaving[i];
    }
    return oldest;
}

// The oldest of too many has had the most time. Its clients are cut off; as a rule it has gone before, since it was
// hurried when it became the last that there was a place for.
static super_server *task_make_place(super_state *s)
{
    super_server *place = task_free_place(s);
    if (place) return place;
    place = task_oldest(s);
    (void)kill(place->pid, SIGKILL);
    super_server_forget(place);
    return place;
}

// ---- The end of a task ----

__attribute__((format(printf, 3, 4))) static void task_end(super_state *s, bool done,
                                                           const char *format, ...)
{
    char text[CONTROL_OCTETS_MAX / 2];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    super_drop(&s->coming);
    super_client_answer(s->task, done, text);
    s->task = SUPER_IDLE;
    s->task_until_ns = 0;
    notify_ready();
}

// The log is that of the server which goes on.
void super_task_refuse(super_state *s, const char *why)
{
    (void)conf_log_open(s->now.conf->log_file);
    if (!s->trim_at_ns) super_sockets_trim(s->now.conf);
    else super_sockets_turn_away(s->now.conf);
    if (s->task == SUPER_UPGRADE) super_upgrade_back(s, why);
    s->refused++;
    if (s->serving.stage == SUPER_NONE && !s->stopping && !s->restart_at_ns)
        s->restart_at_ns = super_now_ns();
    if (s->serving.stage == SUPER_SERVING)
        (void)control_send(s->serving.control, NULL, 0, "refused %s", why);
    task_end(s, false, "%s", why);
}

static void task_write_sites(const conf *c, char text[64])
{
    (void)snprintf(text, 64, "%u site%s", c->site_count, c->site_count == 1 ? "" : "s");
}

// ---- Another server ----

void super_task_replace(super_state *s)
{
    const char *log = s->coming.conf->log_file;
    char why[CONTROL_OCTETS_MAX / 2] = "no server process can be started";
    bool has_log = conf_log_open(log);
    if (has_log && super_begin_server(s, &s->next, &s->coming)) return;
    if (!has_log) {
        (void)snprintf(why, sizeof why, "the log %.500s cannot be written", log ? log : "");
        say_error("%s", why);
    }
    super_server_forget(&s->next);
    super_task_refuse(s, why);
}

// Those that the configuration has no address for are closed when they are empty.
static void task_let_sockets_go(super_state *s, const conf *c)
{
    super_sockets_turn_away(c);
    s->trim_at_ns = super_now_ns() + SUPER_TRIM_NS;
    s->trim_until_ns = super_now_ns() + SUPER_TRIM_MOST_NS;
}

// The one before leaves; clients that come from now on are the new one's.
static void task_take_over(super_state *s)
{
    super_server *place;
    bool has_former = s->serving.stage == SUPER_SERVING;
    int64_t leave_ns = task_leave_ns(s);
    task_let_sockets_go(s, s->coming.conf);
    if (has_former) {
        place = task_make_place(s);
        super_sockets_tell_gone(s->now.conf, s->coming.conf, s->serving.control);
        (void)control_send(s->serving.control, NULL, 0, "leave %lld", (long long)leave_ns);
        *place = s->serving;
        super_server_enter(place, SUPER_LEAVING, super_now_ns() + leave_ns + SUPER_BEYOND_NS);
        if (!task_free_place(s)) stop_tell(task_oldest(s), task_grace_ns(s), 0);
    } else if (s->serving.stage != SUPER_NONE) {
        (void)kill(s->serving.pid, SIGKILL);
        super_server_forget(&s->serving);
    }
    s->serving = s->next;
    s->next = (super_server){ .control = -1 };
    super_server_enter(&s->serving, SUPER_SERVING, INT64_MAX);
    super_drop(&s->now);
    s->now = s->coming;
    super_started(s, &s->now);
    s->coming = (super_conf){ NULL, -1 };
    (void)pid_file_keep(s->now.conf->pid_file);
    s->accepted++;
    s->crashes = 0;
    s->restart_at_ns = 0;
    s->left_until_ns = super_now_ns() + SUPER_LEFT_NS;
    if (!has_former) super_task_left(s);
}

// From here on every new client meets the new configuration.
void super_task_left(super_state *s)
{
    char sites[64];
    if (!s->left_until_ns) return;
    s->left_until_ns = 0;
    task_write_sites(s->now.conf, sites);
    if (s->task == SUPER_UPGRADE) {
        if (s->before >= 0) (void)close(s->before);
        s->before = -1;
        say("skua %s serves %s from now on", skua_version(), sites);
        task_end(s, true, "skua %s serves %s", skua_version(), sites);
        return;
    }
    say("the configuration has been read again, and has %s; another server process serves it",
        sites);
    task_end(s, true, "another server process serves %s", sites);
}

// ---- Reload ----

static void task_reload(super_state *s)
{
    super_fault fault;
    conf_place at;
    notify_reloading();
    if (!super_read(s->file, &s->coming, &fault)) {
        if (fault.count)
            say("the configuration stays as it is, since the file has %u fault%s", fault.count,
                fault.count == 1 ? "" : "s");
        else say("the configuration stays as it is, since memory ran out");
        super_task_refuse(s, fault.first);
        return;
    }
    const conf_kind *kind = conf_difference(s->started.conf, s->coming.conf, &at);
    if (kind)
        say("%s:%u:%u: a change of %s takes another server process", at.file, at.line, at.column,
            kind->name);
    if (kind || s->serving.stage != SUPER_SERVING ||
        !super_sockets_send(s->coming.conf, s->serving.control) ||
        !control_send(s->serving.control, &s->coming.source, 1, "reload")) {
        super_task_replace(s);
        return;
    }
    s->task_until_ns = super_now_ns() + SUPER_ANSWER_NS;
}

void super_task_answered(super_state *s, const control_message *m)
{
    const char *rest;
    if (s->task != SUPER_RELOAD || !s->task_until_ns) return;
    s->task_until_ns = 0;
    if (control_is(m, "taken", &rest)) {
        char sites[64];
        super_drop(&s->now);
        s->accepted++;
        task_write_sites(s->coming.conf, sites);
        s->now = s->coming;
        s->coming = (super_conf){ NULL, -1 };
        (void)pid_file_keep(s->now.conf->pid_file);
        task_let_sockets_go(s, s->now.conf);
        task_end(s, true, "the configuration has been read again, and has %s", sites);
    } else {
        (void)control_is(m, "outside", &rest);
        say("the server process may not do what the configuration asks for (%s), so another one "
            "takes its place",
            rest);
        super_task_replace(s);
    }
}

// ---- What is heard ----

void super_task_ready(super_state *s, const super_server *which)
{
    if (which == &s->next) task_take_over(s);
}

void super_task_lost(super_state *s, const char *how)
{
    char why[CONTROL_OCTETS_MAX / 2];
    (void)snprintf(why, sizeof why,
                   "the new server process %s before it was ready; the one before goes on", how);
    say_error("%s", why);
    super_task_refuse(s, why);
}

void super_task_unanswered(super_state *s, long pid, const char *how)
{
    char why[CONTROL_OCTETS_MAX / 2];
    if (s->task != SUPER_RELOAD || !s->task_until_ns) return;
    (void)snprintf(why, sizeof why, "the server process %ld %s and did not take the configuration",
                   pid, how);
    say_error("%s, which stays as it was", why);
    super_task_refuse(s, why);
}

// ---- Stopping ----

// Those that leave accept nobody, so that the delay is not for them.
static void stop_tell_all(super_state *s, int64_t grace_ns, int64_t delay_ns)
{
    stop_tell(&s->serving, grace_ns, delay_ns);
    for (unsigned i = 0; i < SUPER_LEAVING_MAX; i++)
        stop_tell(&s->leaving[i], grace_ns, 0);
    if (s->next.stage != SUPER_NONE) (void)kill(s->next.pid, SIGKILL);
    if (s->trial) (void)kill(s->trial, SIGKILL);
}

static void stop_say(const super_state *s, int64_t grace_ns, int64_t delay_ns)
{
    const char *begin = isatty(STDERR_FILENO) ? "\r" : "";
    if (s->quiet || grace_ns + delay_ns == 0) return;
    if (delay_ns)
        (void)fprintf(stderr, "%sskua: serving on for %g s, as drain_delay says\n", begin,
                      (double)delay_ns / 1e9);
    (void)fprintf(stderr,
                  "%sskua: finishing what runs, for %g s at most; once more ends it at once\n",
                  begin, (double)grace_ns / 1e9);
}

void super_stop(super_state *s)
{
    int64_t grace_ns = s->stopping ? 0 : task_grace_ns(s);
    int64_t delay_ns = s->stopping || !s->now.conf ? 0 : s->now.conf->drain_delay_ns;
    if (!s->stopping) {
        notify_stopping();
        stop_say(s, grace_ns, delay_ns);
    }
    s->stopping = true;
    s->restart_at_ns = 0;
    stop_tell_all(s, grace_ns, delay_ns);
}

// ---- The log ----

static void log_tell(const super_server *one)
{
    static const int log = STDOUT_FILENO;
    if (one->stage != SUPER_NONE) (void)control_send(one->control, &log, 1, "log");
}

void super_log_again(super_state *s)
{
    if (!conf_log_again()) return;
    log_tell(&s->serving);
    log_tell(&s->next);
    for (unsigned i = 0; i < SUPER_LEAVING_MAX; i++)
        log_tell(&s->leaving[i]);
}

// ---- Time ----

static void task_restart(super_state *s)
{
    s->restart_at_ns = 0;
    if (!super_begin_server(s, &s->serving, &s->now)) {
        super_server_forget(&s->serving);
        s->restart_at_ns = super_now_ns() + 1000000000;
    }
    super_started(s, &s->now);
}

static void task_trim(super_state *s, int64_t now_ns)
{
    bool awaited = now_ns < s->trim_until_ns && super_sockets_are_awaited(s->now.conf);
    s->trim_at_ns = awaited ? now_ns + SUPER_TRIM_LOOK_NS : 0;
    if (!awaited) super_sockets_trim(s->now.conf);
}

void super_task_look(super_state *s)
{
    int64_t now_ns = super_now_ns();
    if (s->left_until_ns && now_ns >= s->left_until_ns) super_task_left(s);
    if (s->trim_at_ns && now_ns >= s->trim_at_ns && s->task == SUPER_IDLE) task_trim(s, now_ns);
    if (s->restart_at_ns && now_ns >= s->restart_at_ns) task_restart(s);
    super_upgrade_look(s, now_ns);
    if (s->task == SUPER_RELOAD && s->task_until_ns && now_ns >= s->task_until_ns) {
        s->task_until_ns = 0;
        super_task_refuse(s, "the server process does not answer");
    }
}

void super_task_next(super_state *s)
{
    if (s->task != SUPER_IDLE || s->stopping || s->serving.stage == SUPER_STARTING) return;
    if (s->wanted[SUPER_RELOAD]) s->task = SUPER_RELOAD;
    else if (s->wanted[SUPER_UPGRADE]) s->task = SUPER_UPGRADE;
    else return;
    s->wanted[s->task] = false;
    super_client_begin(s->task);
    if (s->task == SUPER_RELOAD) task_reload(s);
    else super_upgrade_begin(s);
}

#endif
