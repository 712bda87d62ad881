// SPDX-License-Identifier: MIT
//
// Text of log lines. Everything that a peer chose is escaped, so that a line can neither end early, nor
// move a terminal's cursor, nor break a parser.
#ifndef SKUA_LOG_LINE_TEXT_H
#define SKUA_LOG_LINE_TEXT_H

#include "base/slice.h"

// Appends to a buffer that is known to be large enough: each part has its own maximum.
typedef struct line_text {
    char *at, *end;
} line_text;

enum {
    LINE_METHOD_MAX = 64,
    LINE_PEER_MAX = 128,
    LINE_TARGET_MAX = 8192,
    LINE_FIELD_MAX = 2048, // Referer, User-Agent
    LINE_REASON_MAX = 256,
    LINE_ID_MAX = 128,
    LINE_PARENT_OCTETS = 16, // of a parent-id
    LINE_TLS_MAX = 128,      // a version, a cipher
    LINE_NAME_MAX = 512,     // a server name
    LINE_MESSAGE_MAX = 8192,
    LINE_ESCAPE_MAX = 16 // the longest escape of one character
};

// How text is made safe, by where it stands.
typedef enum line_place {
    LINE_BARE,   // between spaces: SP is escaped too
    LINE_QUOTED, // between quotes
    LINE_PROSE,  // a message: quotes may stay
    LINE_JSON    // inside a JSON string
} line_place;

void line_put(line_text *text, const char *octets, size_t len);
void line_puts(line_text *text, const char *octets);
void line_putc(line_text *text, char c);
void line_put_number(line_text *text, uint64_t n, size_t digits_min);

// Escapes s into at most max octets; "..." marks what was cut.
void line_put_escaped(line_text *text, slice s, line_place place, size_t max);

// The same, and "-" for nothing.
void line_put_or_dash(line_text *text, slice s, line_place place, size_t max);

#endif
