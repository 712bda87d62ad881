// SPDX-License-Identifier: MIT
//
// Reads what a client sends over a WebSocket: frames become messages and control frames. Octets in,
// events out; the payload goes where the caller says.
#ifndef SKUA_HTTP_WS_READER_H
#define SKUA_HTTP_WS_READER_H
#ifndef SKUA_NO_WEBSOCKET

#include "http/ws_frame.h"
#include "http/ws_utf8.h"

typedef struct ws_limits {
    uint64_t message_octets_max;
    uint32_t fragments_max; // frames of one message
} ws_limits;

typedef enum ws_event {
    WS_EVENT_MORE,    // the input is used up
    WS_EVENT_FRAME,   // the head of a frame of a message has been read: see ws_reader
    WS_EVENT_PAYLOAD, // octets of the message lie in the input, compressed or not: ws_reader_take
    WS_EVENT_MESSAGE, // the message is whole
    WS_EVENT_PING,    // control and control_len have its payload
    WS_EVENT_PONG,
    WS_EVENT_CLOSE, // code and reason too. Nothing is read behind it
    WS_EVENT_FAULT  // fault. Nothing is read behind it
} ws_event;

// How many octets more than message_octets_max a compressed message may have on the wire: an eighth of it, and these.
// What cannot be compressed gets a little longer.
enum { WS_DEFLATE_SLACK_OCTETS = 64 };

// To begin with: zero, the limits, and head.deflates.
typedef struct ws_reader {
    const ws_limits *limits;
    bool in_payload, ended;
    bool open, is_text;      // a message has begun; what it is, also when it has just ended
    bool compressed;         // the message is; its text is for ws_reader_check to judge
    ws_head head;            // of the frame that is read
    uint64_t left;           // octets of its payload that have not come
    uint64_t message_octets; // as the heads that came say
    uint32_t fragments;
    ws_utf8 text;
    uint8_t control_len;
    char control[WS_CONTROL_OCTETS_MAX];
    uint16_t code; // of a close
    slice reason;  // within control
    ws_fault fault;
} ws_reader;

// Whether no octet of a message or of a frame has come that is not whole.
static inline bool ws_reader_is_between(const ws_reader *reader)
{
    return (reader->open | reader->in_payload | reader->ended | reader->head.len) == 0;
}

// Reads a message of one frame that lies in the input whole and is right: it is written to out, unmasked, and *input
// is moved past it. *message, is_text: it. out: room octets, none of them the input's.
// Returns false for all else, and has done nothing then: ws_reader_next tells what comes.
bool ws_reader_whole(ws_reader *reader, slice *input, char *out, size_t room, slice *message);

// Reads on. *input is moved past what was used. After WS_EVENT_PAYLOAD, ws_reader_take must be
// called before this is again.
ws_event ws_reader_next(ws_reader *reader, slice *input);

// How many octets ws_reader_take would write.
size_t ws_reader_room(const ws_reader *reader, slice input);

// Writes the message's octets that lie in *input to out, unmasked, and moves *input past them. out may
// be where they lie.
// Returns false, and fault is set, when they are not UTF-8 in a text.
bool ws_reader_take(ws_reader *reader, slice *input, char *out);

// The same for a compressed message, of which less may be used than is looked at: what lies in *input is written to
// out, as much as room, and stays. Returns: what was written.
slice ws_reader_look(const ws_reader *reader, slice input, char *out, size_t room);

// Moves *input past len octets of the message that were looked at.
void ws_reader_skip(ws_reader *reader, slice *input, size_t len);

// Judges the next octets of a compressed message, inflated. ends: they are its last.
// Returns false, and fault is set, when they are not UTF-8 in a text.
bool ws_reader_check(ws_reader *reader, slice octets, bool ends);

#endif
#endif
