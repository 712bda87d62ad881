// SPDX-License-Identifier: MIT
//
// base64url without padding (RFC 4648 §5): octets as text for cookies, URLs and file names.
#ifndef SKUA_MIDDLEWARE_BASE64URL_H
#define SKUA_MIDDLEWARE_BASE64URL_H

#include "words.h"

static inline const char *skua_base64url_digits(void)
{
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
}

// Writes 4 for each 3 octets, without padding, and returns how many.
static inline size_t skua_base64url_encode(skua_slice octets, char *out)
{
    const char *digits = skua_base64url_digits();
    unsigned bits = 0, have = 0;
    size_t len = 0;
    for (size_t i = 0; i < octets.len; i++) {
        bits = (bits << 8 | (unsigned char)octets.ptr[i]) & 0xffff;
        for (have += 8; have >= 6; have -= 6)
            out[len++] = digits[bits >> (have - 6) & 63];
    }
    if (have) out[len++] = digits[bits << (6 - have) & 63];
    return len;
}

// Writes 3 octets for each 4 of text and returns how many; what is no digit counts as 0. text and out may be the
// same.
static inline size_t skua_base64url_decode(skua_slice text, char *out)
{
    const char *digits = skua_base64url_digits();
    unsigned bits = 0, have = 0;
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        const char *digit = text.ptr[i] ? strchr(digits, text.ptr[i]) : NULL;
        bits = (bits << 6 | (unsigned)(digit ? digit - digits : 0)) & 0xffff;
        have += 6;
        if (have >= 8) out[len++] = (char)(bits >> (have -= 8) & 0xff);
    }
    return len;
}

#endif
