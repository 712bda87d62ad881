// SPDX-License-Identifier: MIT
//
// Pairs are cut where they lie, and decoded only when somebody asks for them.

#include "http/query.h"

#include "http/syntax.h"

// The text before separator; *rest is what follows it. Not to be called at the end.
static slice query_cut(slice *rest, char separator)
{
    const char *found = memchr(rest->ptr, separator, rest->len);
    size_t len = found ? (size_t)(found - rest->ptr) : rest->len;
    slice piece = slice_make(rest->ptr, len);
    *rest = slice_from(*rest, found ? len + 1 : len);
    return piece;
}

bool query_next(slice *rest, slice *name, slice *value)
{
    while (rest->len) {
        slice piece = query_cut(rest, '&');
        if (piece.len == 0) continue;
        *name = query_cut(&piece, '=');
        *value = piece;
        return true;
    }
    return false;
}

static unsigned query_digit(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
}

// Decodes the first octet of *text, which is not empty, and moves past it; false when broken.
static bool query_octet(slice *text, char *c)
{
    *c = text->ptr[0] == '+' ? ' ' : text->ptr[0];
    if (*c != '%') {
        *text = slice_from(*text, 1);
        return true;
    }
    if (text->len < 3) return false;
    char high = text->ptr[1], low = text->ptr[2];
    if (!syntax_is(high, SYNTAX_HEX) || !syntax_is(low, SYNTAX_HEX)) return false;
    *c = (char)(query_digit(high) << 4 | query_digit(low));
    *text = slice_from(*text, 3);
    return true;
}

bool query_decode(slice text, char *out, size_t *len)
{
    size_t n = 0;
    while (text.len) {
        if (!query_octet(&text, &out[n])) return false;
        n++;
    }
    *len = n;
    return true;
}

bool query_equal(slice encoded, slice plain)
{
    while (encoded.len && plain.len) {
        char c;
        if (!query_octet(&encoded, &c) || c != plain.ptr[0]) return false;
        plain = slice_from(plain, 1);
    }
    return encoded.len == 0 && plain.len == 0;
}

static slice cookie_unquote(slice value)
{
    bool quoted = value.len >= 2 && value.ptr[0] == '"' && value.ptr[value.len - 1] == '"';
    return quoted ? slice_make(value.ptr + 1, value.len - 2) : value;
}

bool cookie_next(slice *rest, slice *name, slice *value)
{
    while (rest->len) {
        slice piece = query_cut(rest, ';');
        if (piece.len == 0 || !memchr(piece.ptr, '=', piece.len)) continue;
        *name = slice_trim(query_cut(&piece, '='));
        *value = cookie_unquote(slice_trim(piece));
        return true;
    }
    return false;
}
