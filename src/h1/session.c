// SPDX-License-Identifier: MIT
//
// Session: the loop that reads requests from octets, one behind the other.

#include "h1/session.h"

#include "base/assert.h"
#include "exchange/push.h"
#include "exchange/worker.h"
#include "h1/content.h"
#include "h1/framing.h"

// Each holds its head until its answer has left: of small answers very many fit into
// out_octets_max.
enum { SESSION_LEAVING_MAX = 64 };

session *session_take(skua_worker *w, const session_link *link)
{
    session *s = w->free_sessions;
    if (s) w->free_sessions = s->next;
    else s = counted_alloc(&w->memory, sizeof *s);
    if (!s) return NULL;
    s->link = *link;
    s->worker = w;
    s->carrier.table = &h1_carrier;
    s->carrier.current = NULL;
    s->leaving = NULL;
    s->leaving_tail = &s->leaving;
    s->leaving_count = 0;
    s->in = NULL;
    s->in_len = s->in_room = 0;
    s->moved = 0;
    s->closing = s->direct = s->peer_done = s->carrier.broken = s->carrier.running = false;
    s->reads_once = false;
    out_init(&s->carrier.out, &w->blocks, s->segments, SESSION_SEGMENTS);
    return s;
}

// The request that is being read or answered will not come to its end by itself.
static void session_end_current(session *s, skua_end how)
{
    skua_request *r = s->carrier.current;
    request_close_answer(r); // nobody would have what its reader says to that
    content_lost(r);
    s->carrier.current = NULL;
    r->mark = s->carrier.out.total_in;
    request_end(r, how);
}

static void session_end_requests(session *s, skua_end how)
{
    while (s->leaving) {
        skua_request *r = s->leaving;
        s->leaving = r->next;
        request_end(r, how);
    }
    s->leaving_tail = &s->leaving;
    s->leaving_count = 0;
    if (s->carrier.current) session_end_current(s, how);
}

void session_give(session *s, skua_end how)
{
    session_end_requests(s, how);
    out_deinit(&s->carrier.out);
    counted_free(s->in);
    s->next = s->worker->free_sessions;
    s->worker->free_sessions = s;
}

void session_free_all(skua_worker *w)
{
    while (w->free_sessions) {
        session *s = w->free_sessions;
        w->free_sessions = s->next;
        counted_free(s);
    }
}

// A free session has no worker once a sweep has seen it; taking it gives it one.
size_t session_sweep(skua_worker *w)
{
    size_t freed = 0;
    session **link = &w->free_sessions;
    while (*link) {
        session *s = *link;
        if (s->worker) {
            s->worker = NULL;
            link = &s->next;
        } else {
            *link = s->next;
            counted_free(s);
            freed += sizeof *s;
        }
    }
    return freed;
}

// ---- What the exchange asks ----

void session_kick(carrier *c)
{
    session *s = session_of(c);
    io_kick(&s->worker->loop, s->link.stream);
}

const io_address *session_peer(carrier *c)
{
    session *s = session_of(c);
    io_peer(&s->worker->loop, s->link.stream, s->link.peer);
    return s->link.peer;
}

bool session_peer_is_done(const carrier *c)
{
    return *((const session *)(const void *)c)->link.peer_is_done;
}

bool session_is_idle(const session *s)
{
    return !s->carrier.current && !s->leaving && s->in_len == 0 && s->carrier.out.octets == 0;
}

// Parsing stops while too much is queued, so that pipelined requests cannot fill the memory.
static bool session_is_full(const session *s)
{
    return out_is_full(&s->carrier.out) || s->leaving_count >= SESSION_LEAVING_MAX ||
           s->carrier.out.octets > s->worker->out_octets_max;
}

// While there is no memory, content that has to be kept waits in the kernel.
static bool session_is_slowed(const session *s)
{
    const skua_request *r = s->carrier.current;
    return s->worker->slow && r && r->reading == READING_CONTENT && (r->collects || r->spools);
}

bool session_read_once(session *s)
{
    if (session_is_slowed(s) && s->in_len == 0 && !content_is_blocked(s->carrier.current))
        s->reads_once = true;
    return s->reads_once;
}

