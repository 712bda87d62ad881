// SPDX-License-Identifier: MIT
//
// Parked tunnels. A session that has had its 101 and has nothing queued knows nothing that a fresh one would not.

#include "h1/tunnel.h"

#include "base/assert.h"
#include "exchange/push.h"
#include "h1/protocol.h"

// A client that has said that it sends no more is about to be told of.
static bool h1_tunnel_is_still(const h1_session *s, const skua_request *r)
{
    if (r->reading != READING_TUNNEL || !stream_idles(r) || r->push != PUSH_TUNNEL) return false;
    if (s->out.octets || s->in_len || s->leaving || s->stage != H1_READS || s->carrier.broken)
        return false;
    if (s->input != H1_INPUT_FLOWS || *s->base.link.peer_is_done) return false;
    return !s->carrier.running && !r->paused && !r->wanted && !r->unconsumed;
}

skua_request *h1_tunnel_request(session *base)
{
    const h1_session *s = h1_session_of_base(base);
    skua_request *r = s->carrier.current;
    return r && r->rests && h1_tunnel_is_still(s, r) ? r : NULL;
}

bool h1_tunnel_rests(session *base)
{
    const skua_request *r = h1_session_of_base(base)->carrier.current;
    return r && r->rests;
}

void h1_tunnel_end(session *base)
{
    h1_session *s = h1_session_of_base(base);
    SKUA_ASSERT(!s->leaving && s->out.octets == 0);
    s->carrier.current = NULL;
    h1_session_end(base, SKUA_END_SENT);
}

skua_request *h1_tunnel_begin(session *base, request_memo *memo)
{
    h1_session *s = h1_session_of_base(base);
    s->chunked = false;
    s->carrier.current = memo_recall(memo, base->worker, &s->carrier);
    return s->carrier.current;
}
