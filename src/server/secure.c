// SPDX-License-Identifier: MIT
//
// TLS of a server. A reload makes another context, and each worker takes it over by a letter:
// connections hold the acceptor that they began with.

#include "server/secure.h"

#include "base/contract.h"
#include "base/memory.h"
#include "base/sized.h"
#include "exchange/sites.h"
#include "net/tls.h"
#include "net/tls_handshake.h"
#include "net/tls_sized.h"

#include <stdio.h>
#include <time.h>

static void secure_explain(const char *sentence, char *why, size_t room)
{
    if (why && room) (void)snprintf(why, room, "%s", sentence);
}

#ifdef SKUA_TLS

struct secure_server {
    pthread_mutex_t changing;     // held while the context is replaced
    tls_context *context;         // NULL: it could not be made
    bool is_missed;               // it was replaced while no worker could be told
    skua_status status;           // why
    char why[TLS_WHY_OCTETS];     // the sentence about that
    char warning[TLS_WHY_OCTETS]; // the first; empty: nothing is unwise
};

struct secure_worker {
    tls_worker tls;
    tls_acceptor *acceptor; // for the next connections
};

// ---- The configuration ----

static void secure_keep_warning(const char *sentence, void *user)
{
    secure_server *s = user;
    if (!*s->warning) (void)snprintf(s->warning, sizeof s->warning, "%s", sentence);
}

static void secure_log_warning(const char *sentence, void *user)
{
    skua_log(user, slice_of(sentence));
}

// Each address in the text, which spaces separate.
static bool secure_listen(skua_server *server, const char *addresses)
{
    for (const char *at = addresses ? addresses : ""; *at;) {
        size_t len = strcspn(at, " ");
        char address[SOCKET_TEXT_OCTETS];
        if (len) (void)snprintf(address, sizeof address, "%.*s", (int)len, at);
        if (len && skua_listen(server, address)) return false;
        if (len) server->listeners[server->listener_count - 1].secure = true;
        at += len + (at[len] == ' ');
    }
    return true;
}

bool secure_configure(skua_server *server)
{
    skua_tls_desc desc = server->config.tls;
    server->config.tls = (skua_tls_desc){ 0 }; // the caller's
    if (!tls_desc_is_given(&desc)) return true;
    secure_server *s = memory_zeroed(sizeof *s);
    if (!s) return false;
    (void)pthread_mutex_init(&s->changing, NULL);
    server->secure = s;
    tls_load load = { .unix_s = time(NULL),
                      .h2 = !server->config.http2.off,
                      .warn = secure_keep_warning,
                      .user = s };
    s->status = tls_context_new(&desc, NULL, &load, &s->context);
    if (s->status) secure_explain(load.why, s->why, sizeof s->why);
    if (!s->status && !secure_listen(server, desc.listen)) server->wrong = "listen";
    return true;
}

void secure_free(skua_server *server)
{
    secure_server *s = server->secure;
    if (!s) return;
    server->secure = NULL;
    tls_context_unref(s->context);
    (void)pthread_mutex_destroy(&s->changing);
    memory_free(s);
}

skua_status secure_check(skua_server *server)
{
    const secure_server *s = server->secure;
    if (!s) return SKUA_OK;
    if (s->status) return server_fail(server, s->status, "%s", s->why);
    return SKUA_OK;
}

// ---- Workers ----

static skua_tls_identity *secure_named(slice name, void *user)
{
    const server_worker *w = user;
    const site_seat *seat = w->self.sites ? site_view_find(w->self.sites, name) : NULL;
    skua_tls_identity *identity = seat ? seat->site->identity : NULL;
    return identity ? skua_tls_identity_ref(identity) : NULL;
}

static skua_status secure_make_acceptor(tls_context *context, server_worker *w, tls_acceptor **made)
{
    skua_status status = tls_acceptor_new(context, &w->self.loop.now_ns, made);
    if (status) return status;
    (*made)->named = secure_named;
    (*made)->named_user = w;
    tls_handshake_prepare(*made);
    return SKUA_OK;
}

