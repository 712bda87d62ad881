// SPDX-License-Identifier: MIT
//
// Server: made, configured and asked about. start.c does the rest of its life.

#include "server/server.h"

#include "base/assert.h"
#include "base/contract.h"
#include "base/memory.h"
#include "base/sized.h"
#include "http/syntax.h"
#include "io/scratch.h"
#include "net/tls_sized.h"
#include "server/config.h"
#include "server/secure.h"
#include "server/stop.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

// ---- Words ----

const char *skua_status_text(skua_status status)
{
    switch (status) {
    case SKUA_OK: return "no error";
    case SKUA_EINVAL: return "not of the documented form";
    case SKUA_ENOMEM: return "out of memory";
    case SKUA_ELIMIT: return "a limit would be passed";
    case SKUA_EPROTOCOL: return "against the protocol";
    case SKUA_ECLOSED: return "closed";
    case SKUA_ESTATE: return "not possible in this state";
    case SKUA_EEXIST: return "there is one already";
    case SKUA_ENOENT: return "there is none";
    case SKUA_EACCES: return "permission denied";
    case SKUA_EADDRINUSE: return "in use by another process";
    case SKUA_EADDRNOTAVAIL: return "not an address of this machine";
    case SKUA_ENOFILE: return "out of file descriptors";
    case SKUA_EIO: return "input or output failed";
    case SKUA_EUNSUPPORTED: return "not supported here";
    }
    return "unknown status";
}

const char *skua_version(void)
{
    return SKUA_VERSION;
}

__attribute__((cold)) skua_status server_fail(skua_server *server, skua_status status,
                                              const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(server->error, sizeof server->error, format, arguments);
    va_end(arguments);
    return status;
}

void skua_server_set_error(skua_server *server, const char *sentence)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(sentence);
    (void)server_fail(server, SKUA_OK, "%s", sentence);
}

const char *skua_server_error(const skua_server *server)
{
    CONTRACT_SERVER(server);
    return server->error;
}

// ---- Life ----

static bool server_fill_spool_directory(skua_server *server)
{
    const char *directory = server->config.spool_directory;
    server->spool_text = memory_text(directory ? directory : scratch_directory());
    server->config.spool_directory = server->spool_text;
    return server->spool_text != NULL;
}

static bool server_fill_secrets(skua_server *server)
{
    const char *secrets = server->config.log_secrets;
    server->secrets_text = memory_text(secrets ? secrets : "token key password secret code");
    server->config.log_secrets = server->secrets_text;
    return server->secrets_text != NULL;
}

// The strings of a configuration are the caller's: those that are needed later are copied.
static bool server_fill(skua_server *server, const skua_config *config)
{
    const char *wrong = config_complete(&server->config, config);
    if (wrong) server->wrong = wrong;
    if (!config_accept(server->config.accept, &server->asks_handoff)) server->wrong = "accept";
    server->config.accept = NULL; // the caller's
    if (server->config.panic) assert_tell(server->config.panic);
    if (server->config.hosts && !(server->hosts_text = memory_text(server->config.hosts)))
        return false;
    server->config.hosts = server->hosts_text;
    const char *trusted = server->config.trusted;
    if (trusted && !network_list_read(slice_of(trusted), &server->trusted))
        server->wrong = "trusted";
    server->config.trusted = NULL; // the caller's
    if (server->config.backend && !(server->backend_text = memory_text(server->config.backend)))
        return false;
    server->config.backend = server->backend_text;
    if (!server_fill_secrets(server) || !server_fill_spool_directory(server)) return false;
    if (!site_routes_init(&server->own)) return false;
    server->watch_set = watch_set_new();
    server->helpers = thread_pool_new(OFFLOAD_THREADS, OFFLOAD_QUEUE_MAX);
    server->disk = thread_pool_new(server->config.disk_threads, UINT_MAX);
    return server->watch_set && server->helpers && server->disk;
}

// Returns: false when memory ran out.
static bool server_configure(skua_server *server, const skua_config *config)
{
    if (!server_fill(server, config)) return false;
    const char *listen = server->config.listen;
    server->config.listen = NULL;
    if (listen && skua_listen(server, listen)) server->wrong = "listen";
    return secure_configure(server);
}

