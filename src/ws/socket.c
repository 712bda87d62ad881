// SPDX-License-Identifier: MIT
//
// The functions of skua.h for WebSockets: routes, and what is done with a handle.

#include "base/contract.h"

#ifndef SKUA_NO_WEBSOCKET

#include "base/memory.h"
#include "exchange/worker.h"
#include "http/ws_handshake.h"
#include "ws/handshake.h"
#include "ws/letter.h"
#include "ws/send.h"

#include <stdio.h>

enum {
    WS_MESSAGE_OCTETS = 1048576,
    WS_FRAGMENTS = 1024,
    WS_MESSAGES_PER_SECOND = 10000,
    WS_ERROR_OCTETS = 256
};

static const int64_t ws_ping_ns = 30000000000, ws_idle_ns = 90000000000, ws_close_ns = 5000000000;

// ---- Routes ----

static void ws_endpoint_free(void *user)
{
    const ws_endpoint *endpoint = user;
    memory_free((void *)(uintptr_t)endpoint->desc.protocols);
    memory_free((void *)(uintptr_t)endpoint->desc.origins);
    memory_free(user);
}

static void ws_set_defaults(ws_endpoint *endpoint)
{
    skua_websocket_desc *desc = &endpoint->desc;
    if (!desc->message_octets_max) desc->message_octets_max = WS_MESSAGE_OCTETS;
    if (!desc->fragments_max) desc->fragments_max = WS_FRAGMENTS;
    if (!desc->messages_per_second_max) desc->messages_per_second_max = WS_MESSAGES_PER_SECOND;
    if (!desc->ping_ns) desc->ping_ns = ws_ping_ns;
    if (!desc->idle_timeout_ns) desc->idle_timeout_ns = ws_idle_ns;
    if (desc->close_timeout_ns <= 0) desc->close_timeout_ns = ws_close_ns;
    endpoint->limits = (ws_limits){ .message_octets_max = desc->message_octets_max,
                                    .fragments_max = desc->fragments_max };
}

static ws_endpoint *ws_endpoint_new(const skua_websocket_desc *desc)
{
    ws_endpoint *endpoint = memory_zeroed(sizeof *endpoint);
    if (!endpoint) return NULL;
    endpoint->desc = *desc;
    endpoint->desc.protocols = desc->protocols ? memory_text(desc->protocols) : NULL;
    endpoint->desc.origins = desc->origins ? memory_text(desc->origins) : NULL;
    ws_set_defaults(endpoint);
    bool whole = (endpoint->desc.protocols || !desc->protocols) &&
                 (endpoint->desc.origins || !desc->origins);
    if (whole) return endpoint;
    ws_endpoint_free(endpoint);
    return NULL;
}

static skua_status ws_route_fail(skua_server *server, const char *what, const char *why)
{
    char sentence[WS_ERROR_OCTETS];
    (void)snprintf(sentence, sizeof sentence, "%.100s: %s", what, why);
    skua_server_set_error(server, sentence);
    return SKUA_EINVAL;
}

static skua_status ws_route_check(skua_server *server, const char *pattern,
                                  const skua_websocket_desc *desc)
{
    if (strncmp(pattern, "GET ", 4) != 0)
        return ws_route_fail(server, pattern, "the pattern of a WebSocket begins with \"GET \"");
    if (desc->protocols && !ws_protocols_are_words(slice_of(desc->protocols)))
        return ws_route_fail(server, desc->protocols, "protocols are tokens, separated by spaces");
    if (desc->origins && !ws_origins_are_valid(slice_of(desc->origins)))
        return ws_route_fail(server, desc->origins,
                             "origins are \"https://host\" or \"http://host:port\", or \"*\"");
    if ((unsigned)desc->slow > SKUA_WEBSOCKET_CLOSE)
        return ws_route_fail(server, pattern, "slow is none of skua_websocket_slow");
    return SKUA_OK;
}

