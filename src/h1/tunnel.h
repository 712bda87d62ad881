// SPDX-License-Identifier: MIT
//
// Tunnels that are parked: their session and request are given back, and made again when something happens.
#ifndef SKUA_H1_TUNNEL_H
#define SKUA_H1_TUNNEL_H

#include "exchange/memo.h"
#include "h1/session.h"

// The request whose tunnel the session carries, if that is to be parked and nothing is read, queued or awaited but what
// may come for it; else NULL.
skua_request *h1_tunnel_request(session *base);

// Whether a tunnel is to be parked, now or when nothing is under way.
bool h1_tunnel_rests(session *base);

// The request has been given back: ends the session.
void h1_tunnel_end(session *base);

// Begins anew with the request of that memo, in a session that is fresh.
// Returns: NULL when memory ran out; the session is still to be ended.
skua_request *h1_tunnel_begin(session *base, request_memo *memo);

#endif
