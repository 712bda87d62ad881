// SPDX-License-Identifier: MIT
//
// Messages of the supervisor are read on the thread of the watch. A supervisor that is gone ends the server, with
// grace for those who are being served, so that whoever started the supervisor starts it anew and finds its addresses
// free.

#include "super/served.h"

#ifdef __linux__

#include "common/banner.h"
#include "conf/listeners.h"
#include "conf/load.h"
#include "conf/reload.h"
#include "status/report.h"
#include "conf/serve.h"
#include "conf/syslog.h"
#include "super/control.h"
#include "tls/https.h"
#include "common/pulse.h"
#include "sandbox/sandbox.h"
#include "common/say.h"
#include "common/source.h"
#include "status/status.h"
#include "common/stop.h"
#include "common/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SERVED_LAST_GRACE_NS 1000000000 // behind the grace of a server that leaves, for last words

enum {
    SERVED_LEAVING_LOOK_MS = 100,
    SERVED_ROUNDS =
        3 // the first may have begun before, and a worker looks at what it was told between two
};

static struct {
    int control;
    const char *file;
    conf *conf; // with which it was started
    skua_server *server;
    status_listener *status;
    int listens[CONF_LISTENS_MAX]; // -1: none has come
    int status_fd;
    int spare; // a descriptor, so that one may come from the supervisor when clients have all others; -1: it is spent
    bool quiet;
    struct {
        atomic_bool leaves;
    } shared;
    unsigned rounds; // of all workers since then
    int64_t leaves_until_ns;
    int64_t stops_at_ns; // the delay of a stop is over then; 0: there is none
    int64_t stop_grace_ns;
} served = { .control = -1, .status_fd = -1, .spare = -1 };

int served_socket(void)
{
    const char *text = getenv("SKUA_SERVER");
    int type = 0, fd = text ? (int)strtol(text, NULL, 10) : -1;
    socklen_t len = sizeof type;
    (void)unsetenv("SKUA_SERVER");
    if (fd < 3 || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) || type != SOCK_SEQPACKET)
        return -1;
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

// ---- Messages before the start ----

// "start QUIET ACCEPTED REFUSED FILE"
static bool served_take_start(control_message *m, const char *rest)
{
    char *end = NULL;
    static char file[CONTROL_OCTETS_MAX];
    int source = control_take(m, 0);
    served.quiet = strtoul(rest, &end, 10) != 0;
    unsigned accepted = (unsigned)strtoul(end, &end, 10);
    unsigned refused = (unsigned)strtoul(end, &end, 10);
    (void)snprintf(file, sizeof file, "%s", *end == ' ' ? end + 1 : end);
    served.file = file;
    conf_report_resume(accepted, refused);
    bool is_there = source_from(source);
    if (source >= 0) (void)close(source);
    return is_there;
}

// "listen NUMBER"
static void served_take_listen(control_message *m, const char *rest)
{
    unsigned long at = strtoul(rest, NULL, 10);
    if (at >= CONF_LISTENS_MAX) return;
    if (served.listens[at] >= 0) (void)close(served.listens[at]);
    served.listens[at] = control_take(m, 0);
}

// Returns: false while there is more to come.
static bool served_take(control_message *m, bool *failed)
{
    const char *rest;
    if (control_is(m, "listen", &rest)) {
        served_take_listen(m, rest);
    } else if (control_is(m, "status", &rest)) {
        served.status_fd = control_take(m, 0);
    } else if (control_is(m, "start", &rest)) {
        *failed = !served_take_start(m, rest);
        return true;
    }
    return false;
}

static bool served_hear_start(void)
{
    static control_message m;
    bool failed = false, complete = false;
    for (unsigned i = 0; i < CONF_LISTENS_MAX; i++)
        served.listens[i] = -1;
    while (!complete) {
        if (control_receive(served.control, true, &m) != CONTROL_MESSAGE) return false;
        complete = served_take(&m, &failed);
        control_close(&m);
    }
    return !failed;
}

