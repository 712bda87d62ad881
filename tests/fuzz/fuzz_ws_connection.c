// SPDX-License-Identifier: MIT
//
// A server's WebSocket over a simulated connection: whatever a client sends behind the handshake, every
// socket that was open is closed once, messages come back as they were told, and the octets that the
// server sends are frames by the letter. Behind a close come only pongs, which RFC 6455 asks for until the
// peer's close has come (5.5.2).
// Messages that go there and back in pieces, compressed, inflate to what was told as soon as a piece has come.
// Input: one octet that chooses the route, then the wire; with its lowest bit, the key of each frame
// is made 0 where it is found, so that mutations reach the payloads.

#include "http/ws_frame.h"
#include "ws/zstream.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len);

static unsigned opened, closed;
static uint64_t echoed; // octets

static void require(bool truth)
{
    if (!truth) __builtin_trap();
}

static void on_open(skua_socket socket, skua_request *request, void *user)
{
    (void)user;
    opened++;
    require(skua_socket_request(socket) == request);
}

static void on_message(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)user;
    skua_status status =
        text ? skua_socket_text(socket, message) : skua_socket_binary(socket, message);
    require(status != SKUA_EINVAL || !text || message.len > 900);
    if (!status) echoed += message.len;
    if (message.len == 7) (void)skua_socket_close(socket, 4000, message);
}

// Echoed piece by piece, and compressed where the library can.
static void on_piece(skua_socket socket, skua_message_event event, skua_slice octets, bool text,
                     void *user)
{
    (void)user;
    switch (event) {
    case SKUA_MESSAGE_BEGIN: require(skua_socket_begin(socket, text) != SKUA_ESTATE); return;
    case SKUA_MESSAGE_DATA:
        require(octets.len > 0);
        if (skua_socket_write(socket, octets) == SKUA_OK) echoed += octets.len;
        if (octets.len != 11) skua_socket_consume(socket, octets.len);
        if (octets.len == 7) (void)skua_socket_close(socket, 4000, SKUA_SLICE("seven"));
        return;
    case SKUA_MESSAGE_END: require(skua_socket_end(socket) != SKUA_EINVAL); return;
    }
}

static void on_close(skua_socket socket, unsigned code, skua_slice reason, void *user)
{
    (void)user;
    (void)reason;
    closed++;
    require(code >= 1000 && code <= 4999);
    require(skua_socket_text(socket, SKUA_SLICE("x")) == SKUA_ECLOSED);
}

static skua_server *server_once(void)
{
    static skua_server *server;
    if (server) return server;
    skua_websocket_desc desc = { .open = on_open,
                                 .message = on_message,
                                 .close = on_close,
                                 .message_octets_max = 2000,
                                 .fragments_max = 5,
                                 .messages_per_second_max = 100 };
    server = skua_server_new(&(skua_config){ .hosts = "*" });
    require(server && !skua_websocket(server, "GET /0", &desc));
    desc.slow = SKUA_WEBSOCKET_CLOSE;
    desc.queued_octets_max = 900;
    require(!skua_websocket(server, "GET /1", &desc));
    skua_websocket_desc pieces = { .open = on_open,
                                   .receive = on_piece,
                                   .close = on_close,
                                   .message_octets_max = 300000,
                                   .queued_octets_max = 100000000,
                                   .deflate = SKUA_WEBSOCKET_DEFLATE_SHARED };
    if (skua_websocket(server, "GET /2", &pieces) == SKUA_EUNSUPPORTED)
        pieces.deflate = SKUA_WEBSOCKET_DEFLATE_OFF;
    if (!pieces.deflate) require(!skua_websocket(server, "GET /2", &pieces));
    if (pieces.deflate) pieces.deflate = SKUA_WEBSOCKET_DEFLATE_DEDICATED;
    require(!skua_websocket(server, "GET /3", &pieces));
    return server;
}

// Returns: the octets of messages.
static uint64_t check_frames(slice got)
{
    uint64_t octets = 0;
    bool is_closed = false;
    while (got.len) {
        require(got.len >= 2 && ((uint8_t)got.ptr[0] & 0xf0) == 0x80);
        unsigned opcode = (uint8_t)got.ptr[0] & 15;
        require(!is_closed || opcode == WS_PONG);
        size_t len = (uint8_t)got.ptr[1], head = 2;
        require(len < 127 && (opcode < WS_CLOSE || len <= WS_CONTROL_OCTETS_MAX));
        if (len == 126) {
            require(got.len >= 4);
            len = (size_t)(uint8_t)got.ptr[2] << 8 | (uint8_t)got.ptr[3];
            require(len >= 126);
            head = 4;
        }
        require(got.len >= head + len);
        is_closed = is_closed || opcode == WS_CLOSE;
        if (opcode < WS_CLOSE) octets += len;
        got = slice_from(got, head + len);
    }
    return octets;
}