__attribute__((cold)) skua_status skua_websocket(skua_server *server, const char *pattern,
                                                 const skua_websocket_desc *desc)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(pattern);
    CONTRACT_GIVEN(desc);
    skua_status status = ws_route_check(server, pattern, desc);
    if (status) return status;
    ws_endpoint *endpoint = ws_endpoint_new(desc);
    if (!endpoint) return SKUA_ENOMEM;
    status = skua_server_on_free(server, ws_endpoint_free, endpoint);
    if (status) {
        ws_endpoint_free(endpoint);
        return status;
    }
    return skua_route(server, pattern, ws_handshake, endpoint);
}

// ---- Handles ----

static bool ws_is_text(slice text)
{
    ws_utf8 state = { 0 };
    return ws_utf8_check(&state, text) == text.len && ws_utf8_is_whole(&state);
}

static skua_status ws_socket_send(skua_socket socket, ws_opcode opcode, slice message)
{
    uint64_t word;
    ws_slot *slot = ws_slot_find(socket, &word);
    if (!slot) return SKUA_ECLOSED;
    if (!ws_slot_is_here(slot)) return ws_letter_send(slot, word, opcode, 0, message);
    ws_session *s = ws_slot_session(slot, word);
    if (!s) return SKUA_ECLOSED;
    ws_session_enter(s);
    skua_status status = ws_send(s, opcode, message);
    ws_session_leave(s);
    return status;
}

skua_status skua_socket_text(skua_socket socket, slice message)
{
    CONTRACT_SLICE(message);
    if (!ws_is_text(message)) return SKUA_EINVAL;
    return ws_socket_send(socket, WS_TEXT, message);
}

skua_status skua_socket_binary(skua_socket socket, slice message)
{
    CONTRACT_SLICE(message);
    return ws_socket_send(socket, WS_BINARY, message);
}

skua_status skua_socket_close(skua_socket socket, unsigned code, slice reason)
{
    CONTRACT_SLICE(reason);
    uint64_t word;
    if (code == 0) code = WS_CODE_NORMAL;
    if (!ws_code_is_sendable(code) || !ws_is_text(reason)) return SKUA_EINVAL;
    ws_slot *slot = ws_slot_find(socket, &word);
    if (!slot) return SKUA_ECLOSED;
    if (!ws_slot_is_here(slot)) return ws_letter_send(slot, word, WS_CLOSE, (uint16_t)code, reason);
    ws_session *s = ws_slot_session(slot, word);
    if (!s || s->state != WS_OPEN) return SKUA_ECLOSED;
    ws_session_enter(s);
    ws_session_close(s, (uint16_t)code, reason);
    ws_session_leave(s);
    return SKUA_OK;
}

// The session of a handle that only its worker may look at.
static ws_session *ws_session_here(skua_socket socket, const char *function)
{
    uint64_t word;
    const ws_slot *slot = ws_slot_find(socket, &word);
    if (!slot || registry_word(&slot->slot) != word) return NULL;
    home_expect(slot->worker, function);
    return slot->session;
}

skua_request *skua_socket_request(skua_socket socket)
{
    const ws_session *s = ws_session_here(socket, __func__);
    return s ? s->request : NULL;
}

slice skua_socket_protocol(skua_socket socket)
{
    const ws_session *s = ws_session_here(socket, __func__);
    return s ? s->protocol : (slice){ 0 };
}

#else

skua_status skua_websocket(skua_server *server, const char *pattern,
                           const skua_websocket_desc *desc)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(pattern);
    CONTRACT_GIVEN(desc);
    return SKUA_EUNSUPPORTED;
}

skua_status skua_socket_text(skua_socket socket, slice message)
{
    (void)socket;
    CONTRACT_SLICE(message);
    return SKUA_ECLOSED;
}

skua_status skua_socket_binary(skua_socket socket, slice message)
{
    (void)socket;
    CONTRACT_SLICE(message);
    return SKUA_ECLOSED;
}

skua_status skua_socket_close(skua_socket socket, unsigned code, slice reason)
{
    (void)socket, (void)code;
    CONTRACT_SLICE(reason);
    return SKUA_ECLOSED;
}

skua_request *skua_socket_request(skua_socket socket)
{
    (void)socket;
    return NULL;
}

slice skua_socket_protocol(skua_socket socket)
{
    (void)socket;
    return (slice){ 0 };
}

#endif
