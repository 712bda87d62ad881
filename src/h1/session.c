// SPDX-License-Identifier: MIT
//
// Session of HTTP/1: the loop that reads requests from octets, one behind the other.

#include "h1/session.h"

#include "base/assert.h"
#include "base/inline.h"
#include "exchange/content.h"
#include "exchange/push.h"
#include "exchange/request_begin.h"
#include "exchange/request_end.h"
#include "exchange/worker.h"
#include "exchange/respond.h"
#include "h1/content.h"
#include "h1/framing.h"
#include "h1/protocol.h"
#include "http/h1_head.h"

// Each holds its head until its response has left: of small responses very many fit into
// out_octets_max.
enum { H1_SESSION_LEAVING_MAX = 64 };

enum { H1_SESSION_PULL_QUEUED = 65536 }; // pulling stops above it

// Most queues are one segment, which begins a line of the processor's cache.
static out_segment *h1_session_segments_new(skua_worker *w)
{
    return counted_alloc_lined(&w->memory, H1_SESSION_SEGMENTS * sizeof(out_segment), 0);
}

// Members that no session of HTTP/1 ever changes are set here.
__attribute__((noinline)) static h1_session *h1_session_make(skua_worker *w)
{
    h1_session *s = counted_alloc_lined(&w->memory, sizeof *s, H1_SESSION_HOT);
    if (!s) return NULL;
    s->segments = h1_session_segments_new(w);
    if (!s->segments) {
        counted_free_lined(s);
        return NULL;
    }
    s->base.idles = s->base.looks_anew = false;
    s->carrier.number = 0;
    return s;
}

// Members are set one by one, as most need not be.
BASE_INLINE session *h1_session_begin(skua_worker *w)
{
    h1_session *s = w->free_sessions;
    if (s) w->free_sessions = s->next;
    else s = h1_session_make(w);
    if (!s) return NULL;
    s->base.protocol = &h1_protocol;
    s->base.worker = w;
    s->base.out = &s->out;
    s->base.moved = 0;
    s->carrier.table = &h1_carrier;
    s->carrier.session = &s->base;
    s->carrier.current = NULL;
    s->carrier.broken = s->carrier.running = false;
    s->carrier.dropped_ns = 0;
    s->leaving = NULL;
    s->leaving_tail = &s->leaving;
    s->leaving_count = 0;
    s->in = NULL;
    s->in_len = s->in_room = 0;
    s->stage = H1_READS;
    s->input = H1_INPUT_FLOWS;
    out_init(&s->out, &w->blocks, s->segments, H1_SESSION_SEGMENTS);
    return &s->base;
}

// The request that is being read or answered will not come to its end by itself.
static void h1_session_end_current(h1_session *s, skua_end how)
{
    skua_request *r = s->carrier.current;
    request_close_response(r); // nobody would have what its reader says to that
    content_lost(r);
    s->carrier.current = NULL;
    r->mark = s->out.total_in;
    request_end(r, how);
}

static void h1_session_end_requests(h1_session *s, skua_end how)
{
    while (s->leaving) {
        skua_request *r = s->leaving;
        s->leaving = r->next;
        request_end(r, how);
    }
    s->leaving_tail = &s->leaving;
    s->leaving_count = 0;
    if (s->carrier.current) h1_session_end_current(s, how);
}

static void h1_session_free(h1_session *s)
{
    counted_free_lined(s->segments);
    counted_free_lined(s);
}

void h1_session_end(session *base, skua_end how)
{
    h1_session *s = h1_session_of_base(base);
    h1_session_end_requests(s, how);
    out_deinit(&s->out);
    if (s->in) counted_free(s->in);
    if (!s->segments) {
        h1_session_free(s);
        return;
    }
    s->next = base->worker->free_sessions;
    base->worker->free_sessions = s;
}

// ---- Segments of a tunnel at rest ----

// It may rest again some time, which is looked for as long as there is anybody who may.
static bool h1_session_refill(out_queue *out)
{
    h1_session *s = (h1_session *)(void *)((char *)out - offsetof(h1_session, out));
    skua_worker *w = s->base.worker;
    s->segments = h1_session_segments_new(w);
    if (!s->segments) return false;
    out->segments = s->segments;
    out->first = 0;
    out->room = H1_SESSION_SEGMENTS;
    worker_look_for_rest(w);
    return true;
}

