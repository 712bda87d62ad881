// SPDX-License-Identifier: MIT
//
// The functions of skua.h for WebSockets: what is done with a handle.

#include "base/contract.h"
#include "base/sized.h"

#ifndef SKUA_NO_WEBSOCKET

#include "exchange/worker.h"
#include "ws/call.h"
#include "ws/letter.h"
#include "ws/outgoing.h"
#include "ws/parked_send.h"
#include "ws/send.h"

// ---- Handles ----

static bool ws_is_text(slice text)
{
    slice told = ws_told_now.text;
    if (ws_told_now.session && text.ptr == told.ptr && text.len == told.len)
        return true; // it has been judged as it came
    ws_utf8 state = { 0 };
    return ws_utf8_check(&state, text) == text.len && ws_utf8_is_whole(&state);
}

static skua_status ws_socket_send_awake(ws_session *s, ws_opcode opcode, slice message)
{
    ws_session_enter(s);
    skua_status status = ws_send(s, opcode, message);
    ws_session_leave(s);
    return status;
}

__attribute__((noinline)) static skua_status
ws_socket_send_parked(const ws_slot *slot, uint64_t word, ws_opcode opcode, slice message)
{
    if (registry_word(&slot->slot) != word) return SKUA_ECLOSED;
    if (slot->parked && slot->parked->is_closing) return SKUA_ECLOSED;
    ws_parked_sent sent = ws_parked_send(slot, opcode, message);
    if (sent != WS_PARKED_UNSENT) return sent == WS_PARKED_SENT ? SKUA_OK : SKUA_ECLOSED;
    ws_session *s = ws_slot_awake(slot);
    return s ? ws_socket_send_awake(s, opcode, message) : SKUA_ECLOSED;
}

// On a handle that has to be looked up.
__attribute__((noinline)) static skua_status ws_socket_send_any(skua_socket socket,
                                                                ws_opcode opcode, slice message)
{
    uint64_t word;
    ws_slot *slot = ws_slot_find(socket, &word);
    if (!slot) return SKUA_ECLOSED;
    if (!ws_slot_is_here(slot)) {
        ws_call *call = ws_call_here(socket);
        return call ? ws_call_send(call, ws_letter_try, slot, word, opcode, message)
                    : ws_letter_send(slot, word, opcode, 0, message);
    }
    ws_session *s = registry_word(&slot->slot) == word ? slot->session : NULL;
    return s ? ws_socket_send_awake(s, opcode, message)
             : ws_socket_send_parked(slot, word, opcode, message);
}

