// SPDX-License-Identifier: MIT
//
// One run of a scenario.

#include "scenarios/far.h"
#include "scenarios/house.h"
#include "scenarios/script.h"
#include "scenarios/transcript.h"

#include <stdlib.h>
#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { RUN_QUIET_ROUNDS = 4 };

static const int64_t run_patience_ns = 20000000000;

uint64_t run_random(run *r)
{
    r->random ^= r->random << 13; // Marsaglia's xorshift; never 0
    r->random ^= r->random >> 7;
    r->random ^= r->random << 17;
    return r->random >> 11;
}

// ---- Rounds ----

static bool run_has_threads(const run *r)
{
    return atomic_load(&r->outside) || host_has_threads(&r->host);
}

bool run_round(run *r, host_time time)
{
    bool any = false;
    for (client *c = r->clients; c; c = c->next)
        any |= client_round(c);
    if (atomic_load(&r->outside)) time = HOST_TIME_STANDS;
    any |= host_turn(&r->host, time);
    for (client *c = r->clients; c; c = c->next)
        any |= wire_receive(&c->wire);
    return any || run_has_threads(r);
}

// On a real kernel, what is on its way between two sockets of loopback is seen within so many
// rounds that wait in vain.
// A backend that finds something to do for ever never comes to rest, and so fails here.
void run_rest(run *r)
{
    int64_t since = 0;
    int rounds = r->host.kernel ? 1 : RUN_QUIET_ROUNDS;
    for (int quiet = 0; quiet < rounds; quiet++) {
        if (run_round(r, HOST_TIME_STANDS)) quiet = -1;
        run_be_patient(r, &since, "waiting for a rest");
    }
}

void run_be_patient(const run *r, int64_t *since_ns, const char *what)
{
    int64_t now = io_clock_ns();
    if (*since_ns == 0) *since_ns = now;
    if (now - *since_ns < run_patience_ns) return;
    fprintf(stderr, "%u of %u connections are closed%s\n", r->closed, r->connected,
            run_has_threads(r) ? ", threads have work" : "");
    for (const client *c = r->clients; c; c = c->next) {
        slice got = wire_received(&c->wire);
        fprintf(stderr, "client %u has %zu octets, %zu of them seen%s%s\n%s", c->number, got.len,
                c->seen, wire_is_eof(&c->wire) ? ", and the end" : "",
                wire_is_reset(&c->wire) ? ", and a reset" : "",
                c->story.octets ? c->story.octets : "");
    }
    for (const visit *v = r->app.visits; v; v = v->next)
        fprintf(stderr, "request:\n%s", v->story.octets);
    fail_msg("%s, on %s: %s takes too long", r->scenario->name, r->backend, what);
}

// ---- The server ----

static void run_take_log(skua_slice octets, void *user)
{
    run *r = user;
    while (octets.len) {
        const char *end = memchr(octets.ptr, '\n', octets.len);
        size_t len = end ? (size_t)(end + 1 - octets.ptr) : octets.len;
        transcript_log_line(&r->access, &r->messages, slice_make(octets.ptr, len));
        octets = slice_from(octets, len);
    }
}

static skua_config run_config(run *r)
{
    skua_config config = r->scenario->config;
    config.workers = 1;
    config.tls = wire_tls_config();
    if (!config.hosts) config.hosts = "*";
    if (r->scenario->unwatched) return config;
    config.log = SKUA_LOG_JSON;
    config.log_write = run_take_log;
    config.log_user = r;
    config.on_connect = house_take_connection;
    config.on_close = house_drop_connection;
    config.hook_user = r;
    return config;
}

static int64_t run_unix_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// Things that a kernel may do to octets on their way without anyone noticing. Those that do harm
// are tested elsewhere.
static sim_config run_kernel(uint64_t seed)
{
    sim_config sim = { .seed = seed, .delay_max_ns = 50000, .unix_ns = run_unix_ns() };
    if (seed == 0) return sim;
    static const sim_fault faults[] = { SIM_SHORT_RECV, SIM_SHORT_SEND, SIM_DELAY,
                                        SIM_RECV_AGAIN, SIM_SEND_AGAIN, SIM_NO_BUFFERS };
    uint64_t z = seed * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        z = z * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        if (z >> 63) sim.permille[faults[i]] = (uint16_t)((z >> 33) % 300);
    }
    if (seed % 4 == 1) sim.recv_buffer_octets = 500 + (uint32_t)(z >> 40) % 5000;
    if (seed % 4 == 2) sim.send_buffer_octets = 500 + (uint32_t)(z >> 37) % 5000;
    return sim;
}

static bool run_open(run *r, uint64_t seed)
{
    skua_config config = run_config(r);
    sim_config sim = run_kernel(seed);
    skua_server *server = skua_server_new(&config);
    if (!server || skua_root_open(r->folder, &r->root)) abort();
    house_furnish(r, server);
    return host_start(&r->host, server, r->backend, &sim);
}

// ---- The end ----

static bool run_is_over(const run *r)
{
    if (run_has_threads(r)) return false;
    for (const visit *v = r->app.visits; v; v = v->next) {
        if (v->request) return false;
    }
    return r->closed == r->connected;
}

static void run_finish(run *r)
{
    int64_t since = 0;
    for (const client *c = r->clients; c; c = c->next) {
        if (!c->over) fail_msg("%s leaves client %u in the middle", r->scenario->name, c->number);
    }
    for (bool busy = true; !run_is_over(r);) {
        busy = run_round(r, busy ? HOST_TIME_STANDS : HOST_TIME_PASSES);
        run_be_patient(r, &since, "ending");
    }
    host_end(&r->host);
    far_close(r);
    skua_root_close(r->root);
}

static void run_tell_section(text *t, const char *title, const text *lines)
{
    if (lines->len == 0) return;
    text_addf(t, "%s\n", title);
    text_add(t, text_slice(lines));
}

static void run_tell(run *r, text *t)
{
    for (const client *c = r->clients; c; c = c->next) {
        text_addf(t, "%s %u\n", c->title, c->number);
        text_add(t, text_slice(&c->story));
    }
    for (unsigned number = 1; number <= r->connected; number++) {
        for (const visit *v = r->app.visits; v; v = v->next) {
            if (v->connection != number) continue;
            text_addf(t, "connection %u, request %u\n", v->connection, v->number);
            text_add(t, text_slice(&v->story));
        }
    }
    if (r->client_count > 1) transcript_sort(&r->access);
    run_tell_section(t, "access log", &r->access);
    run_tell_section(t, "messages", &r->messages);
}

static void run_free(run *r)
{
    while (r->clients) {
        client *c = r->clients;
        r->clients = c->next;
        client_free(c);
    }
    for (visit *v = r->app.visits; v; v = v->next)
        house_free_asking(v);
    const char *wrong = app_free(&r->app);
    if (wrong) fail_msg("%s", wrong);
    text_free(&r->access);
    text_free(&r->messages);
    free(r);
}

bool run_play(const scenario *s, const char *backend, const char *folder, run_cut cut,
              uint64_t seed, text *transcript)
{
    run *r = calloc(1, sizeof *r);
    if (!r) abort();
    *r = (run){ .scenario = s, .backend = backend, .folder = folder, .cut = cut };
    r->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    r->clients_tail = &r->clients;
    bool opened = run_open(r, seed);
    if (opened) {
        s->play(r);
        run_finish(r);
        run_tell(r, transcript);
    } else {
        skua_root_close(r->root);
    }
    run_free(r);
    return opened;
}
