// SPDX-License-Identifier: MIT
//
// The head of a request, as any protocol's reader fills it: method, target, field lines, and what
// they say of the content. Its octets lie in one piece, into which it has offsets.
#ifndef SKUA_HTTP_HEAD_H
#define SKUA_HTTP_HEAD_H

#include "base/assert.h"
#include "http/fault.h"
#include "http/field.h"

// Offsets have 16 bits.
enum { HEAD_OCTETS_MAX = 65535 };

// A field line. Offsets are from the head's first octet.
typedef struct head_field {
    uint16_t name, name_len;
    uint16_t value, value_len; // without white space around it
    uint16_t id;               // field_id
} head_field;

typedef struct head_limits {
    // All of it; in HTTP/1 with its last CRLF, but without empty lines before it (with them 65535).
    // A head that fills this and isn't complete is refused, so the caller needs room for this many
    // octets and those of empty lines. [431]
    uint32_t head_octets_max;
    uint32_t target_octets_max; // [414]
    uint16_t method_octets_max; // of the longest method that is known [501]
    uint16_t fields_max;        // [431]
} head_limits;

typedef enum head_content {
    HEAD_CONTENT_NONE,
    HEAD_CONTENT_LENGTH,  // so many octets as content_length says
    HEAD_CONTENT_STREAMED // until the framing of the protocol says that it ends
} head_content;

typedef struct request_head {
    const head_limits *limits;
    head_field *fields; // room for limits->fields_max, the caller's

    // How far its reader has come: private to it. Offsets are from the first octet of the input.
    uint32_t at;   // the next octet to look at: none is looked at twice
    uint32_t mark; // start of the word it is in
    uint8_t stage;
    uint8_t flags;

    // Valid once the head is complete.
    uint8_t version;      // 10, 11 or 20
    uint8_t content;      // head_content
    bool keep_alive;      // what version and Connection ask for, RFC 9112 §9.3
    bool expect_continue; // Expect: 100-continue, not from an HTTP/1.0 client
    uint16_t start;       // first octet of the method: in HTTP/1, empty lines may come before it
    uint16_t method_len;  // the method is at start
    uint16_t target;      // offset
    uint16_t target_len;
    uint16_t count;          // field lines
    uint16_t host;           // index of the Host line plus one; 0: none (HTTP/1.0 only)
    uint32_t octets;         // all that was read: what follows is content
    uint64_t content_length; // for HEAD_CONTENT_LENGTH
    uint32_t seen;           // bit 1 << field_id for each known field that is there

    // After a fault. Valid is then also what of method and target had been read; else 0.
    fault fault;
} request_head;

// Begins a head. Cheap: fields are not touched.
static inline void head_init(request_head *head, const head_limits *limits, head_field *fields)
{
    SKUA_ASSERT(limits->head_octets_max > 0);
    SKUA_ASSERT(limits->head_octets_max <= HEAD_OCTETS_MAX);
    *head = (request_head){ .limits = limits, .fields = fields };
}

// Reads the value of a Content-Length, RFC 9110 §8.6. Returns: false if it is none, or more than a
// content can be.
static inline bool head_read_length(slice value, uint64_t *length)
{
    enum { DIGITS_MAX = 19 };
    if (value.len == 0 || value.len > DIGITS_MAX) return false;
    uint64_t n = 0; // 19 digits fit in it
    for (size_t i = 0; i < value.len; i++) {
        unsigned digit = (unsigned)(unsigned char)value.ptr[i] - '0';
        if (digit > 9) return false;
        n = n * 10 + digit;
    }
    if (n > INT64_MAX) return false;
    *length = n;
    return true;
}

static inline slice head_method(const request_head *head, const char *base)
{
    return slice_make(base + head->start, head->method_len);
}

static inline slice head_target(const request_head *head, const char *base)
{
    return slice_make(base + head->target, head->target_len);
}

static inline slice head_name(const request_head *head, const char *base, size_t i)
{
    return slice_make(base + head->fields[i].name, head->fields[i].name_len);
}

static inline slice head_value(const request_head *head, const char *base, size_t i)
{
    return slice_make(base + head->fields[i].value, head->fields[i].value_len);
}

#endif
