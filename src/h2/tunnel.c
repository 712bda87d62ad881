// SPDX-License-Identifier: MIT
//
// Parked tunnels of streams. Octets that are framed already need nothing of the request: only those that wait for a
// window do.

#include "h2/tunnel.h"

#if !defined(SKUA_NO_HTTP2) && !defined(SKUA_NO_WEBSOCKET)

#include "base/assert.h"
#include "exchange/worker.h"
#include "h2/backlog.h"
#include "h2/ending.h"

static bool h2_tunnel_is_still(const h2_stream *stream, const skua_request *r)
{
    if (r->reading != READING_TUNNEL || r->responding != RESPONSE_PUSHED || r->push != PUSH_TUNNEL)
        return false;
    if (stream->peer != H2_HALF_OPEN || stream->self != H2_HALF_OPEN || stream->carrier.broken)
        return false;
    if (stream->in_len || stream->text || h2_backlog_octets(stream)) return false;
    return !stream->carrier.running && !r->paused && !r->wanted && !r->unconsumed;
}

bool h2_tunnel_park(h2_stream *stream)
{
    skua_request *r = stream->carrier.current;
    if (!h2_tunnel_is_still(stream, r)) return false;
    stream->parked = r->worker->parks->park_stream(r);
    if (!stream->parked) return false;
    stream->carrier.current = NULL;
    h2_backlog_give(stream);
    h2_stream_forget_content(stream);
    return true;
}

bool h2_tunnel_wake(h2_stream *stream, bool reads)
{
    struct ws_parked *parked = stream->parked;
    SKUA_ASSERT(parked && !stream->carrier.current);
    stream->parked = NULL;
    stream->piece = NULL;
    stream->moved_ns = stream->carrier.session->worker->loop.now_ns;
    if (!stream->carrier.session->worker->parks->unpark_stream(parked, reads)) return false;
    h2_stream_kick(stream);
    return true;
}

bool h2_tunnel_use(carrier *c)
{
    h2_stream *stream = h2_stream_of(c);
    if (h2_tunnel_wake(stream, false)) return true;
    h2_ending_reset(stream, H2_INTERNAL_ERROR, SKUA_END_ERROR);
    return false;
}

int64_t h2_tunnel_look(h2_stream *stream)
{
    const skua_worker *w = stream->carrier.session->worker;
    int64_t due = w->parks->due_ns(stream->parked);
    if (due == INT64_MAX) return 0;
    if (due > w->loop.now_ns) return due - w->loop.now_ns;
    return h2_tunnel_use(&stream->carrier) ? 0 : -1;
}

// ---- The stop ----

// Streams of a bucket are in descending order. The next one is found by its number, as the program may end others when
// it is told that one closes.
static h2_stream *h2_tunnel_below(const h2_session *s, size_t bucket, uint32_t number)
{
    h2_stream *at = s->work ? s->work->buckets[bucket] : NULL;
    while (at && !(at->parked && at->carrier.number < number))
        at = at->by_number;
    return at;
}

void h2_tunnel_stop(session *base, bool (*go_away)(struct ws_parked *parked))
{
    h2_session *s = h2_session_of(base);
    for (size_t i = 0; i < H2_BUCKETS; i++) {
        h2_stream *at = h2_tunnel_below(s, i, UINT32_MAX);
        while (at) {
            uint32_t number = at->carrier.number;
            bool is_told = go_away(at->parked);
            at = is_told ? NULL : h2_stream_find(s, number);
            if (at && at->parked) (void)h2_tunnel_use(&at->carrier);
            at = h2_tunnel_below(s, i, number);
        }
    }
}

#endif