bool h1_session_give_segments(carrier *c)
{
    h1_session *s = h1_session_of(c);
    if (s->out.count) return false;
    out_rest(&s->out);
    counted_free_lined(s->segments);
    s->segments = NULL;
    s->out.room = 0;
    s->out.refill = h1_session_refill;
    return true;
}

// ---- Those that are kept for the next connections ----

void h1_session_free_all(skua_worker *w)
{
    while (w->free_sessions) {
        h1_session *s = w->free_sessions;
        w->free_sessions = s->next;
        h1_session_free(s);
    }
}

// A free session has no worker once a sweep has seen it; taking it gives it one.
size_t h1_session_sweep(skua_worker *w)
{
    size_t freed = 0;
    h1_session **link = &w->free_sessions;
    while (*link) {
        h1_session *s = *link;
        if (s->base.worker) {
            s->base.worker = NULL;
            link = &s->next;
        } else {
            *link = s->next;
            freed += h1_session_octets(s);
            h1_session_free(s);
        }
    }
    return freed;
}

// ---- What the exchange asks ----

void h1_session_kick(carrier *c)
{
    io_kick(&c->session->worker->loop, c->session->link.stream);
}

_Static_assert(H1_READS == 0 && H1_INPUT_FLOWS == 0, "h1_session_tunnels");

// Whether octets that come are its current request's, whose tunnel is read, and nothing was kept before them.
static inline bool h1_session_tunnels(const h1_session *s, const skua_request *r)
{
    return r->reading == READING_TUNNEL && r->reader && !r->paused &&
           (s->stage | s->input | s->carrier.broken | s->in_len | r->unconsumed) == 0;
}

// Requests do not come by here.
__attribute__((noinline)) bool h1_session_flows(const h1_session *s)
{
    const skua_request *r = s->carrier.current;
    return r && r->is_socket && r->push == PUSH_TUNNEL && r->responding == RESPONSE_PUSHED &&
           h1_session_tunnels(s, r) &&
           (s->leaving_count | s->base.looks_anew | *s->base.link.peer_is_done | r->wanted) == 0;
}

// A socket that is read already need not be gone on with. A transport has to seal first.
void h1_session_send(carrier *c)
{
    const h1_session *s = h1_session_of(c);
    if (!s->base.link.transport && h1_session_flows(s))
        io_send(&s->base.worker->loop, s->base.link.stream);
    else h1_session_kick(c);
}

bool h1_session_peer_is_done(const carrier *c)
{
    return *c->session->link.peer_is_done;
}

// Parsing stops while too much is queued, so that pipelined requests cannot fill the memory.
static bool h1_session_is_full(const h1_session *s)
{
    return h1_session_queue_is_full(s) || s->leaving_count >= H1_SESSION_LEAVING_MAX ||
           s->out.octets > s->base.worker->out_octets_max;
}

bool h1_session_is_slowed(const h1_session *s)
{
    const skua_request *r = s->carrier.current;
    return s->base.worker->slow && r && r->reading == READING_CONTENT && (r->collects || r->spools);
}

bool h1_session_look(session *base)
{
    h1_session *s = h1_session_of_base(base);
    if (s->input == H1_INPUT_FLOWS && s->stage == H1_READS && h1_session_is_slowed(s) &&
        s->in_len == 0 && !content_is_blocked(s->carrier.current)) {
        h1_session_set_input(s, H1_INPUT_SLOWED);
    }
    return s->input == H1_INPUT_SLOWED;
}

// The connection says so by closing, or in the next response.
void h1_session_retire(session *base)
{
    (void)base;
}

bool h1_session_wants_input(const session *base)
{
    const h1_session *s = h1_session_of_const(base);
    if (s->stage != H1_READS || s->carrier.broken || s->input == H1_INPUT_OVER) return false;
    const skua_request *r = s->carrier.current;
    if (!r) return s->in_len == 0 && !h1_session_is_full(s);
    switch ((request_reading)r->reading) {
    case READING_HEAD: return true;
    case READING_CONTENT:
        if (h1_session_is_slowed(s) && s->input != H1_INPUT_SLOWED) return false;
        return s->in_len == 0 && !content_is_blocked(r);
    case READING_TUNNEL: return s->in_len == 0 && !content_is_blocked(r);
    case READING_DONE: return false;
    }
    return false;
}

