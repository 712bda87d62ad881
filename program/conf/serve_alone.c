// SPDX-License-Identifier: MIT

#include "conf/serve_alone.h"

#ifndef __linux__

#include "common/address.h"
#include "common/banner.h"
#include "conf/listeners.h"
#include "conf/load.h"
#include "conf/log.h"
#include "conf/reload.h"
#include "status/report.h"
#include "conf/serve.h"
#include "conf/syslog.h"
#include "tls/https.h"
#include "common/notify.h"
#include "conf/pid_file.h"
#include "common/pulse.h"
#include "common/say.h"
#include "status/status.h"
#include "common/stop.h"
#include "common/watch.h"

#include <string.h>

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
    if (!c->log_file || (conf_log_open(c->log_file) && conf_log_take_signal())) return true;
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
    if (c->status && !(*status = status_open(c->status, -1, &why)))
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

static skua_server *alone_server;

static void alone_look(void)
{
    (void)conf_reload_look();
    if (conf_reload_look_at_roots()) conf_reload();
    if (pulse_look(alone_server)) notify_alive();
}

static bool serve_run(conf *c, skua_server *server, const char *file, bool quiet)
{
    https_begin(server);
    alone_server = server;
    conf_reload_begin(server, file, c);
    (void)watch_begin(&(watch_desc){ .look = alone_look, .asked = conf_reload });
    stop_on_signals(server, c->grace_ns, quiet, watch_wake);
    notify_ready();
    if (!quiet) banner_show(server, file, false);
    bool stopped = skua_wait(server) == SKUA_OK;
    if (stopped && !quiet) say("stopped");
    stop_forget();
    watch_end();
    conf_listeners_wait();
    return stopped;
}

bool conf_serve_alone(const char *file, bool quiet)
{
    skua_server *server;
    status_listener *shown = NULL;
    conf *c = conf_serve_read(file, &server);
    if (!c) return false;
    stop_hold_signals();
    bool stopped =
        serve_open_log(c) && pid_file_keep(c->pid_file) && serve_begin(c, server, &shown);
    if (stopped && shown && !quiet) say("status: http://%s", status_address(shown));
    stopped = stopped && serve_run(c, server, file, quiet);
    status_close(shown);
    (void)pid_file_keep(NULL);
    skua_server_free(server);
    conf_reload_end();
    conf_drop(c);
    return stopped;
}

#endif