bool session_wants_input(const session *s)
{
    if (s->closing || s->carrier.broken || s->peer_done) return false;
    const skua_request *r = s->carrier.current;
    if (!r) return s->in_len == 0 && !session_is_full(s);
    switch ((request_reading)r->reading) {
    case READING_HEAD: return true;
    case READING_CONTENT:
        if (session_is_slowed(s) && !s->reads_once) return false;
        return s->in_len == 0 && !content_is_blocked(r);
    case READING_TUNNEL: return s->in_len == 0 && !content_is_blocked(r);
    case READING_DONE: return false;
    }
    return false;
}

// ---- Leaving ----

static bool session_may_leave(const skua_request *r)
{
    return r->answering == ANSWER_QUEUED && (r->reading == READING_DONE || r->close);
}

// The current request is answered. Whoever wants to know of its end is told when its octets have
// left.
static void session_leave(session *s, skua_request *r)
{
    s->carrier.current = NULL;
    if (r->close) {
        // Behind content some clients send a CRLF that nobody asked for (RFC 9112 §2.2); it must
        // not find the socket closed, or the reset would destroy the answer.
        s->closing = true;
        s->direct =
            !r->head.keep_alive && r->reading == READING_DONE && r->head.content == H1_CONTENT_NONE;
    }
    content_lost(r);
    if (r->failed) s->carrier.broken = true;
    if (!request_is_watched(r)) {
        request_dismiss(r);
        return;
    }
    r->mark = s->carrier.out.total_in;
    r->next = NULL;
    *s->leaving_tail = r;
    s->leaving_tail = &r->next;
    s->leaving_count++;
}

void session_sent(session *s)
{
    while (s->leaving && s->leaving->mark <= s->carrier.out.total_out) {
        skua_request *r = s->leaving;
        s->leaving = r->next;
        if (!s->leaving) s->leaving_tail = &s->leaving;
        s->leaving_count--;
        request_end(r, r->failed ? SKUA_END_ERROR : SKUA_END_SENT);
    }
}

// ---- Reading ----

// Before more memory is taken for it.
__attribute__((cold, noinline)) static size_t session_refuse(skua_request *r, const char *octets,
                                                             size_t len)
{
    request_refuse(r, slice_make(octets, len), fault_framing(503, "memory_max is reached"));
    return 0;
}

static size_t session_read_head(session *s, skua_request *r, const char *octets, size_t len)
{
    switch (h1_head_read(&r->head, slice_make(octets, len))) {
    case H1_MORE: return 0;
    case H1_FAULT: request_refuse(r, slice_make(octets, len), r->head.fault); return 0;
    case H1_DONE: break;
    }
    if (s->worker->pressure >= BUDGET_SCARCE) return session_refuse(r, octets, len);
    r->has_input = len > r->head.octets;
    size_t used = r->head.octets;
    h1_content_begin(s, r);
    request_begin(r, octets);
    return used;
}

static size_t session_feed(session *s, skua_request *r, const char *octets, size_t len)
{
    switch ((request_reading)r->reading) {
    case READING_HEAD: return len ? session_read_head(s, r, octets, len) : 0;
    case READING_CONTENT:
    case READING_TUNNEL: return h1_content_feed(s, r, octets, len);
    case READING_DONE: return 0;
    }
    return 0;
}

static bool session_next(session *s)
{
    if (s->carrier.current) return true;
    s->carrier.current = request_take(s->worker, &s->carrier);
    if (!s->carrier.current) s->carrier.broken = true;
    return s->carrier.current != NULL;
}

// Callbacks of the current request's run, and what they answer needs no kick.
static void session_enter(session *s)
{
    s->carrier.running = true;
    s->worker->disk.served = &s->carrier;
}

static void session_exit(session *s)
{
    s->carrier.running = false;
    s->worker->disk.served = NULL;
}

// Runs requests as far as the octets go. Returns how many were used.
static size_t session_run(session *s, const char *octets, size_t len)
{
    size_t used = 0;
    session_enter(s);
    while (!s->closing && !s->carrier.broken) {
        if (!s->carrier.current && (used == len || session_is_full(s))) break;
        if (!session_next(s)) break;
        skua_request *r = s->carrier.current;
        uint8_t reading = r->reading;
        size_t n = session_feed(s, r, octets + used, len - used);
        used += n;
        if (session_may_leave(r)) session_leave(s, r);
        else if (n == 0 && r->reading == reading) break;
    }
    session_exit(s);
    if (s->closing && used < len) s->direct = false;
    return used;
}

// ---- Keeping what cannot be used yet ----

