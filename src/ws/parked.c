// SPDX-License-Identifier: MIT
//
// Parking of sockets. One that was woken to be sent something, or by a control frame, is parked again as soon as
// that is done; one that says something stays for a second at least, as more is likely to come.

#include "ws/parked.h"

#ifndef SKUA_NO_WEBSOCKET

#include "base/assert.h"
#include "base/budget.h"
#include "exchange/carrier.h"
#include "exchange/session.h"
#include "exchange/worker.h"
#include "ws/life.h"
#include "ws/piece.h"
#include "ws/shared.h"

static const int64_t ws_rest_ns = 1000000000;

// ---- Their memory ----

void ws_parked_open(skua_worker *w)
{
    pool_init(&w->parked, (sizeof(ws_parked) + 15) & ~(size_t)15, IO_STREAMS_MAX);
    w->parked.memory = &w->memory;
}

void ws_parked_close(skua_worker *w)
{
    pool_deinit(&w->parked);
}

size_t ws_parked_sweep(skua_worker *w)
{
    return pool_sweep(&w->parked);
}

// ---- Whether it may be ----

static bool ws_has_nothing_to_do(const ws_session *s)
{
    if (s->waiting || s->held || s->message || s->owes_pong || s->is_refused || s->is_paused)
        return false;
    if (s->deflate && ws_holds_piece(s)) return false;
    return !s->is_broken && !s->outgoing.open && !s->owed && !s->call && !s->inside;
}

// Protocols of more octets than a record can point into are none that anybody has.
static bool ws_protocol_fits(const ws_session *s)
{
    return s->protocol.len <= UINT8_MAX &&
           (!s->protocol.len ||
            (size_t)(s->protocol.ptr - s->endpoint->desc.protocols) <= UINT16_MAX);
}

static bool ws_may_be_parked(const ws_session *s, int64_t now_ns)
{
    return s->state == WS_OPEN && !s->endpoint->desc.keeps_request && ws_has_nothing_to_do(s) &&
           ws_reader_is_between(&s->reader) && ws_protocol_fits(s) &&
           ws_session_due_ns(s) - now_ns > ws_rest_ns && memo_suffices(s->request);
}

// ---- Parking ----

// It is parked as soon as nothing is under way.
static void ws_let_rest(skua_request *r)
{
    r->rests = true;
    r->carrier->session->looks_anew = true;
}

// Whether it has said something since it was woken, and not long ago.
static bool ws_is_in_use(const ws_session *s, int64_t now_ns)
{
    return s->messages_in != s->messages_before && now_ns - s->heard_ns < ws_rest_ns;
}

static void ws_parked_fill(ws_parked *p, const ws_session *s)
{
    p->slot = s->slot;
    p->endpoint = s->endpoint;
    p->deflate = s->deflate;
    p->topics = s->request->reads_topics ? s->request->topics : NULL;
    p->heard_ns = s->heard_ns;
    p->pinged_ns = s->pinged_ns;
    p->ends_ns = s->ends_ns;
    p->rate_from_ns = s->rate_from_ns;
    p->rate_count = s->rate_count;
    if (!s->protocol.len) return;
    p->protocol_at = (uint16_t)(s->protocol.ptr - s->endpoint->desc.protocols);
    p->protocol_len = (uint8_t)s->protocol.len;
}

static void ws_parked_count(const ws_parked *p, const ws_session *s)
{
    memo_more *more = p->memo.more;
    if (!more) return;
    more->counts[0] = s->messages_in;
    more->counts[1] = s->octets_in;
    more->counts[2] = s->messages_out;
    more->counts[3] = s->octets_out;
}

int64_t ws_parked_due_ns(const ws_parked *p)
{
    return p->is_closing ? p->ends_ns
                         : ws_due_ns(&p->endpoint->desc, p->heard_ns, p->pinged_ns, p->ends_ns);
}

ws_parked *ws_park(skua_request *r)
{
    skua_worker *w = r->worker;
    ws_session *s = ws_shared_session(r);
    if (s && ws_is_in_use(s, w->loop.now_ns)) r->rests = false;
    if (!s || !r->rests || !ws_may_be_parked(s, w->loop.now_ns)) return NULL;
    ws_parked *p = pool_take(&w->parked);
    if (!p) return NULL;
    ws_parked_fill(p, s);
    if (memo_take(r, &p->memo)) {
        pool_give(&w->parked, p);
        return NULL;
    }
    ws_parked_count(p, s);
    if (p->topics) w->move_topics(w, p->topics, NULL, p->slot);
    ws_session_put_away(s);
    p->slot->parked = p;
    return p;
}

