// SPDX-License-Identifier: MIT
//
// A check does all that a start does, up to listening: the server is built, and certificates are loaded.

#include "conf_serve.h"

#include "address.h"
#include "banner.h"
#include "conf_build.h"
#include "conf_explain.h"
#include "conf_load.h"
#include "conf_log.h"
#include "conf_reload.h"
#include "conf_report.h"
#include "conf_syslog.h"
#include "https.h"
#include "notify.h"
#include "say.h"
#include "status.h"
#include "stop.h"
#include "watch.h"

#include <stdio.h>
#include <string.h>

// is_played: for requests that come from nowhere, and are not logged.
// Returns: a server that is not started, or NULL, and why has been said.
static skua_server *serve_build(conf *c, bool is_played)
{
    skua_config config = c->server;
    const options *o = conf_options(c);
    if (!o || !https_describe(o, &config.tls)) return NULL;
    if (c->syslog) config.log_write = conf_syslog_write;
    config.hosts = "*"; // those of no site are misdirected, by any address
    if (is_played) {
        config.log = SKUA_LOG_NONE;
        config.trusted = CONF_EXPLAIN_TRUSTED;
        config.forwarded = SKUA_FORWARDED_STANDARD;
    }
    skua_server *server = conf_build(c, &config);
    if (!server) (void)conf_is_sound(c);
    return server;
}

// Paths whose password was taken away on purpose are named, as nobody else would notice.
static void serve_say_opened(const conf *c)
{
    for (const conf_site *site = c->sites; site; site = site->next) {
        for (const conf_scope *at = &site->scope; at;
             at = at == &site->scope ? site->paths : at->next) {
            if (!at->opened_at.file) continue;
            (void)printf("%s:%u:%u: note: %s of %s needs no password of outer blocks\n",
                         at->opened_at.file, at->opened_at.line, at->opened_at.column, at->path,
                         site->hosts);
        }
    }
}

// The configuration of the file, with a server of it. NULL: it has faults, which have been said.
static conf *serve_read(const char *file, bool is_played, skua_server **server)
{
    conf *c = conf_new();
    if (!c) say_error("%s", skua_status_text(SKUA_ENOMEM));
    *server = c && conf_load(c, file) ? serve_build(c, is_played) : NULL;
    if (*server) return c;
    conf_drop(c);
    return NULL;
}

bool conf_is_right(const char *file)
{
    skua_server *server;
    conf *c = serve_read(file, false, &server);
    if (!c) return false;
    serve_say_opened(c);
    (void)printf("%s: %u site%s, %u address%s, no faults\n", file, c->site_count,
                 c->site_count == 1 ? "" : "s", c->listen_count, c->listen_count == 1 ? "" : "es");
    skua_server_free(server);
    conf_drop(c);
    return true;
}

bool conf_explain_url(const char *file, const char *url)
{
    skua_server *server;
    conf *c = serve_read(file, true, &server);
    if (!c) return false;
    bool explained = conf_explain(c, server, url);
    skua_server_free(server);
    conf_drop(c);
    return explained;
}

// ---- Serving ----

static skua_status serve_listen(skua_server *server, const conf_listen *at, size_t index)
{
    unsigned fd;
    skua_status status = address_is_fd(at->address, &fd) ? skua_listen_fd(server, (int)fd)
                                                         : skua_listen(server, at->address);
    return status || !at->tls ? status : skua_listen_over_tls(server, index);
}

static bool serve_listen_all(conf *c, skua_server *server)
{
    for (unsigned i = 0; i < c->listen_count; i++) {
        const conf_listen *at = &c->listens[i];
        if (!serve_listen(server, at, i)) continue;
        conf_find(&c->findings, at->at, "%s", skua_server_error(server));
        return conf_is_sound(c);
    }
    return true;
}

static bool serve_open_log(const conf *c)
{
    if (c->syslog) conf_syslog_open(c->syslog);
    if (!c->log_file || conf_log_open(c->log_file)) return true;
    say_error("the log %s cannot be written", c->log_file);
    return false;
}

// The sentence of the library names an address as the file does.
static void serve_say_start(conf *c, const char *why)
{
    for (unsigned i = 0; i < c->listen_count; i++) {
        const conf_listen *at = &c->listens[i];
        if (!strstr(why, at->address)) continue;
        conf_find(&c->findings, at->at, "%s", why);
        (void)conf_is_sound(c);
        return;
    }
    say_error("%s", why);
}

static bool serve_open_status(conf *c, status_listener **status)
{
    const char *why = NULL;
    if (c->status && !(*status = status_open(c->status, &why)))
        conf_find(&c->findings, c->status_at, "%s", why);
    return conf_is_sound(c);
}

static bool serve_begin(conf *c, skua_server *server, status_listener **shown)
{
    if (!serve_listen_all(c, server) || !serve_open_status(c, shown)) return false;
    skua_status status = skua_start(server);
    const char *why = skua_server_error(server);
    if (status) serve_say_start(c, *why ? why : skua_status_text(status));
    if (status) return false;
    conf_report_start();
    if (*shown) status_of(*shown, server);
    return true;
}

static bool serve_run(conf *c, skua_server *server, const char *file, bool quiet)
{
    https_begin(server);
    conf_reload_begin(server, file, c);
    watch_begin(&(watch_desc){ .look = conf_reload_look, .asked = conf_reload });
    stop_on_signals(server, c->grace_ns, quiet, watch_wake);
    notify_ready();
    if (!quiet) banner_show(server, file, false);
    bool stopped = skua_wait(server) == SKUA_OK;
    if (stopped && !quiet) say("stopped");
    stop_forget();
    watch_end();
    return stopped;
}

bool conf_serve(const char *file, bool quiet)
{
    skua_server *server;
    status_listener *shown = NULL;
    conf *c = serve_read(file, false, &server);
    if (!c) return false;
    stop_hold_signals();
    bool stopped = serve_open_log(c) && serve_begin(c, server, &shown);
    if (stopped && shown && !quiet) say("status: http://%s", status_address(shown));
    stopped = stopped && serve_run(c, server, file, quiet);
    status_close(shown);
    skua_server_free(server);
    conf_reload_end();
    conf_drop(c);
    return stopped;
}