static bool session_reserve(session *s, size_t room)
{
    if (room <= s->in_room) return true;
    if (room < 1024) room = 1024;
    char *grown = counted_resize(&s->worker->memory, s->in, room);
    if (!grown) return false;
    s->in = grown;
    s->in_room = (uint32_t)room;
    return true;
}

static void session_forget_input(session *s)
{
    counted_free(s->in);
    s->in = NULL;
    s->in_len = s->in_room = 0;
}

static void session_keep(session *s, const char *octets, size_t len)
{
    if (len == 0 || s->closing || s->carrier.broken) return;
    if (!session_reserve(s, s->in_len + len)) {
        s->carrier.broken = true;
        return;
    }
    memcpy(s->in + s->in_len, octets, len);
    s->in_len += (uint32_t)len;
}

// Runs what is kept.
static void session_run_kept(session *s)
{
    size_t used = session_run(s, s->in ? s->in : "", s->in_len);
    if (s->closing || s->carrier.broken || used == s->in_len) {
        session_forget_input(s);
    } else if (used) {
        s->in_len -= (uint32_t)used;
        memmove(s->in, s->in + used, s->in_len);
    }
}

// A head began in an earlier read. Only as much as a head may have is put behind it, so that what
// is kept stays bounded; the rest is run from where it lies.
__attribute__((noinline)) static size_t session_complete_head(session *s, const char *octets,
                                                              size_t len)
{
    size_t most = s->worker->head_limits.head_octets_max + 2 * (size_t)H1_EMPTY_LINES_MAX + 1;
    size_t before = s->in_len;
    size_t added = most > before ? most - before : 1;
    if (added > len) added = len;
    session_keep(s, octets, added);
    if (s->carrier.broken) return len;
    skua_request *head = s->carrier.current;
    s->worker->disk.served = &s->carrier;
    size_t used = session_read_head(s, head, s->in, s->in_len);
    s->worker->disk.served = NULL;
    if (head->reading == READING_HEAD) {
        if (!session_may_leave(head)) return added;
        session_leave(s, head);
        session_forget_input(s);
        s->direct = false;
        return len;
    }
    SKUA_ASSERT(used >= before);
    session_forget_input(s);
    if (session_may_leave(head)) session_leave(s, head);
    return used - before;
}

__attribute__((cold)) void session_cut_off(session *s)
{
    s->closing = true;
    session_end_current(s, SKUA_END_CLOSED);
    session_forget_input(s);
}

void session_received(session *s, const char *octets, size_t len)
{
    s->moved += len;
    s->reads_once = false;
    size_t used = 0;
    if (s->in_len && s->carrier.current && s->carrier.current->reading == READING_HEAD) {
        used = session_complete_head(s, octets, len);
    } else if (s->in_len) {
        session_keep(s, octets, len);
        return;
    }
    if (s->in_len == 0) used += session_run(s, octets + used, len - used);
    session_keep(s, octets + used, len - used);
}

// In a tunnel the peer's being done is news for the handler, once every octet before it has been
// read.
static void session_end_tunnel_input(session *s)
{
    skua_request *r = s->carrier.current;
    if (!r || r->reading != READING_TUNNEL || !r->reader || !s->peer_done || s->in_len) return;
    session_enter(s);
    tunnel_end_input(r);
    session_exit(s);
    if (session_may_leave(r)) session_leave(s, r);
}

static void session_drain(session *s, skua_request *r)
{
    session_enter(s);
    stream_drain(r);
    session_exit(s);
}

static void session_pull(session *s, skua_request *r)
{
    s->worker->disk.served = &s->carrier;
    respond_fill(r);
    s->worker->disk.served = NULL;
}

void session_resume(session *s)
{
    skua_request *r = s->carrier.current;
    if (r && r->answering == ANSWER_PULLED) session_pull(s, r);
    else if (r && r->answering == ANSWER_PUSHED) session_drain(s, r);
    session_run_kept(s);
    session_end_tunnel_input(s);
}

void session_peer_done(session *s)
{
    s->peer_done = true;
    session_end_tunnel_input(s);
}

void session_watch_progress(session *s)
{
    s->looked = false; // nor is the kernel asked: this is on the path of requests
    s->watched_moved = s->moved;
    s->still_ns = s->window_ns = s->worker->loop.now_ns;
    s->carrier.dropped_ns = 0;
}

int64_t session_silent_ns(const session *s)
{
    int64_t dropped = s->carrier.dropped_ns;
    return s->worker->loop.now_ns - (dropped > s->still_ns ? dropped : s->still_ns);
}