// ---- Going on ----

static void ws_unpark_session(ws_session *s, const ws_parked *p, const uint64_t counts[MEMO_COUNTS])
{
    s->endpoint = p->endpoint;
    s->slot = p->slot;
    s->deflate = p->deflate;
    s->reader.head.deflates = p->deflate != NULL;
    if (p->protocol_len)
        s->protocol = slice_make(p->endpoint->desc.protocols + p->protocol_at, p->protocol_len);
    s->heard_ns = p->heard_ns;
    s->pinged_ns = p->pinged_ns;
    s->ends_ns = p->ends_ns;
    s->rate_from_ns = p->rate_from_ns;
    s->rate_count = p->rate_count;
    s->messages_in = s->messages_before = counts[0];
    s->octets_in = counts[1];
    s->messages_out = counts[2];
    s->octets_out = counts[3];
}

// Our close has left before: only the peer's is waited for.
static void ws_unpark_closing(ws_session *s, const ws_parked *p, int64_t now_ns)
{
    s->state = WS_CLOSING;
    s->close_is_queued = true;
    s->close_code = WS_CODE_GOING_AWAY;
    s->close_by_ns = p->ends_ns;
    s->ends_ns = INT64_MAX;
    s->window_ns = now_ns;
    ws_slot_shut(s->slot);
}

// Room for the alarm comes first: a session that cannot set it says so by a close, which must not come between the parts
// of a frame whose beginning has left.
bool ws_unpark(ws_parked *p, skua_request *r, const uint64_t counts[MEMO_COUNTS])
{
    ws_slot *slot = p->slot;
    if (!io_alarms_reserve(&r->worker->loop.alarms)) return false;
    ws_session *s = ws_session_new(r->worker);
    if (!s) return false;
    ws_unpark_session(s, p, counts);
    if (p->is_closing) ws_unpark_closing(s, p, r->worker->loop.now_ns);
    if (p->topics) {
        r->topics = p->topics;
        r->reads_topics = r->is_followed = true;
        r->worker->move_topics(r->worker, p->topics, r, NULL);
    }
    pool_give(&r->worker->parked, p);
    slot->parked = NULL;
    slot->session = s;
    ws_let_rest(r);
    ws_session_go_on(s, r);
    return true;
}

void ws_parked_lose(ws_parked *p, skua_worker *w)
{
    const skua_websocket_desc *desc = &p->endpoint->desc;
    ws_slot *slot = p->slot;
    skua_socket socket = ws_slot_handle(slot);
    if (p->topics) w->move_topics(w, p->topics, NULL, NULL);
    slot->parked = NULL;
    if (desc->close) desc->close(socket, WS_CODE_INTERNAL, SKUA_SLICE("out of memory"), desc->user);
    ws_slot_close(slot);
    ws_deflate_free(p->deflate);
    memo_drop(&p->memo);
    pool_give(&w->parked, p);
}

void ws_unparked_give_up(skua_request *r)
{
    if (r->is_socket && r->reader) ws_session_look_last(r->reader_user);
}

void ws_unparked_shed(skua_request *r)
{
    ws_session *s = ws_shared_session(r);
    if (!s) return;
    ws_session_enter(s);
    ws_fail(s, WS_CODE_TRY_LATER, "out of memory");
    ws_session_leave(s);
}

// ---- Looking for idle ones ----

// Time tells whether anything has come, and octets whether anything was sent.
static bool ws_has_been_idle(ws_session *s, int64_t now_ns)
{
    uint64_t sent = s->request->sent_octets;
    bool is_same = sent == s->sent_at_look;
    s->sent_at_look = sent;
    return is_same && now_ns - s->heard_ns >= ws_rest_ns;
}

// One that may not be parked keeps its request and its session, and can do without what its carrier needs to send.
// Returns: whether it is to be looked at again.
static bool ws_session_rest(ws_session *s, int64_t now_ns)
{
    carrier *c = s->request->carrier;
    if (!c->table->rest) return false;
    if (!ws_has_been_idle(s, now_ns)) return true;
    if (!ws_may_be_parked(s, now_ns)) return !c->table->rest(c) || !s->endpoint->desc.keeps_request;
    ws_let_rest(s->request);
    c->table->kick(c);
    return true;
}

bool ws_sessions_rest(skua_worker *w)
{
    bool some = false;
    for (ws_session *s = w->sockets; s; s = s->next)
        if (ws_session_rest(s, w->loop.now_ns)) some = true;
    return some;
}

#endif
