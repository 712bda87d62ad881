// SPDX-License-Identifier: MIT
//
// Frames of one piece: the head and the payload are written together, into the connection's block
// or, when they are long, into memory that is lent to the queue.

#include "ws/send.h"

#ifndef SKUA_NO_WEBSOCKET

#include "base/budget.h"
#include "base/inline.h"
#include "exchange/carrier.h"
#include "exchange/worker.h"
#include "ws/call.h"
#include "ws/piece.h"

enum { WS_POSTED_TIMES = 4, WS_CROWDS_SOON = 8 };

bool ws_is_writable(const skua_request *r)
{
    return r->responding == RESPONSE_PUSHED && r->push == PUSH_TUNNEL && !r->carrier->broken;
}

static void ws_frame_write(char *at, ws_opcode opcode, bool final, slice payload)
{
    size_t head = ws_head_write(at, opcode, final, payload.len);
    if (payload.len) memcpy(at + head, payload.ptr, payload.len);
}

// m: given.
static bool ws_message_lend(skua_request *r, ws_message *m, slice frame)
{
    response_source source = { .kind = SOURCE_LENT,
                               .octets = frame,
                               .length = (int64_t)frame.len,
                               .release = ws_message_drop,
                               .user = m };
    if (r->carrier->table->lend(r, &source)) return true;
    ws_message_drop(m);
    return false;
}

static bool ws_frame_lend(skua_request *r, ws_opcode opcode, bool final, slice payload,
                          size_t octets)
{
    slice frame;
    ws_message *m = final ? ws_message_frame(r->worker, opcode, payload, &frame) : NULL;
    if (m) return ws_message_lend(r, m, frame);
    m = ws_message_new(r->worker, octets, octets);
    if (!m) return false;
    ws_frame_write(m->octets, opcode, final, payload);
    return ws_message_lend(r, m, slice_make(m->octets, octets));
}

static bool ws_frame_copy_framed(skua_request *r, ws_opcode opcode, bool final, slice payload,
                                 size_t octets)
{
    char *at = r->carrier->table->reserve(r, octets, NULL);
    if (!at) return false;
    ws_frame_write(at, opcode, final, payload);
    r->carrier->table->commit(r, octets);
    return true;
}

static BASE_INLINE_ALWAYS bool ws_frame_copy(skua_request *r, ws_opcode opcode, bool final,
                                             slice payload, size_t octets)
{
    if (!r->carrier->table->append) return ws_frame_copy_framed(r, opcode, final, payload, octets);
    char *at = r->carrier->table->append(r, octets);
    if (at) ws_frame_write(at, opcode, final, payload);
    return at != NULL;
}

static bool ws_octets_copy(skua_request *r, slice octets)
{
    char *at = r->carrier->table->reserve(r, octets.len, NULL);
    if (!at) return false;
    memcpy(at, octets.ptr, octets.len);
    r->carrier->table->commit(r, octets.len);
    return true;
}

bool ws_send_octets(skua_request *r, slice octets)
{
    if (octets.len <= RESPONSE_COPY_MAX) return ws_octets_copy(r, octets);
    ws_message *m = ws_message_new(r->worker, octets.len, octets.len);
    if (!m) return false;
    memcpy(m->octets, octets.ptr, octets.len);
    return ws_message_lend(r, m, slice_make(m->octets, octets.len));
}

static bool ws_shared_lend(skua_request *r, const ws_shared *shared)
{
    response_source source = { .kind = SOURCE_LENT,
                               .octets = shared->frame,
                               .length = (int64_t)shared->frame.len,
                               .release = shared->release,
                               .user = shared->user };
    shared->keep(shared->user);
    if (r->carrier->table->lend(r, &source)) return true;
    shared->release(shared->user);
    return false;
}

// A short frame is copied to where others of the connection are. Where there are none, that would take a block
// for each reader: more memory than a processor's cache has.
static bool ws_shared_is_lent(const ws_session *s, const ws_shared *shared)
{
    bool is_alone = s->request->carrier->number == 0 && ws_is_idle(s);
    return is_alone || shared->frame.len > RESPONSE_COPY_MAX;
}

