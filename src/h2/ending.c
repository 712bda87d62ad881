// SPDX-License-Identifier: MIT
//
// Endings. A request that is ended may call the program, which may end others: nothing is held on to
// meanwhile.

#include "h2/ending.h"

#ifndef SKUA_NO_HTTP2

#include "exchange/content.h"
#include "exchange/push.h"
#include "exchange/request_end.h"
#include "exchange/waiting.h"
#include "h2/backlog.h"
#include "h2/ready.h"
#include "h2/signal.h"
#include "h2/tunnel.h"

// ---- Streams ----

static void h2_ending_of_request(skua_request *r, skua_end how)
{
    r->occupies = true;
    request_end(r, how);
}

// Somebody may hold the request for long, but nobody sends or reads what is left of it. A release may
// call the program, which may let go of the request: the stream does not linger yet.
static void h2_ending_strip(h2_stream *stream)
{
    h2_backlog_give(stream);
    h2_stream_forget_content(stream);
}

// A client that still sends is told to stop, since nobody reads that any more. A WebSocket that is cut off is
// cancelled: RFC 8441 §5.
static void h2_ending_stop_client(h2_stream *stream)
{
    const h2_code code = stream->carrier.current->is_socket ? H2_CANCEL : H2_NO_ERROR;
    h2_signal_reset(h2_stream_session(stream), stream->carrier.number, code);
}

// Its request has been answered, and every octet of the response is queued.
static void h2_ending_let_leave(h2_stream *stream)
{
    h2_session *s = h2_stream_session(stream);
    skua_request *r = stream->carrier.current;
    if (stream->peer == H2_HALF_OPEN) h2_ending_stop_client(stream);
    stream->peer = H2_HALF_RESET;
    stream->carrier.current = NULL;
    h2_limits_good_end(&s->limits);
    if (r->retires) h2_ending_take_leave(s);
    content_lost(r);
    if (!request_is_watched(r) || request_is_accounted(r, s->base.out->octets)) {
        request_dismiss(r);
        h2_stream_free(stream);
        return;
    }
    h2_stream_uncount(stream);
    h2_stream_forget_content(stream);
    r->mark = s->base.out->total_in;
    stream->leaving = r;
    stream->next_leaving = NULL;
    if (s->work->leaving) s->work->leaving_last->next_leaving = stream;
    else s->work->leaving = stream;
    s->work->leaving_last = stream;
}

// A request that is ended may call the program, which finds a stream that sends nothing more.
void h2_ending_drop(h2_stream *stream, skua_end how)
{
    if (h2_tunnel_is_parked(stream)) (void)h2_tunnel_wake(stream, false);
    skua_request *r = stream->carrier.current;
    h2_ready_remove(stream);
    h2_stream_uncount(stream);
    stream->self = stream->peer = H2_HALF_RESET;
    h2_stream_stop_waiting(stream);
    if (r) {
        request_close_response(r);
        h2_stream_enter(stream);
        content_lost(r);
        h2_stream_exit(stream);
        stream->carrier.current = NULL;
        h2_ending_of_request(r, how);
        h2_ending_strip(stream);
        if (stream->occupant) h2_stream_linger(stream);
    }
    if (!stream->lingers) h2_stream_free(stream);
}

void h2_ending_reset(h2_stream *stream, h2_code code, skua_end how)
{
    h2_signal_reset(h2_stream_session(stream), stream->carrier.number, code);
    h2_ending_drop(stream, how);
}

// Streams are looked at a few times within the time that a client may stall: too seldom for a handler that has less.
static void h2_ending_await_handler(const h2_stream *stream)
{
    const skua_request *r = stream->carrier.current;
    if (r->responding != RESPONSE_NONE || stream->peer == H2_HALF_OPEN) return;
    int64_t timeout_ns = waiting_timeout_ns(r);
    if (timeout_ns && timeout_ns < session_look_ns(r->worker))
        h2_stream_session(stream)->base.looks_anew = true;
}

