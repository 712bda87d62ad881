// SPDX-License-Identifier: MIT
//
// Content. A stream's credit is given back when a handler has consumed what came; the connection's
// on receipt, as long as what is kept stays within its limit. So a slow stream blocks only itself.

#include "h2/content.h"

#ifndef SKUA_NO_HTTP2

#include "exchange/content.h"
#include "exchange/push.h"
#include "exchange/worker.h"
#include "h2/backlog.h"
#include "h2/ending.h"
#include "h2/signal.h"
#include "h2/tunnel.h"

// To a parked tunnel only padding can have come, and nothing is kept of it.
static int64_t h2_content_owed(const h2_stream *stream)
{
    const skua_request *r = stream->carrier.current;
    if (h2_tunnel_is_parked(stream)) return (int64_t)stream->window - stream->recv_window;
    if (!r || stream->peer != H2_HALF_OPEN) return 0;
    int64_t taken = (int64_t)stream->in_len + (int64_t)r->unconsumed;
    return (int64_t)stream->window - stream->recv_window - taken;
}

static void h2_content_give_credit(h2_stream *stream, int64_t credit)
{
    h2_session *s = h2_stream_session(stream);
    stream->recv_window += (int32_t)credit;
    stream->moved_ns = s->base.worker->loop.now_ns; // the handler's time was not the client's
    h2_signal_credit(s, stream->carrier.number, (uint32_t)credit);
}

// Whether there is no memory for content that is kept whole.
static bool h2_content_is_slowed(const h2_stream *stream)
{
    const skua_request *r = stream->carrier.current;
    return r && r->worker->slow && r->reading == READING_CONTENT && (r->collects || r->spools);
}

void h2_content_credit(h2_stream *stream)
{
    int64_t credit = h2_content_owed(stream);
    if (credit <= 0 || credit < stream->window / 2) return;
    if (h2_content_is_slowed(stream)) h2_stream_session(stream)->slowed = true;
    else h2_content_give_credit(stream, credit);
}

// Some is given, so that uploads do not wait for each other's memory for ever.
bool h2_content_trickle(h2_stream *stream)
{
    if (!h2_content_is_slowed(stream)) return false;
    int64_t credit = h2_content_owed(stream);
    if (credit > H2_PAYLOAD_OCTETS_MAX) credit = H2_PAYLOAD_OCTETS_MAX;
    bool is_short = stream->recv_window < H2_PAYLOAD_OCTETS_MAX / 2;
    if (credit > 0 && is_short) h2_content_give_credit(stream, credit);
    return true;
}

void h2_content_quicken(h2_session *s)
{
    if (!s->slowed || s->base.worker->slow) return;
    s->slowed = false;
    for (size_t i = 0; i < H2_BUCKETS; i++) {
        for (h2_stream *at = s->work->buckets[i]; at; at = at->by_number)
            h2_content_credit(at);
    }
}

// ---- Delivery ----

static void h2_content_deliver(h2_stream *stream, slice octets)
{
    skua_request *r = stream->carrier.current;
    h2_stream_enter(stream);
    bool stated = r->head.content == HEAD_CONTENT_LENGTH || r->reading == READING_TUNNEL;
    if (stated) content_deliver(r, octets);
    else content_deliver_unstated(r, octets);
    h2_stream_exit(stream);
}

static bool h2_content_keep(h2_stream *stream, slice octets)
{
    h2_session *s = h2_stream_session(stream);
    size_t len = stream->in_len + octets.len;
    if (len > stream->in_room) {
        char *grown = counted_resize(&s->base.worker->memory, stream->in, len);
        if (!grown) return false;
        stream->in = grown;
        stream->in_room = (uint32_t)len;
    }
    memcpy(stream->in + stream->in_len, octets.ptr, octets.len);
    stream->in_len = (uint32_t)len;
    s->held += (uint32_t)octets.len;
    return true;
}

static bool h2_content_is_read(const h2_stream *stream)
{
    const skua_request *r = stream->carrier.current;
    if (!r || request_is_answered(r)) return false;
    return r->reading == READING_CONTENT || r->reading == READING_TUNNEL;
}

// Whether octets are a tunnel's that the handler has yet to open.
static bool h2_content_is_early(const h2_stream *stream)
{
    const skua_request *r = stream->carrier.current;
    return stream->protocol_len && r && r->reading == READING_DONE && !request_is_answered(r);
}

