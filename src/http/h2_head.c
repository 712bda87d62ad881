// SPDX-License-Identifier: MIT
//
// The head of a request: pseudo-fields first, then what HTTP/1 has on lines.

#include "http/h2_head.h"

#ifndef SKUA_NO_HTTP2

#include "base/assert.h"
#include "base/inline.h"
#include "http/octets.h"
#include "http/syntax.h"

enum {
    H2_SEEN_FIELD = 1 << HPACK_TOKEN_FIELD,
    H2_SEEN_METHOD = 1 << HPACK_TOKEN_METHOD,
    H2_SEEN_SCHEME = 1 << HPACK_TOKEN_SCHEME,
    H2_SEEN_AUTHORITY = 1 << HPACK_TOKEN_AUTHORITY,
    H2_SEEN_PATH = 1 << HPACK_TOKEN_PATH,
    H2_SEEN_PROTOCOL = 1 << HPACK_TOKEN_PROTOCOL
};

// Between two cookies. A name that is kept in place of another is not longer.
enum { H2_HEAD_JOIN_OCTETS = 2 };

size_t h2_head_room(const head_limits *limits)
{
    uint64_t octets = h2_list_octets_max(limits);
    return octets < HEAD_OCTETS_MAX ? (size_t)octets : HEAD_OCTETS_MAX;
}

void h2_head_begin(h2_head_reader *in, request_head *head, char *text, size_t room, char *large)
{
    uint64_t most = h2_list_octets_max(head->limits);
    *in = (h2_head_reader){ .head = head,
                            .text = text,
                            .room = room,
                            .large = large,
                            .list_octets_max = most,
                            .list_fits = room < most ? room : most };
    head->version = 20;
    head->keep_alive = true;
}

// ---- Faults ----

__attribute__((cold, noinline)) static void h2_head_fail(h2_head_reader *in, fault why)
{
    if (!in->fault.status) in->fault = why;
}

__attribute__((cold, noinline)) static void h2_head_malformed(h2_head_reader *in,
                                                              const char *reason)
{
    h2_head_fail(in, h2_stream_fault(H2_PROTOCOL_ERROR, reason));
}

__attribute__((cold, noinline)) static void h2_head_refuse(h2_head_reader *in, uint16_t status,
                                                           const char *reason)
{
    h2_head_fail(in, fault_request(status, reason));
}

// ---- Keeping ----

// Whether octets more fit, after moving to the large room if need be.
__attribute__((cold, noinline)) static bool h2_head_grow(h2_head_reader *in, size_t octets)
{
    size_t room = h2_head_room(in->head->limits);
    if (in->text == in->large || octets > room - in->used) return false;
    memcpy(in->large, in->text, in->used);
    in->text = in->large;
    in->room = room;
    return true;
}

static bool h2_head_fits(h2_head_reader *in, size_t octets)
{
    return octets <= in->room - in->used || h2_head_grow(in, octets);
}

// Whether a field fits that has been counted. Every field counts more octets than are kept of it.
__attribute__((noinline)) static bool h2_head_fits_closely(h2_head_reader *in,
                                                           const hpack_field *field)
{
    size_t kept = field->name.len + field->value.len + H2_HEAD_JOIN_OCTETS;
    if (in->list_octets > in->list_octets_max || !h2_head_fits(in, kept)) return false;
    in->list_fits = in->list_octets - kept + in->room - in->used;
    if (in->list_fits > in->list_octets_max) in->list_fits = in->list_octets_max;
    return true;
}

// Returns the offset of the copy. There is room: the list's limit has been looked at.
static inline uint16_t h2_head_keep(h2_head_reader *in, slice octets)
{
    size_t at = in->used;
    SKUA_ASSERT(octets.len <= in->room - at);
    octets_copy(in->text + at, octets);
    in->used = at + octets.len;
    return (uint16_t)at;
}

