// SPDX-License-Identifier: MIT
//
// Gauge. The clock of a thread is read by that thread: that works wherever there are threads.

#include "command/gauge.h"

#include "common/say.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GAUGE_FILE_OCTETS_MAX = 1048576 }; // kept in memory

static void gauge_hello(skua_request *request, void *user)
{
    (void)user;
    skua_respond(request, 200, "text/plain", SKUA_SLICE("Hello, World!"));
}

static skua_status gauge_route(skua_server *server, const char *dir)
{
    const skua_directory_config memory = { .small_octets_max = GAUGE_FILE_OCTETS_MAX };
    const skua_directory_config sendfile = { .small_octets_max = 1 };
    skua_status status = skua_route(server, "GET /hello", gauge_hello, NULL);
    if (!status) status = skua_route_directory(server, "GET /memory/", dir, &memory);
    if (!status) status = skua_route_directory(server, "GET /sendfile/", dir, &sendfile);
    return status;
}

static unsigned gauge_port_of(const char *address)
{
    const char *colon = address ? strrchr(address, ':') : NULL;
    return colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
}

static gauge_outcome gauge_start(gauge *g, const char *backend, const char *dir)
{
    skua_status status = gauge_route(g->server, dir);
    if (!status) status = skua_start(g->server);
    if (status == SKUA_EUNSUPPORTED) return GAUGE_UNKNOWN;
    if (status) {
        const char *sentence = skua_server_error(g->server);
        say_error("%s", *sentence ? sentence : skua_status_text(status));
        return GAUGE_FAILED;
    }
    if (strcmp(skua_server_backend(g->server), backend) != 0) return GAUGE_REFUSED;
    g->port = gauge_port_of(skua_server_address(g->server, 0));
    return GAUGE_OPEN;
}

gauge_outcome gauge_open(gauge *g, const char *backend, const char *dir)
{
    const skua_config config = { .listen = "127.0.0.1:0", .workers = 1, .backend = backend };
    *g = (gauge){ .server = skua_server_new(&config) };
    if (!g->server) {
        say_error("%s", skua_status_text(SKUA_ENOMEM));
        return GAUGE_FAILED;
    }
    (void)pthread_mutex_init(&g->lock, NULL);
    (void)pthread_cond_init(&g->told, NULL);
    gauge_outcome outcome = gauge_start(g, backend, dir);
    if (outcome != GAUGE_OPEN) gauge_close(g);
    return outcome;
}

static void gauge_tell(skua_worker *worker, void *user)
{
    (void)worker;
    gauge *g = user;
    struct timespec spent = { 0 };
    int failed = clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    pthread_mutex_lock(&g->lock);
    g->cpu_ns = failed ? -1 : (int64_t)spent.tv_sec * 1000000000 + spent.tv_nsec;
    g->waiting = false;
    pthread_cond_signal(&g->told);
    pthread_mutex_unlock(&g->lock);
}

// A post that was taken is carried out, so this wait ends.
int64_t gauge_cpu_ns(gauge *g)
{
    g->waiting = true;
    if (skua_post(g->server, 0, gauge_tell, g)) return -1;
    pthread_mutex_lock(&g->lock);
    while (g->waiting)
        pthread_cond_wait(&g->told, &g->lock);
    int64_t cpu_ns = g->cpu_ns;
    pthread_mutex_unlock(&g->lock);
    return cpu_ns;
}

void gauge_close(gauge *g)
{
    skua_server_free(g->server);
    (void)pthread_cond_destroy(&g->told);
    (void)pthread_mutex_destroy(&g->lock);
}
