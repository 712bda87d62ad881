// SPDX-License-Identifier: MIT
//
// Frames to parked sockets. What the kernel takes of one only in part is gone on with by a session.

#include "ws/parked_send.h"

#ifndef SKUA_NO_WEBSOCKET

#include "base/assert.h"
#include "exchange/carrier.h"
#include "exchange/worker.h"
#include "ws/send.h"

// ---- Frames ----

// The beginning of a frame has left, or is on the wire: without its end nothing that the client reads makes sense.
static ws_parked_sent ws_parked_queue(const ws_slot *slot, slice rest)
{
    ws_session *s = ws_slot_awake(slot);
    if (!s) return WS_PARKED_LOST;
    skua_request *r = s->request;
    bool has_room = ws_send_octets(r, rest);
    if (has_room) r->sent_octets += rest.len;
    else carrier_break(r->carrier);
    carrier_kick(r->carrier, r);
    return has_room ? WS_PARKED_SENT : WS_PARKED_LOST;
}

static ws_parked_sent ws_parked_send_carried(ws_parked *p, slice frame)
{
    carrier *c = p->on.carrier;
    if (!c->table->send_parked(c, frame)) return WS_PARKED_UNSENT;
    p->memo.sent_octets += frame.len;
    return WS_PARKED_SENT;
}

static ws_parked_sent ws_parked_send_frame(const ws_slot *slot, slice frame)
{
    ws_parked *p = slot->parked;
    if (p->is_carried) return ws_parked_send_carried(p, frame);
    size_t left;
    if (!slot->worker->parks->send_now(p->on.stream, frame, &left)) return WS_PARKED_UNSENT;
    p->memo.sent_octets += left;
    return left < frame.len ? ws_parked_queue(slot, slice_from(frame, left)) : WS_PARKED_SENT;
}

// ---- Messages ----

static bool ws_many_are_woken(const skua_worker *w)
{
    return w->woken_ns == w->loop.now_ns && w->woken >= WS_WOKEN_MAX;
}

static bool ws_parked_may_send(const ws_slot *slot, size_t len)
{
    const ws_parked *p = slot->parked;
    if (!p || p->is_closing) return false;
    if (p->is_carried ? len > BLOCK_OCTETS : !ws_many_are_woken(slot->worker)) return false;
    uint64_t most = atomic_load_explicit(&slot->shared.queued_max, memory_order_relaxed);
    return ws_framed_octets(len) <= most;
}

// Where messages are compressed, this one is not, which each message may be: no window remembers it.
// frame: has room for all of it.
static ws_parked_sent ws_parked_send_in(const ws_slot *slot, ws_opcode opcode, slice message,
                                        char *frame)
{
    memo_more *more = slot->parked->memo.more;
    size_t head = ws_head_write(frame, opcode, true, message.len);
    if (message.len) memcpy(frame + head, message.ptr, message.len);
    if (more) {
        more->counts[2]++;
        more->counts[3] += message.len;
    }
    ws_parked_sent sent = ws_parked_send_frame(slot, slice_make(frame, head + message.len));
    if (sent == WS_PARKED_UNSENT && more) {
        more->counts[2]--;
        more->counts[3] -= message.len;
    }
    return sent;
}

static ws_parked_sent ws_parked_send_long(const ws_slot *slot, ws_opcode opcode, slice message)
{
    size_t octets = WS_SENT_HEAD_OCTETS_MAX + message.len;
    ws_message *m = ws_message_new(slot->worker, octets, octets);
    if (!m) return WS_PARKED_UNSENT;
    ws_parked_sent sent = ws_parked_send_in(slot, opcode, message, m->octets);
    ws_message_drop(m);
    return sent;
}

ws_parked_sent ws_parked_send(const ws_slot *slot, ws_opcode opcode, slice message)
{
    char frame[WS_SENT_HEAD_OCTETS_MAX + WS_DIRECT_OCTETS];
    if (!ws_parked_may_send(slot, message.len)) return WS_PARKED_UNSENT;
    return message.len <= WS_DIRECT_OCTETS ? ws_parked_send_in(slot, opcode, message, frame)
                                           : ws_parked_send_long(slot, opcode, message);
}

bool ws_parked_deliver(ws_slot *slot, int opcode, slice message)
{
    if (!slot->parked->is_closing)
        return ws_parked_send(slot, (ws_opcode)opcode, message) != WS_PARKED_UNSENT;
    atomic_fetch_add_explicit(&slot->shared.dropped, 1, memory_order_relaxed);
    return true;
}

// ---- Closing ----

// Nothing is published to it any more, nor sent by anybody.
static void ws_parked_shut(ws_parked *p)
{
    ws_slot *slot = p->slot;
    ws_slot_shut(slot);
    if (p->topics) slot->worker->move_topics(slot->worker, p->topics, NULL, NULL);
    p->topics = NULL;
}

// It has a session that is to send the rest of our close, and to tell the program, as that is not to be told inside its
// own call.
static void ws_parked_close_awake(ws_session *s, uint16_t code, slice reason)
{
    ws_session_enter(s);
    s->close_code = code;
    s->owes_closing = s->endpoint->desc.closing != NULL;
    if (s->owes_closing) s->close_reason = arena_copy(&s->request->memory, ws_close_reason(reason));
    ws_session_arm(s);
    ws_session_leave(s);
}

bool ws_parked_send_close(ws_parked *p, uint16_t code, slice reason)
{
    char frame[WS_SENT_HEAD_OCTETS_MAX + WS_CONTROL_OCTETS_MAX], *payload = frame + 2;
    const ws_slot *slot = p->slot;
    int64_t ends_ns = p->ends_ns;
    if (p->is_closing) return false;
    size_t len = ws_close_write(payload, code, reason);
    size_t head = ws_head_write(frame, WS_CLOSE, true, len);
    SKUA_ASSERT(frame + head == payload);
    p->is_closing = true; // as a session that is to send the rest of the frame must know
    p->ends_ns = slot->worker->loop.now_ns + p->endpoint->desc.close_timeout_ns;
    if (ws_parked_send_frame(slot, slice_make(frame, head + len)) == WS_PARKED_UNSENT) {
        p->is_closing = false;
        p->ends_ns = ends_ns;
        return false;
    }
    if (slot->session) ws_parked_close_awake(slot->session, code, reason);
    if (!slot->parked) return true;
    ws_parked_shut(p);
    slot->worker->parks->await(p);
    return true;
}

// Where a session sends the rest, that tells the program, too.
static bool ws_parked_say_close(ws_parked *p, uint16_t code, slice reason)
{
    const ws_slot *slot = p->slot;
    const skua_websocket_desc *desc = &p->endpoint->desc;
    if (!ws_parked_send_close(p, code, reason)) return false;
    if (slot->parked && desc->closing)
        desc->closing(ws_slot_handle(slot), code, ws_close_reason(reason), desc->user);
    return true;
}

bool ws_parked_go_away(ws_parked *p)
{
    return ws_parked_say_close(p, WS_CODE_GOING_AWAY, (slice){ 0 });
}

bool ws_parked_take_close(ws_slot *slot, uint16_t code, slice reason)
{
    return slot->parked->is_closing || ws_parked_say_close(slot->parked, code, reason);
}

#endif
