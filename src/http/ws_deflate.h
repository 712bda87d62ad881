// SPDX-License-Identifier: MIT
//
// The negotiation of permessage-deflate, RFC 7692 §5 and §7.1: offers of a client are read by their grammar, and
// the answer is written. The octets are compressed elsewhere.
#ifndef SKUA_HTTP_WS_DEFLATE_H
#define SKUA_HTTP_WS_DEFLATE_H
#ifndef SKUA_NO_WEBSOCKET

#include "base/slice.h"

enum {
    WS_DEFLATE_BITS_MIN = 9, // zlib compresses with no smaller window
    WS_DEFLATE_BITS_MAX = 15,
    WS_DEFLATE_WINDOWS = WS_DEFLATE_BITS_MAX - WS_DEFLATE_BITS_MIN + 1,
    WS_DEFLATE_FIELD_OCTETS_MAX = 140 // of the answer
};

// The terms on which both sides compress.
typedef struct ws_deflate_terms {
    bool server_keeps, client_keeps; // the window of one message for the next: context takeover
    bool says_server_bits, says_client_bits;
    uint8_t server_bits, client_bits; // base-2 logarithms of the windows
} ws_deflate_terms;

// Finds the first offer in a line of Sec-WebSocket-Extensions that can be accepted. An offer with a parameter that is
// unknown, repeated or not by its grammar is declined, and so is one for a window of 256 octets of the server's.
// line: valid as ws_extensions_are_valid judges.  bits: of the windows that sockets are to keep; 0: they keep none.
// Returns: whether there is one; otherwise *terms is as it was.
bool ws_deflate_agree(slice line, unsigned bits, ws_deflate_terms *terms);

// Writes the value of the answer's Sec-WebSocket-Extensions.
// Returns: its length.
size_t ws_deflate_write(const ws_deflate_terms *terms, char out[WS_DEFLATE_FIELD_OCTETS_MAX]);

// How much memory the windows that sides keep may take, at most.
size_t ws_deflate_memory(const ws_deflate_terms *terms);

// The smallest window in which a message of that length has room, at most one of most bits: compressed by itself
// it gains nothing from a larger one.
unsigned ws_deflate_bits_for(size_t octets, unsigned most);

#endif
#endif
