// SPDX-License-Identifier: MIT
//
// A frame's head, then its payload; control frames may stand between the frames of a message, and
// are collected, as they are short. Limits are looked at when a head has been read, before any
// octet of the payload is kept.
// Invariant: events depend on the octets so far, never on how they were cut, but that a payload
// comes in as many pieces as the input has.

#include "http/ws_reader.h"

#ifndef SKUA_NO_WEBSOCKET

#include "base/assert.h"

static ws_event ws_reader_fail(ws_reader *reader, uint16_t code, const char *reason)
{
    reader->fault = (ws_fault){ code, reason };
    reader->ended = true;
    return WS_EVENT_FAULT;
}

// The frame has been read. The next one's head is read into the same place.
static void ws_frame_done(ws_reader *reader)
{
    reader->in_payload = false;
    reader->head.len = 0;
}

// ---- Messages ----

static uint64_t ws_message_max(const ws_reader *reader)
{
    uint64_t most = reader->limits->message_octets_max;
    return reader->compressed ? most + most / 8 + WS_DEFLATE_SLACK_OCTETS : most;
}

static ws_event ws_on_message_head(ws_reader *reader)
{
    const ws_head *head = &reader->head;
    if (head->opcode != WS_CONTINUATION) {
        reader->open = true;
        reader->is_text = head->opcode == WS_TEXT;
        reader->compressed = head->compressed;
        reader->message_octets = 0;
        reader->fragments = 0;
        reader->text = (ws_utf8){ 0 };
    }
    if (head->payload > ws_message_max(reader) - reader->message_octets)
        return ws_reader_fail(reader, WS_CODE_TOO_BIG, "a message of too many octets");
    if (++reader->fragments > reader->limits->fragments_max)
        return ws_reader_fail(reader, WS_CODE_POLICY, "a message in too many fragments");
    reader->message_octets += head->payload;
    return WS_EVENT_FRAME;
}

// Only a text's last octet can show that a character is not whole.
static ws_event ws_on_frame_end(ws_reader *reader)
{
    bool final = reader->head.final;
    ws_frame_done(reader);
    if (!final) return WS_EVENT_MORE;
    reader->open = false;
    if (reader->is_text && !reader->compressed && !ws_utf8_is_whole(&reader->text))
        return ws_reader_fail(reader, WS_CODE_NOT_TEXT, "a text that ends within a character");
    return WS_EVENT_MESSAGE;
}

size_t ws_reader_room(const ws_reader *reader, slice input)
{
    return input.len < reader->left ? input.len : (size_t)reader->left;
}

bool ws_reader_take(ws_reader *reader, slice *input, char *out)
{
    SKUA_ASSERT(reader->in_payload && reader->left && input->len);
    SKUA_ASSERT(!ws_is_control(reader->head.opcode));
    size_t len = ws_reader_room(reader, *input);
    uint64_t at = reader->head.payload - reader->left;
    bool is_ascii = ws_unmask(out, input->ptr, len, reader->head.key, at);
    *input = slice_from(*input, len);
    reader->left -= len;
    if (!reader->is_text || reader->compressed) return true;
    if (is_ascii && ws_utf8_is_whole(&reader->text)) return true;
    if (ws_utf8_check(&reader->text, slice_make(out, len)) == len) return true;
    (void)ws_reader_fail(reader, WS_CODE_NOT_TEXT, "a text that is not UTF-8");
    return false;
}

slice ws_reader_look(const ws_reader *reader, slice input, char *out, size_t room)
{
    SKUA_ASSERT(reader->in_payload && reader->compressed);
    size_t len = ws_reader_room(reader, input);
    if (len > room) len = room;
    uint64_t at = reader->head.payload - reader->left;
    (void)ws_unmask(out, input.ptr, len, reader->head.key, at);
    return slice_make(out, len);
}

void ws_reader_skip(ws_reader *reader, slice *input, size_t len)
{
    SKUA_ASSERT(len <= ws_reader_room(reader, *input));
    *input = slice_from(*input, len);
    reader->left -= len;
}

