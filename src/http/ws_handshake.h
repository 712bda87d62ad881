// SPDX-License-Identifier: MIT
//
// The fields of WebSocket's opening handshake, RFC 6455 §4.2 and §11.3.
#ifndef SKUA_HTTP_WS_HANDSHAKE_H
#define SKUA_HTTP_WS_HANDSHAKE_H
#ifndef SKUA_NO_WEBSOCKET

#include "base/slice.h"

enum { WS_ACCEPT_OCTETS = 28 };

// Whether a Sec-WebSocket-Key is base64 of 16 octets.
bool ws_key_is_valid(slice key);

// Writes the Sec-WebSocket-Accept for a valid key.
void ws_accept(slice key, char out[WS_ACCEPT_OCTETS]);

// Whether a line of Sec-WebSocket-Protocol is a list of tokens, or of Sec-WebSocket-Extensions one of
// extensions with parameters.
bool ws_protocols_are_valid(slice value);
bool ws_extensions_are_valid(slice value);

// Whether protocols or origins, separated by spaces, are ones that can be spoken or allowed.
bool ws_protocols_are_words(slice text);
bool ws_origins_are_valid(slice text); // "*" too

// Whether a list of tokens, separated by commas, has one. Case counts.
bool ws_list_has(slice list, slice wanted);

// Finds the first protocol that the server speaks, in its order, among those that a client offers.
// spoken: separated by spaces. Empty when there is none.
slice ws_protocol_choose(slice spoken, slice offered);

// Whether an Origin may open a socket. host: of the request, with its port. secure: whether the
// request came over TLS; otherwise the scheme is not known, as a proxy may have spoken TLS.
// allowed: NULL: the same host and port; "*": any; else origins, separated by spaces, of which it is
// one. "null" is allowed by "*" alone.
bool ws_origin_is_allowed(slice origin, slice host, bool secure, const char *allowed);

#endif
#endif
