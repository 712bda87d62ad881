// SPDX-License-Identifier: MIT
//
// Shared messages. Short frames are copied into the block that the others of the turn are in; long ones are
// lent.

#include "ws/shared.h"

#ifndef SKUA_NO_WEBSOCKET

#include "ws/letter.h"
#include "ws/send.h"

ws_session *ws_shared_session(const skua_request *r)
{
    ws_session *s = r->is_socket && r->reader ? r->reader_user : NULL;
    return s && s->state == WS_OPEN ? s : NULL;
}

unsigned ws_shared_bits(const ws_session *s, size_t octets)
{
    if (!s->deflate || octets < s->endpoint->desc.deflate_octets_min) return 0;
    return ws_deflate_shared_bits(s->deflate, octets);
}

// The peer's window has only what its socket has sent, so one that keeps a window never sends what was compressed for
// others.
static bool ws_shared_is_for_own_stream(const ws_session *s, const ws_shared *shared)
{
    return s->deflate && !ws_deflate_shared_bits(s->deflate, shared->message.len);
}

static size_t ws_shared_own_octets(const ws_session *s, const ws_shared *shared)
{
    size_t octets = shared->message.len;
    bool is_long = s->deflate && octets >= s->endpoint->desc.deflate_octets_min;
    return is_long && ws_shared_is_for_own_stream(s, shared) ? octets : 0;
}

// Returns: as ws_shared_send.
static size_t ws_shared_queue(ws_session *s, const ws_shared *shared)
{
    size_t own = ws_shared_own_octets(s, shared);
    skua_status status = ws_shared_is_for_own_stream(s, shared)
                             ? ws_send_message(s, shared->opcode, shared->message)
                             : ws_send_shared_frame(s, shared);
    if (status == SKUA_ENOMEM) ws_session_close(s, WS_CODE_INTERNAL, SKUA_SLICE("out of memory"));
    else if (status) ws_count_dropped(s); // the peer has left
    if (status) return own;
    s->messages_out++;
    s->octets_out += shared->message.len;
    return own;
}

static void ws_shared_for_slow(ws_session *s, const ws_shared *shared)
{
    switch (s->endpoint->desc.slow) {
    case SKUA_WEBSOCKET_WAIT: ws_letter_keep(s, shared); return;
    case SKUA_WEBSOCKET_DROP: ws_count_dropped(s); return;
    case SKUA_WEBSOCKET_CLOSE: ws_session_close_slow(s); return;
    }
}

size_t ws_shared_send(ws_session *s, const ws_shared *shared)
{
    size_t own = 0;
    ws_session_enter(s);
    if (s->outgoing.open) ws_letter_keep(s, shared);
    else if (!s->waiting && ws_has_room(s, shared->frame.len)) own = ws_shared_queue(s, shared);
    else ws_shared_for_slow(s, shared);
    ws_session_leave(s);
    return own;
}

#endif
