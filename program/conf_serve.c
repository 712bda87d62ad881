// SPDX-License-Identifier: MIT
//
// A check does all that a start does, up to listening: the server is built, and certificates are loaded.

#include "conf_serve.h"

#include "address.h"
#include "banner.h"
#include "conf_build.h"
#include "conf_check.h"
#include "conf_explain.h"
#include "conf_files.h"
#include "conf_guard.h"
#include "conf_log.h"
#include "https.h"
#include "say.h"
#include "status.h"
#include "stop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// One configuration at a time, for a process: HTTPS and the log are the process's, too.
typedef struct served {
    conf conf;
    conf_findings findings;
    options options;         // as far as HTTPS is told by them
    status_listener *status; // NULL: none
} served;

static served *serve_new(void)
{
    served *s = calloc(1, sizeof *s);
    if (s) s->findings.memory = &s->conf.memory;
    else say_error("%s", skua_status_text(SKUA_ENOMEM));
    return s;
}

static void serve_free(served *s)
{
    conf_guards_free(s->conf.guards);
    conf_memory_free(&s->conf.memory);
    free(s);
}

// ---- Reading ----

static void serve_check_certificates(served *s)
{
    char why[512];
    for (unsigned i = 0; i < s->conf.certificate_count; i++) {
        skua_tls_identity *identity = NULL;
        why[0] = '\0';
        skua_status status =
            skua_tls_identity_new(&s->conf.certificates[i], 1, &identity, why, sizeof why);
        if (status)
            conf_find(&s->findings, s->conf.certificates_at[i], "%s",
                      *why ? why : skua_status_text(status));
        skua_tls_identity_unref(identity);
    }
}

// Returns whether there is no fault so far; faults have been said.
static bool serve_is_right(served *s)
{
    conf_findings_say(&s->findings);
    if (s->conf.memory.is_out) say_error("%s", skua_status_text(SKUA_ENOMEM));
    return !s->findings.count && !s->conf.memory.is_out;
}

static bool serve_read(served *s, const char *file)
{
    const conf_directive *first = conf_files_read(file, &s->findings);
    if (!s->findings.count) conf_check(&s->conf, first, file, &s->findings);
    if (!s->findings.count) serve_check_certificates(s);
    return serve_is_right(s);
}

static bool serve_speaks_tls(const conf *c)
{
    for (unsigned i = 0; i < c->listen_count; i++) {
        if (c->listens[i].tls) return true;
    }
    return false;
}

// is_played: for requests that come from nowhere, and are not logged.
// Returns: a server that is not started, or NULL, and why has been said.
static skua_server *serve_build(served *s, bool is_played)
{
    conf *c = &s->conf;
    skua_config config = c->server;
    s->options = (options){
        .tls = serve_speaks_tls(c),
        .certificates = c->certificates,
        .certificate_count = c->certificate_count,
        .ticket_keys = c->server.tls.ticket_file,
        .tls_settings = c->server.tls,
    };
    if (!https_describe(&s->options, &config.tls)) return NULL;
    config.hosts = "*"; // those of no site are misdirected, by any address
    if (is_played) {
        config.log = SKUA_LOG_NONE;
        config.trusted = CONF_EXPLAIN_TRUSTED;
        config.forwarded = SKUA_FORWARDED_STANDARD;
    }
    skua_server *server = conf_build(c, &config, &s->findings);
    if (!server) (void)serve_is_right(s);
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

bool conf_is_right(const char *file)
{
    served *s = serve_new();
    if (!s) return false;
    skua_server *server = serve_read(s, file) ? serve_build(s, false) : NULL;
    if (server) serve_say_opened(&s->conf);
    if (server)
        (void)printf("%s: %u site%s, %u address%s, no faults\n", file, s->conf.site_count,
                     s->conf.site_count == 1 ? "" : "s", s->conf.listen_count,
                     s->conf.listen_count == 1 ? "" : "es");
    skua_server_free(server);
    serve_free(s);
    return server != NULL;
}

bool conf_explain_url(const char *file, const char *url)
{
    served *s = serve_new();
    if (!s) return false;
    skua_server *server = serve_read(s, file) ? serve_build(s, true) : NULL;
    bool explained = server && conf_explain(&s->conf, server, url);
    skua_server_free(server);
    serve_free(s);
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

static bool serve_listen_all(served *s, skua_server *server)
{
    for (unsigned i = 0; i < s->conf.listen_count; i++) {
        const conf_listen *at = &s->conf.listens[i];
        if (!serve_listen(server, at, i)) continue;
        conf_find(&s->findings, at->at, "%s", skua_server_error(server));
        return serve_is_right(s);
    }
    return true;
}

static bool serve_open_log(served *s)
{
    if (!s->conf.log_file || conf_log_open(s->conf.log_file)) return true;
    say_error("the log %s cannot be written", s->conf.log_file);
    return false;
}

// The sentence of the library names an address as the file does.
static void serve_say_start(served *s, const char *why)
{
    for (unsigned i = 0; i < s->conf.listen_count; i++) {
        const conf_listen *at = &s->conf.listens[i];
        if (!strstr(why, at->address)) continue;
        conf_find(&s->findings, at->at, "%s", why);
        (void)serve_is_right(s);
        return;
    }
    say_error("%s", why);
}

static bool serve_open_status(served *s)
{
    const char *why = NULL;
    if (s->conf.status && !(s->status = status_open(s->conf.status, &why)))
        conf_find(&s->findings, s->conf.status_at, "%s", why);
    return serve_is_right(s);
}

static bool serve_begin(served *s, skua_server *server)
{
    if (!serve_listen_all(s, server) || !serve_open_status(s)) return false;
    skua_status status = skua_start(server);
    const char *why = skua_server_error(server);
    if (status) serve_say_start(s, *why ? why : skua_status_text(status));
    else if (s->status) status_of(s->status, server);
    return !status;
}

static bool serve_run(const served *s, skua_server *server, const char *file, bool quiet)
{
    https_watch(server);
    stop_on_signals(server, s->conf.grace_ns, quiet, https_reload_soon);
    if (!quiet) banner_show(server, file, false);
    if (!quiet && s->status) say("status: http://%s", status_address(s->status));
    bool stopped = skua_wait(server) == SKUA_OK;
    if (stopped && !quiet) say("stopped");
    stop_forget();
    https_forget();
    return stopped;
}

bool conf_serve(const char *file, bool quiet)
{
    served *s = serve_new();
    if (!s) return false;
    skua_server *server = serve_read(s, file) && serve_open_log(s) ? serve_build(s, false) : NULL;
    if (server) stop_hold_signals();
    bool stopped = server && serve_begin(s, server) && serve_run(s, server, file, quiet);
    status_close(s->status);
    skua_server_free(server);
    serve_free(s);
    return stopped;
}
