// SPDX-License-Identifier: MIT
//
// Messages of a client must never need more memory to inflate than was meant. So a client that cannot be told to keep
// its window small is told to begin each message without one.

#include "http/ws_deflate.h"

#ifndef SKUA_NO_WEBSOCKET

#include "http/syntax.h"

// The parameters, in the order of their names' table.
enum {
    DEFLATE_SERVER_ALONE,
    DEFLATE_CLIENT_ALONE,
    DEFLATE_SERVER_BITS,
    DEFLATE_CLIENT_BITS,
    DEFLATE_PARAMETERS
};

static const char *const deflate_names[DEFLATE_PARAMETERS] = { "server_no_context_takeover",
                                                               "client_no_context_takeover",
                                                               "server_max_window_bits",
                                                               "client_max_window_bits" };

enum { DEFLATE_VALUE_OCTETS_MAX = 2 }; // "15"

typedef struct deflate_parameter {
    slice name;
    bool has_value, too_long;
    uint8_t len;
    char value[DEFLATE_VALUE_OCTETS_MAX]; // without quotes and escapes
} deflate_parameter;

typedef struct deflate_offer {
    bool has[DEFLATE_PARAMETERS];
    uint8_t server_bits, client_bits; // 0: no value
} deflate_offer;

static bool deflate_take(slice *text, char c)
{
    *text = slice_trim(*text);
    if (!text->len || text->ptr[0] != c) return false;
    *text = slice_trim(slice_from(*text, 1));
    return true;
}

static slice deflate_take_token(slice *text)
{
    size_t len = text->len ? syntax_span_token(text->ptr, text->len) : 0;
    slice token = slice_make(text->ptr, len);
    *text = slice_from(*text, len);
    return token;
}

static void deflate_value_add(deflate_parameter *p, char c)
{
    if (p->len == DEFLATE_VALUE_OCTETS_MAX) p->too_long = true;
    else p->value[p->len++] = c;
}

static void deflate_take_value(slice *text, deflate_parameter *p)
{
    p->has_value = true;
    bool quoted = text->len && text->ptr[0] == '"';
    size_t at = quoted;
    for (; at < text->len; at++) {
        if (quoted ? text->ptr[at] == '"' : !syntax_is(text->ptr[at], SYNTAX_TOKEN)) break;
        if (quoted && text->ptr[at] == '\\' && at + 1 < text->len) at++;
        deflate_value_add(p, text->ptr[at]);
    }
    *text = slice_from(*text, quoted && at < text->len ? at + 1 : at);
}

// The next parameter of an extension. Returns: false when there is none.
static bool deflate_next(slice *rest, deflate_parameter *p)
{
    *p = (deflate_parameter){ 0 };
    if (!deflate_take(rest, ';')) return false;
    p->name = deflate_take_token(rest);
    if (deflate_take(rest, '=')) deflate_take_value(rest, p);
    return true;
}

// 8 to 15, without a leading zero: RFC 7692 §7.1.2.
static bool deflate_read_bits(const deflate_parameter *p, uint8_t *bits)
{
    if (p->too_long) return false;
    if (p->len == 1 && (p->value[0] == '8' || p->value[0] == '9')) {
        *bits = (uint8_t)(p->value[0] - '0');
        return true;
    }
    if (p->len != 2 || p->value[0] != '1' || p->value[1] < '0' || p->value[1] > '5') return false;
    *bits = (uint8_t)(10 + p->value[1] - '0');
    return true;
}

static int deflate_parameter_of(slice name)
{
    for (int i = 0; i < DEFLATE_PARAMETERS; i++) {
        if (slice_equal_nocase(name, slice_of(deflate_names[i]))) return i;
    }
    return DEFLATE_PARAMETERS;
}

static bool deflate_note(deflate_offer *offer, const deflate_parameter *p)
{
    int which = deflate_parameter_of(p->name);
    if (which == DEFLATE_PARAMETERS || offer->has[which]) return false;
    offer->has[which] = true;
    switch (which) {
    case DEFLATE_SERVER_BITS: return p->has_value && deflate_read_bits(p, &offer->server_bits);
    case DEFLATE_CLIENT_BITS: return !p->has_value || deflate_read_bits(p, &offer->client_bits);
    default: return !p->has_value;
    }
}

