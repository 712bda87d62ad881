// SPDX-License-Identifier: MIT
//
// The beginning of sessions, their parking, and the stop that closes all.

#include "ws/life.h"

#ifndef SKUA_NO_WEBSOCKET

#include "base/assert.h"
#include "exchange/worker.h"
#include "ws/call.h"
#include "ws/send.h"

// ---- A blocking function ----

static void ws_call_has_room_again(ws_session *s)
{
    ws_session_drained(s->request, s);
}

static void ws_call_is_over(ws_session *s)
{
    ws_session_enter(s);
    ws_session_close(s, WS_CODE_NORMAL, (slice){ 0 });
    ws_session_leave(s);
}

static const ws_call_hooks ws_session_call_hooks = { .has_room = ws_call_has_room_again,
                                                     .has_returned = ws_call_is_over };

// ---- The beginning ----

void ws_session_begin(ws_session *s, skua_request *r, const ws_endpoint *endpoint, ws_slot *slot)
{
    const skua_websocket_desc *desc = &endpoint->desc;
    int64_t now_ns = r->worker->loop.now_ns;
    s->endpoint = endpoint;
    s->slot = slot;
    s->request = r;
    s->heard_ns = s->rate_from_ns = now_ns;
    s->ends_ns = desc->lifetime_ns ? now_ns + desc->lifetime_ns : INT64_MAX;
    ws_queue_init(s);
    s->socket = ws_slot_open(slot, s);
    ws_session_enter(s);
    ws_session_attach(s, r);
    if (desc->open) desc->open(s->socket, r, desc->user);
    s->has_begun = true;
    if (desc->blocking) s->call = ws_call_begin(r, s->socket, endpoint, &ws_session_call_hooks, s);
    if (desc->blocking && !s->call)
        ws_session_close(s, WS_CODE_TRY_LATER, SKUA_SLICE("too many wait for a thread"));
    if (s->state == WS_OPEN) ws_session_arm(s);
    ws_session_leave(s);
}

// ---- Parking ----

void ws_session_go_on(ws_session *s, skua_request *r)
{
    s->socket = ws_slot_handle(s->slot);
    s->has_begun = true;
    s->queued_max = atomic_load_explicit(&s->slot->shared.queued_max, memory_order_relaxed);
    r->drained = ws_session_drained;
    r->drained_user = s;
    ws_session_enter(s);
    ws_session_attach(s, r);
    ws_session_arm(s);
    ws_session_leave(s);
}

void ws_session_put_away(ws_session *s)
{
    SKUA_ASSERT(s->state == WS_OPEN && s->inside == 0);
    ws_session_detach(s);
    s->slot->session = NULL;
    counted_free_lined(s);
}

// ---- The stop ----

// The one behind is held meanwhile: without memory a close may end any of them. Then it begins anew.
void ws_session_close_all(skua_worker *w)
{
    ws_session *s = w->sockets;
    if (s) ws_session_enter(s);
    while (s) {
        ws_session *next = s->next;
        if (next) ws_session_enter(next);
        if (s->state == WS_OPEN) ws_session_close(s, WS_CODE_GOING_AWAY, (slice){ 0 });
        ws_session_leave(s);
        s = next;
        if (!s || s->state != WS_CLOSED) continue;
        ws_session_leave(s);
        s = w->sockets;
        if (s) ws_session_enter(s);
    }
}

#endif
