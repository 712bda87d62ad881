// SPDX-License-Identifier: MIT
//
// The head of an HTTP/1 request: request line and field section, RFC 9112 §2 to §6.
// Incremental: the octets so far lie in one piece; after H1_MORE call again with the same octets
// and more behind them (the piece may have moved). Faults are found as soon as the octet that makes
// them has come, whatever the split; the outcome never depends on the split. Faults that an octet
// makes: those of the grammar; at the LF of a line, what that line means; at the last LF, what the
// head means.
#ifndef SKUA_HTTP_H1_HEAD_H
#define SKUA_HTTP_H1_HEAD_H

#include "base/slice.h"
#include "http/fault.h"

// Fields the engine looks at itself. FIELD_OTHER must be 0.
typedef enum field_id {
    FIELD_OTHER,
    FIELD_HOST,
    FIELD_CONNECTION,
    FIELD_CONTENT_LENGTH,
    FIELD_TRANSFER_ENCODING,
    FIELD_EXPECT,
    FIELD_UPGRADE,
    FIELD_TE,
    FIELD_TRAILER,
    FIELD_COOKIE,
    FIELD_ACCEPT,
    FIELD_ACCEPT_ENCODING,
    FIELD_RANGE,
    FIELD_IF_RANGE,
    FIELD_IF_MATCH,
    FIELD_IF_NONE_MATCH,
    FIELD_IF_MODIFIED_SINCE,
    FIELD_IF_UNMODIFIED_SINCE,
    FIELD_CONTENT_TYPE,
    FIELD_AUTHORIZATION,
    FIELD_COUNT
} field_id;

// The id of a field name, whatever its case.
field_id field_identify(slice name);

// A field line. Offsets are from the head's first octet.
typedef struct h1_field {
    uint16_t name, name_len;
    uint16_t value, value_len; // without white space around it
    uint16_t id;               // field_id
} h1_field;

typedef struct h1_limits {
    // All of it with its last CRLF, but without empty lines before it (with them 65535). A head
    // that fills this and isn't complete is refused, so the caller needs room for this many octets
    // and those of empty lines. [431]
    uint32_t head_octets_max;
    uint32_t target_octets_max; // [414]
    uint16_t method_octets_max; // of the longest method that is known [501]
    uint16_t fields_max;        // [431]
} h1_limits;

// Empty lines (CRLF) that may come before a request line, RFC 9112 §2.2.
enum { H1_EMPTY_LINES_MAX = 4 };

typedef enum h1_result { H1_MORE, H1_DONE, H1_FAULT } h1_result;

typedef enum h1_content { H1_CONTENT_NONE, H1_CONTENT_LENGTH, H1_CONTENT_CHUNKED } h1_content;

typedef struct h1_head {
    const h1_limits *limits;
    h1_field *fields; // room for limits->fields_max, the caller's

    // Progress: private. Offsets are from the first octet of the input.
    uint32_t at;   // the next octet to look at: none is looked at twice
    uint32_t mark; // start of the word it is in
    uint8_t stage;
    uint8_t flags;

    // Valid after H1_DONE.
    uint8_t version;      // 10 or 11
    uint8_t content;      // h1_content
    bool keep_alive;      // what version and Connection ask for, RFC 9112 §9.3
    bool expect_continue; // Expect: 100-continue in HTTP/1.1
    uint16_t start;       // first octet of the request line: empty lines may come before it
    uint16_t method_len;  // the method is at start
    uint16_t target;      // offset
    uint16_t target_len;
    uint16_t count;          // field lines
    uint16_t host;           // index of the Host line plus one; 0: none (HTTP/1.0 only)
    uint32_t octets;         // all that was read, empty lines included: what follows is content
    uint64_t content_length; // for H1_CONTENT_LENGTH
    uint32_t seen;           // bit 1 << field_id for each known field that is there

    // After H1_FAULT. Valid is then also what of method and target had been read; else 0.
    fault fault;
} h1_head;

// Begins a head. Cheap: fields are not touched.
void h1_head_init(h1_head *head, const h1_limits *limits, h1_field *fields);

// Reads on. octets: everything since the head's first octet.
// Checks, with the status they answer (rules in RFC 9112, and stricter where peers disagree):
// request line (400, 505 for a major version other than 1, 414), method a token and not too long
// (501), target without controls, space, quotes, "<", ">" and "#" (its full grammar is target.h's),
// field lines (400), limits (431), Host missing in 1.1 or repeated or of bad form
// (400), Content-Length repeated, a list, or malformed (400; more than 19 digits or than INT64_MAX
// 400), with Transfer-Encoding (400), Transfer-Encoding in 1.0 (400), not ending in chunked or with
// it twice or with parameters (400), an unknown coding before a final chunked (501), Expect other
// than 100-continue (417, HTTP/1.1 only). Every fault is of the connection: what follows the head
// is not looked for.
h1_result h1_head_read(h1_head *head, slice octets);

static inline slice h1_method(const h1_head *head, const char *base)
{
    return slice_make(base + head->start, head->method_len);
}

static inline slice h1_target(const h1_head *head, const char *base)
{
    return slice_make(base + head->target, head->target_len);
}

static inline slice h1_name(const h1_head *head, const char *base, size_t i)
{
    return slice_make(base + head->fields[i].name, head->fields[i].name_len);
}

static inline slice h1_value(const h1_head *head, const char *base, size_t i)
{
    return slice_make(base + head->fields[i].value, head->fields[i].value_len);
}

#endif
