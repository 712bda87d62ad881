// SPDX-License-Identifier: MIT
//
// A server's WebSocket over a simulated connection: whatever a client sends behind the handshake, every
// socket that was open is closed once, messages come back as they were told, and the octets that the
// server sends are frames by the letter. Behind a close come only pongs, which RFC 6455 asks for until the
// peer's close has come (5.5.2).
// Input: one octet that chooses the route, then the wire; with its lowest bit, the key of each frame
// is made 0 where it is found, so that mutations reach the payloads.

#include "http/ws_frame.h"

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
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    if (len < 1 || len > 20000) return 0;
    size_t head = sizeof upgrade - 1, all = head + len - 1;
    char *wire = malloc(all);
    require(wire != NULL);
    memcpy(wire, upgrade, head);
    memcpy(wire + head, octets + 1, len - 1);
    wire[5] = octets[0] & 2 ? '1' : '0';
    if (octets[0] & 1) unmask_all(wire + head, len - 1);
    opened = closed = 0;
    echoed = 0;
    slice received;
    require(skua_test_request(server_once(), slice_make(wire, all), &received) == SKUA_OK);
    const char *end = strstr(received.ptr, "\r\n\r\n");
    require(end && memcmp(received.ptr, "HTTP/1.1 101", 12) == 0);
    uint64_t got = check_frames(slice_from(received, (size_t)(end + 4 - received.ptr)));
    require(opened == 1 && closed == 1 && got == echoed);
    skua_test_free(received);
    free(wire);
    return 0;
}