// ---- The start ----

static bool served_listen(void)
{
    conf *c = served.conf;
    for (unsigned i = 0; i < c->listen_count; i++) {
        const conf_listen *at = &c->listens[i];
        skua_status status = skua_listen_fd(served.server, served.listens[i]);
        if (!status) served.listens[i] = -1;
        if (!status && at->tls) status = skua_listen_over_tls(served.server, i);
        if (status) conf_find(&c->findings, at->at, "%s", skua_server_error(served.server));
    }
    return conf_is_sound(c);
}

static bool served_open_status(void)
{
    conf *c = served.conf;
    const char *why = NULL;
    if (c->status && !(served.status = status_open(c->status, served.status_fd, &why)))
        conf_find(&c->findings, c->status_at, "%s", why);
    return conf_is_sound(c);
}

static void served_save(void)
{
    if (served.spare < 0) served.spare = fcntl(served.control, F_DUPFD_CLOEXEC, 3);
}

static void served_spend(void)
{
    if (served.spare >= 0) (void)close(served.spare);
    served.spare = -1;
}

// Clients who wait may take all descriptors as soon as it has started.
static bool served_start(void)
{
    if (!watch_prepare()) {
        say_error("%s", skua_status_text(SKUA_ENOFILE));
        return false;
    }
    served_save();
    if (served.conf->syslog) conf_syslog_open(served.conf->syslog);
    if (!served_listen() || !served_open_status()) return false;
    skua_status status = skua_start(served.server);
    const char *why = skua_server_error(served.server);
    if (status) say_error("%s", *why ? why : skua_status_text(status));
    if (!status && served.status) status_of(served.status, served.server);
    return !status;
}

// ---- Messages while it serves ----

// Sockets have come before: those that the server has already are closed again.
static void served_reload(control_message *m)
{
    char why[CONTROL_OCTETS_MAX / 2];
    int source = control_take(m, 0);
    bool taken =
        source_from(source) && conf_reload_quietly(sandbox_covers, served.listens, why, sizeof why);
    (void)source_from(-1);
    if (source >= 0) (void)close(source);
    for (unsigned i = 0; i < CONF_LISTENS_MAX; i++) {
        if (served.listens[i] >= 0) (void)close(served.listens[i]);
        served.listens[i] = -1;
    }
    (void)control_send(served.control, NULL, 0, taken ? "taken" : "outside %s", why);
    if (taken) conf_reload_remove();
}

// The log writer's next lines are in the new file; one that is being written is whole in the former one.
static void served_take_log(control_message *m)
{
    int log = control_take(m, 0);
    if (log < 0) {
        say_error("the log cannot be opened again, and stays in its former file");
        return;
    }
    (void)dup2(log, STDOUT_FILENO);
    (void)close(log);
}

static int64_t served_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// Until the delay is over, /ready answers that the server stops, and each next response that its connection closes, so
// that balancers can turn away. Idle connections stay for that long: a client may be about to use one.
static void served_stop(int64_t grace_ns, int64_t delay_ns)
{
    stop_note();
    served.stops_at_ns = delay_ns > 0 ? served_now_ns() + delay_ns : 0;
    served.stop_grace_ns = grace_ns;
    if (delay_ns > 0) {
        skua_drain(served.server);
        watch_every(SERVED_LEAVING_LOOK_MS);
    } else {
        skua_stop(served.server, grace_ns);
    }
}

// "stop GRACE DELAY"
static void served_take_stop(const char *rest)
{
    char *end = NULL;
    int64_t grace_ns = strtoll(rest, &end, 10);
    served_stop(grace_ns, strtoll(end, NULL, 10));
}

// Behind the last listener that is the other process's no more: nobody is left in its queue.
static void served_left(void)
{
    skua_leave(served.server);
    atomic_store(&served.shared.leaves, true);
}