// config: a copy that still points to the caller's certificates.
static bool server_take(skua_server *server, skua_config *config, const skua_sizes *sizes)
{
    skua_tls_desc *tls = &config->tls;
    const skua_tls_certificate *given = tls->certificates;
    void *made;
    tls->certificates =
        tls_certificates_take("skua_server_new", given, tls->certificate_count, sizes, &made);
    bool taken = (tls->certificates || !given) && server_configure(server, config);
    memory_free(made);
    return taken;
}

__attribute__((cold)) skua_server *skua_server_new_sized(const skua_config *given,
                                                         const skua_sizes *sizes)
{
    CONTRACT_SIZES(sizes);
    skua_config config = { 0 };
    skua_allocator allocator;
    if (given) config_take(__func__, given, sizes, &config);
    if (config.allocator)
        config.allocator = SIZED_GIVEN(config.allocator, sizes->allocator, &allocator);
    bool same_memory = memory_join(config.allocator);
    skua_server *server = memory_zeroed(sizeof *server);
    if (!server) {
        memory_leave();
        return NULL;
    }
    if (!same_memory) server->wrong = "allocator";
    start_barrier_init(&server->barrier);
    (void)pthread_mutex_init(&server->sites.changing, NULL);
    (void)pthread_mutex_init(&server->locals.changing, NULL);
    (void)pthread_mutex_init(&server->change.one, NULL);
    (void)pthread_mutex_init(&server->change.shared.lock, NULL);
    (void)pthread_cond_init(&server->change.shared.changed, NULL);
    server_forget_stop(server);
    for (unsigned i = 0; i < WORKER_LISTENERS_MAX; i++)
        server->shared_fds[i] = -1;
    if (server_take(server, &config, sizes)) return server;
    skua_server_free(server);
    return NULL;
}

skua_status skua_server_on_free(skua_server *server, void (*release)(void *user), void *user)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(release);
    server_keepsake *keepsake = memory_alloc(sizeof *keepsake);
    if (!keepsake) return SKUA_ENOMEM;
    *keepsake = (server_keepsake){ .drop = release, .user = user };
    keepsake->next = atomic_load_explicit(&server->shared.keepsakes, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&server->shared.keepsakes, &keepsake->next,
                                                  keepsake, memory_order_release,
                                                  memory_order_relaxed))
        ;
    return SKUA_OK;
}

// ---- Before the start ----

skua_status server_expect_rest(skua_server *server)
{
    if (!server->started) return SKUA_OK;
    return server_fail(server, SKUA_ESTATE, "the server has been started already");
}

__attribute__((cold)) server_listener *server_listener_next(skua_server *server,
                                                            skua_status *status)
{
    unsigned at = 0;
    while (at < server->listener_count && !server->listeners[at].is_gone)
        at++;
    *status = SKUA_OK;
    if (at == WORKER_LISTENERS_MAX) {
        *status = server_fail(server, SKUA_ELIMIT, "more than %d addresses", WORKER_LISTENERS_MAX);
        return NULL;
    }
    server_listener *listener = &server->listeners[at];
    *listener =
        (server_listener){ .forwarded = server->config.forwarded, .given = -1, .is_gone = true };
    return listener;
}

void server_listener_add(skua_server *server, const server_listener *listener)
{
    unsigned number = (unsigned)(listener - server->listeners);
    server->listeners[number].is_gone = false;
    if (number == server->listener_count) server->listener_count++;
}

// ---- What is known of it ----

const char *skua_server_address(const skua_server *server, size_t index)
{
    CONTRACT_SERVER(server);
    return index < server->listener_count ? server->listeners[index].text : NULL;
}

bool skua_server_address_is_secure(const skua_server *server, size_t index)
{
    CONTRACT_SERVER(server);
    return index < server->listener_count && server->listeners[index].secure;
}

unsigned skua_server_workers(const skua_server *server)
{
    CONTRACT_SERVER(server);
    return server_worker_count(server);
}

const char *skua_server_backend(const skua_server *server)
{
    CONTRACT_SERVER(server);
    return server->backend ? server->backend->name : "";
}

void skua_log(skua_server *server, slice message)
{
    CONTRACT_SERVER(server);
    CONTRACT_SLICE(message);
    if (!gate_enter(&server->logging)) return;
    log_message(server->log, message);
    gate_leave(&server->logging);
}
