// SPDX-License-Identifier: MIT
//
// Tunnels that are parked: a stream whose WebSocket has nothing under way keeps its slot, and a record of the socket
// in place of the request. The request is made again when something happens.
#ifndef SKUA_H2_TUNNEL_H
#define SKUA_H2_TUNNEL_H

#ifndef SKUA_NO_HTTP2

#include "h2/session.h"

#ifdef SKUA_NO_WEBSOCKET

// Nothing is parked then.
static inline bool h2_tunnel_park(const h2_stream *stream)
{
    (void)stream;
    return false;
}

static inline int64_t h2_tunnel_look(const h2_stream *stream)
{
    (void)stream;
    return 0;
}

static inline bool h2_tunnel_wake(const h2_stream *stream, bool reads)
{
    (void)stream, (void)reads;
    return false;
}

static inline bool h2_tunnel_is_parked(const h2_stream *stream)
{
    (void)stream;
    return false;
}

#else

static inline bool h2_tunnel_is_parked(const h2_stream *stream)
{
    return stream->parked;
}

// Parks the tunnel of a stream, if its socket is to rest and nothing is read, queued or awaited.
// Returns: whether it is parked.
bool h2_tunnel_park(h2_stream *stream);

// Looks at a stream that is parked, which may be awake afterwards.
// Returns: when to look again, from now; 0: never.
int64_t h2_tunnel_look(h2_stream *stream);

// Makes the request again; reads: as its client has sent something.
// Returns: false when memory ran out: the socket has ended, and the stream is to be reset.
bool h2_tunnel_wake(h2_stream *stream, bool reads);

// The same as its socket is used, for the carrier of a parked one. If it fails, the stream is reset and gone.
bool h2_tunnel_use(carrier *c);

// The server stops. go_away: for each parked one; where it returns false, a request is made again, to be closed.
void h2_tunnel_stop(session *base, bool (*go_away)(struct ws_parked *parked));

#endif

#endif
#endif
