// SPDX-License-Identifier: MIT
//
// Browsers let any page open a socket to any server, with the user's cookies, and say in Origin whose
// page it is: without a look at it, a socket is anybody's.

#include "http/ws_handshake.h"

#ifndef SKUA_NO_WEBSOCKET

#include "http/sha1.h"
#include "http/syntax.h"

enum { WS_KEY_TEXT_OCTETS = 24, WS_KEY_DIGITS = 22, WS_PORT_MAX = 65535 };

static const char ws_base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool ws_key_is_valid(slice key)
{
    if (key.len != WS_KEY_TEXT_OCTETS) return false;
    for (size_t i = 0; i < WS_KEY_DIGITS; i++) {
        if (!key.ptr[i] || !strchr(ws_base64, key.ptr[i])) return false;
    }
    return key.ptr[WS_KEY_DIGITS] == '=' && key.ptr[WS_KEY_DIGITS + 1] == '=';
}

// Twenty octets: six groups of three, and one of two with one "=".
static void ws_write_base64(char *out, const uint8_t digest[SHA1_OCTETS])
{
    for (size_t i = 0; i < SHA1_OCTETS; i += 3) {
        uint32_t group = (uint32_t)digest[i] << 16 | (uint32_t)digest[i + 1] << 8;
        if (i + 2 < SHA1_OCTETS) group |= digest[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6)
            *out++ = ws_base64[group >> shift & 63];
    }
    out[-1] = '=';
}

void ws_accept(slice key, char out[WS_ACCEPT_OCTETS])
{
    static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    char text[WS_KEY_TEXT_OCTETS + sizeof guid - 1];
    uint8_t digest[SHA1_OCTETS];
    memcpy(text, key.ptr, WS_KEY_TEXT_OCTETS);
    memcpy(text + WS_KEY_TEXT_OCTETS, guid, sizeof guid - 1);
    sha1_of(slice_make(text, sizeof text), digest);
    ws_write_base64(out, digest);
}

// ---- Lists ----

bool ws_protocols_are_valid(slice value)
{
    slice member;
    bool any = false;
    for (; syntax_list_next(&value, &member); any = true) {
        if (!syntax_is_token(member)) return false;
    }
    return any;
}

// A token, RFC 6455 §9.1, also where it is quoted: without its quotes and escapes it is one.
static bool ws_take_value(slice *text)
{
    if (!text->len || text->ptr[0] != '"') {
        size_t len = text->len ? syntax_span_token(text->ptr, text->len) : 0;
        *text = slice_from(*text, len);
        return len > 0;
    }
    size_t at = 1, octets = 0;
    for (; at < text->len && text->ptr[at] != '"'; at++, octets++) {
        if (text->ptr[at] == '\\') at++;
        if (at == text->len || !syntax_is(text->ptr[at], SYNTAX_TOKEN)) return false;
    }
    if (at == text->len || octets == 0) return false;
    *text = slice_from(*text, at + 1);
    return true;
}

static bool ws_take(slice *text, char c)
{
    *text = slice_trim(*text);
    if (!text->len || text->ptr[0] != c) return false;
    *text = slice_trim(slice_from(*text, 1));
    return true;
}

// A name, then ";" and a parameter as often as there are any.
static bool ws_extension_is_valid(slice member)
{
    bool is_name = true;
    do {
        size_t len = member.len ? syntax_span_token(member.ptr, member.len) : 0;
        if (len == 0) return false;
        member = slice_from(member, len);
        if (!is_name && ws_take(&member, '=') && !ws_take_value(&member)) return false;
        is_name = false;
    } while (ws_take(&member, ';'));
    return member.len == 0;
}

bool ws_extensions_are_valid(slice value)
{
    slice member;
    bool any = false;
    for (; syntax_list_next(&value, &member); any = true) {
        if (!ws_extension_is_valid(member)) return false;
    }
    return any;
}