static inline head_field *h2_head_add(h2_head_reader *in, slice name, slice value, field_id id)
{
    request_head *head = in->head;
    if (head->count == head->limits->fields_max) {
        h2_head_refuse(in, 431, "too many fields");
        return NULL;
    }
    size_t at = in->used, value_at = at + name.len, end = value_at + value.len;
    SKUA_ASSERT(end <= in->room);
    head_field *line = &head->fields[head->count++];
    octets_copy(in->text + at, name);
    octets_copy(in->text + value_at, value);
    in->used = end;
    *line = (head_field){ .name = (uint16_t)at,
                          .name_len = (uint16_t)name.len,
                          .value = (uint16_t)value_at,
                          .value_len = (uint16_t)value.len,
                          .id = (uint16_t)id };
    head->seen |= 1u << id & ~(1u << FIELD_OTHER);
    return line;
}

// ---- Pseudo-fields ----

static inline bool h2_head_is_sound(const hpack_field *field)
{
    return field->flags & HPACK_VALUE_IS_SOUND;
}

static inline void h2_head_take_method(h2_head_reader *in, const hpack_field *field)
{
    request_head *head = in->head;
    slice value = field->value;
    if (!h2_head_is_sound(field)) {
        h2_head_malformed(in, "malformed method");
    } else if (value.len > head->limits->method_octets_max) {
        h2_head_refuse(in, 501, "method too long");
    } else {
        head->start = h2_head_keep(in, value);
        head->method_len = (uint16_t)value.len;
    }
}

static inline void h2_head_take_path(h2_head_reader *in, const hpack_field *field)
{
    request_head *head = in->head;
    slice value = field->value;
    if (value.len == 0) {
        h2_head_malformed(in, "an empty path");
    } else if (value.len > head->limits->target_octets_max) {
        h2_head_refuse(in, 414, "target too long");
    } else if (!h2_head_is_sound(field)) {
        h2_head_refuse(in, 400, "malformed target");
    } else {
        head->target = h2_head_keep(in, value);
        head->target_len = (uint16_t)value.len;
    }
}

// It is kept where Host would be: handlers need not know how it came.
static inline void h2_head_take_host(h2_head_reader *in, const hpack_field *field)
{
    if (!h2_head_is_sound(field)) h2_head_refuse(in, 400, "malformed Host");
    else if (h2_head_add(in, SKUA_SLICE("host"), field->value, FIELD_HOST))
        in->head->host = in->head->count;
}

static inline void h2_head_take_pseudo(h2_head_reader *in, const hpack_field *field)
{
    unsigned bit = 1u << field->token;
    if (in->seen & (bit | H2_SEEN_FIELD)) {
        h2_head_malformed(in, in->seen & H2_SEEN_FIELD ? "a pseudo-field behind others"
                                                       : "a pseudo-field twice");
        return;
    }
    in->seen |= bit;
    switch ((hpack_token)field->token) {
    case HPACK_TOKEN_METHOD: h2_head_take_method(in, field); return;
    case HPACK_TOKEN_PATH: h2_head_take_path(in, field); return;
    case HPACK_TOKEN_SCHEME:
        if (!h2_head_is_sound(field)) h2_head_refuse(in, 400, "a scheme that is not served");
        return;
    case HPACK_TOKEN_AUTHORITY: h2_head_take_host(in, field); return;
    case HPACK_TOKEN_PROTOCOL:
        in->protocol = h2_head_keep(in, field->value);
        in->protocol_len = (uint16_t)field->value.len;
        if (!in->tunnels) h2_head_malformed(in, ":protocol is not announced");
        else if (!h2_head_is_sound(field)) h2_head_malformed(in, "malformed :protocol");
        return;
    case HPACK_TOKEN_STATUS:
    case HPACK_TOKEN_PSEUDO_OTHER:
    case HPACK_TOKEN_FIELD:
        h2_head_malformed(in, "a pseudo-field that requests do not have");
        return;
    }
}

// ---- Fields ----