// ---- Leaving ----

static bool h1_session_may_leave(const skua_request *r)
{
    return (r->reading == READING_DONE || r->close) && request_is_answered(r);
}

__attribute__((noinline)) static void h1_session_follow(h1_session *s, skua_request *r)
{
    if (request_is_accounted(r, s->out.octets)) {
        request_dismiss(r);
        return;
    }
    r->mark = s->out.total_in;
    r->next = NULL;
    *s->leaving_tail = r;
    s->leaving_tail = &r->next;
    s->leaving_count++;
}

// The current request is answered. Whoever wants to know of its end is told when its octets have
// left.
static void h1_session_leave(h1_session *s, skua_request *r)
{
    s->carrier.current = NULL;
    if (r->close) {
        // Behind content some clients send a CRLF that nobody asked for (RFC 9112 §2.2); it must
        // not find the socket closed, or the reset would destroy the response.
        bool direct = !r->head.keep_alive && r->reading == READING_DONE &&
                      r->head.content == HEAD_CONTENT_NONE;
        h1_session_set_stage(s, direct ? H1_CLOSES_DIRECTLY : H1_CLOSES);
    }
    content_lost(r);
    if (r->responding == RESPONSE_FAILED) carrier_break(&s->carrier);
    if (request_is_watched(r)) h1_session_follow(s, r);
    else request_dismiss(r);
}

void h1_session_let_leave(h1_session *s)
{
    skua_request *r = s->carrier.current;
    if (h1_session_may_leave(r)) h1_session_leave(s, r);
}

void h1_session_release(h1_session *s)
{
    while (s->leaving_count && s->leaving->mark <= out_has_left(&s->out)) {
        skua_request *r = s->leaving;
        s->leaving = r->next;
        if (!s->leaving) s->leaving_tail = &s->leaving;
        s->leaving_count--;
        request_end(r, r->responding == RESPONSE_FAILED ? SKUA_END_ERROR : SKUA_END_SENT);
    }
}

// ---- Reading ----

// Before more memory is taken for it.
__attribute__((cold, noinline)) static size_t h1_session_lack(skua_request *r, const char *octets,
                                                              size_t len)
{
    request_refuse(r, slice_make(octets, len), fault_framing(503, "memory_max is reached"));
    return 0;
}

static size_t h1_session_read_head(h1_session *s, skua_request *r, const char *octets, size_t len)
{
    switch (h1_head_read(&r->head, slice_make(octets, len))) {
    case H1_MORE: return 0;
    case H1_FAULT: request_refuse(r, slice_make(octets, len), r->head.fault); return 0;
    case H1_DONE: break;
    }
    if (worker_is_short(s->base.worker, BUDGET_SCARCE)) return h1_session_lack(r, octets, len);
    if (r->head.expect_continue && len == r->head.octets)
        request_set_expectation(r, EXPECTATION_OPEN);
    size_t used = r->head.octets;
    h1_content_begin(s, r);
    request_begin(r, octets);
    return used;
}

static size_t h1_session_feed(h1_session *s, skua_request *r, const char *octets, size_t len)
{
    switch ((request_reading)r->reading) {
    case READING_HEAD: return len ? h1_session_read_head(s, r, octets, len) : 0;
    case READING_CONTENT:
    case READING_TUNNEL: return h1_content_feed(s, r, octets, len);
    case READING_DONE: return 0;
    }
    return 0;
}

static bool h1_session_next(h1_session *s)
{
    if (s->carrier.current) return true;
    s->carrier.current = request_take(s->base.worker, &s->carrier);
    if (!s->carrier.current) carrier_break(&s->carrier);
    return s->carrier.current != NULL;
}

// Callbacks of the current request's run, and what they answer needs no kick.
static void h1_session_enter(h1_session *s)
{
    s->carrier.running = true;
    s->base.worker->disk.served = &s->carrier;
}

static void h1_session_exit(h1_session *s)
{
    s->carrier.running = false;
    s->base.worker->disk.served = NULL;
}

