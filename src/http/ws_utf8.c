// SPDX-License-Identifier: MIT
//
// The table of RFC 3629 §4: a first octet says how many follow, and the range of the second, which
// leaves out longer forms than needed, surrogates and what lies past U+10FFFF.

#include "http/ws_utf8.h"

#ifndef SKUA_NO_WEBSOCKET

#include "http/octets.h"

static bool ws_utf8_begin(ws_utf8 *state, uint8_t first)
{
    *state = (ws_utf8){ .low = 0x80, .high = 0xbf };
    if (first < 0x80) return true;
    if (first < 0xc2 || first > 0xf4) return false;
    state->left = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    if (first == 0xe0) state->low = 0xa0;
    if (first == 0xed) state->high = 0x9f;
    if (first == 0xf0) state->low = 0x90;
    if (first == 0xf4) state->high = 0x8f;
    return true;
}

static bool ws_utf8_go_on(ws_utf8 *state, uint8_t octet)
{
    if (octet < state->low || octet > state->high) return false;
    *state = (ws_utf8){ .left = (uint8_t)(state->left - 1), .low = 0x80, .high = 0xbf };
    return true;
}

// Four words at once, as most text is ASCII to its end.
static size_t ws_utf8_skip_ascii(slice octets, size_t at)
{
    const char *from = octets.ptr;
    for (; octets.len - at >= 32; at += 32) {
        uint64_t all = octets_load(from + at) | octets_load(from + at + 8) |
                       octets_load(from + at + 16) | octets_load(from + at + 24);
        if (all & OCTETS_EACH(0x80)) break;
    }
    while (octets.len - at >= 8 && !(octets_load(from + at) & OCTETS_EACH(0x80)))
        at += 8;
    return at;
}

size_t ws_utf8_check(ws_utf8 *state, slice octets)
{
    for (size_t at = 0; at < octets.len; at++) {
        if (state->left == 0) at = ws_utf8_skip_ascii(octets, at);
        if (at == octets.len) break;
        uint8_t octet = (uint8_t)octets.ptr[at];
        bool right = state->left ? ws_utf8_go_on(state, octet) : ws_utf8_begin(state, octet);
        if (!right) return at;
    }
    return octets.len;
}

#endif