// Fields that speak of a connection have no place in a stream, RFC 9113 §8.2.2.
bool h2_head_is_of_connection(const hpack_field *field)
{
    const field_id id = (field_id)field->id;
    if (id == FIELD_TE) return !slice_equal_nocase(field->value, SKUA_SLICE("trailers"));
    if (id == FIELD_OTHER)
        return slice_equal(field->name, SKUA_SLICE("keep-alive")) ||
               slice_equal(field->name, SKUA_SLICE("proxy-connection"));
    return id == FIELD_CONNECTION || id == FIELD_TRANSFER_ENCODING || id == FIELD_UPGRADE;
}

static void h2_head_take_length(h2_head_reader *in, slice value)
{
    request_head *head = in->head;
    if (head->seen & 1u << FIELD_CONTENT_LENGTH) h2_head_malformed(in, "Content-Length repeated");
    else if (!head_read_length(value, &head->content_length))
        h2_head_malformed(in, "malformed Content-Length");
}

static void h2_head_take_expect(h2_head_reader *in, slice value)
{
    slice member;
    while (syntax_list_next(&value, &member)) {
        if (slice_equal_nocase(member, SKUA_SLICE("100-continue")))
            in->head->expect_continue = true;
        else h2_head_refuse(in, 417, "unknown expectation");
    }
}

// Where the authority is stated twice, it must be the same.
static void h2_head_take_host_line(h2_head_reader *in, const hpack_field *field)
{
    const request_head *head = in->head;
    slice value = field->value;
    if (in->host_seen) {
        h2_head_malformed(in, "Host repeated");
    } else if (!head->host) {
        h2_head_take_host(in, field);
    } else if (!slice_equal_nocase(head_value(head, in->text, head->host - 1u), value)) {
        h2_head_malformed(in, "Host differs from :authority");
    }
    in->host_seen = true;
}

static void h2_head_reverse(char *from, char *to)
{
    while (from < to) {
        char octet = *from;
        *from++ = *--to;
        *to = octet;
    }
}

// Brings the value of a line to the end of the text, so that more can be put behind it.
__attribute__((cold)) static void h2_head_move_to_end(h2_head_reader *in, head_field *line)
{
    request_head *head = in->head;
    uint16_t from = line->value, len = line->value_len;
    char *start = in->text + from, *end = in->text + in->used;
    h2_head_reverse(start, start + len);
    h2_head_reverse(start + len, end);
    h2_head_reverse(start, end);
    for (size_t i = 0; i < head->count; i++) {
        head_field *other = &head->fields[i];
        if (other->name > from) other->name = (uint16_t)(other->name - len);
        if (other->value > from) other->value = (uint16_t)(other->value - len);
    }
    line->value = (uint16_t)(in->used - len);
}

// A client may cut cookies into lines of their own, to compress them better: here they are one
// again, RFC 9113 §8.2.3.
static void h2_head_take_cookie(h2_head_reader *in, slice value)
{
    if (!in->cookie) {
        if (h2_head_add(in, SKUA_SLICE("cookie"), value, FIELD_COOKIE))
            in->cookie = in->head->count;
        return;
    }
    head_field *line = &in->head->fields[in->cookie - 1];
    if ((size_t)line->value + line->value_len != in->used) h2_head_move_to_end(in, line);
    (void)h2_head_keep(in, SKUA_SLICE("; "));
    (void)h2_head_keep(in, value);
    line->value_len = (uint16_t)(line->value_len + 2 + value.len);
}

static inline void h2_head_take_line(h2_head_reader *in, const hpack_field *field)
{
    field_id id = (field_id)field->id;
    in->seen |= H2_SEEN_FIELD;
    if (id <= FIELD_TE && h2_head_is_of_connection(field)) {
        h2_head_malformed(in, "a field of HTTP/1's connections");
        return;
    }
    if (id == FIELD_HOST) {
        h2_head_take_host_line(in, field);
    } else if (id == FIELD_COOKIE) {
        h2_head_take_cookie(in, field->value);
    } else {
        if (id == FIELD_CONTENT_LENGTH) h2_head_take_length(in, field->value);
        if (id == FIELD_EXPECT) h2_head_take_expect(in, field->value);
        const head_field *line = h2_head_add(in, field->name, field->value, id);
        if (line && id == FIELD_OTHER && slice_equal(field->name, SKUA_SLICE("priority")))
            in->priority = in->head->count;
    }
}