static tls_context *secure_context(secure_server *s)
{
    (void)pthread_mutex_lock(&s->changing);
    tls_context *context = tls_context_ref(s->context);
    (void)pthread_mutex_unlock(&s->changing);
    return context;
}

skua_status secure_open_worker(server_worker *w)
{
    secure_server *s = w->self.server->secure;
    if (!s) return SKUA_OK;
    secure_worker *secure = memory_alloc(sizeof *secure);
    if (!secure) return SKUA_ENOMEM;
    tls_context *context = secure_context(s);
    skua_status status = secure_make_acceptor(context, w, &secure->acceptor);
    w->handshake_ns = context->handshake_timeout_ns;
    tls_context_unref(context);
    if (status) {
        memory_free(secure);
        return status;
    }
    if (!tls_worker_init(&secure->tls, &w->self.loop, &w->self.memory, &w->self.blocks)) {
        tls_acceptor_unref(secure->acceptor);
        memory_free(secure);
        return SKUA_ENOMEM;
    }
    w->secure = secure;
    if (w->self.index == 0 && *s->warning) worker_log(&w->self, slice_of(s->warning));
    return SKUA_OK;
}

void secure_close_worker(server_worker *w)
{
    secure_worker *secure = w->secure;
    if (!secure) return;
    w->secure = NULL;
    tls_worker_deinit(&secure->tls);
    tls_acceptor_unref(secure->acceptor);
    memory_free(secure);
}

transport *secure_accept(server_worker *w)
{
    return tls_accept(&w->secure->tls, w->secure->acceptor);
}

size_t secure_sweep(server_worker *w)
{
    return w->secure ? tls_worker_sweep(&w->secure->tls) : 0;
}

void secure_rest(server_worker *w)
{
    if (w->secure) tls_worker_free_flights(&w->secure->tls);
}

// ---- Reloading ----

// Without memory the worker goes on with the certificates that it has.
static void secure_change(skua_worker *self, void *user)
{
    server_worker *w = worker_of(self);
    tls_context *context = user;
    tls_acceptor *acceptor;
    if (secure_make_acceptor(context, w, &acceptor) == SKUA_OK) {
        tls_acceptor_unref(w->secure->acceptor);
        w->secure->acceptor = acceptor;
        w->handshake_ns = context->handshake_timeout_ns;
    } else {
        worker_log(self, SKUA_SLICE("out of memory for new certificates: the old ones stay"));
    }
    tls_context_unref(context);
}

void secure_lock(skua_server *server)
{
    if (server->secure) (void)pthread_mutex_lock(&server->secure->changing);
}

void secure_unlock(skua_server *server)
{
    if (server->secure) (void)pthread_mutex_unlock(&server->secure->changing);
}

skua_status secure_equip(server_worker *w)
{
    const secure_server *s = w->self.server->secure;
    tls_acceptor *acceptor;
    if (!s) return SKUA_OK;
    skua_status status = secure_make_acceptor(s->context, w, &acceptor);
    if (status) return status;
    tls_acceptor_unref(w->secure->acceptor);
    w->secure->acceptor = acceptor;
    w->handshake_ns = s->context->handshake_timeout_ns;
    return SKUA_OK;
}

// Fails only when memory ran out; then some workers have the new context, and all that are opened
// later.
static skua_status secure_tell_all(skua_server *server, tls_context *context)
{
    skua_status failed = SKUA_OK;
    for (unsigned i = 0; i < server_worker_count(server); i++) {
        skua_status status = skua_post(server, i, secure_change, tls_context_ref(context));
        if (status == SKUA_OK) continue;
        tls_context_unref(context);
        if (status != SKUA_ECLOSED) failed = status;
    }
    return failed;
}

// While the gate is closed, workers are being opened or freed and must not be looked at.
static skua_status secure_change_all(skua_server *server)
{
    secure_server *s = server->secure;
    s->is_missed = !gate_enter(&server->running);
    if (s->is_missed) return SKUA_OK;
    skua_status status = secure_tell_all(server, s->context);
    gate_leave(&server->running);
    return status;
}