// Runs requests as far as the octets go. Returns how many were used.
static size_t h1_session_run(h1_session *s, const char *octets, size_t len)
{
    size_t used = 0;
    h1_session_enter(s);
    while (s->stage == H1_READS && !s->carrier.broken) {
        if (!s->carrier.current && (used == len || h1_session_is_full(s))) break;
        if (!h1_session_next(s)) break;
        skua_request *r = s->carrier.current;
        uint8_t reading = r->reading;
        size_t n = h1_session_feed(s, r, octets + used, len - used);
        used += n;
        if (h1_session_may_leave(r)) h1_session_leave(s, r);
        else if (n == 0 && r->reading == reading) break;
    }
    h1_session_exit(s);
    if (s->stage != H1_READS && used < len) h1_session_set_stage(s, H1_CLOSES);
    return used;
}

// The same for a tunnel, which takes all of them. Returns as h1_session_received does.
__attribute__((noinline)) static bool h1_session_run_tunnel(h1_session *s, const char *octets,
                                                            size_t len)
{
    skua_request *r = s->carrier.current;
    h1_session_enter(s);
    if (s->out.octets) h1_session_discount(s, octets, len);
    content_deliver(r, slice_make(octets, len));
    bool flows = s->out.octets && h1_session_flows(s);
    if (!flows && h1_session_may_leave(r)) h1_session_leave(s, r);
    h1_session_exit(s);
    return flows;
}

// ---- Keeping what cannot be used yet ----

static bool h1_session_reserve(h1_session *s, size_t room)
{
    if (room <= s->in_room) return true;
    if (room < 1024) room = 1024;
    char *grown = counted_resize(&s->base.worker->memory, s->in, room);
    if (!grown) return false;
    s->in = grown;
    s->in_room = (uint32_t)room;
    return true;
}

// The octets of a tunnel's peer that takes nothing of what waits for it are no progress, or it could be deaf
// for ever. Those that are kept have been discounted as they came.
void h1_session_discount(h1_session *s, const char *octets, size_t len)
{
    const skua_request *r = s->carrier.current;
    if (!r || r->reading != READING_TUNNEL || s->out.octets == 0) return;
    if (s->in && (uintptr_t)octets - (uintptr_t)s->in < s->in_room) return;
    s->base.moved -= len;
}

void h1_session_forget_input(h1_session *s)
{
    counted_free(s->in);
    s->in = NULL;
    s->in_len = s->in_room = 0;
}

static void h1_session_keep(h1_session *s, const char *octets, size_t len)
{
    if (len == 0 || s->stage != H1_READS || s->carrier.broken) return;
    h1_session_discount(s, octets, len);
    if (!h1_session_reserve(s, s->in_len + len)) {
        carrier_break(&s->carrier);
        return;
    }
    memcpy(s->in + s->in_len, octets, len);
    s->in_len += (uint32_t)len;
}

// Runs what is kept.
static void h1_session_run_kept(h1_session *s)
{
    size_t used = h1_session_run(s, s->in ? s->in : "", s->in_len);
    if (s->stage != H1_READS || s->carrier.broken || used == s->in_len) {
        h1_session_forget_input(s);
    } else if (used) {
        s->in_len -= (uint32_t)used;
        memmove(s->in, s->in + used, s->in_len);
    }
}

// A head began in an earlier read. Only as much as a head may have is put behind it, so that what
// is kept stays bounded; the rest is run from where it lies.
__attribute__((noinline)) static size_t h1_session_complete_head(h1_session *s, const char *octets,
                                                                 size_t len)
{
    size_t most = s->base.worker->head_bounds.head_octets_max + 2 * (size_t)H1_EMPTY_LINES_MAX + 1;
    size_t before = s->in_len;
    size_t added = most > before ? most - before : 1;
    if (added > len) added = len;
    h1_session_keep(s, octets, added);
    if (s->carrier.broken) return len;
    skua_request *head = s->carrier.current;
    s->base.worker->disk.served = &s->carrier;
    size_t used = h1_session_read_head(s, head, s->in, s->in_len);
    s->base.worker->disk.served = NULL;
    if (head->reading == READING_HEAD) {
        if (!h1_session_may_leave(head)) return added;
        h1_session_leave(s, head);
        h1_session_forget_input(s);
        h1_session_set_stage(s, H1_CLOSES);
        return len;
    }
    SKUA_ASSERT(used >= before);
    h1_session_forget_input(s);
    if (h1_session_may_leave(head)) h1_session_leave(s, head);
    return used - before;
}