bool ws_list_has(slice list, slice wanted)
{
    slice member;
    while (syntax_list_next(&list, &member)) {
        if (slice_equal(member, wanted)) return true;
    }
    return false;
}

// The next word of *rest; empty when there is none.
static slice ws_next_word(slice *rest)
{
    *rest = slice_trim(*rest);
    const char *end = rest->len ? memchr(rest->ptr, ' ', rest->len) : NULL;
    slice word = slice_make(rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len);
    if (word.len) *rest = slice_from(*rest, word.len);
    return word;
}

bool ws_protocols_are_words(slice text)
{
    slice word;
    while ((word = ws_next_word(&text)).len) {
        if (!syntax_is_token(word)) return false;
    }
    return true;
}

slice ws_protocol_choose(slice spoken, slice offered)
{
    slice word;
    while ((word = ws_next_word(&spoken)).len) {
        if (ws_list_has(offered, word)) return word;
    }
    return (slice){ 0 };
}

// ---- Origin, RFC 6454 §7 ----

typedef struct ws_origin {
    bool secure; // https
    slice host;
    unsigned port;
} ws_origin;

// The port behind a host; usual when there is none. False when it is no number of a port.
static bool ws_read_port(slice digits, unsigned usual, unsigned *port)
{
    unsigned value = 0;
    for (size_t i = 0; i < digits.len; i++) {
        value = value * 10 + (unsigned)(digits.ptr[i] - '0');
        if (value > WS_PORT_MAX) return false;
    }
    *port = digits.len ? value : usual;
    return true;
}

static bool ws_read_authority(slice text, ws_origin *origin)
{
    if (text.len == 0 || !syntax_is_host(text)) return false;
    const char *colon = text.ptr + text.len;
    while (colon > text.ptr && colon[-1] != ':' && colon[-1] != ']')
        colon--;
    bool has_port = colon > text.ptr && colon[-1] == ':';
    slice port = has_port ? slice_from(text, (size_t)(colon - text.ptr)) : (slice){ 0 };
    origin->host = syntax_host_name(text);
    return origin->host.len && ws_read_port(port, origin->secure ? 443 : 80, &origin->port);
}

static bool ws_take_prefix(slice *text, slice prefix)
{
    if (text->len < prefix.len) return false;
    if (!slice_equal_nocase(slice_make(text->ptr, prefix.len), prefix)) return false;
    *text = slice_from(*text, prefix.len);
    return true;
}

static bool ws_origin_read(slice text, ws_origin *origin)
{
    origin->secure = ws_take_prefix(&text, SKUA_SLICE("https://"));
    if (!origin->secure && !ws_take_prefix(&text, SKUA_SLICE("http://"))) return false;
    return ws_read_authority(text, origin);
}

static bool ws_origin_is_same(const ws_origin *a, const ws_origin *b)
{
    return a->secure == b->secure && a->port == b->port && slice_equal_nocase(a->host, b->host);
}

bool ws_origins_are_valid(slice text)
{
    slice word;
    if (slice_equal(text, SKUA_SLICE("*"))) return true;
    while ((word = ws_next_word(&text)).len) {
        ws_origin one;
        if (!ws_origin_read(word, &one)) return false;
    }
    return true;
}

static bool ws_origin_is_listed(const ws_origin *origin, slice allowed)
{
    slice word;
    while ((word = ws_next_word(&allowed)).len) {
        ws_origin one;
        if (ws_origin_read(word, &one) && ws_origin_is_same(origin, &one)) return true;
    }
    return false;
}

bool ws_origin_is_allowed(slice text, slice host, bool secure, const char *allowed)
{
    ws_origin origin, own;
    if (allowed && strcmp(allowed, "*") == 0) return true;
    if (!ws_origin_read(text, &origin)) return false;
    if (allowed) return ws_origin_is_listed(&origin, slice_of(allowed));
    own.secure = secure || origin.secure;
    return ws_read_authority(host, &own) && ws_origin_is_same(&origin, &own);
}

#endif
