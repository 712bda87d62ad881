// SPDX-License-Identifier: MIT
//
// Sites change at one stroke, and requests that are under way keep theirs. What belongs to the server itself is
// compared word by word: what differs there takes effect with the next start, which is said.

#include "conf/reload.h"

#include "conf/build.h"
#include "conf/clients.h"
#include "conf/difference.h"
#include "conf/listeners.h"
#include "conf/load.h"
#include "conf/roots.h"
#include "status/report.h"
#include "tls/https.h"
#include "common/notify.h"
#include "common/say.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct {
    skua_server *server;
    const char *file;
    const conf *started; // with which the server was started
    conf *now;           // whose sites are served
    conf *secured;       // whose certificates are
    bool is_tls;         // the server speaks it
} reloader;

static bool reload_speaks_tls(const conf *c)
{
    for (unsigned i = 0; i < c->listen_count; i++) {
        if (c->listens[i].tls) return true;
    }
    return false;
}

void conf_reload_begin(skua_server *server, const char *file, conf *started)
{
    reloader.server = server;
    reloader.file = file;
    reloader.started = started;
    reloader.now = conf_hold(started);
    reloader.secured = conf_hold(started);
    reloader.is_tls = reload_speaks_tls(started);
    conf_listeners_begin(server, started);
}

void conf_reload_end(void)
{
    conf_listeners_wait();
    conf_drop(reloader.now);
    conf_drop(reloader.secured);
    reloader.now = reloader.secured = NULL;
}

static void reload_look_at_closing(conf_site *site)
{
    char line[512];
    bool is_closed = access(site->closed_by, F_OK) == 0;
    if (atomic_exchange(&site->shared.is_closed, is_closed) == is_closed) return;
    (void)snprintf(line, sizeof line, "site %.200s is %s: %.200s is %s", site->hosts,
                   is_closed ? "closed" : "open again", site->closed_by,
                   is_closed ? "there" : "gone");
    skua_log(reloader.server, skua_slice_of(line));
}

bool conf_reload_look(void)
{
    bool done = !reloader.is_tls || https_look();
    for (conf_site *site = reloader.now->sites; site; site = site->next) {
        if (site->closed_by) reload_look_at_closing(site);
    }
    return done;
}

static void reload_log(const char *text)
{
    skua_log(reloader.server, skua_slice_of(text));
}

bool conf_reload_look_at_roots(void)
{
    return conf_roots_look(reloader.now, reload_log);
}

// ---- Changing ----

static void reload_say_later(const conf_kind *kind, conf_place at)
{
    say_warning("%s:%u:%u: a change of %s takes effect with the next start", at.file, at.line,
                at.column, kind->name);
}

// Its faults have been said.
static void reload_refuse(const conf *refused)
{
    char text[512];
    const conf_finding *first = refused ? refused->findings.first : NULL;
    unsigned count = refused ? refused->findings.count : 0;
    (void)snprintf(text, sizeof text,
                   "the configuration stays as it is, since the file has %u fault%s", count,
                   count == 1 ? "" : "s");
    reload_log(first ? text : "the configuration stays as it is, since memory ran out");
    if (first)
        (void)snprintf(text, sizeof text, "%s:%u:%u: %s", first->at.file, first->at.line,
                       first->at.column, first->sentence);
    conf_report_reload(first ? text : skua_status_text(SKUA_ENOMEM));
}

// Certificates of a configuration that speaks no TLS are none; a server that does keeps those it has.
static void reload_certificates(conf *c)
{
    const options *o = reloader.is_tls && reload_speaks_tls(c) ? conf_options(c) : NULL;
    if (!o) return;
    https_use(o);
    conf_drop(reloader.secured);
    reloader.secured = conf_hold(c);
}

static void reload_take(conf *c)
{
    char line[128];
    conf_difference_each(reloader.started, c, reload_say_later);
    conf_drop(reloader.now);
    reloader.now = c;
    reload_certificates(c);
    conf_clients_bound(c);
    (void)snprintf(line, sizeof line, "the configuration has been read again, and has %u site%s",
                   c->site_count, c->site_count == 1 ? "" : "s");
    reload_log(line);
    conf_report_reload(NULL);
}

static bool reload_build(conf *c)
{
    bool built = conf_build_sites(c, reloader.server);
    if (!built) (void)conf_is_sound(c);
    return built;
}

void conf_reload_remove(void)
{
    conf_listeners_remove(reloader.now, NULL);
}

void conf_reload_leave(void (*left)(void))
{
    conf_listeners_remove(reloader.now, left);
}

// Nobody waits for workers that are to stay as they are.
static bool reload_workers(const conf *from, const conf *c, char *why, size_t room)
{
    if (from->server.workers == c->server.workers) return true;
    skua_status status = skua_workers_set(reloader.server, c->server.workers);
    if (status) (void)snprintf(why, room, "workers: %s", skua_status_text(status));
    return !status;
}

// Everything that can fail comes first, and is taken back.
static bool reload_follow(conf *c, int *fds, char *why, size_t room)
{
    if (!reload_workers(reloader.now, c, why, room)) return false;
    bool followed = conf_listeners_add(c, fds, why, room) && reload_build(c);
    if (followed) return true;
    (void)reload_workers(c, reloader.now, why, 0);
    conf_reload_remove();
    return false;
}

static void reload_try(void)
{
    char why[512] = "";
    conf *c = conf_new();
    if (c && conf_load(c, reloader.file) && reload_follow(c, NULL, why, sizeof why)) {
        reload_take(c);
        conf_reload_remove();
        return;
    }
    if (c && *why) conf_find(&c->findings, (conf_place){ .file = reloader.file }, "%s", why);
    reload_refuse(c);
    conf_drop(c);
}

bool conf_reload_quietly(conf_covers_fn *covers, int *fds, char *why, size_t room)
{
    conf *c = conf_new();
    if (c) c->is_silent = true;
    *why = '\0';
    bool built = c && conf_load(c, reloader.file) && covers(c, why, room) &&
                 reload_follow(c, fds, why, room);
    const conf_finding *first = c ? c->findings.first : NULL;
    if (!*why)
        (void)snprintf(why, room, "%s", first ? first->sentence : skua_status_text(SKUA_ENOMEM));
    if (built) reload_take(c);
    else conf_drop(c);
    return built;
}

void conf_reload(void)
{
    notify_reloading();
    reload_try();
    notify_ready();
}
