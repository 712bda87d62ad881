// SPDX-License-Identifier: MIT
//
// Masking of WebSocket payloads, RFC 6455 §5.3: each octet is XORed with one of the key's four.
#ifndef SKUA_HTTP_WS_MASK_H
#define SKUA_HTTP_WS_MASK_H
#ifndef SKUA_NO_WEBSOCKET

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WS_KEY_OCTETS = 4 };

// From so many octets on vectors are worth their beginning.
enum { WS_MASK_WIDE_MIN = 200 };

// Writes len octets of in, unmasked, to out, which is in or does not overlap it. at: how many octets
// of the payload stand before in.
// Returns: whether all octets written are ASCII.
bool ws_unmask(char *out, const char *in, size_t len, const uint8_t key[WS_KEY_OCTETS],
               uint64_t at);

#endif
#endif