static bool h2_content_malformed(h2_stream *stream)
{
    request_blame(stream->carrier.current, "content that is not as long as Content-Length says");
    h2_ending_reset(stream, H2_PROTOCOL_ERROR, SKUA_END_ERROR);
    return false;
}

// Whether octets wait for a tunnel's client. Those that it sends are no progress then, or it could be deaf
// for ever.
static bool h2_content_is_deaf(const h2_stream *stream)
{
    return stream->protocol_len && h2_backlog_octets(stream) > 0;
}

// Octets of its client wake a tunnel. Returns: false: there is no memory for that, and the stream is gone.
static bool h2_content_wake(h2_stream *stream)
{
    if (!h2_tunnel_is_parked(stream) || h2_tunnel_wake(stream, true)) return true;
    h2_ending_reset(stream, H2_INTERNAL_ERROR, SKUA_END_ERROR);
    return false;
}

bool h2_content_take(h2_stream *stream, slice octets)
{
    if (octets.len && !h2_content_wake(stream)) return false;
    const skua_request *r = stream->carrier.current;
    bool early = h2_content_is_early(stream);
    if (!(early || h2_content_is_read(stream)) || octets.len == 0) return true;
    if (!h2_content_is_deaf(stream)) h2_stream_moved(stream, octets.len);
    if (r->head.content == HEAD_CONTENT_LENGTH && !stream->protocol_len) {
        if (octets.len > stream->content_left) return h2_content_malformed(stream);
        stream->content_left -= octets.len;
    }
    if (!early && !stream->in_len && !content_is_blocked(r)) {
        h2_content_deliver(stream, octets);
    } else if (!h2_content_keep(stream, octets)) {
        h2_ending_reset(stream, H2_INTERNAL_ERROR, SKUA_END_ERROR);
        return false;
    }
    return true;
}

static void h2_content_finish(h2_stream *stream)
{
    skua_request *r = stream->carrier.current;
    h2_stream_enter(stream);
    if (r->reading == READING_TUNNEL) tunnel_end_input(r);
    else content_end(r);
    h2_stream_exit(stream);
}

// Octets that come behind the answer are not counted.
static bool h2_content_is_missing(const h2_stream *stream)
{
    const skua_request *r = stream->carrier.current;
    return r->reading == READING_CONTENT && r->head.content == HEAD_CONTENT_LENGTH &&
           stream->content_left > 0;
}

// Whether its end is news for anybody: that of a tunnel is, while somebody reads it.
static bool h2_content_is_awaited(const h2_stream *stream)
{
    const skua_request *r = stream->carrier.current;
    if (request_is_answered(r) && h2_content_is_missing(stream)) return false;
    return r->reading == READING_CONTENT ||
           (r->reading == READING_TUNNEL && r->reader && !r->paused);
}

bool h2_content_end(h2_stream *stream)
{
    if (!h2_content_wake(stream)) return false;
    stream->peer = H2_HALF_ENDED;
    if (!stream->carrier.current || !h2_content_is_awaited(stream)) return true;
    if (h2_content_is_missing(stream)) return h2_content_malformed(stream);
    if (!stream->in_len) h2_content_finish(stream);
    return true;
}

// In pieces, as the client would send it, so that a handler that has enough is not given all.
static void h2_content_deliver_kept(h2_stream *stream)
{
    h2_session *s = h2_stream_session(stream);
    const skua_request *r = stream->carrier.current;
    uint32_t used = 0;
    while (used < stream->in_len && h2_content_is_read(stream) && !content_is_blocked(r)) {
        uint32_t piece = stream->in_len - used;
        if (piece > H2_PAYLOAD_OCTETS_MAX) piece = H2_PAYLOAD_OCTETS_MAX;
        h2_content_deliver(stream, slice_make(stream->in + used, piece));
        used += piece;
    }
    if (used == stream->in_len) {
        h2_stream_forget_content(stream);
        return;
    }
    s->held -= used;
    stream->in_len -= used;
    memmove(stream->in, stream->in + used, stream->in_len);
}

void h2_content_resume(h2_stream *stream)
{
    if (stream->in_len) h2_content_deliver_kept(stream);
    if (stream->peer == H2_HALF_ENDED && !stream->in_len && h2_content_is_awaited(stream))
        h2_content_finish(stream);
    h2_content_credit(stream);
    h2_ending_settle(stream);
}

#endif
