// SPDX-License-Identifier: MIT
//
// HTTP/1 as a protocol: what its connection is to wait for, for how long, and what becomes of it.

#include "h1/protocol.h"

#include "base/inline.h"
#include "exchange/content.h"
#include "exchange/push.h"
#include "exchange/request_begin.h"
#include "exchange/request_end.h"
#include "exchange/error.h"
#include "exchange/respond.h"
#include "exchange/waiting.h"
#include "exchange/worker.h"
#include "h1/session.h"

// ---- What becomes of the connection ----

// The peer has said that it sends no more: a message that is not complete never will be.
static bool h1_protocol_is_cut_off(const h1_session *s)
{
    const skua_request *r = s->carrier.current;
    if (s->input != H1_INPUT_OVER || !r || r->reading == READING_DONE ||
        r->reading == READING_TUNNEL)
        return false;
    return r->reading == READING_HEAD || (s->in_len == 0 && !content_is_blocked(r));
}

// The client has said that it sends no more, and most who do so have left. What only time can bring
// is not waited for in their name; what the library itself is about to answer is, and what the peer
// still takes.
static bool h1_protocol_is_left(const h1_session *s)
{
    const skua_request *r = s->carrier.current;
    if (!*s->base.link.peer_is_done || !r || worker_config(s->base.worker)->half_close)
        return false;
    return waiting_of(r) == WAITING_TIME;
}

// A response may have left before the content that came with its request was discarded.
BASE_INLINE session_fate h1_protocol_fate(session *base)
{
    h1_session *s = h1_session_of_base(base);
    h1_session_release(s);
    if (s->carrier.broken && s->out.octets == 0) return SESSION_BREAKS;
    if (h1_protocol_is_cut_off(s) || h1_protocol_is_left(s)) h1_session_cut_off(s);
    if (s->carrier.current || s->leaving || s->out.octets) return SESSION_GOES_ON;
    if (s->stage != H1_READS || (s->input == H1_INPUT_OVER && s->in_len == 0))
        return s->stage == H1_CLOSES_DIRECTLY ? SESSION_CLOSES : SESSION_ENDS;
    return s->in_len ? SESSION_GOES_ON : SESSION_RESTS;
}

static bool h1_protocol_sends_last(const session *base)
{
    const h1_session *s = h1_session_of_const(base);
    return s->stage != H1_READS && !s->carrier.current && s->input != H1_INPUT_OVER;
}

static bool h1_protocol_close_half(session *base)
{
    const h1_session *s = h1_session_of_const(base);
    return s->carrier.current && tunnel_close_half(s->carrier.current);
}

// ---- What is waited for ----

session_wait h1_protocol_awaits(const session *base)
{
    const h1_session *s = h1_session_of_const(base);
    if (s->out.octets) return SESSION_AWAITS_PEER;
    const skua_request *r = s->carrier.current;
    if (stream_idles(r)) return SESSION_AWAITS_EVENT;
    switch (waiting_of(r)) {
    case WAITING_HEAD: return SESSION_AWAITS_HEAD;
    case WAITING_CONTENT: return SESSION_AWAITS_CONTENT;
    case WAITING_TUNNEL:
    case WAITING_WORK:
    case WAITING_ROOM:
    case WAITING_CREDIT:
    case WAITING_TIME: return SESSION_AWAITS_HANDLER;
    }
    return SESSION_AWAITS_HANDLER;
}

static bool h1_protocol_is_paced(const session *base)
{
    const h1_session *s = h1_session_of_const(base);
    if (h1_session_is_slowed(s)) return true; // by this side
    return s->carrier.current && stream_idles(s->carrier.current);
}

// How long the current request may be silent; 0: for ever. A handler that has not begun to respond
// has its own deadline, or none. A response that has begun holds the client, and one whose client
// has left is held for nobody.
static int64_t h1_protocol_silence_ns(const h1_session *s)
{
    const skua_config *config = worker_config(s->base.worker);
    const skua_request *r = s->carrier.current;
    if (r->is_socket) return 0;
    if (r->push >= PUSH_TUNNEL) return config->stream_idle_timeout_ns;
    int64_t timeout = waiting_timeout_ns(r);
    if (timeout) return timeout;
    bool left = *s->base.link.peer_is_done && !config->half_close;
    return r->responding != RESPONSE_NONE || left ? config->stream_idle_timeout_ns : 0;
}

