// SPDX-License-Identifier: MIT

#include "super/super.h"

#ifdef __linux__

#include "conf/log.h"
#include "common/notify.h"
#include "conf/pid_file.h"
#include "common/say.h"
#include "super/client.h"
#include "super/conf.h"
#include "super/sockets.h"
#include "super/task.h"
#include "super/upgrade.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define SUPER_REST_FIRST_NS                                                                        \
    100000000 // before a server that has ended is replaced; doubled each time
#define SUPER_REST_MOST_NS 10000000000 // at most
#define SUPER_WELL_NS 60000000000      // a server that has lived so long begins anew with that

enum { SUPER_POLLS_MAX = 2 + SUPER_LEAVING_MAX + 1 + SUPER_CLIENTS_MAX + 2 };

static struct {
    super_state state;
    int signals;
    int terminal; // -1: there was none to begin with
} super = { .signals = -1, .terminal = -1 };

// ---- Signals ----

static bool super_take_signals(void)
{
    static const int taken[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD };
    sigset_t set;
    struct sigaction before;
    (void)sigemptyset(&set);
    // one that is ignored stays so; the others must not be
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        bool stays = taken[i] == SIGHUP && sigaction(SIGHUP, NULL, &before) == 0 &&
                     before.sa_handler == SIG_IGN;
        if (stays) continue;
        (void)sigaction(taken[i], &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
        (void)sigaddset(&set, taken[i]);
    }
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    super.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    super.terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    return super.signals >= 0;
}

// The third time somebody wants it gone whatever it does.
static void super_end_at_once(super_state *s, int number)
{
    sigset_t set;
    if (s->serving.stage != SUPER_NONE) (void)kill(s->serving.pid, SIGKILL);
    for (unsigned i = 0; i < SUPER_LEAVING_MAX; i++) {
        if (s->leaving[i].stage != SUPER_NONE) (void)kill(s->leaving[i].pid, SIGKILL);
    }
    (void)sigemptyset(&set);
    (void)sigaddset(&set, number);
    (void)raise(number);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void super_asked_to_stop(super_state *s, int number)
{
    if (++s->stops > 2) super_end_at_once(s, number);
    else super_stop(s);
}

// The shell and the kernel may both tell of a terminal that is gone, so a second one is not somebody's impatience.
static void super_hung_up(super_state *s)
{
    bool gone = super.terminal >= 0 && tcgetpgrp(super.terminal) < 0;
    if (!gone) s->wanted[SUPER_RELOAD] = true;
    else if (!s->stops) super_asked_to_stop(s, SIGHUP);
}

static void super_hear_signals(super_state *s)
{
    struct signalfd_siginfo one;
    while (read(super.signals, &one, sizeof one) == (ssize_t)sizeof one) {
        int number = (int)one.ssi_signo;
        if (number == SIGINT || number == SIGTERM) super_asked_to_stop(s, number);
        else if (number == SIGHUP) super_hung_up(s);
        else if (number == SIGUSR1) super_log_again(s);
        else if (number == SIGUSR2) s->wanted[SUPER_UPGRADE] = true;
    }
}

// ---- Processes that have ended ----

// Returns: the rest before it.
static int64_t super_plan_restart(super_state *s, int64_t lived_ns)
{
    if (lived_ns > SUPER_WELL_NS) s->crashes = 0;
    unsigned doublings = s->crashes < 10 ? s->crashes : 10;
    int64_t rest_ns = (int64_t)SUPER_REST_FIRST_NS << doublings;
    if (rest_ns > SUPER_REST_MOST_NS) rest_ns = SUPER_REST_MOST_NS;
    s->crashes++;
    s->restart_at_ns = super_now_ns() + rest_ns;
    return rest_ns;
}

static void super_serving_ended(super_state *s, int status)
{
    char how[128];
    int64_t lived_ns = super_now_ns() - s->serving.since_ns;
    long pid = (long)s->serving.pid;
    super_server_end_text(status, how, sizeof how);
    super_server_forget(&s->serving);
    if (s->stopping || !s->has_served) {
        s->failed = s->failed || status != 0;
        s->stopping = true; // a first one that fails has said why
        return;
    }
    int64_t rest_ns = super_plan_restart(s, lived_ns);
    say_error("the server process %ld %s; another is started in %g s", pid, how,
              (double)rest_ns / 1e9);
    super_task_unanswered(s, pid, how);
}

static super_server *super_find(super_state *s, pid_t pid)
{
    if (s->serving.stage != SUPER_NONE && s->serving.pid == pid) return &s->serving;
    if (s->next.stage != SUPER_NONE && s->next.pid == pid) return &s->next;
    for (unsigned i = 0; i < SUPER_LEAVING_MAX; i++) {
        if (s->leaving[i].stage != SUPER_NONE && s->leaving[i].pid == pid) return &s->leaving[i];
    }
    return NULL;
}

static void super_ended(super_state *s, pid_t pid, int status)
{
    super_server *which = super_find(s, pid);
    char how[128];
    super_server_end_text(status, how, sizeof how);
    if (!which) {
        super_upgrade_tried(s, pid, status);
    } else if (which == &s->serving) {
        super_serving_ended(s, status);
    } else if (which == &s->next) {
        super_server_forget(which);
        super_task_lost(s, how);
    } else {
        if (status) say_warning("the former server process %ld %s", (long)pid, how);
        super_server_forget(which);
        super_task_left(s);
    }
}

// As the first process of a container it has children that it never started.
static void super_reap(super_state *s)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        super_ended(s, pid, status);
}

