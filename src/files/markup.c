// SPDX-License-Identifier: MIT
//
// Writing of HTML. Names of files are any octets but "/" and NUL, and may have been chosen by an
// enemy.

#include "files/markup.h"

#include "base/memory.h"
#include "base/utf8.h"

#include <stdint.h>

void markup_free(markup *m)
{
    memory_free(m->ptr);
    *m = (markup){ 0 };
}

static bool markup_grow(markup *m, size_t need)
{
    size_t room = m->room ? m->room : 4096;
    while (room - m->len < need) {
        if (room > SIZE_MAX / 2) return false;
        room *= 2;
    }
    char *grown = memory_resize(m->ptr, room);
    if (!grown) return false;
    m->ptr = grown;
    m->room = room;
    return true;
}

void markup_put(markup *m, slice octets)
{
    if (m->failed || octets.len == 0) return;
    if (m->room - m->len < octets.len && !markup_grow(m, octets.len)) {
        m->failed = true;
        return;
    }
    memcpy(m->ptr + m->len, octets.ptr, octets.len);
    m->len += octets.len;
}

void markup_literal(markup *m, const char *text)
{
    markup_put(m, slice_of(text));
}

void markup_number(markup *m, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    markup_put(m, slice_make(digits + at, sizeof digits - at));
}

// ---- Characters ---------------------------------------------------------------------------------

static unsigned markup_octet(slice text, size_t i)
{
    return (unsigned char)text.ptr[i];
}

typedef struct markup_span {
    uint32_t first, last;
} markup_span;

// C0, DEL and C1; marks, embeddings, overrides and isolates of direction; what has no width or ends
// lines; tags and noncharacters that carry text nobody sees. The joiners U+200C and U+200D stay:
// scripts and emoji need them.
static const markup_span markup_hidden[] = {
    { 0x00, 0x1f },     { 0x7f, 0x9f },     { 0xad, 0xad },     { 0x34f, 0x34f },
    { 0x61c, 0x61c },   { 0x115f, 0x1160 }, { 0x180e, 0x180e }, { 0x200b, 0x200b },
    { 0x200e, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0x3164, 0x3164 },
    { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 }, { 0xfff0, 0xfffb }, { 0xe0000, 0xe0fff },
};

static bool markup_is_hidden(uint32_t character)
{
    for (size_t i = 0; i < sizeof markup_hidden / sizeof *markup_hidden; i++) {
        if (character < markup_hidden[i].first) return false;
        if (character <= markup_hidden[i].last) return true;
    }
    return false;
}

// ---- Escapes ------------------------------------------------------------------------------------

static const char markup_digits[] = "0123456789ABCDEF";

static void markup_hex(markup *m, uint32_t value, unsigned digits)
{
    char text[8];
    for (unsigned i = digits; i-- > 0; value >>= 4)
        text[i] = markup_digits[value & 15];
    markup_put(m, slice_make(text, digits));
}

// \xFF for an octet that is not UTF-8, \u{202E} for a character.
static void markup_escape(markup *m, uint32_t value, bool is_octet, bool marked)
{
    if (marked) markup_literal(m, "<i>");
    if (is_octet || value < 0x80) {
        markup_literal(m, "\\x");
        markup_hex(m, value, 2);
    } else {
        markup_literal(m, "\\u{");
        markup_hex(m, value, value > 0xffff ? 5 : 4);
        markup_literal(m, "}");
    }
    if (marked) markup_literal(m, "</i>");
}

static const char *markup_reference(uint32_t character)
{
    switch (character) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return NULL;
    }
}

void markup_text(markup *m, slice text, bool marked)
{
    while (text.len && !m->failed) {
        uint32_t character = 0;
        size_t len = utf8_read(text, &character);
        const char *reference = len == 1 ? markup_reference(character) : NULL;
        if (len == 0) markup_escape(m, markup_octet(text, 0), true, marked);
        else if (markup_is_hidden(character)) markup_escape(m, character, false, marked);
        else if (reference) markup_literal(m, reference);
        else markup_put(m, slice_make(text.ptr, len));
        text = slice_from(text, len ? len : 1);
    }
}

// Unreserved, RFC 3986 §2.3.
static bool markup_is_unreserved(char c)
{
    char lower = octet_lower(c);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == '~';
}

void markup_segment(markup *m, slice segment)
{
    for (size_t i = 0; i < segment.len; i++) {
        if (markup_is_unreserved(segment.ptr[i])) {
            markup_put(m, slice_make(segment.ptr + i, 1));
        } else {
            markup_literal(m, "%");
            markup_hex(m, markup_octet(segment, i), 2);
        }
    }
}