skua_status ws_send_shared_frame(ws_session *s, const ws_shared *shared)
{
    skua_request *r = s->request;
    if (!ws_is_writable(r)) return SKUA_ECLOSED;
    bool queued =
        ws_shared_is_lent(s, shared) ? ws_shared_lend(r, shared) : ws_octets_copy(r, shared->frame);
    if (!queued) return SKUA_ENOMEM;
    r->sent_octets += shared->frame.len;
    carrier_send(r->carrier, r);
    return SKUA_OK;
}

static BASE_INLINE_ALWAYS skua_status ws_frame_queue(skua_request *r, ws_opcode opcode, bool final,
                                                     slice payload)
{
    size_t octets = payload.len + ws_head_octets(payload.len);
    bool queued = octets > RESPONSE_COPY_MAX ? ws_frame_lend(r, opcode, final, payload, octets)
                                             : ws_frame_copy(r, opcode, final, payload, octets);
    if (!queued) return SKUA_ENOMEM;
    r->sent_octets += octets;
    carrier_send(r->carrier, r);
    return SKUA_OK;
}

skua_status ws_send_fragment(ws_session *s, ws_opcode opcode, bool final, slice payload)
{
    if (!ws_is_writable(s->request)) return SKUA_ECLOSED;
    return ws_frame_queue(s->request, opcode, final, payload);
}

skua_status ws_send_frame(ws_session *s, ws_opcode opcode, slice payload)
{
    return ws_send_fragment(s, opcode, true, payload);
}

// ---- Slow readers ----

void ws_count_dropped(ws_session *s)
{
    atomic_fetch_add_explicit(&s->slot->shared.dropped, 1, memory_order_relaxed);
}

static uint64_t ws_carrier_max(const ws_session *s)
{
    return worker_config(s->request->worker)->out_octets_max;
}

// By default a message as long as one that may come has room beside half a queue, so that an echo is never
// refused: see ws_is_crowded. Letters for a reader that is not waited for may be several times more, or a
// burst would cost a fast one its messages.
void ws_queue_init(ws_session *s)
{
    const skua_websocket_desc *desc = &s->endpoint->desc;
    uint64_t most = ws_carrier_max(s);
    uint64_t message = desc->receive ? 0 : desc->message_octets_max; // pieces are short
    uint64_t answer = most / 2 + WS_SENT_HEAD_OCTETS_MAX + message;
    s->queued_max = most > answer ? most : answer;
    if (desc->queued_octets_max) s->queued_max = desc->queued_octets_max;
    unsigned times = desc->slow == SKUA_WEBSOCKET_WAIT ? 1 : WS_POSTED_TIMES;
    uint64_t posted = s->queued_max < UINT64_MAX / times ? s->queued_max * times : UINT64_MAX;
    atomic_store_explicit(&s->slot->shared.queued_max, s->queued_max, memory_order_relaxed);
    atomic_store_explicit(&s->slot->shared.posted_max, posted, memory_order_relaxed);
    atomic_store_explicit(&s->slot->shared.slow, (int)desc->slow, memory_order_relaxed);
}

bool ws_has_room(const ws_session *s, uint64_t octets)
{
    uint64_t room = s->request->carrier->table->room(s->request);
    return room > 0 && ws_carrier_max(s) - room + octets <= s->queued_max;
}

// Whether nothing but its queue may hold a socket up, as is so for most.
static bool ws_has_only_its_queue(const ws_session *s)
{
    return !s->call && !s->deflate && !s->is_paused && !s->outgoing.open;
}

bool ws_is_crowded(ws_session *s)
{
    uint64_t most = ws_carrier_max(s), half = (s->queued_max < most ? s->queued_max : most) / 2;
    uint64_t queued = most - s->request->carrier->table->room(s->request);
    if (queued > half || s->request->carrier->table->is_crowded(s->request)) return true;
    // soon, since what is lent uses pieces of the queue, one or two for each RESPONSE_COPY_MAX at least
    uint64_t left = half - queued, soon = WS_CROWDS_SOON * RESPONSE_COPY_MAX;
    if (ws_has_only_its_queue(s))
        s->crowds_at = s->request->sent_octets + (left < soon ? left : soon);
    return false;
}

