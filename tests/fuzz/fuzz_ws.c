// SPDX-License-Identifier: MIT
//
// The reader of a WebSocket. However the wire is cut, it comes to the same messages, control frames and
// end; a text that is told is UTF-8, as another reader judges; unmasking is what the formula says.
// And the fields of the handshake hold to their grammar.
// Input: two octets that choose the cuts, then the wire.

#include "http/ws_reader.h"

#include "base/utf8.h"
#include "http/ws_handshake.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len);

static const ws_limits limits = { .message_octets_max = 1000, .fragments_max = 5 };

typedef struct telling {
    ws_reader reader;
    char message[1000];
    size_t message_len;
    char *text;
    size_t len, room;
    bool ended;
    bool at_once; // ws_reader_whole is asked first
} telling;

static void require(bool truth)
{
    if (!truth) __builtin_trap();
}

static void write_down(telling *t, char kind, const char *octets, size_t len)
{
    if (t->len + len + 1 + sizeof len > t->room) {
        t->room = (t->len + len + 1 + sizeof len) * 2;
        t->text = realloc(t->text, t->room);
        require(t->text != NULL);
    }
    t->text[t->len++] = kind;
    memcpy(t->text + t->len, &len, sizeof len);
    t->len += sizeof len;
    if (len) memcpy(t->text + t->len, octets, len);
    t->len += len;
}

static void require_text(slice text)
{
    uint32_t point;
    while (text.len) {
        size_t n = utf8_read(text, &point);
        require(n > 0);
        text = slice_from(text, n);
    }
}

static void take(telling *t, slice *input)
{
    ws_reader *reader = &t->reader;
    size_t room = ws_reader_room(reader, *input);
    uint64_t at = reader->head.payload - reader->left;
    slice masked = slice_make(input->ptr, room);
    require(room > 0 && t->message_len + room <= limits.message_octets_max);
    char *out = t->message + t->message_len;
    bool right = ws_reader_take(reader, input, out);
    for (size_t i = 0; i < room; i++)
        require(out[i] == (char)(masked.ptr[i] ^ (char)reader->head.key[(at + i) % 4]));
    if (right) t->message_len += room;
}

static void tell_message(telling *t)
{
    slice message = slice_make(t->message, t->message_len);
    require(t->message_len == t->reader.message_octets);
    if (t->reader.is_text) require_text(message);
    write_down(t, t->reader.is_text ? 't' : 'b', message.ptr, message.len);
    t->message_len = 0;
}

static bool tell_whole(telling *t, slice *wire)
{
    slice message;
    if (!t->at_once || !ws_reader_whole(&t->reader, wire, t->message, sizeof t->message, &message))
        return false;
    write_down(t, 'f', NULL, 0);
    t->message_len = t->reader.message_octets = message.len;
    tell_message(t);
    return true;
}

static void tell(telling *t, slice wire)
{
    ws_reader *reader = &t->reader;
    while (!t->ended) {
        if (tell_whole(t, &wire)) continue;
        switch (ws_reader_next(reader, &wire)) {
        case WS_EVENT_MORE: require(wire.len == 0); return;
        case WS_EVENT_FRAME: write_down(t, 'f', NULL, 0); break;
        case WS_EVENT_PAYLOAD: take(t, &wire); break;
        case WS_EVENT_MESSAGE: tell_message(t); break;
        case WS_EVENT_PING: write_down(t, 'P', reader->control, reader->control_len); break;
        case WS_EVENT_PONG: write_down(t, 'p', reader->control, reader->control_len); break;
        case WS_EVENT_CLOSE:
            require(reader->code == WS_CODE_NONE || ws_code_is_sendable(reader->code));
            require_text(reader->reason);
            write_down(t, 'c', reader->control, reader->control_len);
            t->ended = true;
            break;
        case WS_EVENT_FAULT:
            require(ws_code_is_sendable(reader->fault.code));
            write_down(t, 'F', reader->fault.reason, strlen(reader->fault.reason));
            t->ended = true;
            break;
        }
    }
}

static void tell_pieces(telling *t, slice wire, size_t first, size_t step, bool at_once)
{
    *t = (telling){ .reader = { .limits = &limits }, .at_once = at_once };
    for (size_t at = 0, n = first; at < wire.len && !t->ended; at += n, n = step) {
        if (n > wire.len - at) n = wire.len - at;
        tell(t, slice_make(wire.ptr + at, n));
    }
}

static void require_same(const telling *a, const telling *b)
{
    require(a->len == b->len && (a->len == 0 || memcmp(a->text, b->text, a->len) == 0));
}

static void check_fields(slice wire)
{
    char accept[WS_ACCEPT_OCTETS];
    (void)ws_protocols_are_valid(wire);
    (void)ws_extensions_are_valid(wire);
    if (ws_key_is_valid(wire)) ws_accept(wire, accept);
    slice chosen = ws_protocol_choose(SKUA_SLICE("chat v1"), wire);
    require(chosen.len == 0 || ws_list_has(wire, chosen));
    bool same = ws_origin_is_allowed(wire, SKUA_SLICE("example.org"), true, NULL);
    require(!same || wire.len >= strlen("https://example.org"));
    (void)ws_origin_is_allowed(SKUA_SLICE("http://example.org"), wire, false, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
    if (len < 2) return 0;
    slice wire = slice_make((const char *)octets + 2, len - 2);
    size_t number = (size_t)octets[0] << 8 | octets[1];
    static telling whole, halves, single, some;
    tell_pieces(&whole, wire, wire.len + 1, 1, true);
    tell_pieces(&halves, wire, number % (wire.len + 1), wire.len + 1, true);
    tell_pieces(&single, wire, 1, 1, false);
    tell_pieces(&some, wire, number % 3 + 1, number % 7 + 1, false);
    require_same(&whole, &halves);
    require_same(&whole, &single);
    require_same(&whole, &some);
    free(whole.text);
    free(halves.text);
    free(single.text);
    free(some.text);
    check_fields(wire);
    return 0;
}
