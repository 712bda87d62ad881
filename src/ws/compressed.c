// SPDX-License-Identifier: MIT
//
// A few octets can be inflated to a thousand times as many, so they are counted while they are written, and a
// message that passes the limit ends there: no more than it and one octet is ever held.

#include "ws/compressed.h"

#ifndef SKUA_NO_WEBSOCKET

#include "base/budget.h"
#include "ws/deflate.h"
#include "ws/piece.h"
#include "ws/send.h"

enum {
    COMPRESSED_PIECE_OCTETS = 2048, // unmasked at a time
    COMPRESSED_STEP_OCTETS = 1024,  // by at least so many grows what is inflated
    COMPRESSED_SHORT_OCTETS = 4096  // compressed without an allocation
};

// ---- Messages that come ----

// Whether the message is one frame that lies in the input, so that nothing of it outlives the call.
static bool compressed_is_all_here(const ws_session *s, slice input)
{
    const ws_reader *reader = &s->reader;
    return reader->head.final && reader->fragments == 1 && reader->left == reader->message_octets &&
           input.len >= reader->left;
}

static bool compressed_grow(ws_session *s)
{
    uint64_t may_come =
        s->reader.limits->message_octets_max - (s->message ? s->message->len : 0) + 1;
    size_t step = may_come < COMPRESSED_STEP_OCTETS ? (size_t)may_come : COMPRESSED_STEP_OCTETS;
    if (ws_message_grow(s, step)) return true;
    ws_fail(s, WS_CODE_TRY_LATER, "out of memory");
    return false;
}

// Octets that lie in direct move to memory of the session's, where there is more room.
static bool compressed_spill(ws_session *s, slice *whole)
{
    slice moved = *whole;
    *whole = (slice){ 0 };
    if (!ws_message_grow(s, moved.len + COMPRESSED_STEP_OCTETS)) {
        ws_fail(s, WS_CODE_TRY_LATER, "out of memory");
        return false;
    }
    memcpy(s->message->octets, moved.ptr, moved.len);
    s->message->len = moved.len;
    return true;
}

// Makes room for inflated octets. Returns: where they go; NULL: the session has ended.
static char *compressed_room(ws_session *s, char *direct, slice *whole, size_t *room)
{
    if (whole->ptr && whole->len == WS_DIRECT_OCTETS && !compressed_spill(s, whole)) return NULL;
    if (whole->ptr) {
        *room = WS_DIRECT_OCTETS - whole->len;
        return direct + whole->len;
    }
    bool is_full = !s->message || s->message->len == s->message->room;
    if (is_full && !compressed_grow(s)) return NULL;
    *room = s->message->room - s->message->len;
    return s->message->octets + s->message->len;
}

static bool compressed_check(ws_session *s, slice octets, bool ends)
{
    if (ws_reader_check(&s->reader, octets, ends)) return true;
    ws_fail(s, s->reader.fault.code, s->reader.fault.reason);
    return false;
}

// Counts octets that have been inflated. Returns: whether there may be so many, and they may be there in a text.
static bool compressed_add(ws_session *s, const char *at, size_t octets, slice *whole)
{
    size_t *len = whole->ptr ? &whole->len : &s->message->len;
    *len += octets;
    if (*len > s->reader.limits->message_octets_max) {
        ws_fail(s, WS_CODE_TOO_BIG, "a message of too many octets");
        return false;
    }
    return compressed_check(s, slice_make(at, octets), false);
}

static bool compressed_fail(ws_session *s, ws_unpacked why)
{
    switch (why) {
    case WS_UNPACKED_BAD: ws_fail(s, WS_CODE_NOT_TEXT, "a message that cannot be inflated"); break;
    case WS_UNPACKED_SCARCE: ws_fail(s, WS_CODE_TRY_LATER, "out of memory"); break;
    case WS_UNPACKED_LACKS: ws_fail(s, WS_CODE_INTERNAL, "out of memory"); break;
    case WS_UNPACKED_ALL:
    case WS_UNPACKED_MORE: return true;
    }
    return false;
}

// Returns: false when the session has ended.
static bool compressed_inflate(ws_session *s, slice octets, char *direct, slice *whole)
{
    ws_unpacked got = WS_UNPACKED_MORE;
    while (got == WS_UNPACKED_MORE) {
        size_t room, written;
        char *at = compressed_room(s, direct, whole, &room);
        if (!at) return false;
        got = ws_deflate_unpack(s->deflate, &octets, at, room, &written);
        if (!compressed_fail(s, got) || !compressed_add(s, at, written, whole)) return false;
    }
    return true;
}

// Behind our close nobody is told of a message, and nothing is inflated any more.
static void compressed_skip(ws_session *s, slice *input)
{
    ws_reader_skip(&s->reader, input, ws_reader_room(&s->reader, *input));
}

// Memory is taken before anything is inflated: it is what a message that comes too slowly is known by.
void ws_compressed_take(ws_session *s, slice *input, char *direct, slice *whole)
{
    char piece[COMPRESSED_PIECE_OCTETS];
    if (s->state != WS_OPEN) {
        compressed_skip(s, input);
        return;
    }
    if (compressed_is_all_here(s, *input)) *whole = slice_make(direct, 0);
    else if (!s->message && !compressed_grow(s)) return;
    size_t left = ws_reader_room(&s->reader, *input);
    while (left > 0 && s->state != WS_CLOSED) {
        size_t octets = left < sizeof piece ? left : sizeof piece;
        slice masked = slice_make(input->ptr, octets);
        (void)ws_reader_take(&s->reader, &masked, piece); // a compressed text is not judged there
        *input = slice_from(*input, octets);
        left -= octets;
        if (!compressed_inflate(s, slice_make(piece, octets), direct, whole)) return;
    }
}