bool ws_reader_check(ws_reader *reader, slice octets, bool ends)
{
    if (!reader->is_text) return true;
    bool right = ws_utf8_check(&reader->text, octets) == octets.len;
    if (right && (!ends || ws_utf8_is_whole(&reader->text))) return true;
    (void)ws_reader_fail(reader, WS_CODE_NOT_TEXT,
                         right ? "a text that ends within a character"
                               : "a text that is not UTF-8");
    return false;
}

// ---- Whole messages ----

static bool ws_reader_is_text(slice octets)
{
    ws_utf8 text = { 0 };
    return ws_utf8_check(&text, octets) == octets.len && ws_utf8_is_whole(&text);
}

// Most messages come so, and need none of the steps in which others are read. What is wrong is left to these to tell.
bool ws_reader_whole(ws_reader *reader, slice *input, char *out, size_t room, slice *message)
{
    ws_brief brief;
    if (!ws_reader_is_between(reader) || !ws_brief_read(*input, &brief)) return false;
    if (brief.payload > room || brief.payload > reader->limits->message_octets_max) return false;
    slice octets = slice_make(out, brief.payload);
    bool is_ascii = ws_unmask(out, input->ptr + brief.head, octets.len, brief.key, 0);
    if (brief.is_text && !is_ascii && !ws_reader_is_text(octets)) return false;
    reader->is_text = brief.is_text;
    *input = slice_from(*input, brief.head + brief.payload);
    *message = octets;
    return true;
}

// ---- Control frames ----

static ws_event ws_on_close(ws_reader *reader)
{
    slice payload = slice_make(reader->control, reader->control_len);
    ws_fault fault;
    if (!ws_close_read(payload, &reader->code, &reader->reason, &fault))
        return ws_reader_fail(reader, fault.code, fault.reason);
    reader->ended = true;
    return WS_EVENT_CLOSE;
}

static ws_event ws_on_control(ws_reader *reader, slice *input)
{
    size_t len = ws_reader_room(reader, *input);
    if (len) {
        uint64_t at = reader->head.payload - reader->left;
        (void)ws_unmask(reader->control + at, input->ptr, len, reader->head.key, at);
        *input = slice_from(*input, len);
        reader->left -= len;
    }
    if (reader->left) return WS_EVENT_MORE;
    reader->control_len = (uint8_t)reader->head.payload;
    ws_opcode opcode = reader->head.opcode;
    ws_frame_done(reader);
    if (opcode == WS_CLOSE) return ws_on_close(reader);
    return opcode == WS_PING ? WS_EVENT_PING : WS_EVENT_PONG;
}

// ---- Reading ----

static ws_event ws_on_head(ws_reader *reader, slice *input)
{
    switch (ws_head_read(&reader->head, input, reader->open, &reader->fault)) {
    case WS_HEAD_MORE: return WS_EVENT_MORE;
    case WS_HEAD_FAULT: reader->ended = true; return WS_EVENT_FAULT;
    case WS_HEAD_READ: break;
    }
    reader->in_payload = true;
    reader->left = reader->head.payload;
    return ws_is_control(reader->head.opcode) ? WS_EVENT_MORE : ws_on_message_head(reader);
}

static ws_event ws_on_payload(ws_reader *reader, slice *input)
{
    if (ws_is_control(reader->head.opcode)) return ws_on_control(reader, input);
    if (reader->left) return WS_EVENT_PAYLOAD;
    return ws_on_frame_end(reader);
}

// Whether something can be done without an octet more: a payload that is empty or has been taken.
static bool ws_reader_is_due(const ws_reader *reader)
{
    return reader->in_payload && reader->left == 0;
}

ws_event ws_reader_next(ws_reader *reader, slice *input)
{
    while (!reader->ended && (input->len || ws_reader_is_due(reader))) {
        ws_event event =
            reader->in_payload ? ws_on_payload(reader, input) : ws_on_head(reader, input);
        if (event != WS_EVENT_MORE) return event;
    }
    return reader->ended && reader->fault.code ? WS_EVENT_FAULT : WS_EVENT_MORE;
}

#endif
