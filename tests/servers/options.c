// SPDX-License-Identifier: MIT
//
// Options and start of the small servers.

#include "options.h"

#include "tls_options.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static skua_server *served;
static int64_t grace_ns;

static void stop(int number)
{
    (void)number;
    skua_stop(served, grace_ns);
}

static void drain(int number)
{
    (void)number;
    skua_drain(served);
}

static void leave(int number)
{
    (void)number;
    skua_leave(served);
}

static unsigned number_of(const char *text, unsigned max)
{
    char *end = NULL;
    unsigned long n = strtoul(text, &end, 10);
    if (end == text || *end || n > max) {
        (void)fprintf(stderr, "not a number from 0 to %u: %s\n", max, text);
        exit(2);
    }
    return (unsigned)n;
}

// Where to listen, unless the configuration says.
typedef struct listening {
    unsigned port; // 0: none
    int given;     // a socket that is there already, or -1
} listening;

static void read_option(const char *name, const char *value, listening *where, skua_config *config)
{
    if (strcmp(name, "--port") == 0) {
        where->port = number_of(value, 65535);
    } else if (strcmp(name, "--given") == 0) {
        where->given = (int)number_of(value, 65535);
    } else if (strcmp(name, "--listen") == 0) {
        config->listen = value;
    } else if (strcmp(name, "--workers") == 0) {
        config->workers = number_of(value, 1024);
    } else if (strcmp(name, "--backend") == 0) {
        config->backend = value;
    } else if (strcmp(name, "--accept") == 0) {
        config->accept = value;
    } else if (strcmp(name, "--connections-max") == 0) {
        config->connections_max = number_of(value, 65536);
    } else if (strcmp(name, "--memory-max") == 0) {
        config->memory_max = number_of(value, UINT32_MAX);
    } else if (strcmp(name, "--handler-timeout-ms") == 0) {
        config->handler_timeout_ns = (int64_t)number_of(value, 3600000) * 1000000;
    } else if (strcmp(name, "--stats") == 0) {
        config->stats = number_of(value, 1) == 1;
    } else if (strcmp(name, "--accepts-from-reserve") == 0) {
        config->accepts_from_reserve = number_of(value, 1) == 1;
    } else if (strcmp(name, "--grace-ms") == 0) {
        grace_ns = (int64_t)number_of(value, 3600000) * 1000000;
    } else if (!tls_option(name, value, config)) {
        (void)fprintf(stderr, "unknown option: %s\n", name);
        exit(2);
    }
}

skua_server *server_from_options(int argc, char **argv)
{
    return server_with_options(&(skua_config){ .hosts = "*" }, argc, argv);
}

skua_server *server_with_options(const skua_config *defaults, int argc, char **argv)
{
    listening where = { .given = -1 };
    char address[32];
    skua_config config = *defaults;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc) {
            (void)fprintf(
                stderr,
                "usage: %s [--port N] [--tls-port N --cert FILE --key FILE] [--workers N] "
                "[--backend NAME]\n",
                argv[0]);
            exit(2);
        }
        read_option(argv[i], argv[i + 1], &where, &config);
    }
    if (!where.port && !config.tls.listen) where.port = 8080;
    (void)snprintf(address, sizeof address, "127.0.0.1:%u", where.port);
    if (where.port && !config.listen && where.given < 0) config.listen = address;
    skua_server *server = skua_server_new(&config);
    if (server && (where.given < 0 || skua_listen_fd(server, where.given) == SKUA_OK))
        return server;
    (void)fprintf(stderr, "no server: %s\n", server ? skua_server_error(server) : "no memory");
    exit(1);
}

// A worker may answer before skua_start has returned, and whoever has an answer may stop us:
// signals wait.
static skua_status start_before_signals(skua_server *server)
{
    sigset_t ends, before;
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGINT);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &ends, &before);
    skua_status status = skua_start(server);
    served = server;
    struct sigaction action = { .sa_handler = stop };
    if (status == SKUA_OK) (void)sigaction(SIGINT, &action, NULL);
    if (status == SKUA_OK) (void)sigaction(SIGTERM, &action, NULL);
    action.sa_handler = drain;
    if (status == SKUA_OK) (void)sigaction(SIGUSR2, &action, NULL);
    action.sa_handler = leave;
    if (status == SKUA_OK) (void)sigaction(SIGUSR1, &action, NULL);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}

int server_serve(skua_server *server, const char *name)
{
    return server_serve_between(server, name, NULL, NULL);
}

int server_serve_between(skua_server *server, const char *name, void (*begin)(skua_server *server),
                         void (*end)(void))
{
    if (start_before_signals(server)) {
        (void)fprintf(stderr, "%s: %s\n", name, skua_server_error(server));
        skua_server_free(server);
        return 1;
    }
    if (begin) begin(server);
    (void)printf("%s: %s://%s, workers: %u, backend: %s\n", name,
                 skua_server_address_is_secure(server, 0) ? "https" : "http",
                 skua_server_address(server, 0), skua_server_workers(server),
                 skua_server_backend(server));
    (void)fflush(stdout);
    bool failed = skua_wait(server) != SKUA_OK;
    if (end) end();
    skua_server_free(server);
    return failed;
}
