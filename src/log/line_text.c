// SPDX-License-Identifier: MIT
//
// Escaped are C0, DEL, C1 (also as U+0080 to U+009F), what reorders text or separates lines, quotes,
// backslashes, and octets that are not UTF-8.

#include "log/line_text.h"

#include "base/assert.h"
#include "base/utf8.h"

void line_put(line_text *text, const char *octets, size_t len)
{
    SKUA_ASSERT((size_t)(text->end - text->at) >= len);
    memcpy(text->at, octets, len);
    text->at += len;
}

void line_puts(line_text *text, const char *octets)
{
    line_put(text, octets, strlen(octets));
}

void line_putc(line_text *text, char c)
{
    line_put(text, &c, 1);
}

void line_put_number(line_text *text, uint64_t n, size_t digits_min)
{
    char digits[20];
    size_t count = 0;
    do {
        digits[sizeof digits - ++count] = (char)('0' + n % 10);
        n /= 10;
    } while (n || count < digits_min);
    line_put(text, digits + sizeof digits - count, count);
}

// ---- Escaping ----

// Line and paragraph separators, and the characters that reorder what is shown: with them a peer
// could make a line read as another one (CVE-2021-42574).
static bool line_is_treacherous(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x61c || point == 0x200e ||
           point == 0x200f || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2066 && point <= 0x2069);
}

static void line_put_hex(line_text *text, uint32_t value, int digits)
{
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
        line_putc(text, "0123456789abcdef"[value >> shift & 15]);
    }
}

// Octets as \xNN. JSON has no such escape, so there it is the text \xNN, with its backslash
// escaped.
static void line_put_octets(line_text *text, slice s, line_place place)
{
    for (size_t i = 0; i < s.len; i++) {
        line_puts(text, place == LINE_JSON ? "\\\\x" : "\\x");
        line_put_hex(text, (unsigned char)s.ptr[i], 2);
    }
}

// One character, or one octet that begins none. Returns how many octets it took.
static size_t line_put_character(line_text *text, slice s, line_place place)
{
    uint32_t point = 0;
    size_t len = utf8_read(s, &point);
    slice character = slice_make(s.ptr, len ? len : 1);
    if (len == 0) {
        line_put_octets(text, character, place);
    } else if (point == '\\' || (point == '"' && place != LINE_PROSE)) {
        line_putc(text, '\\');
        line_putc(text, (char)point);
    } else if (line_is_treacherous(point) && place == LINE_JSON) {
        line_puts(text, "\\u");
        line_put_hex(text, point, 4);
    } else if (line_is_treacherous(point) || (point == ' ' && place == LINE_BARE)) {
        line_put_octets(text, character, place);
    } else {
        line_put(text, s.ptr, len);
    }
    return character.len;
}

// How many octets from the start of s, at most max, stand for themselves in every place.
static size_t line_span_harmless(slice s, size_t max)
{
    size_t n = 0, len = s.len < max ? s.len : max;
    while (n < len && s.ptr[n] > ' ' && s.ptr[n] < 0x7f && s.ptr[n] != '"' && s.ptr[n] != '\\')
        n++;
    return n;
}

void line_put_escaped(line_text *text, slice s, line_place place, size_t max)
{
    char *limit = text->at + max - LINE_ESCAPE_MAX;
    for (size_t i = 0; i < s.len;) {
        if (text->at >= limit) {
            line_puts(text, "...");
            return;
        }
        size_t run = line_span_harmless(slice_from(s, i), (size_t)(limit - text->at));
        line_put(text, s.ptr + i, run);
        i += run ? run : line_put_character(text, slice_from(s, i), place);
    }
}

void line_put_or_dash(line_text *text, slice s, line_place place, size_t max)
{
    if (s.len) line_put_escaped(text, s, place, max);
    else line_putc(text, '-');
}