skua_status secure_catch_up(skua_server *server)
{
    secure_server *s = server->secure;
    if (!s) return SKUA_OK;
    (void)pthread_mutex_lock(&s->changing);
    skua_status status = s->is_missed ? secure_change_all(server) : SKUA_OK;
    (void)pthread_mutex_unlock(&s->changing);
    return status;
}

static skua_status secure_reload(skua_server *server, const skua_tls_desc *desc, char *why,
                                 size_t why_room)
{
    secure_server *s = server->secure;
    (void)pthread_mutex_lock(&s->changing);
    tls_load load = { .unix_s = time(NULL),
                      .h2 = !server->config.http2.off,
                      .warn = secure_log_warning,
                      .user = server };
    tls_context *context;
    skua_status status = tls_context_new(desc, s->context, &load, &context);
    if (status) {
        secure_explain(load.why, why, why_room);
    } else {
        tls_context *before = s->context;
        s->context = context;
        status = secure_change_all(server);
        if (status) secure_explain("out of memory", why, why_room);
        tls_context_unref(before);
    }
    (void)pthread_mutex_unlock(&s->changing);
    return status;
}

skua_status skua_tls_reload_sized(skua_server *server, const skua_tls_desc *desc, char *why,
                                  size_t why_room, const skua_sizes *sizes)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(desc);
    CONTRACT_SIZES(sizes);
    if (!server->secure || !server->secure->context) {
        secure_explain("the server does not speak TLS", why, why_room);
        return SKUA_ESTATE;
    }
    skua_tls_desc own;
    void *made;
    tls_desc_take(__func__, desc, sizes, &own);
    const skua_tls_certificate *given = own.certificates;
    own.certificates = tls_certificates_take(__func__, given, own.certificate_count, sizes, &made);
    bool fits = own.certificates || !given;
    if (!fits) secure_explain("out of memory", why, why_room);
    skua_status status = fits ? secure_reload(server, &own, why, why_room) : SKUA_ENOMEM;
    memory_free(made);
    return status;
}

#else

struct secure_server {
    char unused;
};

static bool secure_is_asked(const skua_tls_desc *desc)
{
    return desc->listen || desc->certificate_count || desc->choose;
}

bool secure_configure(skua_server *server)
{
    static secure_server asked;
    if (secure_is_asked(&server->config.tls)) server->secure = &asked;
    server->config.tls = (skua_tls_desc){ 0 };
    return true;
}

void secure_free(skua_server *server)
{
    server->secure = NULL;
}

skua_status secure_check(skua_server *server)
{
    if (!server->secure) return SKUA_OK;
    return server_fail(server, SKUA_EUNSUPPORTED,
                       "this library was built without TLS: it needs SKUA_TLS and OpenSSL");
}

skua_status secure_open_worker(server_worker *w)
{
    (void)w;
    return SKUA_OK;
}

void secure_close_worker(server_worker *w)
{
    (void)w;
}

skua_status secure_catch_up(skua_server *server)
{
    (void)server;
    return SKUA_OK;
}

skua_status secure_equip(server_worker *w)
{
    (void)w;
    return SKUA_OK;
}

void secure_lock(skua_server *server)
{
    (void)server;
}

void secure_unlock(skua_server *server)
{
    (void)server;
}

transport *secure_accept(server_worker *w)
{
    (void)w;
    return NULL;
}

size_t secure_sweep(server_worker *w)
{
    (void)w;
    return 0;
}

void secure_rest(server_worker *w)
{
    (void)w;
}

skua_status skua_tls_reload_sized(skua_server *server, const skua_tls_desc *desc, char *why,
                                  size_t why_room, const skua_sizes *sizes)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(desc);
    CONTRACT_SIZES(sizes);
    secure_explain("this library was built without TLS", why, why_room);
    return SKUA_EUNSUPPORTED;
}

#endif
