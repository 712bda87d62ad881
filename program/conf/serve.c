// SPDX-License-Identifier: MIT
//
// A check does all that a start does, up to listening: the server is built, and certificates are loaded.

#include "conf/clients.h"
#include "conf/serve.h"

#include "conf/build.h"
#include "conf/busy.h"
#include "conf/explain.h"
#include "conf/load.h"
#include "conf/syslog.h"
#include "tls/https.h"
#include "common/say.h"

#include <stdio.h>

// is_played: for requests that come from nowhere, and are not logged. A field says whether they came over TLS, which they
// do not speak.
// Returns: a server that is not started, or NULL, and why has been said.
static skua_server *serve_build(conf *c, bool is_played)
{
    skua_config config = c->server;
    const options *o = conf_options(c);
    if (!o || !https_describe(o, &config.tls)) return NULL;
    if (c->syslog) config.log_write = conf_syslog_write;
    conf_clients_count(c, &config);
    config.hosts = "*"; // those of no site are misdirected, by any address
    if (is_played) {
        config.log = SKUA_LOG_NONE;
        config.tls = (skua_tls_desc){ 0 };
        config.trusted = CONF_EXPLAIN_TRUSTED;
        config.forwarded = SKUA_FORWARDED_STANDARD;
    }
    skua_server *server = conf_build(c, &config);
    if (!server) (void)conf_is_sound(c);
    return server;
}

static void serve_say_notes(const conf *c)
{
    for (const conf_finding *one = c->notes.first; one; one = one->next)
        (void)printf("%s:%u:%u: note: %s\n", one->at.file, one->at.line, one->at.column,
                     one->sentence);
}

// The configuration of the file, with a server of it. NULL: it has faults, which have been said.
static conf *serve_read(const char *file, bool is_played, skua_server **server)
{
    conf *c = conf_new();
    if (!c) say_error("%s", skua_status_text(SKUA_ENOMEM));
    if (c) c->is_played = is_played;
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
    conf_busy_look(c);
    serve_say_notes(c);
    (void)printf("%s: %u site%s, %u address%s, no faults\n", file, c->site_count,
                 c->site_count == 1 ? "" : "s", c->listen_count, c->listen_count == 1 ? "" : "es");
    skua_server_free(server);
    conf_drop(c);
    return true;
}

bool conf_serve_check(conf *c, const char *file)
{
    skua_server *server = conf_load(c, file) ? serve_build(c, false) : NULL;
    skua_server_free(server);
    return server != NULL;
}

conf *conf_serve_read(const char *file, skua_server **server)
{
    return serve_read(file, false, server);
}

bool conf_explain_url(const char *file, const char *method, const char *url)
{
    skua_server *server;
    conf *c = serve_read(file, true, &server);
    if (!c) return false;
    bool explained = conf_explain(c, server, method, url);
    skua_server_free(server);
    conf_drop(c);
    return explained;
}