// ---- Servers ----

static void super_first_is_ready(super_state *s)
{
    s->has_served = true;
    notify_ready();
}

static void super_is_ready(super_state *s, super_server *one)
{
    if (one->stage != SUPER_STARTING) return;
    super_server_enter(one, SUPER_SERVING, INT64_MAX);
    if (one == &s->serving && !s->has_served) super_first_is_ready(s);
    else super_task_ready(s, one);
}

// The process itself is heard of when it has ended.
static void super_is_gone(super_server *one)
{
    (void)close(one->control);
    one->control = -1;
}

static void super_hear(super_state *s, super_server *one)
{
    static control_message m;
    control_got got = control_receive(one->control, false, &m);
    if (got == CONTROL_GONE) super_is_gone(one);
    if (got != CONTROL_MESSAGE) return;
    if (control_is(&m, "ready", NULL)) super_is_ready(s, one);
    else if (control_is(&m, "pulse", NULL)) notify_alive();
    else if (control_is(&m, "left", NULL)) super_task_left(s);
    else if (control_is(&m, "again", NULL)) s->wanted[SUPER_RELOAD] = true;
    else if (one == &s->serving) super_task_answered(s, &m);
    control_close(&m);
}

static void super_kill_late(super_server *one, int64_t now_ns)
{
    if (one->stage == SUPER_NONE || now_ns < one->until_ns) return;
    say_error("the server process %ld %s, and is ended", (long)one->pid,
              one->stage == SUPER_STARTING ? "was not ready in time" : "did not end in time");
    one->until_ns = INT64_MAX;
    (void)kill(one->pid, SIGKILL);
}

// ---- The loop ----

static unsigned super_poll_servers(super_state *s, struct pollfd *on, super_server **of)
{
    super_server *all[2 + SUPER_LEAVING_MAX] = { &s->serving, &s->next };
    unsigned count = 0;
    for (unsigned i = 0; i < SUPER_LEAVING_MAX; i++)
        all[2 + i] = &s->leaving[i];
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i]->stage == SUPER_NONE || all[i]->control < 0) continue;
        on[count] = (struct pollfd){ .fd = all[i]->control, .events = POLLIN };
        of[count++] = all[i];
    }
    return count;
}

static void super_sooner(int64_t *due_ns, int64_t at_ns)
{
    if (at_ns && at_ns < *due_ns) *due_ns = at_ns;
}

static int super_wait_ms(const super_state *s)
{
    int64_t due_ns = super_now_ns() + 3600000000000;
    super_sooner(&due_ns, s->restart_at_ns);
    super_sooner(&due_ns, s->task_until_ns);
    super_sooner(&due_ns, s->left_until_ns);
    if (s->task == SUPER_IDLE) super_sooner(&due_ns, s->trim_at_ns);
    if (s->serving.stage != SUPER_NONE) super_sooner(&due_ns, s->serving.until_ns);
    if (s->next.stage != SUPER_NONE) super_sooner(&due_ns, s->next.until_ns);
    for (unsigned i = 0; i < SUPER_LEAVING_MAX; i++) {
        if (s->leaving[i].stage != SUPER_NONE) super_sooner(&due_ns, s->leaving[i].until_ns);
    }
    int64_t left_ns = due_ns - super_now_ns();
    return left_ns > 0 ? (int)((left_ns + 999999) / 1000000) : 0;
}

