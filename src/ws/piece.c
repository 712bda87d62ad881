// SPDX-License-Identifier: MIT
//
// Messages that the program takes piece by piece. A few octets of a compressed one are inflated to a thousand times as
// many: those that the program has not given back are bounded.

#include "ws/piece.h"

#ifndef SKUA_NO_WEBSOCKET

#include "exchange/worker.h"
#include "ws/compressed.h"

bool ws_holds_piece(const ws_session *s)
{
    return s->endpoint->desc.receive && s->reader.open && s->reader.compressed &&
           ws_deflate_borrows(s->deflate);
}

bool ws_owes_much(const ws_session *s)
{
    if (!s->deflate || !s->endpoint->desc.receive) return false;
    return s->owed >= worker_config(s->request->worker)->content_window_octets;
}

void ws_tell_piece(ws_session *s, skua_message_event event, slice octets)
{
    const skua_websocket_desc *desc = &s->endpoint->desc;
    if (s->state != WS_OPEN) return;
    s->owed += octets.len;
    s->octets_in += octets.len;
    desc->receive(s->socket, event, octets, s->reader.is_text, desc->user);
}

// Nothing is kept of such a message, so that neither its octets nor its frames need a limit: what frames cost,
// empty ones too, is bounded by their rate.
void ws_on_piece_frame(ws_session *s)
{
    if (ws_is_too_fast(s)) {
        ws_fail(s, WS_CODE_POLICY, "too many messages in a second");
        return;
    }
    if (s->reader.fragments > 1) return;
    if (s->reader.compressed) ws_message_begins(s);
    ws_tell_piece(s, SKUA_MESSAGE_BEGIN, (slice){ 0 });
}

void ws_on_piece(ws_session *s, slice *input, char *room)
{
    if (s->reader.compressed) {
        ws_compressed_piece(s, input, room);
        return;
    }
    slice part =
        slice_make(input->ptr, input->len < WS_DIRECT_OCTETS ? input->len : WS_DIRECT_OCTETS);
    size_t len = ws_reader_room(&s->reader, part);
    bool is_right = ws_reader_take(&s->reader, &part, room);
    *input = slice_from(*input, len);
    if (is_right)
        ws_tell_piece(s, SKUA_MESSAGE_DATA,
                      slice_make(room, len)); // else a fault is the next event
}

void ws_on_last_piece(ws_session *s)
{
    s->messages_in++;
    ws_tell_piece(s, SKUA_MESSAGE_END, (slice){ 0 });
}

#endif
