// SPDX-License-Identifier: MIT
//
// Checks of RFC 6455 §4.2.1, and of RFC 8441 §5 where HTTP/2 carries the socket: there the protocol
// is named by the request itself, and key and accept are left out, since no cache lies between.

#include "ws/handshake.h"

#ifndef SKUA_NO_WEBSOCKET

#include "base/budget.h"
#include "exchange/worker.h"
#include "http/syntax.h"
#include "http/ws_handshake.h"
#include "ws/call.h"
#include "ws/life.h"

enum { WS_ROOM_OCTETS = 512 }; // in a request, for what answers it and for a pong

// Why a request becomes no socket.
typedef struct ws_refusal {
    int status; // 0: it may become one
    slice sentence;
} ws_refusal;

#define WS_REFUSAL(status, sentence) ((ws_refusal){ status, SKUA_SLICE(sentence) })

// The field that may come once. Returns: false when it came more often.
static bool ws_only_field(const skua_request *r, const char *name, slice *value)
{
    size_t index = 0;
    slice another;
    *value = (slice){ 0 };
    if (!skua_request_field_next(r, name, &index, value)) return true;
    return !skua_request_field_next(r, name, &index, &another);
}

// Whether every line of a list field keeps to its grammar.
static bool ws_lines_are_valid(const skua_request *r, const char *name, bool (*is_valid)(slice))
{
    size_t index = 0;
    slice value;
    while (skua_request_field_next(r, name, &index, &value)) {
        if (!is_valid(value)) return false;
    }
    return true;
}

static bool ws_field_names(const skua_request *r, const char *name, slice wanted)
{
    size_t index = 0;
    slice rest, member;
    while (skua_request_field_next(r, name, &index, &rest)) {
        while (syntax_list_next(&rest, &member)) {
            if (slice_equal_nocase(member, wanted)) return true;
        }
    }
    return false;
}

static bool ws_is_http1(const skua_request *r)
{
    return r->head.version < 20;
}

// In HTTP/2 skua_upgrade looks at what the stream was opened for.
static bool ws_is_asked(const skua_request *r)
{
    if (!ws_is_http1(r)) return true;
    return r->head.version >= 11 && ws_field_names(r, "connection", SKUA_SLICE("upgrade")) &&
           ws_field_names(r, "upgrade", SKUA_SLICE("websocket"));
}

// The program's function is asked last, so that it cannot take away what the list allows.
static bool ws_origin_is_right(skua_request *r, const skua_websocket_desc *desc)
{
    slice origin;
    if (!ws_only_field(r, "origin", &origin)) return false;
    if (!origin.ptr) return true;
    if (ws_origin_is_allowed(origin, skua_request_authority(r), skua_request_is_secure(r),
                             desc->origins))
        return true;
    return desc->origin && desc->origin(r, origin, desc->user);
}

static ws_refusal ws_check_fields(const skua_request *r)
{
    slice value;
    if (!ws_only_field(r, "sec-websocket-version", &value) || !value.ptr)
        return WS_REFUSAL(400, "A WebSocket needs one Sec-WebSocket-Version.");
    if (!slice_equal(value, SKUA_SLICE("13")))
        return WS_REFUSAL(426, "Only version 13 of WebSocket is spoken here.");
    if (ws_is_http1(r) &&
        (!ws_only_field(r, "sec-websocket-key", &value) || !ws_key_is_valid(value)))
        return WS_REFUSAL(400, "A WebSocket needs one Sec-WebSocket-Key, of 16 octets in base64.");
    if (!ws_lines_are_valid(r, "sec-websocket-protocol", ws_protocols_are_valid) ||
        !ws_lines_are_valid(r, "sec-websocket-extensions", ws_extensions_are_valid))
        return WS_REFUSAL(400, "The protocols or extensions of the WebSocket are malformed.");
    return (ws_refusal){ 0 };
}

static ws_refusal ws_check(skua_request *r, const ws_endpoint *endpoint)
{
    if (r->is_head) return WS_REFUSAL(405, "A WebSocket is opened by GET.");
    if (!ws_is_asked(r)) return WS_REFUSAL(426, "Here is a WebSocket.");
    if (r->reading != READING_DONE)
        return WS_REFUSAL(400, "A request for a WebSocket has no content.");
    ws_refusal refusal = ws_check_fields(r);
    if (refusal.status) return refusal;
    if (!ws_origin_is_right(r, &endpoint->desc))
        return WS_REFUSAL(403, "Pages of this origin may not open the WebSocket.");
    if (r->worker->disk.draining) return WS_REFUSAL(503, "The server is about to stop.");
    if (endpoint->desc.blocking && !ws_call_reserve(r->worker))
        return WS_REFUSAL(503, "As many sockets are open here as may be.");
    return (ws_refusal){ 0 };
}

// Fields of an Upgrade have no place in HTTP/2.
static void ws_refuse(skua_request *r, const ws_refusal *refusal)
{
    if (refusal->status == 405) (void)skua_field_add(r, "Allow", SKUA_SLICE("GET"));
    if (refusal->status == 426) {
        (void)skua_field_add(r, "Sec-WebSocket-Version", SKUA_SLICE("13"));
        if (ws_is_http1(r)) (void)skua_field_add(r, "Upgrade", SKUA_SLICE("websocket"));
    }
    (void)skua_refuse(r, refusal->status, refusal->sentence);
}

