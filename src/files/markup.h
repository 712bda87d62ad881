// SPDX-License-Identifier: MIT
//
// Markup: HTML in a growing piece of memory. All foreign text goes through markup_text or
// markup_segment, which escape it, also characters that would deceive the reader.
#ifndef SKUA_FILES_MARKUP_H
#define SKUA_FILES_MARKUP_H

#include "base/slice.h"

typedef struct markup {
    char *ptr;
    size_t len, room;
    bool failed; // memory ran out; what was put since is lost
} markup;

// m is all zero at first.
void markup_free(markup *m);

// Writes octets as they are.
void markup_put(markup *m, slice octets);
void markup_literal(markup *m, const char *text);
void markup_number(markup *m, uint64_t number);

// As text, and inside attribute values in double quotes where marked is false. "&", "<", ">",
// quotes as references; invalid UTF-8, controls, and characters that turn the direction of text or
// cannot be seen, as escapes (\xFF, \u{202E}); marked: inside <i>, which the style sets apart from
// a name that only looks like one.
void markup_text(markup *m, slice text, bool marked);

// Writes one percent-encoded segment of a path: nothing but unreserved characters stands for
// itself.
void markup_segment(markup *m, slice segment);

#endif
