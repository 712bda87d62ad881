// SPDX-License-Identifier: MIT
//
// Streams, of sockets and of their worker. They are begun when there is something for them, as most sockets that
// agree on compression are idle.
// Invariant: a worker has streams as long as it has sockets that have agreed on compression.

#include "ws/deflate.h"

#ifndef SKUA_NO_WEBSOCKET

#ifdef SKUA_ZLIB

#include "base/assert.h"
#include "ws/zstream.h"

_Static_assert((int)WS_DEFLATE_ROOM_OCTETS == (int)WS_ZSTREAM_TAIL_OCTETS, "what a stream needs");

struct ws_deflate {
    skua_worker *worker;
    ws_deflate_terms terms;
    atomic_size_t *windows; // of its endpoint
    ws_deflater *deflater;  // of the socket's; NULL: not needed yet
    ws_inflater *inflater;  // of the socket's, or lent by the worker while a message comes
    uint64_t inflated;
    ws_waiter waiter;
};

// Of a worker, for sockets that keep no window.
struct ws_streams {
    unsigned sockets;
    ws_inflater *inflater; // NULL: lent, or not needed yet
    ws_deflater *deflaters[WS_DEFLATE_WINDOWS];
};

static bool deflate_is_scarce(const skua_worker *w)
{
    return worker_is_short(w, BUDGET_SCARCE);
}

// ---- The worker's ----

static bool streams_join(skua_worker *w)
{
    if (!w->ws_streams) w->ws_streams = counted_zeroed(&w->memory, sizeof *w->ws_streams);
    if (!w->ws_streams) return false;
    w->ws_streams->sockets++;
    return true;
}

static void streams_leave(skua_worker *w)
{
    struct ws_streams *streams = w->ws_streams;
    SKUA_ASSERT(streams && streams->sockets > 0);
    if (--streams->sockets) return;
    ws_inflater_close(streams->inflater);
    for (unsigned i = 0; i < WS_DEFLATE_WINDOWS; i++)
        ws_deflater_close(streams->deflaters[i]);
    counted_free(streams);
    w->ws_streams = NULL;
}

static ws_inflater *streams_lend_inflater(skua_worker *w)
{
    ws_inflater *lent = w->ws_streams->inflater;
    w->ws_streams->inflater = NULL;
    return lent ? lent : ws_inflater_open(&w->memory, WS_DEFLATE_BITS_MAX);
}

// One is kept for the next message.
static void streams_take_back(skua_worker *w, ws_inflater *lent)
{
    if (!lent) return;
    if (w->ws_streams->inflater) {
        ws_inflater_close(lent);
        return;
    }
    ws_inflater_reset(lent);
    w->ws_streams->inflater = lent;
}

bool ws_deflate_pack_alone(skua_worker *w, unsigned bits, slice message, char *out, size_t *octets)
{
    ws_deflater **d = &w->ws_streams->deflaters[bits - WS_DEFLATE_BITS_MIN];
    if (!*d) *d = ws_deflater_open(&w->memory, bits);
    if (!*d || !ws_deflater_run(*d, message, out, octets)) return false;
    ws_deflater_reset(*d);
    return true;
}

// ---- A socket's ----