void h2_ending_settle(h2_stream *stream)
{
    skua_request *r = stream->carrier.current;
    if (!r) return;
    if (tunnel_close_half(r) && !stream->carrier.table->finish(r)) carrier_break(&stream->carrier);
    if (stream->carrier.broken || r->responding == RESPONSE_FAILED) {
        h2_ending_reset(stream, H2_INTERNAL_ERROR, SKUA_END_ERROR);
        return;
    }
    if (stream->self == H2_HALF_ENDED && request_is_answered(r)) {
        h2_ending_let_leave(stream);
        return;
    }
    h2_ready_update(stream);
    h2_ending_await_handler(stream);
}

// ---- The connection ----

void h2_ending_release(h2_session *s)
{
    while (s->work->leaving && s->work->leaving->leaving->mark <= out_has_left(s->base.out)) {
        h2_stream *stream = s->work->leaving;
        s->work->leaving = stream->next_leaving;
        skua_request *r = stream->leaving;
        stream->leaving = NULL;
        request_end(r, SKUA_END_SENT);
        h2_stream_free(stream);
    }
}

void h2_ending_spoil(h2_stream *stream, const char *reason)
{
    h2_session *s = h2_stream_session(stream);
    h2_stream **at = &s->work->leaving, *before = NULL;
    for (; *at != stream; at = &before->next_leaving)
        before = *at;
    *at = stream->next_leaving;
    if (s->work->leaving_last == stream) s->work->leaving_last = before;
    skua_request *r = stream->leaving;
    stream->leaving = NULL;
    request_blame(r, reason);
    request_end(r, SKUA_END_ERROR);
    h2_stream_free(stream);
}

static void h2_ending_leaving(h2_session *s, skua_end how)
{
    while (s->work->leaving) {
        h2_stream *stream = s->work->leaving;
        s->work->leaving = stream->next_leaving;
        skua_request *r = stream->leaving;
        stream->leaving = NULL;
        request_end(r, how);
        h2_stream_free(stream);
    }
}

// The first of a bucket that is more than a slot. It is looked for anew each time, as the program, when
// it is told of an end, may let go of others.
static h2_stream *h2_ending_next(h2_stream *at)
{
    while (at && at->lingers)
        at = at->by_number;
    return at;
}

void h2_ending_streams(h2_session *s, skua_end how)
{
    if (!s->work) return;
    h2_ending_leaving(s, how);
    for (size_t i = 0; i < H2_BUCKETS; i++) {
        h2_stream *stream;
        while ((stream = h2_ending_next(s->work->buckets[i])))
            h2_ending_drop(stream, how);
    }
}

// Their requests outlive the connection, and have no carrier then.
void h2_ending_lingering(h2_session *s)
{
    for (size_t i = 0; s->work && i < H2_BUCKETS; i++) {
        while (s->work->buckets[i]) {
            h2_stream *stream = s->work->buckets[i];
            SKUA_ASSERT(stream->lingers);
            stream->occupant->occupies = false;
            stream->occupant = NULL;
            h2_stream_free(stream);
        }
    }
}

// Frames that are queued leave first.
__attribute__((cold)) void h2_ending_fail(h2_session *s, fault why)
{
    if (s->stage == H2_FAILED) return;
    if (s->stage < H2_LEAVES) s->goaway_stream = s->last_stream;
    h2_signal_goaway(s, s->goaway_stream, (h2_code)why.h2_code, why.reason);
    h2_session_break(s);
    h2_ending_streams(s, SKUA_END_ERROR);
}

void h2_ending_take_leave(h2_session *s)
{
    if (s->stage >= H2_LEAVES || !h2_session_work(s)) return;
    s->goaway_stream = s->last_stream;
    h2_signal_goaway(s, s->goaway_stream, H2_NO_ERROR, "");
    if (s->stage < H2_LEAVES) s->stage = H2_LEAVES;
}

// A client that is about to open streams must not lose them: it is warned first, and a PING brings
// back word that it knows (RFC 9113 §6.8).
void h2_ending_warn(h2_session *s)
{
    if (s->stage != H2_OPEN) return;
    h2_signal_goaway(s, H2_WINDOW_MAX, H2_NO_ERROR, "");
    h2_signal_ping(s);
    if (s->stage == H2_OPEN) s->stage = H2_WARNED;
}

#endif