// The kernel takes megabytes at once, and then nothing until a third of them is gone: for a slow
// peer that is longer than any deadline. So what counts is what has reached it.
static uint64_t session_gone(const session *s)
{
    return s->moved - io_unsent(&s->worker->loop, s->link.stream);
}

int64_t session_look_ns(const skua_worker *w)
{
    const skua_config *config = worker_config(w);
    int64_t least = config->stall_timeout_ns < config->rate_window_ns ? config->stall_timeout_ns
                                                                      : config->rate_window_ns;
    return least / 4 + 1;
}

// What moved before is not known; at most one look's time without progress counts.
static void session_look_first(session *s, uint64_t gone)
{
    int64_t now = s->worker->loop.now_ns, earliest = now - session_look_ns(s->worker);
    s->looked = true;
    s->stood = false;
    s->credit = 0;
    s->looked_gone = s->window_gone = gone;
    s->looked_ns = s->window_ns = now;
    if (s->moved != s->watched_moved) s->still_ns = now;
    else if (s->still_ns < earliest) s->still_ns = earliest;
}

// A look that comes late is the worker's fault, which was busy or stopped, and not the peer's.
// Returns how long the peer has had since the last one.
static int64_t session_excuse(session *s)
{
    int64_t now = s->worker->loop.now_ns, look = session_look_ns(s->worker);
    int64_t passed = now - s->looked_ns, late = passed - look;
    s->looked_ns = now;
    if (late <= 0) return passed;
    s->still_ns = s->still_ns + late < now ? s->still_ns + late : now;
    s->window_ns = s->window_ns + late < now ? s->window_ns + late : now;
    return look;
}

// The kernel of a slow reader makes room in steps, and each may take it longer than a standstill may
// last. Who has read on after one is known not to have stopped: what it has taken counts in advance,
// and is used up at the minimum rate.
static void session_count_credit(session *s, uint64_t octets, int64_t passed_ns)
{
    uint64_t owed =
        worker_config(s->worker)->rate_octets_min * (uint64_t)(passed_ns / 1000000) / 1000;
    s->credit = s->credit > owed ? s->credit - (uint32_t)owed : 0;
    if (!(s->stood || s->credit) || s->carrier.out.octets == 0) return;
    octets += s->credit;
    s->credit = octets < SESSION_CREDIT_MAX ? (uint32_t)octets : SESSION_CREDIT_MAX;
}

static bool session_is_still(session *s, uint64_t gone, int64_t passed_ns)
{
    int64_t now = s->worker->loop.now_ns;
    session_count_credit(s, gone - s->looked_gone, passed_ns);
    s->stood = gone == s->looked_gone;
    s->looked_gone = gone;
    if (!s->stood) s->still_ns = now;
    return s->credit == 0 && now - s->still_ns >= worker_config(s->worker)->stall_timeout_ns;
}

bool session_is_too_slow(session *s)
{
    const skua_config *config = worker_config(s->worker);
    uint64_t gone = session_gone(s);
    if (!s->looked) {
        session_look_first(s, gone);
        return false;
    }
    int64_t passed = session_excuse(s);
    if (session_is_still(s, gone, passed)) return true;
    int64_t now = s->worker->loop.now_ns;
    if (session_is_slowed(s)) { // by this side
        s->window_gone = gone;
        s->window_ns = now;
    }
    if (now - s->window_ns < config->rate_window_ns ||
        (s->carrier.current && stream_idles(s->carrier.current)))
        return false;
    uint64_t moved = gone - s->window_gone;
    uint64_t owed = config->rate_octets_min * (uint64_t)(config->rate_window_ns / 1000000) / 1000;
    if (moved > 0 && moved < owed) return true;
    s->window_gone = gone;
    s->window_ns = now;
    return false;
}

__attribute__((cold)) void session_timed_out(session *s, int status)
{
    skua_request *r = s->carrier.current;
    if (!r || r->answering != ANSWER_NONE) return;
    if (r->reading == READING_HEAD) {
        request_refuse(r, slice_make(s->in, s->in_len),
                       fault_framing((uint16_t)status, "the head did not come in time"));
    } else {
        request_blame(r, "no answer in time");
        respond_fault(r, status, true);
        request_let_go(r);
    }
    session_forget_input(s);
    if (session_may_leave(r)) session_leave(s, r);
}