static bool deflate_read_offer(slice member, deflate_offer *offer)
{
    deflate_parameter p;
    *offer = (deflate_offer){ 0 };
    if (!slice_equal_nocase(deflate_take_token(&member), SKUA_SLICE("permessage-deflate")))
        return false;
    while (deflate_next(&member, &p)) {
        if (!deflate_note(offer, &p)) return false;
    }
    return true;
}

static void deflate_set_client(const deflate_offer *offer, unsigned bits, ws_deflate_terms *terms)
{
    unsigned offered = offer->client_bits ? offer->client_bits : WS_DEFLATE_BITS_MAX;
    bool is_small = bits == WS_DEFLATE_BITS_MAX || offer->has[DEFLATE_CLIENT_BITS];
    terms->client_keeps = bits && is_small && !offer->has[DEFLATE_CLIENT_ALONE];
    terms->client_bits = (uint8_t)(terms->client_keeps && bits < offered ? bits : offered);
    terms->says_client_bits = terms->client_keeps && terms->client_bits < WS_DEFLATE_BITS_MAX;
}

// Returns: whether the offer can be accepted.
static bool deflate_accept(const deflate_offer *offer, unsigned bits, ws_deflate_terms *terms)
{
    unsigned own = bits ? bits : WS_DEFLATE_BITS_MAX;
    if (offer->server_bits && offer->server_bits < WS_DEFLATE_BITS_MIN) return false;
    terms->says_server_bits = offer->server_bits > 0;
    terms->server_bits =
        (uint8_t)(offer->server_bits && offer->server_bits < own ? offer->server_bits : own);
    terms->server_keeps = bits && !offer->has[DEFLATE_SERVER_ALONE];
    deflate_set_client(offer, bits, terms);
    return true;
}

bool ws_deflate_agree(slice line, unsigned bits, ws_deflate_terms *terms)
{
    slice member;
    deflate_offer offer;
    while (syntax_list_next(&line, &member)) {
        if (deflate_read_offer(member, &offer) && deflate_accept(&offer, bits, terms)) return true;
    }
    return false;
}

// ---- The answer ----

static size_t deflate_put(char *out, size_t at, const char *text)
{
    size_t len = strlen(text);
    memcpy(out + at, text, len);
    return at + len;
}

static size_t deflate_put_parameter(char *out, size_t at, int which)
{
    return deflate_put(out, deflate_put(out, at, "; "), deflate_names[which]);
}

static size_t deflate_put_bits(char *out, size_t at, int which, unsigned bits)
{
    at = deflate_put_parameter(out, at, which);
    out[at++] = '=';
    if (bits >= 10) out[at++] = '1';
    out[at++] = (char)('0' + bits % 10);
    return at;
}

size_t ws_deflate_write(const ws_deflate_terms *terms, char out[WS_DEFLATE_FIELD_OCTETS_MAX])
{
    size_t at = deflate_put(out, 0, "permessage-deflate");
    if (!terms->server_keeps) at = deflate_put_parameter(out, at, DEFLATE_SERVER_ALONE);
    if (!terms->client_keeps) at = deflate_put_parameter(out, at, DEFLATE_CLIENT_ALONE);
    if (terms->says_server_bits)
        at = deflate_put_bits(out, at, DEFLATE_SERVER_BITS, terms->server_bits);
    if (terms->says_client_bits)
        at = deflate_put_bits(out, at, DEFLATE_CLIENT_BITS, terms->client_bits);
    return at;
}

// zlib deflates with its window twice, as much for earlier places, and as much again for hashes and codes; and both
// ways it has a state.
size_t ws_deflate_memory(const ws_deflate_terms *terms)
{
    enum { STATE_OCTETS = 8192, DEFLATING_TIMES = 8 };
    size_t octets = 0;
    if (terms->server_keeps)
        octets += ((size_t)DEFLATING_TIMES << terms->server_bits) + STATE_OCTETS;
    if (terms->client_keeps) octets += ((size_t)1 << terms->client_bits) + STATE_OCTETS;
    return octets;
}

unsigned ws_deflate_bits_for(size_t octets, unsigned most)
{
    unsigned bits = WS_DEFLATE_BITS_MIN;
    while (bits < most && octets > (size_t)1 << bits)
        bits++;
    return bits;
}

#endif
