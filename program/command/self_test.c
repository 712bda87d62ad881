// SPDX-License-Identifier: MIT
//
// The self-test: servers in this process are asked over loopback, and the CPU time of their workers
// is what is compared, because throughput depends on who else uses the machine. What is compared is
// measured in turns, and of several rounds the cheapest counts, since whatever disturbs one only
// adds to it.

#include "command/self_test.h"

#include "command/asker.h"
#include "command/gauge.h"
#include "command/samples.h"
#include "common/say.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { SELF_BACKENDS = 3, SELF_ROUNDS = 7, SELF_HELLO_OCTETS = 13 };
enum { SELF_HELLO_NS = 30000000, SELF_FILE_NS = 15000000 }; // a round's length
enum { SELF_LEAD_PERCENT = 3 };                // by less, so short a measurement proves nothing
enum { SELF_UNKNOWN = -2, SELF_REFUSED = -1 }; // in place of a cost

// Costs are hundredths of a microsecond per request: what is shown is what is compared.
typedef int64_t self_cost;

// In the order of preference: the first is chosen unless another one leads.
static const char *const self_backends[SELF_BACKENDS] = { "kqueue", "uring", "epoll" };

typedef struct self_server {
    gauge gauge;
    asker asker;
    bool open;
} self_server;

typedef struct self_figures {
    self_cost hello[SELF_BACKENDS];
    self_cost memory[SAMPLES_COUNT], sendfile[SAMPLES_COUNT];
} self_figures;