__attribute__((cold)) void h1_session_cut_off(h1_session *s)
{
    if (s->stage == H1_READS) h1_session_set_stage(s, H1_CLOSES);
    h1_session_end_current(s, SKUA_END_CLOSED);
    h1_session_forget_input(s);
}

// The usual case is that everything is answered, and what comes next is decided when that has left.
BASE_INLINE bool h1_session_received(session *base, const char *octets, size_t len)
{
    h1_session *s = h1_session_of_base(base);
    if (s->carrier.current && h1_session_tunnels(s, s->carrier.current))
        return h1_session_run_tunnel(s, octets, len);
    h1_session_set_input(s, H1_INPUT_FLOWS);
    size_t used = 0;
    if (s->in_len && s->carrier.current && s->carrier.current->reading == READING_HEAD) {
        used = h1_session_complete_head(s, octets, len);
    } else if (s->in_len) {
        h1_session_keep(s, octets, len);
        return false;
    }
    if (s->in_len == 0) used += h1_session_run(s, octets + used, len - used);
    h1_session_keep(s, octets + used, len - used);
    if (__builtin_expect(s->carrier.current != NULL, 0))
        return s->out.octets && h1_session_flows(s);
    return s->out.octets && s->stage == H1_READS && !s->carrier.broken && s->in_len == 0;
}

// The first octet begins a request as any other, which is refused before it is read on.
__attribute__((cold)) void h1_session_refuse(session *base, slice octets, fault why, slice sentence)
{
    h1_session *s = h1_session_of_base(base);
    SKUA_ASSERT(!s->carrier.current && octets.len > 0);
    (void)h1_session_run(s, octets.ptr, 1);
    skua_request *r = s->carrier.current;
    if (!r) return; // it has been refused already, or there is no memory
    request_refuse_saying(r, octets, why, sentence);
    h1_session_let_leave(s);
    h1_session_forget_input(s);
    if (s->stage == H1_READS) h1_session_set_stage(s, H1_CLOSES);
}

// In a tunnel the peer's being done is news for the handler, once every octet before it has been
// read.
static void h1_session_end_tunnel_input(h1_session *s)
{
    skua_request *r = s->carrier.current;
    if (!r || r->reading != READING_TUNNEL || !r->reader || r->paused) return;
    if (s->input != H1_INPUT_OVER || s->in_len) return;
    h1_session_enter(s);
    tunnel_end_input(r);
    h1_session_exit(s);
    if (h1_session_may_leave(r)) h1_session_leave(s, r);
}

static void h1_session_drain(h1_session *s, skua_request *r)
{
    h1_session_enter(s);
    stream_drain(r);
    h1_session_exit(s);
}

static void h1_session_pull(h1_session *s, skua_request *r)
{
    s->base.worker->disk.served = &s->carrier;
    while (r->responding == RESPONSE_PULLED && s->out.octets < H1_SESSION_PULL_QUEUED &&
           !h1_session_queue_is_full(s) && respond_pull(r))
        continue;
    s->base.worker->disk.served = NULL;
}

static void h1_session_go_on(h1_session *s)
{
    skua_request *r = s->carrier.current;
    if (r && r->responding == RESPONSE_PULLED) h1_session_pull(s, r);
    else if (r && r->responding == RESPONSE_PUSHED) h1_session_drain(s, r);
    h1_session_run_kept(s);
    h1_session_end_tunnel_input(s);
}

// Event streams and tunnels say nothing for long, and are many: their queue keeps no block meanwhile.
static void h1_session_rest(h1_session *s)
{
    const skua_request *r = s->carrier.current;
    if (r && s->out.octets == 0 && stream_idles(r)) out_rest(&s->out);
}

void h1_session_resume(session *base)
{
    h1_session_go_on(h1_session_of_base(base));
}

BASE_INLINE bool h1_session_sent(session *base)
{
    h1_session *s = h1_session_of_base(base);
    h1_session_release(s);
    if (!s->carrier.current && !s->in_len) return false;
    bool flows = !s->out.octets && h1_session_flows(s);
    if (!flows) h1_session_go_on(s);
    h1_session_rest(s);
    return flows;
}

void h1_session_peer_done(session *base)
{
    h1_session *s = h1_session_of_base(base);
    h1_session_set_input(s, H1_INPUT_OVER);
    h1_session_end_tunnel_input(s);
}