// Takes the first frame off. Returns: its payload; *first: its first octet.
static slice take_frame(slice *got, unsigned *first)
{
    require(got->len >= 2);
    *first = (uint8_t)got->ptr[0];
    uint64_t len = (uint8_t)got->ptr[1];
    size_t head = 2, more = len < 126 ? 0 : len == 126 ? 2 : 8;
    require(len < 128 && got->len >= head + more);
    for (len = more ? 0 : len; head < 2 + more; head++)
        len = len << 8 | (uint8_t)got->ptr[head];
    require(got->len - head >= len);
    slice payload = slice_make(got->ptr + head, (size_t)len);
    *got = slice_from(*got, head + (size_t)len);
    return payload;
}

#ifdef SKUA_ZLIB

static uint64_t inflated_octets(ws_inflater *i, slice payload)
{
    char out[4096];
    uint64_t all = 0;
    ws_inflated result = WS_INFLATED_MORE;
    while (result == WS_INFLATED_MORE) {
        size_t octets;
        result = ws_inflater_run(i, &payload, out, sizeof out, &octets);
        require(result == WS_INFLATED_ALL || result == WS_INFLATED_MORE);
        all += octets;
    }
    return all;
}

// Messages in pieces. Returns: their octets, inflated.
static uint64_t check_pieces(slice got)
{
    uint64_t octets = 0;
    bool open = false, packed = false;
    ws_inflater *i = ws_inflater_open(NULL, 15);
    require(i != NULL);
    while (got.len) {
        unsigned first;
        slice payload = take_frame(&got, &first);
        if ((first & 15) >= WS_CLOSE) continue;
        require(open == ((first & 15) == WS_CONTINUATION) && !(first & 0x30));
        require(!open || !(first & WS_COMPRESSED));
        if (!open) packed = first & WS_COMPRESSED;
        open = !(first & 0x80);
        octets += packed ? inflated_octets(i, payload) : payload.len;
        if (!open && packed)
            require(!inflated_octets(i, ws_inflater_tail(i)) && ws_inflater_is_whole(i));
    }
    ws_inflater_close(i);
    return octets;
}

#else

static uint64_t check_pieces(slice got)
{
    uint64_t octets = 0;
    while (got.len) {
        unsigned first;
        slice payload = take_frame(&got, &first);
        if ((first & 15) < WS_CLOSE) octets += payload.len;
    }
    return octets;
}

#endif

static void unmask_all(char *wire, size_t len)
{
    ws_head head = { 0 };
    ws_fault fault;
    slice input = slice_make(wire, len);
    while (ws_head_read(&head, &input, head.opcode == WS_CONTINUATION, &fault) == WS_HEAD_READ) {
        size_t at = len - input.len;
        memset(wire + at - WS_KEY_OCTETS, 0, WS_KEY_OCTETS);
        if (head.payload > input.len) return;
        input = slice_from(input, (size_t)head.payload);
        if (!input.len) return;
        head = (ws_head){ .opcode = (uint8_t)input.ptr[0] & 15 ? WS_TEXT : WS_CONTINUATION };
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
    static const char upgrade[] =
        "GET /0 HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n\r\n";
    if (len < 1 || len > 20000) return 0;
    size_t head = sizeof upgrade - 1, all = head + len - 1;
    char *wire = malloc(all);
    require(wire != NULL);
    memcpy(wire, upgrade, head);
    memcpy(wire + head, octets + 1, len - 1);
    wire[5] = (char)('0' + (octets[0] >> 1) % 4);
    if (octets[0] & 1) unmask_all(wire + head, len - 1);
    opened = closed = 0;
    echoed = 0;
    slice received;
    require(skua_test_request(server_once(), slice_make(wire, all), &received) == SKUA_OK);
    const char *end = strstr(received.ptr, "\r\n\r\n");
    require(end && memcmp(received.ptr, "HTTP/1.1 101", 12) == 0);
    slice frames = slice_from(received, (size_t)(end + 4 - received.ptr));
    uint64_t got = octets[0] & 4 ? check_pieces(frames) : check_frames(frames);
    require(opened == 1 && closed == 1 && got == echoed);
    skua_test_free(received);
    free(wire);
    return 0;
}