static int64_t self_now_ns(void)
{
    struct timespec now = { 0 };
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// ---- Servers ----

// Returns false on an error. A backend that is not to be had is none: *cost says which.
static bool self_server_open(self_server *s, const char *backend, const char *dir, self_cost *cost)
{
    *s = (self_server){ .open = false };
    gauge_outcome outcome = gauge_open(&s->gauge, backend, dir);
    switch (outcome) {
    case GAUGE_OPEN: break;
    case GAUGE_REFUSED: *cost = SELF_REFUSED; return true;
    case GAUGE_UNKNOWN: *cost = SELF_UNKNOWN; return true;
    case GAUGE_FAILED: return false;
    }
    s->open = true;
    *cost = INT64_MAX;
    if (asker_open(&s->asker, s->gauge.port)) return true;
    say_error("a server on %s at 127.0.0.1:%u cannot be reached", backend, s->gauge.port);
    return false;
}

static void self_server_close(self_server *s)
{
    if (!s->open) return;
    asker_close(&s->asker);
    gauge_close(&s->gauge);
}

// ---- Measuring ----

// One round: asks for about span_ns; *cost falls to what a request cost, if that is less.
static bool self_round(self_server *s, const char *path, size_t octets, int64_t span_ns,
                       self_cost *cost)
{
    int64_t requests = 0, before_ns = gauge_cpu_ns(&s->gauge), end_ns = self_now_ns() + span_ns;
    do {
        if (!asker_ask(&s->asker, path, octets)) {
            say_error("%s was not answered as it should be", path);
            return false;
        }
        requests += ASKER_CONNECTIONS;
    } while (self_now_ns() < end_ns);
    int64_t after_ns = gauge_cpu_ns(&s->gauge);
    if (before_ns < 0 || after_ns < before_ns) {
        say_error("the CPU time of a thread cannot be read here");
        return false;
    }
    self_cost found = (after_ns - before_ns) / (requests * 10);
    if (found < *cost) *cost = found;
    return true;
}

static bool self_measure_backends(self_server servers[SELF_BACKENDS], self_figures *figures)
{
    for (int round = 0; round < SELF_ROUNDS; round++) {
        for (size_t i = 0; i < SELF_BACKENDS; i++) {
            if (!servers[i].open) continue;
            if (!self_round(&servers[i], "/hello", SELF_HELLO_OCTETS, SELF_HELLO_NS,
                            &figures->hello[i]))
                return false;
        }
    }
    return true;
}

static bool self_measure_file(self_server *s, const char *way, unsigned kib, self_cost *cost)
{
    char path[32];
    (void)snprintf(path, sizeof path, "/%s/%u", way, kib);
    return self_round(s, path, (size_t)kib * 1024, SELF_FILE_NS, cost);
}

static bool self_measure_files(self_server *s, self_figures *figures)
{
    for (size_t i = 0; i < SAMPLES_COUNT; i++) {
        self_cost *memory = &figures->memory[i], *sendfile = &figures->sendfile[i];
        *memory = *sendfile = INT64_MAX;
        for (int round = 0; round < SELF_ROUNDS; round++) {
            if (!self_measure_file(s, "memory", samples_kib[i], memory)) return false;
            if (!self_measure_file(s, "sendfile", samples_kib[i], sendfile)) return false;
        }
    }
    return true;
}

// ---- Choosing ----

// The first backend that is there, or one that leads it. SELF_BACKENDS if there is none.
static size_t self_pick_backend(const self_figures *figures)
{
    size_t pick = SELF_BACKENDS;
    for (size_t i = 0; i < SELF_BACKENDS; i++) {
        self_cost cost = figures->hello[i];
        if (cost < 0) continue;
        if (pick == SELF_BACKENDS || cost * 100 <= figures->hello[pick] * (100 - SELF_LEAD_PERCENT))
            pick = i;
    }
    return pick;
}

// The largest size up to which memory is never dearer, in KiB; 0 if there is none.
static unsigned self_pick_kib(const self_figures *figures)
{
    unsigned kib = 0;
    for (size_t i = 0; i < SAMPLES_COUNT && figures->memory[i] <= figures->sendfile[i]; i++)
        kib = samples_kib[i];
    return kib;
}

// ---- Showing ----

static void self_show_cost(self_cost cost)
{
    (void)printf("%12lld.%02lld", (long long)(cost / 100), (long long)(cost % 100));
}

static void self_show_backends(const self_figures *figures)
{
    (void)printf("\n%-10s%15s\n", "backend", "13 octets");
    for (size_t i = 0; i < SELF_BACKENDS; i++) {
        if (figures->hello[i] == SELF_UNKNOWN) continue;
        (void)printf("%-10s", self_backends[i]);
        if (figures->hello[i] == SELF_REFUSED) (void)printf("%15s", "refused here");
        else self_show_cost(figures->hello[i]);
        (void)puts("");
    }
}

static void self_show_files(const self_figures *figures)
{
    (void)printf("\n%-10s%15s%15s\n", "file", "from memory", "by sendfile");
    for (size_t i = 0; i < SAMPLES_COUNT; i++) {
        (void)printf("%3u KiB   ", samples_kib[i]);
        self_show_cost(figures->memory[i]);
        self_show_cost(figures->sendfile[i]);
        (void)puts("");
    }
}

static void self_show(const self_figures *figures, size_t pick)
{
    unsigned kib = self_pick_kib(figures);
    (void)printf("skua %s: microseconds of a worker's CPU time per request, on loopback\n",
                 skua_version());
    self_show_backends(figures);
    self_show_files(figures);
    (void)printf("\nwould pick: backend %s, ", self_backends[pick]);
    if (kib) (void)printf("files up to %u KiB from memory\n", kib);
    else (void)puts("no file from memory");
}

// ---- All of it ----

static bool self_measure(self_server servers[SELF_BACKENDS], self_figures *figures)
{
    if (!self_measure_backends(servers, figures)) return false;
    size_t pick = self_pick_backend(figures);
    if (pick == SELF_BACKENDS) {
        say_error("no backend works here");
        return false;
    }
    if (!self_measure_files(&servers[pick], figures)) return false;
    self_show(figures, pick);
    return true;
}

static bool self_run_in(const char *dir)
{
    static self_server servers[SELF_BACKENDS];
    self_figures figures;
    bool good = true;
    for (size_t i = 0; i < SELF_BACKENDS; i++)
        good = self_server_open(&servers[i], self_backends[i], dir, &figures.hello[i]) && good;
    good = good && self_measure(servers, &figures);
    for (size_t i = 0; i < SELF_BACKENDS; i++)
        self_server_close(&servers[i]);
    return good;
}

// Signals wait meanwhile, so that no files stay behind.
bool self_test_run(void)
{
    static samples files;
    sigset_t signals, before;
    (void)sigfillset(&signals);
    (void)sigprocmask(SIG_BLOCK, &signals, &before);
    bool good = samples_make(&files);
    if (good) {
        good = self_run_in(files.dir);
        samples_remove(&files);
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return good;
}
