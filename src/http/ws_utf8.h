// SPDX-License-Identifier: MIT
//
// UTF-8 that comes in pieces: a fault is found at the first octet that no text could have there,
// before the rest of its character has come.
#ifndef SKUA_HTTP_WS_UTF8_H
#define SKUA_HTTP_WS_UTF8_H
#ifndef SKUA_NO_WEBSOCKET

#include "base/slice.h"

// Zero: at the beginning of a character.
typedef struct ws_utf8 {
    uint8_t left;      // octets of the character that are to come
    uint8_t low, high; // the range of the next one
} ws_utf8;

// Checks the next octets of a text.
// Returns: how many are right: fewer than octets.len when the next one is a fault.
size_t ws_utf8_check(ws_utf8 *state, slice octets);

// Whether the text may end here.
static inline bool ws_utf8_is_whole(const ws_utf8 *state)
{
    return state->left == 0;
}

#endif
#endif