static void super_look(super_state *s)
{
    int64_t now_ns = super_now_ns();
    super_kill_late(&s->serving, now_ns);
    super_kill_late(&s->next, now_ns);
    for (unsigned i = 0; i < SUPER_LEAVING_MAX; i++)
        super_kill_late(&s->leaving[i], now_ns);
    super_task_look(s);
    super_task_next(s);
}

static bool super_has_servers(const super_state *s)
{
    bool has = s->serving.stage != SUPER_NONE || s->next.stage != SUPER_NONE;
    for (unsigned i = 0; i < SUPER_LEAVING_MAX && !has; i++)
        has = s->leaving[i].stage != SUPER_NONE;
    return has;
}

// A message may move a server to another place, so it is looked for again by its socket.
static void super_turn(super_state *s)
{
    struct pollfd on[SUPER_POLLS_MAX];
    super_server *of[2 + SUPER_LEAVING_MAX];
    unsigned servers = super_poll_servers(s, on, of);
    on[servers] = (struct pollfd){ .fd = super.signals, .events = POLLIN };
    unsigned clients = super_client_poll(on + servers + 1, SUPER_POLLS_MAX - servers - 1);
    if (poll(on, servers + 1 + clients, super_wait_ms(s)) < 0 && errno != EINTR) return;
    for (unsigned i = 0; i < servers; i++) {
        bool is_same = of[i]->stage != SUPER_NONE && of[i]->control == on[i].fd;
        if (on[i].revents && is_same) super_hear(s, of[i]);
    }
    super_hear_signals(s);
    super_reap(s);
    super_client_look(s->wanted);
    if (s->wanted[SUPER_STOP] && !s->stopping) super_asked_to_stop(s, SIGTERM);
    super_look(s);
}

// ---- Life ----

static bool super_open(super_state *s)
{
    super_fault fault;
    if (!super_server_prepare() || !super_take_signals()) {
        say_error("the supervisor cannot start: descriptors have run out, or /proc is missing");
        return false;
    }
    if (!super_read(s->file, &s->now, &fault)) return false;
    super_started(s, &s->now);
    const char *log = s->now.conf->log_file;
    if (log && !conf_log_open(log)) {
        say_error("the log %s cannot be written", log);
        return false;
    }
    if (!pid_file_keep(s->now.conf->pid_file)) return false;
    if (!super_client_listen(s->file))
        say_warning("commands cannot reach this server: another one runs with %s", s->file);
    return super_begin_server(s, &s->serving, &s->now);
}

static void super_close(super_state *s)
{
    if (!s->failed && s->has_served && !s->quiet) say("stopped");
    super_sockets_close();
    super_client_begin(SUPER_STOP);
    super_client_answer(SUPER_STOP, !s->failed,
                        s->failed ? "the server process failed" : "stopped");
    super_client_close();
    (void)pid_file_keep(NULL);
    super_drop(&s->now);
    super_drop(&s->coming);
    super_started(s, NULL);
}

// A log that is put aside while one program takes the other's place, and a process that ends meanwhile, are told by
// signals that it may have missed.
static bool super_take_over(super_state *s, int state)
{
    char refusal[CONTROL_OCTETS_MAX / 2], why[CONTROL_OCTETS_MAX / 2];
    if (!super_server_prepare() || !super_take_signals()) {
        say_error("the supervisor cannot go on: descriptors have run out, or /proc is missing");
        return false;
    }
    if (!super_exec_read(s, state, refusal, why)) {
        say_error("%s", why);
        return false;
    }
    (void)conf_log_open(s->now.conf->log_file);
    (void)pid_file_keep(s->now.conf->pid_file);
    super_log_again(s);
    super_upgrade_go_on(s, refusal);
    super_reap(s);
    return true;
}

static super_state *super_state_new(const char *file, bool quiet)
{
    super.state = (super_state){ .file = file, .quiet = quiet, .before = -1 };
    super.state.now.source = super.state.coming.source = super.state.started.source = -1;
    return &super.state;
}

// Returns: whether it was stopped, and did not fail.
static bool super_live(super_state *s)
{
    while (!s->failed && (!s->stopping || super_has_servers(s)))
        super_turn(s);
    super_close(s);
    return !s->failed;
}

bool super_run(const char *file, bool quiet)
{
    super_state *s = super_state_new(file, quiet);
    s->failed = !super_open(s);
    return super_live(s);
}

bool super_go_on(int state)
{
    super_state *s = super_state_new("", true);
    notify_open();
    s->has_served = true;
    s->failed = !super_take_over(s, state);
    return super_live(s);
}

#endif
