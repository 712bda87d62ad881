// SPDX-License-Identifier: MIT
//
// Pressure. The worker that finds that a level has been reached posts a letter to every worker,
// itself among them: what is to be closed must not be closed in the middle of what made the memory
// grow.
// Workers choose by a histogram, in two passes over the connections: a sorted list of them would
// have to be kept up to date by every request.

#include "server/pressure.h"

#include "exchange/request.h"
#include "server/connection.h"
#include "server/server.h"
#include "server/sweep.h"

#include <stdio.h>

enum { PRESSURE_BUCKETS = 256, PRESSURE_SIZE_OCTETS = 1024 };

// between two looks, and between two lines in the log
static const int64_t pressure_look_ns = 100000000, pressure_tell_ns = (int64_t)60 * 1000000000;

// ---- Hearing of it ----

void pressure_grown(lease *l)
{
    skua_worker *self = (skua_worker *)(void *)((char *)l - offsetof(skua_worker, memory));
    const skua_server *server = self->server;
    budget_level level = budget_level_of(l->of);
    if (level <= self->pressure) return;
    self->pressure = (uint8_t)level;
    for (unsigned i = 0; i < server_worker_count(server); i++)
        worker_tell(server->workers[i], &server->workers[i]->pressed, pressure_look);
}

// ---- Choosing ----

// How many octets, or how many connections, are to go from each bucket; the last goes first.
typedef struct histogram {
    size_t sums[PRESSURE_BUCKETS];
} histogram;

// Keeps in the sums what is to go of each bucket: wanted in all, if there is so much.
static void histogram_choose(histogram *h, size_t wanted)
{
    for (unsigned i = PRESSURE_BUCKETS; i-- > 0;) {
        if (h->sums[i] > wanted) h->sums[i] = wanted;
        wanted -= h->sums[i];
    }
}

// Takes so much from a bucket; false when nothing of it is to go any more.
static bool histogram_take(histogram *h, unsigned bucket, size_t part)
{
    if (h->sums[bucket] == 0) return false;
    h->sums[bucket] -= part < h->sums[bucket] ? part : h->sums[bucket];
    return true;
}

// Of those whom the server serves: what it has opened itself belongs to a request of theirs.
static void pressure_each(server_worker *w, void (*act)(connection *conn, void *user), void *user)
{
    uint32_t slot = 0;
    for (endpoint *end; (end = endpoint_next(w, &slot));) {
        if (endpoint_side_of(end) != ENDPOINT_CLIENT) act((connection *)(void *)end, user);
    }
}

// ---- Idle connections ----

typedef struct idlers {
    histogram ages; // by bucket: how many
    size_t count;
    uint32_t now, first, last; // ticks at which they would be closed
} idlers;

// Whether it waits for a request, and will for more than a tick.
static bool idlers_have(const idlers *all, const connection *conn)
{
    return connection_is_idle(conn) && conn->deadline.due > all->now + 1;
}

static void idlers_meet(connection *conn, void *user)
{
    idlers *all = user;
    if (!idlers_have(all, conn)) return;
    all->count++;
    if (conn->deadline.due < all->first) all->first = conn->deadline.due;
    if (conn->deadline.due > all->last) all->last = conn->deadline.due;
}

// The bucket of a connection; those that have waited longest come last.
static unsigned idlers_bucket(const idlers *all, const connection *conn)
{
    uint32_t width = (all->last - all->first) / PRESSURE_BUCKETS + 1;
    return (all->last - conn->deadline.due) / width;
}

static void idlers_count(connection *conn, void *user)
{
    idlers *all = user;
    if (idlers_have(all, conn)) all->ages.sums[idlers_bucket(all, conn)]++;
}

static void idlers_close(connection *conn, void *user)
{
    idlers *all = user;
    if (idlers_have(all, conn) && histogram_take(&all->ages, idlers_bucket(all, conn), 1))
        connection_retire(conn);
}

// A quarter of them at a look: what that frees shows at the next.
static void pressure_close_idle(server_worker *w)
{
    idlers all = { .first = UINT32_MAX, .now = w->self.loop.timers.now };
    pressure_each(w, idlers_meet, &all);
    if (all.count == 0) return;
    pressure_each(w, idlers_count, &all);
    histogram_choose(&all.ages, (all.count + 3) / 4);
    pressure_each(w, idlers_close, &all);
}