// The client's offer may stand on several lines; the server's order decides.
static slice ws_choose_protocol(const skua_request *r, const char *protocols)
{
    slice spoken = protocols ? slice_of(protocols) : (slice){ 0 };
    size_t index = 0, best = SIZE_MAX;
    slice offered, chosen = { 0 };
    while (skua_request_field_next(r, "sec-websocket-protocol", &index, &offered)) {
        slice found = ws_protocol_choose(spoken, offered);
        if (!found.len || (size_t)(found.ptr - spoken.ptr) >= best) continue;
        best = (size_t)(found.ptr - spoken.ptr);
        chosen = found;
    }
    return chosen;
}

// The key has been found valid.
static skua_status ws_add_accept(skua_request *r)
{
    char accept[WS_ACCEPT_OCTETS];
    ws_accept(skua_request_field(r, "sec-websocket-key"), accept);
    return skua_field_add(r, "Sec-WebSocket-Accept", slice_make(accept, sizeof accept));
}

// The first offer that can be accepted, on whichever line.
static bool ws_agree_on_deflate(const skua_request *r, const ws_endpoint *endpoint,
                                ws_deflate_terms *terms)
{
    const skua_websocket_desc *desc = &endpoint->desc;
    if (desc->deflate == SKUA_WEBSOCKET_DEFLATE_OFF) return false;
    bool keeps = desc->deflate == SKUA_WEBSOCKET_DEFLATE_DEDICATED;
    size_t index = 0;
    slice line;
    while (skua_request_field_next(r, "sec-websocket-extensions", &index, &line)) {
        if (ws_deflate_agree(line, keeps ? desc->deflate_window_bits : 0, terms)) return true;
    }
    return false;
}

// So that the windows of many cannot take the memory of all others.
static bool ws_has_windows_for(const skua_request *r, ws_endpoint *endpoint,
                               const ws_deflate_terms *terms)
{
    size_t most = endpoint->desc.deflate_memory_max;
    if (!most) most = r->worker->memory.of->octets_max / 4;
    return ws_deflate_reserve(&endpoint->shared.windows, ws_deflate_memory(terms), most);
}

static skua_status ws_add_deflate(skua_request *r, ws_session *s, ws_endpoint *endpoint)
{
    ws_deflate_terms terms;
    char field[WS_DEFLATE_FIELD_OCTETS_MAX];
    if (!ws_agree_on_deflate(r, endpoint, &terms)) return SKUA_OK;
    if (!ws_has_windows_for(r, endpoint, &terms)) return SKUA_OK;
    s->deflate = ws_deflate_new(r->worker, &terms, &endpoint->shared.windows);
    if (!s->deflate) return SKUA_ENOMEM;
    s->reader.head.deflates = true;
    slice value = slice_make(field, ws_deflate_write(&terms, field));
    return skua_field_add(r, "Sec-WebSocket-Extensions", value);
}

static skua_status ws_add_fields(skua_request *r, ws_session *s, ws_endpoint *endpoint)
{
    skua_status status = ws_is_http1(r) ? ws_add_accept(r) : SKUA_OK;
    if (!status && s->protocol.len)
        status = skua_field_add(r, "Sec-WebSocket-Protocol", s->protocol);
    return status ? status : ws_add_deflate(r, s, endpoint);
}

// Errors: those of skua_upgrade and of fields.
static skua_status ws_answer(skua_request *r, ws_session *s, ws_endpoint *endpoint)
{
    skua_status status = ws_add_fields(r, s, endpoint);
    if (status) {
        (void)skua_respond_error(r, 503);
        return status;
    }
    status = skua_upgrade(r, "websocket", ws_session_drained, s);
    if (status == SKUA_EPROTOCOL)
        (void)skua_refuse(r, 400, SKUA_SLICE("The request does not ask for a WebSocket."));
    return status;
}

// Everything that may fail for want of memory is taken before the client is told that it has a socket. A request that is
// kept is not to hold a block for a few octets.
static void ws_upgrade(skua_request *r, ws_endpoint *endpoint)
{
    ws_slot *slot;
    ws_session *s = ws_session_new(r->worker);
    bool has_room = arena_make_room(&r->memory, WS_ROOM_OCTETS);
    if (!s || !has_room || ws_slot_take(r->worker, &slot)) {
        counted_free_lined(s);
        (void)skua_respond_error(r, 503);
        if (endpoint->desc.blocking) ws_call_release(r->worker);
        return;
    }
    s->protocol = ws_choose_protocol(r, endpoint->desc.protocols);
    if (!ws_answer(r, s, endpoint)) {
        ws_session_begin(s, r, endpoint, slot);
        return;
    }
    if (endpoint->desc.blocking) ws_call_release(r->worker);
    ws_slot_put(r->worker, slot);
    ws_deflate_free(s->deflate);
    counted_free_lined(s);
}

void ws_handshake(skua_request *r, void *user)
{
    ws_endpoint *endpoint = user;
    ws_refusal refusal = ws_check(r, endpoint);
    if (refusal.status) ws_refuse(r, &refusal);
    else ws_upgrade(r, endpoint);
}

#endif