// ---- Messages that the program takes piece by piece ----

// Returns: false when the session has ended.
static bool compressed_tell(ws_session *s, slice *octets, char *direct, ws_unpacked *got)
{
    size_t written;
    *got = ws_deflate_unpack(s->deflate, octets, direct, WS_DIRECT_OCTETS, &written);
    slice piece = slice_make(direct, written);
    if (!compressed_fail(s, *got)) return false;
    if (ws_deflate_octets(s->deflate) > s->reader.limits->message_octets_max) {
        ws_fail(s, WS_CODE_TOO_BIG, "a message of too many octets");
        return false;
    }
    if (!compressed_check(s, piece, false)) return false;
    if (written) ws_tell_piece(s, SKUA_MESSAGE_DATA, piece);
    return s->state != WS_CLOSED;
}

// Input that is used up leaves at most some matches behind, which are told without a pause.
void ws_compressed_piece(ws_session *s, slice *input, char *direct)
{
    char unmasked[COMPRESSED_PIECE_OCTETS];
    if (s->state != WS_OPEN) {
        compressed_skip(s, input);
        return;
    }
    slice looked = ws_reader_look(&s->reader, *input, unmasked, sizeof unmasked), left = looked;
    ws_unpacked got = WS_UNPACKED_MORE;
    while (got == WS_UNPACKED_MORE && s->state == WS_OPEN) {
        if (!compressed_tell(s, &left, direct, &got)) return;
        if (left.len && ws_is_to_pause(s)) break;
    }
    ws_reader_skip(&s->reader, input, looked.len - left.len);
}

static bool compressed_tell_rest(ws_session *s, slice octets, char *direct)
{
    ws_unpacked got = WS_UNPACKED_MORE;
    while (got == WS_UNPACKED_MORE && s->state == WS_OPEN)
        if (!compressed_tell(s, &octets, direct, &got)) return false;
    return true;
}

// ---- The end of a message ----

// An empty message has an octet at least, RFC 7692 §7.2.3.6: what is added behind it is no block by itself.
bool ws_compressed_end(ws_session *s, char *direct, slice *whole)
{
    const bool in_pieces = s->endpoint->desc.receive;
    if (s->state != WS_OPEN) return true;
    if (s->reader.message_octets == 0) return compressed_fail(s, WS_UNPACKED_BAD);
    slice tail = ws_deflate_tail(s->deflate);
    if (in_pieces ? !compressed_tell_rest(s, tail, direct)
                  : !compressed_inflate(s, tail, direct, whole))
        return false;
    if (s->state == WS_OPEN && !ws_deflate_is_whole(s->deflate))
        return compressed_fail(s, WS_UNPACKED_BAD);
    ws_deflate_message_ends(s->deflate);
    return compressed_check(s, (slice){ 0 }, true);
}

// ---- Messages that are sent ----

static skua_status compressed_queue(ws_session *s, ws_opcode opcode, bool final, slice packed)
{
    skua_status status = ws_send_fragment(s, opcode, final, packed);
    if (status) ws_deflate_forget(s->deflate);
    return status;
}

static skua_status compressed_send_by(ws_session *s, ws_opcode opcode, slice message, char *memory)
{
    size_t octets;
    if (!ws_deflate_pack(s->deflate, message, memory, &octets))
        return ws_send_frame(s, opcode, message);
    return compressed_queue(s, (ws_opcode)((unsigned)opcode | WS_COMPRESSED), true,
                            slice_make(memory, octets));
}

// Without memory a message leaves as it is: nothing is lost by that.
skua_status ws_compressed_send(ws_session *s, ws_opcode opcode, slice message)
{
    char here[COMPRESSED_SHORT_OCTETS + WS_DEFLATE_ROOM_OCTETS];
    bool is_packed = (unsigned)opcode & WS_COMPRESSED;
    if (is_packed || message.len < s->endpoint->desc.deflate_octets_min)
        return ws_send_frame(s, opcode, message);
    if (message.len <= COMPRESSED_SHORT_OCTETS) return compressed_send_by(s, opcode, message, here);
    char *memory = counted_alloc(&s->request->worker->memory, message.len + WS_DEFLATE_ROOM_OCTETS);
    if (!memory) return ws_send_frame(s, opcode, message);
    skua_status status = compressed_send_by(s, opcode, message, memory);
    counted_free(memory);
    return status;
}

// The empty block, behind which the peer adds the octets that are left out at the end of each message: RFC 7692 §7.2.3.6.
static skua_status compressed_send_end(ws_session *s, ws_opcode opcode)
{
    return ws_send_fragment(s, opcode, true, slice_make("", 1));
}

skua_status ws_compressed_send_piece(ws_session *s, ws_opcode opcode, bool final, slice piece)
{
    char here[COMPRESSED_SHORT_OCTETS];
    size_t room = ws_deflate_piece_room(piece.len);
    if (final) return compressed_send_end(s, opcode);
    char *memory = room > sizeof here ? counted_alloc(&s->request->worker->memory, room) : here;
    if (!memory) return SKUA_ENOMEM;
    size_t octets = ws_deflate_pack_piece(s->deflate, piece, memory);
    skua_status status = compressed_queue(s, opcode, false, slice_make(memory, octets));
    if (memory != here) counted_free(memory);
    return status;
}

#endif
