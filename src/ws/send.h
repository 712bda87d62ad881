// SPDX-License-Identifier: MIT
//
// Sending: frames go into the queue of the request's tunnel, and leave at the end of the turn.
#ifndef SKUA_WS_SEND_H
#define SKUA_WS_SEND_H
#ifndef SKUA_NO_WEBSOCKET

#include "ws/compressed.h"
#include "ws/shared_frame.h"

// Octets of a message with its frame's head.
static inline uint64_t ws_framed_octets(size_t len)
{
    return len + (uint64_t)ws_head_octets(len);
}

// Sends a message of an open session, or does with it what is done when its reader is slow.
// Errors: those of skua_socket_text.
skua_status ws_send(ws_session *s, ws_opcode opcode, slice message);

// Whether a message may be queued, as for room: none is waiting, nor sent in pieces.
static inline bool ws_is_between_messages(const ws_session *s)
{
    return !s->waiting && !s->outgoing.open;
}

// Queues a frame, whatever the room.  Errors: SKUA_ECLOSED, SKUA_ENOMEM: nothing was queued.
skua_status ws_send_frame(ws_session *s, ws_opcode opcode, slice payload);

// The same for one of the frames of a message.
skua_status ws_send_fragment(ws_session *s, ws_opcode opcode, bool final, slice payload);

// Queues octets of a frame of which a part has left.  Returns: false when memory ran out.
bool ws_send_octets(skua_request *r, slice octets);

// Queues a message, whatever the room, compressed where that was agreed on.  Errors: those of ws_send_frame.
static inline skua_status ws_send_message(ws_session *s, ws_opcode opcode, slice message)
{
    return s->deflate ? ws_compressed_send(s, opcode, message) : ws_send_frame(s, opcode, message);
}

// Queues the frame of a shared message, whatever the room.  Errors: those of ws_send_frame.
skua_status ws_send_shared_frame(ws_session *s, const ws_shared *shared);

// Sets how many octets may be queued for a socket, and may be on their way to it from other threads.
void ws_queue_init(ws_session *s);

// Whether octets can be sent at all.
bool ws_is_writable(const skua_request *r);

// Whether so many octets may be queued now.
bool ws_has_room(const ws_session *s, uint64_t octets);

// Asks for ws_session_drained to be called when there is room for so many octets.
void ws_want_room(ws_session *s, uint64_t octets);

// Whether more than half of the queue is in use, so that nothing is read that may have to be answered.
bool ws_is_crowded(ws_session *s);

// Whether so much has been inflated that the rest has to wait. Behind our close nothing is inflated any more.
bool ws_is_inflated_enough(const ws_session *s);

// The slow half of ws_is_to_pause.
bool ws_is_to_pause_rarely(ws_session *s);

// Whether nothing more is to be read for now. Asked for each message.
static inline bool ws_is_to_pause(ws_session *s)
{
    return s->request->sent_octets >= s->crowds_at && ws_is_to_pause_rarely(s);
}

// Whether everything has left.
bool ws_is_idle(const ws_session *s);

// Asks for ws_session_drained to be called when it has.
void ws_want_all(ws_session *s);

// A message has been left out: the log's line has their number.
void ws_count_dropped(ws_session *s);

// A message has been refused: the program is told when there is room, or the socket is closed.
void ws_send_refused(ws_session *s, uint64_t octets);

#endif
#endif