bool ws_deflate_reserve(atomic_size_t *windows, size_t octets, size_t most)
{
    size_t before = atomic_load_explicit(windows, memory_order_relaxed);
    do {
        if (octets > most || before > most - octets) return false;
    } while (!atomic_compare_exchange_weak_explicit(windows, &before, before + octets,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

static void deflate_unreserve(atomic_size_t *windows, const ws_deflate_terms *terms)
{
    atomic_fetch_sub_explicit(windows, ws_deflate_memory(terms), memory_order_relaxed);
}

ws_deflate *ws_deflate_new(skua_worker *w, const ws_deflate_terms *terms, atomic_size_t *windows)
{
    ws_deflate *d = counted_zeroed(&w->memory, sizeof *d);
    if (d && streams_join(w)) {
        d->worker = w;
        d->terms = *terms;
        d->windows = windows;
        return d;
    }
    deflate_unreserve(windows, terms);
    counted_free(d);
    return NULL;
}

void ws_deflate_free(ws_deflate *d)
{
    if (!d) return;
    ws_share_leave(d->worker, &d->waiter);
    ws_deflater_close(d->deflater);
    if (d->terms.client_keeps) ws_inflater_close(d->inflater);
    else streams_take_back(d->worker, d->inflater);
    streams_leave(d->worker);
    deflate_unreserve(d->windows, &d->terms);
    counted_free(d);
}

unsigned ws_deflate_shared_bits(const ws_deflate *d, size_t octets)
{
    return d->terms.server_keeps ? 0 : ws_deflate_bits_for(octets, d->terms.server_bits);
}

bool ws_deflate_pack(ws_deflate *d, slice message, char *out, size_t *octets)
{
    unsigned shared = ws_deflate_shared_bits(d, message.len);
    if (shared) return ws_deflate_pack_alone(d->worker, shared, message, out, octets);
    if (!d->deflater && !deflate_is_scarce(d->worker))
        d->deflater = ws_deflater_open(&d->worker->memory, d->terms.server_bits);
    return d->deflater && ws_deflater_run(d->deflater, message, out, octets);
}

size_t ws_deflate_piece_room(size_t octets)
{
    return ws_zstream_stored_octets(octets);
}

// A piece that does not get shorter is stored: the stream has forgotten all before it then, and refers to nothing.
size_t ws_deflate_pack_piece(ws_deflate *d, slice piece, char *out)
{
    size_t octets;
    if (ws_deflate_pack(d, piece, out, &octets)) return octets + WS_ZSTREAM_TAIL_OCTETS;
    return ws_zstream_store(piece, out);
}

void ws_deflate_forget(ws_deflate *d)
{
    if (d->deflater) ws_deflater_reset(d->deflater);
}

static ws_unpacked deflate_begin_inflating(ws_deflate *d)
{
    skua_worker *w = d->worker;
    bool is_new = d->terms.client_keeps || !w->ws_streams->inflater;
    if (is_new && deflate_is_scarce(w)) return WS_UNPACKED_SCARCE;
    d->inflater = d->terms.client_keeps ? ws_inflater_open(&w->memory, d->terms.client_bits)
                                        : streams_lend_inflater(w);
    return d->inflater ? WS_UNPACKED_ALL : WS_UNPACKED_LACKS;
}

ws_unpacked ws_deflate_unpack(ws_deflate *d, slice *input, char *out, size_t room, size_t *octets)
{
    *octets = 0;
    ws_unpacked begun = d->inflater ? WS_UNPACKED_ALL : deflate_begin_inflating(d);
    if (begun != WS_UNPACKED_ALL) return begun;
    ws_inflated result = ws_inflater_run(d->inflater, input, out, room, octets);
    d->inflated += *octets;
    ws_share_use(d->worker, *octets);
    switch (result) {
    case WS_INFLATED_ALL: return WS_UNPACKED_ALL;
    case WS_INFLATED_MORE: return WS_UNPACKED_MORE;
    case WS_INFLATED_BAD: return WS_UNPACKED_BAD;
    case WS_INFLATED_LACKS: return WS_UNPACKED_LACKS;
    }
    return WS_UNPACKED_BAD;
}

uint64_t ws_deflate_octets(const ws_deflate *d)
{
    return d->inflated;
}

bool ws_deflate_is_to_wait(const ws_deflate *d)
{
    return ws_share_is_for_others(d->worker, &d->waiter);
}

bool ws_deflate_await(ws_deflate *d, ws_turn_fn *turn, void *user)
{
    return ws_share_await(d->worker, &d->waiter, turn, user);
}

bool ws_deflate_borrows(const ws_deflate *d)
{
    return !d->terms.client_keeps;
}

// A message whose frames are all empty has begun no stream.
slice ws_deflate_tail(const ws_deflate *d)
{
    return d->inflater ? ws_inflater_tail(d->inflater) : (slice){ 0 };
}

bool ws_deflate_is_whole(const ws_deflate *d)
{
    return d->inflater && ws_inflater_is_whole(d->inflater);
}

void ws_deflate_message_ends(ws_deflate *d)
{
    d->inflated = 0;
    if (d->terms.client_keeps) return;
    streams_take_back(d->worker, d->inflater);
    d->inflater = NULL;
}

#else

bool ws_deflate_reserve(atomic_size_t *windows, size_t octets, size_t most)
{
    (void)windows, (void)octets, (void)most;
    return false;
}

ws_deflate *ws_deflate_new(skua_worker *w, const ws_deflate_terms *terms, atomic_size_t *windows)
{
    (void)w, (void)terms, (void)windows;
    return NULL;
}

void ws_deflate_free(ws_deflate *d)
{
    (void)d;
}

unsigned ws_deflate_shared_bits(const ws_deflate *d, size_t octets)
{
    (void)d, (void)octets;
    return 0;
}

bool ws_deflate_pack(ws_deflate *d, slice message, char *out, size_t *octets)
{
    (void)d, (void)message, (void)out, (void)octets;
    return false;
}

bool ws_deflate_pack_alone(skua_worker *w, unsigned bits, slice message, char *out, size_t *octets)
{
    (void)w, (void)bits, (void)message, (void)out, (void)octets;
    return false;
}

size_t ws_deflate_piece_room(size_t octets)
{
    return octets;
}

size_t ws_deflate_pack_piece(ws_deflate *d, slice piece, char *out)
{
    (void)d, (void)piece, (void)out;
    return 0;
}

void ws_deflate_forget(ws_deflate *d)
{
    (void)d;
}

ws_unpacked ws_deflate_unpack(ws_deflate *d, slice *input, char *out, size_t room, size_t *octets)
{
    (void)d, (void)input, (void)out, (void)room;
    *octets = 0;
    return WS_UNPACKED_BAD;
}

uint64_t ws_deflate_octets(const ws_deflate *d)
{
    (void)d;
    return 0;
}

bool ws_deflate_is_to_wait(const ws_deflate *d)
{
    (void)d;
    return false;
}

bool ws_deflate_await(ws_deflate *d, ws_turn_fn *turn, void *user)
{
    (void)d, (void)turn, (void)user;
    return true;
}

bool ws_deflate_borrows(const ws_deflate *d)
{
    (void)d;
    return false;
}

slice ws_deflate_tail(const ws_deflate *d)
{
    (void)d;
    return (slice){ 0 };
}

bool ws_deflate_is_whole(const ws_deflate *d)
{
    (void)d;
    return false;
}

void ws_deflate_message_ends(ws_deflate *d)
{
    (void)d;
}

#endif
#endif