static skua_status ws_socket_send(skua_socket socket, ws_opcode opcode, slice message)
{
    ws_session *told = ws_told_now.session;
    return told && told->socket.value == socket.value ? ws_send(told, opcode, message)
                                                      : ws_socket_send_any(socket, opcode, message);
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

// ---- Messages in pieces ----

skua_status skua_socket_begin(skua_socket socket, bool text)
{
    ws_session *s = ws_slot_session_here(socket, __func__);
    return s ? ws_outgoing_begin(s, text) : SKUA_ECLOSED;
}

skua_status skua_socket_write(skua_socket socket, slice octets)
{
    CONTRACT_SLICE(octets);
    ws_session *s = ws_slot_session_here(socket, __func__);
    if (!s) return SKUA_ECLOSED;
    ws_session_enter(s);
    skua_status status = ws_outgoing_write(s, octets);
    ws_session_leave(s);
    return status;
}

skua_status skua_socket_end(skua_socket socket)
{
    ws_session *s = ws_slot_session_here(socket, __func__);
    if (!s) return SKUA_ECLOSED;
    ws_session_enter(s);
    skua_status status = ws_outgoing_end(s);
    ws_session_leave(s);
    return status;
}

void skua_socket_consume(skua_socket socket, size_t n)
{
    ws_session *s = ws_slot_session_here(socket, __func__);
    if (!s || s->state != WS_OPEN) return;
    CONTRACT(n <= s->owed, "more octets than were delivered and have not been consumed");
    ws_session_consume(s, n);
}

void skua_socket_pause(skua_socket socket)
{
    ws_session *s = ws_slot_session_here(socket, __func__);
    if (s) ws_session_pause(s);
}

void skua_socket_resume(skua_socket socket)
{
    ws_session *s = ws_slot_session_here(socket, __func__);
    if (s) ws_session_resume(s);
}

// ---- In a blocking function ----

skua_status skua_socket_receive_sized(skua_socket socket, int64_t timeout_ns, skua_message *message,
                                      const skua_sizes *sizes)
{
    CONTRACT_GIVEN(message);
    CONTRACT_SIZES(sizes);
    ws_call *call = ws_call_here(socket);
    CONTRACT(call, "called outside of the blocking function of the socket");
    skua_message own = { 0 };
    skua_status status = ws_call_receive(call, timeout_ns, &own);
    if (status != SKUA_ENOENT) sized_give(message, sizes->message, &own, sizeof own);
    return status;
}

// ---- The end, and what is known ----

// A program that is to be told of it is told in a later turn: by a letter, unless there is a session that does.
// Returns: false: nothing was done, and a session is to close it.
static bool ws_socket_close_parked(ws_slot *slot, uint64_t word, uint16_t code, slice reason)
{
    ws_parked *p = slot->parked;
    const ws_endpoint *endpoint = p->endpoint;
    if (!endpoint->desc.closing) return ws_parked_send_close(p, code, reason);
    ws_letter *letter = ws_letter_tell_closing(slot, word, endpoint, code, reason);
    bool is_sent = letter && ws_parked_send_close(p, code, reason);
    if (letter && !(is_sent && slot->parked)) ws_letter_void(letter);
    return is_sent;
}

static skua_status ws_socket_close(ws_slot *slot, uint64_t word, uint16_t code, slice reason)
{
    if (registry_word(&slot->slot) != word) return SKUA_ECLOSED;
    if (slot->parked && slot->parked->is_closing) return SKUA_ECLOSED;
    if (slot->parked && ws_socket_close_parked(slot, word, code, reason)) return SKUA_OK;
    ws_session *s = ws_slot_awake(slot);
    if (!s || s->state != WS_OPEN) return SKUA_ECLOSED;
    ws_session_enter(s);
    ws_session_close(s, code, reason);
    ws_session_leave(s);
    return SKUA_OK;
}

skua_status skua_socket_close(skua_socket socket, unsigned code, slice reason)
{
    CONTRACT_SLICE(reason);
    uint64_t word;
    if (code == 0) code = WS_CODE_NORMAL;
    if (!ws_code_is_sendable(code) || !ws_is_text(reason)) return SKUA_EINVAL;
    ws_slot *slot = ws_slot_find(socket, &word);
    if (!slot) return SKUA_ECLOSED;
    return ws_slot_is_here(slot) ? ws_socket_close(slot, word, (uint16_t)code, reason)
                                 : ws_letter_send(slot, word, WS_CLOSE, (uint16_t)code, reason);
}

skua_request *skua_socket_request(skua_socket socket)
{
    const ws_session *s = ws_slot_session_here(socket, __func__);
    if (!s || (s->has_begun && !s->endpoint->desc.keeps_request)) return NULL;
    return s->request;
}

slice skua_socket_protocol(skua_socket socket)
{
    const ws_session *s = ws_slot_session_here(socket, __func__);
    return s ? s->protocol : (slice){ 0 };
}

// ---- The program's object ----

skua_status skua_socket_set(skua_socket socket, void *object)
{
    ws_slot *slot = ws_slot_here(socket, __func__);
    if (!slot) return SKUA_ECLOSED;
    slot->object = object;
    return SKUA_OK;
}

void *skua_socket_get(skua_socket socket)
{
    const ws_slot *slot = ws_slot_here(socket, __func__);
    return slot ? slot->object : NULL;
}

#else

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

skua_status skua_socket_begin(skua_socket socket, bool text)
{
    (void)socket, (void)text;
    return SKUA_ECLOSED;
}

skua_status skua_socket_write(skua_socket socket, slice octets)
{
    (void)socket;
    CONTRACT_SLICE(octets);
    return SKUA_ECLOSED;
}

skua_status skua_socket_end(skua_socket socket)
{
    (void)socket;
    return SKUA_ECLOSED;
}

void skua_socket_consume(skua_socket socket, size_t n)
{
    (void)socket, (void)n;
}

void skua_socket_pause(skua_socket socket)
{
    (void)socket;
}

void skua_socket_resume(skua_socket socket)
{
    (void)socket;
}

skua_status skua_socket_receive_sized(skua_socket socket, int64_t timeout_ns, skua_message *message,
                                      const skua_sizes *sizes)
{
    (void)socket, (void)timeout_ns;
    CONTRACT_GIVEN(message);
    CONTRACT_SIZES(sizes);
    sized_give(message, sizes->message, &(skua_message){ 0 }, sizeof *message);
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

skua_status skua_socket_set(skua_socket socket, void *object)
{
    (void)socket, (void)object;
    return SKUA_ECLOSED;
}

void *skua_socket_get(skua_socket socket)
{
    (void)socket;
    return NULL;
}

#endif