// How long nothing has been sent or received, nor written by the handler.
static int64_t h1_protocol_silent_ns(const h1_session *s)
{
    int64_t still = s->base.progress.still_ns, dropped = s->carrier.dropped_ns;
    return s->base.worker->loop.now_ns - (dropped > still ? dropped : still);
}

// A handler that has forgotten to respond is looked for meanwhile.
static int64_t h1_protocol_look_at_handler(session *base)
{
    const h1_session *s = h1_session_of_const(base);
    skua_request *r = s->carrier.current;
    int64_t look = worker_config(base->worker)->unanswered_log_ns;
    int64_t most = h1_protocol_silence_ns(s), silent = h1_protocol_silent_ns(s);
    if (most && silent >= most) return -1;
    if (silent >= look && waiting_is_forgotten(r)) waiting_complain(r);
    bool looks = r->responding == RESPONSE_NONE && (most == 0 || look < most - silent);
    return looks ? look : most - silent;
}

static size_t h1_protocol_octets(const session *base)
{
    const h1_session *s = h1_session_of_const(base);
    return s->in_room + h1_session_octets(s) + base->worker->request_octets;
}

// ---- When that takes too long ----

// A request is answered that has not been yet. A head in part may name a host to answer for.
static void h1_protocol_refuse(h1_session *s, int status)
{
    skua_request *r = s->carrier.current;
    if (r->reading == READING_HEAD) {
        request_refuse(r, slice_make(s->in, s->in_len),
                       fault_framing((uint16_t)status, "the head did not come in time"));
    } else {
        request_blame(r, "no answer in time");
        error_respond(r, status, true);
        request_let_go(r);
    }
    h1_session_forget_input(s);
    h1_session_let_leave(s);
}

__attribute__((cold)) static bool h1_protocol_timed_out(session *base)
{
    h1_session *s = h1_session_of_base(base);
    const skua_request *r = s->carrier.current;
    if (r->responding != RESPONSE_NONE) return false;
    h1_protocol_refuse(s, r->reading == READING_HEAD ? 408 : 503);
    return true;
}

// The request whose response has the file that has failed.
static skua_request *h1_protocol_of_failed(h1_session *s)
{
    uint64_t at = out_has_left(&s->out);
    for (unsigned i = 0; i < s->out.count && !out_segment_at(&s->out, i)->failed; i++)
        at += out_segment_at(&s->out, i)->len;
    skua_request *r = s->leaving;
    while (r && r->mark <= at)
        r = r->next;
    return r ? r : s->carrier.current;
}

// Nobody could tell what would follow from the content that is missing. Responses that have left
// whole, perhaps in this same turn, have not failed.
__attribute__((cold)) static bool h1_protocol_file_failed(session *base)
{
    h1_session *s = h1_session_of_base(base);
    h1_session_release(s);
    skua_request *r = h1_protocol_of_failed(s);
    if (r) request_blame(r, "a file that cannot be read to its end");
    return false;
}

const protocol_table h1_protocol = {
    .begin = h1_session_begin,
    .end = h1_session_end,
    .received = h1_session_received,
    .refuse = h1_session_refuse,
    .sent = h1_session_sent,
    .file_failed = h1_protocol_file_failed,
    .resume = h1_session_resume,
    .peer_done = h1_session_peer_done,
    .wants_input = h1_session_wants_input,
    .look = h1_session_look,
    .retire = h1_session_retire,
    .fate = h1_protocol_fate,
    .sends_last = h1_protocol_sends_last,
    .close_half = h1_protocol_close_half,
    .awaits = h1_protocol_awaits,
    .is_paced = h1_protocol_is_paced,
    .octets = h1_protocol_octets,
    .look_at_handler = h1_protocol_look_at_handler,
    .timed_out = h1_protocol_timed_out,
};
