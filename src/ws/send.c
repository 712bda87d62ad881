// SPDX-License-Identifier: MIT
//
// Frames of one piece: the head and the payload are written together, into the connection's block
// or, when they are long, into memory that is lent to the queue.

#include "ws/send.h"

#ifndef SKUA_NO_WEBSOCKET

#include "base/budget.h"
#include "exchange/carrier.h"
#include "exchange/worker.h"

static bool ws_is_writable(const skua_request *r)
{
    return r->responding == RESPONSE_PUSHED && r->push == PUSH_TUNNEL && !r->carrier->broken;
}

static void ws_frame_write(char *at, ws_opcode opcode, slice payload)
{
    size_t head = ws_head_write(at, opcode, true, payload.len);
    if (payload.len) memcpy(at + head, payload.ptr, payload.len);
}

static void ws_frame_free(void *user)
{
    counted_free(user);
}

static bool ws_frame_lend(skua_request *r, ws_opcode opcode, slice payload, size_t octets)
{
    char *memory = counted_alloc(&r->worker->memory, octets);
    if (!memory) return false;
    ws_frame_write(memory, opcode, payload);
    response_source source = { .kind = SOURCE_LENT,
                               .octets = slice_make(memory, octets),
                               .length = (int64_t)octets,
                               .release = ws_frame_free,
                               .user = memory };
    if (r->carrier->table->lend(r, &source)) return true;
    counted_free(memory);
    return false;
}

static bool ws_frame_copy(skua_request *r, ws_opcode opcode, slice payload, size_t octets)
{
    char *at = r->carrier->table->reserve(r, octets, NULL);
    if (!at) return false;
    ws_frame_write(at, opcode, payload);
    r->carrier->table->commit(r, octets);
    return true;
}

skua_status ws_send_frame(ws_session *s, ws_opcode opcode, slice payload)
{
    skua_request *r = s->request;
    size_t octets = payload.len + ws_head_octets(payload.len);
    if (!ws_is_writable(r)) return SKUA_ECLOSED;
    bool queued = octets > RESPONSE_COPY_MAX ? ws_frame_lend(r, opcode, payload, octets)
                                             : ws_frame_copy(r, opcode, payload, octets);
    if (!queued) return SKUA_ENOMEM;
    r->sent_octets += octets;
    carrier_kick(r->carrier, r);
    return SKUA_OK;
}

// ---- Slow readers ----

static uint64_t ws_carrier_max(const ws_session *s)
{
    return worker_config(s->request->worker)->out_octets_max;
}

uint64_t ws_queue_max(const ws_session *s)
{
    uint64_t most = s->endpoint->desc.queued_octets_max;
    return most ? most : ws_carrier_max(s);
}

bool ws_has_room(const ws_session *s, uint64_t octets)
{
    uint64_t room = s->request->carrier->table->room(s->request);
    return room > 0 && ws_carrier_max(s) - room + octets <= ws_queue_max(s);
}

// No less than half of the carrier's queue, so that a program writes more than it is told.
void ws_want_room(ws_session *s, uint64_t octets)
{
    uint64_t most = ws_carrier_max(s), may_stay = ws_queue_max(s) - octets;
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
    case SKUA_WEBSOCKET_DROP:
        atomic_fetch_add_explicit(&s->slot->shared.dropped, 1, memory_order_relaxed);
        return;
    case SKUA_WEBSOCKET_CLOSE: ws_session_close(s, WS_CODE_POLICY, SKUA_SLICE("too slow")); return;
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

skua_status ws_send(ws_session *s, ws_opcode opcode, slice message)
{
    uint64_t octets = ws_framed_octets(message.len);
    if (s->state != WS_OPEN || !ws_is_writable(s->request)) return SKUA_ECLOSED;
    if (octets > ws_queue_max(s)) return SKUA_EINVAL;
    if (s->waiting || !ws_has_room(s, octets)) return ws_send_slowly(s, octets);
    skua_status status = ws_send_frame(s, opcode, message);
    if (status) return status;
    s->messages_out++;
    s->octets_out += message.len;
    return SKUA_OK;
}

#endif