// New clients are another process's. Those of this one go with their next response, or when they are idle for too long:
// closing an idle connection earlier could lose a request that is on its way.
static void served_leave(int64_t grace_ns)
{
    served.leaves_until_ns = served_now_ns() + grace_ns;
    status_leave(served.status);
    conf_reload_leave(served_left);
    watch_every(SERVED_LEAVING_LOOK_MS);
}

static void served_look_leaving(void)
{
    skua_stats stats;
    skua_server_stats(served.server, &stats);
    if (served_now_ns() >= served.leaves_until_ns) skua_stop(served.server, SERVED_LAST_GRACE_NS);
    else if (stats.connections_open + status_connections(served.status) == 0)
        skua_stop(served.server, 0);
}

static void served_take_word(control_message *m)
{
    const char *rest;
    if (control_is(m, "listen", &rest)) served_take_listen(m, rest);
    else if (control_is(m, "reload", NULL)) served_reload(m);
    else if (control_is(m, "drop", &rest)) conf_listeners_drop(rest);
    else if (control_is(m, "log", NULL)) served_take_log(m);
    else if (control_is(m, "refused", &rest)) conf_report_reload(rest);
    else if (control_is(m, "leave", &rest)) served_leave(strtoll(rest, NULL, 10));
    else if (control_is(m, "stop", &rest)) served_take_stop(rest);
}

static bool served_hear(void)
{
    static control_message m;
    served_spend();
    control_got got = control_receive(served.control, false, &m);
    if (got == CONTROL_MESSAGE) served_take_word(&m);
    if (got == CONTROL_GONE) {
        say_error("the supervisor is gone, so the server ends too");
        served_stop(served.conf->grace_ns, 0);
        return false;
    }
    control_close(&m);
    served_save();
    return true;
}

// A process that may not read a certificate any more asks for a reload, which gives its place to another one; so does
// one whose root is another folder than the one that its sandbox knows.
static bool served_needs_reload(void)
{
    bool has_certificates = conf_reload_look();
    return conf_reload_look_at_roots() || !has_certificates;
}

static void served_look(void)
{
    if (served.stops_at_ns && served_now_ns() >= served.stops_at_ns)
        served_stop(served.stop_grace_ns, 0);
    if (atomic_load(&served.shared.leaves)) served_look_leaving();
    else if (served_needs_reload()) (void)control_send(served.control, NULL, 0, "again");
    if (!pulse_look(served.server)) return;
    (void)control_send(served.control, NULL, 0, "pulse");
    if (atomic_load(&served.shared.leaves) && ++served.rounds == SERVED_ROUNDS)
        (void)control_send(served.control, NULL, 0, "left");
}

// ---- Life ----

static bool served_serve(void)
{
    https_begin(served.server);
    conf_reload_begin(served.server, served.file, served.conf);
    (void)source_from(-1);
    // Before there is a thread that may change where it listens.
    if (!served.quiet) banner_show(served.server, served.file, false);
    if (!served.quiet && served.status) say("status: http://%s", status_address(served.status));
    bool hears = watch_begin(
        &(watch_desc){ .look = served_look, .fd = served.control, .heard = served_hear });
    if (hears) (void)control_send(served.control, NULL, 0, "ready");
    else skua_stop(served.server, 0); // nobody could tell it to
    bool stopped = skua_wait(served.server) == SKUA_OK && hears;
    watch_end();
    conf_listeners_wait();
    return stopped;
}

bool served_run(int control)
{
    served.control = control;
    (void)prctl(PR_SET_NAME, "skua");
    if (!served_hear_start()) return false;
    served.conf = conf_serve_read(served.file, &served.server);
    bool stopped = served.conf && sandbox_enter(served.conf) && served_start() && served_serve();
    status_close(served.status);
    skua_server_free(served.server);
    conf_reload_end();
    conf_drop(served.conf);
    return stopped;
}

#endif
