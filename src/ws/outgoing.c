// SPDX-License-Identifier: MIT
//
// Messages in pieces, RFC 6455 §5.4. The first frame names the kind, the others continue it, and the
// last, which is empty, ends it: so that nothing is held back until it is known to be the last.

#include "ws/outgoing.h"

#ifndef SKUA_NO_WEBSOCKET

#include "ws/letter.h"
#include "ws/send.h"

static bool ws_outgoing_may_go(const ws_session *s)
{
    return s->state == WS_OPEN && ws_is_writable(s->request);
}

skua_status ws_outgoing_begin(ws_session *s, bool text)
{
    if (!ws_outgoing_may_go(s)) return SKUA_ECLOSED;
    if (s->outgoing.open) return SKUA_ESTATE;
    s->outgoing = (ws_outgoing){ .open = true, .is_text = text };
    s->crowds_at = 0; // a whole message is refused meanwhile
    return SKUA_OK;
}

// Where compression was agreed on, unless the message ends before it has begun. How long it will be is not known.
static bool ws_outgoing_is_packed(const ws_session *s, slice octets)
{
    return s->deflate && (s->outgoing.begun || octets.len);
}

static ws_opcode ws_outgoing_opcode(const ws_session *s, slice octets)
{
    if (s->outgoing.begun) return WS_CONTINUATION;
    ws_opcode opcode = s->outgoing.is_text ? WS_TEXT : WS_BINARY;
    return ws_outgoing_is_packed(s, octets) ? (ws_opcode)((unsigned)opcode | WS_COMPRESSED)
                                            : opcode;
}

// A message cannot do without one of its pieces, so none is dropped.
static skua_status ws_outgoing_refuse(ws_session *s, uint64_t octets)
{
    if (s->endpoint->desc.slow == SKUA_WEBSOCKET_CLOSE) {
        ws_session_close_slow(s);
        return SKUA_ECLOSED;
    }
    s->is_refused = true;
    ws_want_room(s, octets);
    return SKUA_ELIMIT;
}

static skua_status ws_outgoing_send(ws_session *s, bool final, slice octets)
{
    ws_opcode opcode = ws_outgoing_opcode(s, octets);
    skua_status status = ws_outgoing_is_packed(s, octets)
                             ? ws_compressed_send_piece(s, opcode, final, octets)
                             : ws_send_fragment(s, opcode, final, octets);
    if (status) return status;
    s->outgoing.begun = true;
    s->octets_out += octets.len;
    return SKUA_OK;
}

skua_status ws_outgoing_write(ws_session *s, slice octets)
{
    ws_utf8 text = s->outgoing.text;
    uint64_t framed = ws_framed_octets(octets.len);
    if (!ws_outgoing_may_go(s)) return SKUA_ECLOSED;
    if (!s->outgoing.open) return SKUA_ESTATE;
    if (s->outgoing.is_text && ws_utf8_check(&text, octets) != octets.len) return SKUA_EINVAL;
    if (framed > s->queued_max) return SKUA_EINVAL;
    if (octets.len == 0) return SKUA_OK;
    if (!ws_has_room(s, framed)) return ws_outgoing_refuse(s, framed);
    skua_status status = ws_outgoing_send(s, false, octets);
    if (!status) s->outgoing.text = text;
    return status;
}

// Where a piece has had room, the end of the message needs none: three octets more at most, once.
skua_status ws_outgoing_end(ws_session *s)
{
    uint64_t framed = ws_framed_octets(0);
    if (!ws_outgoing_may_go(s)) return SKUA_ECLOSED;
    if (!s->outgoing.open) return SKUA_ESTATE;
    if (!ws_utf8_is_whole(&s->outgoing.text)) return SKUA_EINVAL;
    if (!s->outgoing.begun && !ws_has_room(s, framed)) return ws_outgoing_refuse(s, framed);
    skua_status status = ws_outgoing_send(s, true, (slice){ 0 });
    if (status) return status;
    s->outgoing.open = false;
    s->messages_out++;
    (void)ws_letters_flush(s);
    return SKUA_OK;
}

#endif
