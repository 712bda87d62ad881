// SPDX-License-Identifier: MIT
//
// A server on one of the backends.

#include "scenarios/host.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HOST_BACKLOG = 16, HOST_NAP_NS = 50000, HOST_TURNS_MAX = 1000000 };

static const int64_t host_moment_ns = 1000000; // that a turn may wait, on whichever clock

static void host_fails(const char *what, const host *h)
{
    fprintf(stderr, "%s: %s\n", what, skua_server_error(h->server));
    abort();
}

bool host_has_backend(const char *backend)
{
    return strcmp(backend, "sim") == 0 || io_backend_find(backend);
}

static void host_start_sim(host *h, const sim_config *sim)
{
    h->kernel = sim_kernel_new(sim);
    h->listener = h->kernel ? sim_listen(h->kernel) : -1;
    if (!h->kernel || server_start_on(h->server, &io_backend_sim, h->kernel, h->listener))
        host_fails("start", h);
    (void)worker_turn(h->server->workers[0], 0); // it listens now
}

static int host_listen(char *address, size_t room)
{
    struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof name;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr *any = (struct sockaddr *)(void *)&name;
    if (fd < 0 || bind(fd, any, len) || listen(fd, HOST_BACKLOG) || getsockname(fd, any, &len))
        abort();
    (void)snprintf(address, room, "127.0.0.1:%u", ntohs(name.sin_port));
    return fd;
}

// As a worker's thread does: sendfile has no MSG_NOSIGNAL.
static void host_ignore_pipes(void)
{
    sigset_t pipes;
    sigemptyset(&pipes);
    sigaddset(&pipes, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipes, NULL);
}

static bool host_start_real(host *h, const char *backend)
{
    host_ignore_pipes();
    h->listener = host_listen(h->address, sizeof h->address);
    skua_status status = server_start_on(h->server, io_backend_find(backend), NULL, h->listener);
    if (status == SKUA_OK) return true;
    if (status != SKUA_EUNSUPPORTED && status != SKUA_EACCES) host_fails("start", h);
    (void)close(h->listener);
    skua_server_free(h->server);
    h->server = NULL;
    return false;
}

bool host_start(host *h, skua_server *server, const char *backend, const sim_config *sim)
{
    *h = (host){ .server = server, .listener = -1 };
    if (strcmp(backend, "sim") != 0) return host_start_real(h, backend);
    host_start_sim(h, sim);
    return true;
}

bool host_has_threads(const host *h)
{
    if (h->over) return false;
    const skua_worker *w = &h->server->workers[0]->self;
    return w->disk.offloaded || w->blocked_requests || w->disk.file_ops || w->disk.fetching;
}

static void host_nap(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = HOST_NAP_NS }, NULL);
}

// While threads work the simulated clock stands, or deadlines would pass on a slow machine.
static bool host_turn_sim(host *h, host_time time)
{
    bool quiet = sim_is_quiet(h->kernel), threads = host_has_threads(h);
    if (quiet && threads) host_nap();
    int64_t timeout = !quiet ? host_moment_ns : threads || time == HOST_TIME_STANDS ? 0 : -1;
    h->over = !worker_turn(h->server->workers[0], timeout);
    if (h->over) sim_drain(h->kernel);
    return !quiet;
}

// A turn that has nothing to do waits as long as it may.
static bool host_turn_real(host *h)
{
    int64_t began = io_clock_ns();
    h->over = !worker_turn(h->server->workers[0], host_moment_ns);
    return io_clock_ns() - began < host_moment_ns;
}

bool host_turn(host *h, host_time time)
{
    if (h->over) return false;
    return h->kernel ? host_turn_sim(h, time) : host_turn_real(h);
}

void host_end(host *h)
{
    skua_stop(h->server, 0);
    for (int i = 0; i < HOST_TURNS_MAX && !h->over; i++)
        (void)host_turn(h, HOST_TIME_PASSES);
    if (!h->over) host_fails("the server does not stop", h);
    if (h->kernel) sim_listener_close(h->kernel, h->listener);
    else (void)close(h->listener);
    skua_server_free(h->server);
    if (h->kernel && (sim_sockets_open(h->kernel) || sim_files_open(h->kernel))) abort();
    sim_kernel_free(h->kernel);
}