__attribute__((cold, noinline)) static void h2_head_refuse_field(h2_head_reader *in,
                                                                 const hpack_field *field)
{
    if (field->flags & HPACK_IS_TOO_LONG) h2_head_refuse(in, 431, "head too large");
    else if (!(field->flags & HPACK_NAME_IS_VALID)) h2_head_malformed(in, "malformed field name");
    else h2_head_malformed(in, "malformed field value");
}

// After a fault, lines are only counted.
BASE_INLINE_ALWAYS void h2_head_take(h2_head_reader *in, const hpack_field *field)
{
    in->list_octets += field->octets;
    if (in->fault.status) return;
    const unsigned valid = HPACK_NAME_IS_VALID | HPACK_VALUE_IS_VALID;
    if ((field->flags & (valid | HPACK_IS_TOO_LONG)) != valid) {
        h2_head_refuse_field(in, field);
    } else if (in->list_octets > in->list_fits && !h2_head_fits_closely(in, field)) {
        h2_head_refuse(in, 431, "head too large");
    } else if (field->token == HPACK_TOKEN_FIELD) {
        h2_head_take_line(in, field);
    } else {
        h2_head_take_pseudo(in, field);
    }
}

// ---- The end ----

// To routes it is a GET, as it would be in HTTP/1.
static void h2_head_ask_for_tunnel(h2_head_reader *in)
{
    in->head->start = h2_head_keep(in, SKUA_SLICE("GET"));
    in->head->method_len = 3;
}

// CONNECT asks for a tunnel to an authority: the target is that. Extended CONNECT has a path
// besides, RFC 8441 §4.
static void h2_head_settle_connect(h2_head_reader *in)
{
    request_head *head = in->head;
    const unsigned path = H2_SEEN_SCHEME | H2_SEEN_PATH;
    if (in->seen & H2_SEEN_PROTOCOL) {
        if ((in->seen & path) != path || !(in->seen & H2_SEEN_AUTHORITY))
            h2_head_malformed(in, "a pseudo-field is missing");
        else if (!h2_head_fits(in, 3)) h2_head_refuse(in, 431, "head too large");
        else h2_head_ask_for_tunnel(in);
        return;
    }
    if ((in->seen & path) || !(in->seen & H2_SEEN_AUTHORITY)) {
        h2_head_malformed(in, "a CONNECT with a path, or without an authority");
        return;
    }
    head->target = head->fields[head->host - 1u].value;
    head->target_len = head->fields[head->host - 1u].value_len;
}

static void h2_head_settle_target(h2_head_reader *in)
{
    const unsigned needed = H2_SEEN_METHOD | H2_SEEN_SCHEME | H2_SEEN_PATH;
    slice method = head_method(in->head, in->text);
    if (slice_equal(method, SKUA_SLICE("CONNECT"))) h2_head_settle_connect(in);
    else if ((in->seen & needed) != needed) h2_head_malformed(in, "a pseudo-field is missing");
    else if (in->seen & H2_SEEN_PROTOCOL) h2_head_malformed(in, ":protocol without CONNECT");
    else if (!in->head->host) h2_head_refuse(in, 400, "Host missing");
}

static void h2_head_settle_content(h2_head_reader *in, bool ends)
{
    request_head *head = in->head;
    bool stated = (head->seen & 1u << FIELD_CONTENT_LENGTH) != 0;
    if (!ends) {
        head->content = stated ? HEAD_CONTENT_LENGTH : HEAD_CONTENT_STREAMED;
        return;
    }
    head->expect_continue = false; // there is nothing to go on with
    if (stated && head->content_length)
        h2_head_malformed(in, "less content than Content-Length says");
}

fault h2_head_end(h2_head_reader *in, bool ends)
{
    if (!in->fault.status) h2_head_settle_target(in);
    if (!in->fault.status) h2_head_settle_content(in, ends);
    in->head->octets = (uint32_t)in->used;
    return in->fault.status ? in->fault : FAULT_NONE;
}

#endif
