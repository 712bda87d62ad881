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

static bool query_is_encoded(slice text)
{
    return text.ptr[0] == '%' && text.len >= 3 && syntax_is(text.ptr[1], SYNTAX_HEX) &&
           syntax_is(text.ptr[2], SYNTAX_HEX);
}

// Decodes the first octet of *text, which is not empty, and moves past it. A "%" without two digits
// stands for itself, as the URL standard decodes it: browsers send what a person typed.
static char query_octet(slice *text)
{
    const char *at = text->ptr;
    bool encoded = query_is_encoded(*text);
    *text = slice_from(*text, encoded ? 3 : 1);
    if (encoded) return (char)(query_digit(at[1]) << 4 | query_digit(at[2]));
    return at[0] == '+' ? ' ' : at[0];
}

size_t query_decode(slice text, char *out)
{
    size_t n = 0;
    while (text.len)
        out[n++] = query_octet(&text);
    return n;
}

bool query_equal(slice encoded, slice plain)
{
    while (encoded.len && plain.len) {
        if (query_octet(&encoded) != plain.ptr[0]) return false;
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