bool ws_is_idle(const ws_session *s)
{
    return s->request->carrier->table->room(s->request) == ws_carrier_max(s);
}

void ws_want_all(ws_session *s)
{
    s->request->wanted = ws_carrier_max(s);
}

// No less than half of the carrier's queue, so that a program writes more than it is told.
void ws_want_room(ws_session *s, uint64_t octets)
{
    uint64_t most = ws_carrier_max(s), may_stay = s->queued_max - octets;
    uint64_t needed = may_stay < most ? most - may_stay : 0;
    s->request->wanted = needed > most / 2 ? needed : most / 2;
    if (s->request->wanted == 0) s->request->wanted = 1;
}

void ws_send_refused(ws_session *s, uint64_t octets)
{
    switch (s->endpoint->desc.slow) {
    case SKUA_WEBSOCKET_WAIT:
        s->is_refused = true;
        ws_want_room(s, octets);
        return;
    case SKUA_WEBSOCKET_DROP: ws_count_dropped(s); return;
    case SKUA_WEBSOCKET_CLOSE: ws_session_close_slow(s); return;
    }
}

static skua_status ws_send_slowly(ws_session *s, uint64_t octets)
{
    ws_send_refused(s, octets);
    switch (s->endpoint->desc.slow) {
    case SKUA_WEBSOCKET_WAIT: return SKUA_ELIMIT;
    case SKUA_WEBSOCKET_DROP: return SKUA_OK;
    case SKUA_WEBSOCKET_CLOSE: return SKUA_ECLOSED;
    }
    return SKUA_ELIMIT;
}

static skua_status ws_count_sent(ws_session *s, size_t len, skua_status status)
{
    if (status) return status;
    s->messages_out++;
    s->octets_out += len;
    return SKUA_OK;
}

// At the last look half of the queue was free, and less than that has been sent since. Streams share a queue, and while
// memory is short a queue holds less.
static bool ws_has_room_surely(const ws_session *s, uint64_t octets)
{
    const skua_request *r = s->request;
    return r->sent_octets + octets < s->crowds_at && r->carrier->number == 0 && !r->worker->slow;
}

// For a message that is not known to have room, or whose socket compresses.
static skua_status ws_send_if_it_may(ws_session *s, ws_opcode opcode, slice message,
                                     uint64_t octets)
{
    if (s->outgoing.open) return SKUA_ESTATE;
    if (octets > s->queued_max) return SKUA_EINVAL;
    if (!ws_has_room(s, octets)) return ws_send_slowly(s, octets);
    return ws_count_sent(s, message.len, ws_send_message(s, opcode, message));
}

skua_status ws_send(ws_session *s, ws_opcode opcode, slice message)
{
    uint64_t octets = ws_framed_octets(message.len);
    if (s->state != WS_OPEN || !ws_is_writable(s->request)) return SKUA_ECLOSED;
    if (!ws_has_room_surely(s, octets)) return ws_send_if_it_may(s, opcode, message, octets);
    return ws_count_sent(s, message.len, ws_frame_queue(s->request, opcode, true, message));
}

// ---- Pausing ----

bool ws_is_inflated_enough(const ws_session *s)
{
    return s->state == WS_OPEN && (ws_owes_much(s) || ws_deflate_is_to_wait(s->deflate));
}

// Whether the queue has grown so long that a client which does not read is held up.
static bool ws_is_held_up(ws_session *s)
{
    return s->request->sent_octets >= s->crowds_at &&
           s->endpoint->desc.slow == SKUA_WEBSOCKET_WAIT && s->state == WS_OPEN && ws_is_crowded(s);
}

bool ws_is_to_pause_rarely(ws_session *s)
{
    if (s->call && ws_call_is_full(s->call)) return true;
    if (s->deflate && ws_is_inflated_enough(s)) return true;
    return (s->is_paused && s->state == WS_OPEN) || ws_is_held_up(s);
}

#endif
