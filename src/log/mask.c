// SPDX-License-Identifier: MIT
//
// A name may be written with percent-encoding, in which it is the same to those who read it.

#include "log/mask.h"

typedef struct mask_out {
    char *at, *end;
} mask_out;

static void mask_put(mask_out *out, slice s)
{
    size_t room = (size_t)(out->end - out->at), len = s.len < room ? s.len : room;
    if (len) memcpy(out->at, s.ptr, len);
    out->at += len;
}

static int mask_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c = octet_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The next character of a name, in lower case. *at: behind it.
static char mask_next(slice name, size_t *at)
{
    char c = name.ptr[(*at)++];
    if (c != '%' || name.len - *at < 2) return octet_lower(c);
    int high = mask_digit(name.ptr[*at]), low = mask_digit(name.ptr[*at + 1]);
    if (high < 0 || low < 0) return c;
    *at += 2;
    return octet_lower((char)(high * 16 + low));
}

static bool mask_is_named(slice name, slice secret)
{
    size_t at = 0, i = 0;
    while (at < name.len && i < secret.len) {
        if (mask_next(name, &at) != octet_lower(secret.ptr[i++])) return false;
    }
    return at == name.len && i == secret.len;
}

static bool mask_is_secret(slice name, const char *secrets)
{
    for (const char *at = secrets + strspn(secrets, " "); *at; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        if (mask_is_named(name, slice_make(at, len))) return true;
        at += len;
    }
    return false;
}

// One parameter, up to what separates it from the next.
static bool mask_parameter(mask_out *out, slice parameter, const char *secrets)
{
    const char *equals = parameter.len ? memchr(parameter.ptr, '=', parameter.len) : NULL;
    size_t name = equals ? (size_t)(equals - parameter.ptr) : parameter.len;
    bool hides =
        name + 1 < parameter.len && mask_is_secret(slice_make(parameter.ptr, name), secrets);
    mask_put(out, hides ? slice_make(parameter.ptr, name + 1) : parameter);
    if (hides) mask_put(out, slice_of("REDACTED"));
    return hides;
}

static size_t mask_span(slice text, size_t from)
{
    size_t at = from;
    while (at < text.len && text.ptr[at] != '&' && text.ptr[at] != '#' && text.ptr[at] != ' ')
        at++;
    return at;
}

slice mask_secrets(slice text, const char *secrets, char *out, size_t room)
{
    const char *query = text.len ? memchr(text.ptr, '?', text.len) : NULL;
    if (!query || !*secrets) return text;
    mask_out to = { out, out + room };
    size_t at = (size_t)(query - text.ptr) + 1;
    bool hides = false;
    mask_put(&to, slice_make(text.ptr, at));
    while (at < text.len) {
        size_t end = mask_span(text, at);
        if (mask_parameter(&to, slice_make(text.ptr + at, end - at), secrets)) hides = true;
        if (end < text.len) mask_put(&to, slice_make(text.ptr + end, 1));
        at = end + 1;
    }
    return hides ? slice_make(out, (size_t)(to.at - out)) : text;
}
