// SPDX-License-Identifier: MIT
//
// The small grammars of RFC 9110 §5.6 and RFC 3986 that everything is made of.
#ifndef SKUA_HTTP_SYNTAX_H
#define SKUA_HTTP_SYNTAX_H

#include "base/slice.h"

// One table, a bit per class.
enum {
    SYNTAX_TOKEN = 1, // tchar, RFC 9110 §5.6.2
    SYNTAX_FIELD = 2, // field-vchar, SP, HTAB; obs-text too
    // ASCII that a request target may hold: all that is visible but '"', "#", "<" and ">"
    SYNTAX_TARGET = 4,
    SYNTAX_PATH_PLAIN = 8, // pchar of RFC 3986 without "%": needs no decoding; "/" is not in it
    SYNTAX_HEX = 16,
    SYNTAX_HOST = 32,  // reg-name characters without "%"
    SYNTAX_QUOTED = 64 // qdtext, RFC 9110 §5.6.4
};

extern const uint8_t syntax_table[256];

static inline bool syntax_is(char c, int classes)
{
    return (syntax_table[(unsigned char)c] & classes) != 0;
}

// How many octets from the start are of the class; wide where the machine can (AVX2, SSE2, NEON),
// octet by octet otherwise, with the same answer. Reads nothing past len.
size_t syntax_span_token(const char *ptr, size_t len);
size_t syntax_span_field(const char *ptr, size_t len);
size_t syntax_span_target(const char *ptr, size_t len);

// The portable twins, which the fuzz target holds the others to.
size_t syntax_span_token_portable(const char *ptr, size_t len);
size_t syntax_span_field_portable(const char *ptr, size_t len);
size_t syntax_span_target_portable(const char *ptr, size_t len);

bool syntax_is_token(slice text);       // not empty
bool syntax_is_field_value(slice text); // may be empty

// protocol-name ["/" protocol-version], RFC 9110 §7.8: a member of Upgrade, and :protocol.
bool syntax_is_protocol(slice text);

// uri-host [":" port] as Host carries it, RFC 9112 §3.2; an empty one is valid.
bool syntax_is_host(slice text);

// The host of "host [":" port]", without a dot at its end.
slice syntax_host_name(slice authority);

// The next member of a comma-separated list, trimmed; skips empty members, honours quoted strings.
// Returns false when there is none. *rest is moved past it.
bool syntax_list_next(slice *rest, slice *member);

#endif