// ---- Heads ----

// Whether nobody is served by it yet: its handshake, or its head, is still coming.
static bool heads_have(const connection *conn)
{
    return conn->state == CONNECTION_HEAD || conn->state == CONNECTION_HANDSHAKE;
}

static size_t heads_octets(const connection *conn)
{
    const session *s = conn->session;
    size_t octets = s ? s->protocol->octets(s) : 0;
    if (!conn->has_transport) return octets;
    const transport *t = transport_of(&conn->stream);
    return octets + t->table->octets(t);
}

static unsigned heads_bucket(const connection *conn)
{
    size_t bucket = heads_octets(conn) / PRESSURE_SIZE_OCTETS;
    return bucket < PRESSURE_BUCKETS ? (unsigned)bucket : PRESSURE_BUCKETS - 1;
}

static void heads_count(connection *conn, void *user)
{
    histogram *sizes = user;
    if (heads_have(conn)) sizes->sums[heads_bucket(conn)] += heads_octets(conn);
}

static void heads_end(connection *conn, void *user)
{
    histogram *sizes = user;
    if (heads_have(conn) && histogram_take(sizes, heads_bucket(conn), heads_octets(conn)))
        connection_end_head(conn);
}

// Ends as many heads as bring memory down to 95 %, if the other workers do their part.
static void pressure_end_heads(server_worker *w)
{
    const skua_server *server = w->self.server;
    size_t octets = budget_octets(&server->memory), most = server->memory.octets_max;
    size_t beyond = octets - (most - most / 20);
    histogram sizes = { { 0 } };
    pressure_each(w, heads_count, &sizes);
    histogram_choose(&sizes, beyond / server_worker_count(server) + 1);
    pressure_each(w, heads_end, &sizes);
    sweep_everything(w);
}

// ---- Requests that are being served ----

static void pressure_go_on(connection *conn, void *user)
{
    (void)user;
    if (conn->session) io_kick(&conn->worker->self.loop, &conn->stream);
}

static void pressure_slow(server_worker *w, bool slow)
{
    skua_worker *self = &w->self;
    bool before = self->slow;
    self->slow = slow;
    self->out_octets_max = worker_config(self)->out_octets_max;
    if (slow && self->out_octets_max > BLOCK_OCTETS) self->out_octets_max = BLOCK_OCTETS;
    if (before && !slow) pressure_each(w, pressure_go_on, NULL);
}

// ---- Looking ----

static void pressure_say(skua_server *server, int64_t now_ns)
{
    long long told = atomic_load_explicit(&server->shared.pressure_told_ns, memory_order_relaxed);
    if (told && now_ns - told < pressure_tell_ns) return;
    if (!atomic_compare_exchange_strong(&server->shared.pressure_told_ns, &told, now_ns)) return;
    char text[160];
    int len = snprintf(text, sizeof text,
                       "memory_max is %zu octets, of which clients hold %zu: new requests are "
                       "answered 503",
                       server->memory.octets_max, budget_octets(&server->memory));
    skua_log(server, slice_make(text, (size_t)len));
}

void pressure_look(server_worker *w)
{
    skua_server *server = w->self.server;
    const budget *memory = &server->memory;
    // The log is told when clients were refused, even if giving up what was kept for later is
    // enough now.
    if (w->self.pressure >= BUDGET_SCARCE) pressure_say(server, w->self.loop.now_ns);
    if (budget_level_of(memory) > BUDGET_PLENTY) sweep_everything(w);
    budget_level level = budget_level_of(memory);
    if (level >= BUDGET_LOW) pressure_close_idle(w);
    if (level == BUDGET_FULL) pressure_end_heads(w);
    level = budget_level_of(memory);
    w->self.pressure = (uint8_t)level;
    pressure_slow(w, level == BUDGET_FULL);
    if (level > BUDGET_PLENTY)
        io_deadline_set(&w->self.loop.timers, &w->pressing, pressure_look_ns);
}
