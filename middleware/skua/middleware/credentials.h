// SPDX-License-Identifier: MIT
//
// Credentials in the Authorization field of a request, read into its memory: RFC 7617, RFC 6750.
#ifndef SKUA_MIDDLEWARE_CREDENTIALS_H
#define SKUA_MIDDLEWARE_CREDENTIALS_H

#include "words.h"

typedef struct skua_credentials {
    skua_slice name;   // of a user; empty for a token
    skua_slice secret; // a password, or a token
    const void *asker; // for the middleware's own use
    bool passed;
} skua_credentials;

// NULL when memory ran out, and 503 is the response.
static inline skua_credentials *skua_credentials_new(skua_request *request, const void *asker)
{
    skua_credentials *c = (skua_credentials *)skua_request_alloc(request, sizeof *c);
    if (!c) {
        skua_respond_error(request, 503);
        return NULL;
    }
    memset(c, 0, sizeof *c);
    c->asker = asker;
    return c;
}

// The part behind "Basic " or "Bearer "; nothing if the scheme is another.
static inline skua_slice skua_credentials_of(skua_slice field, const char *scheme)
{
    size_t len = strlen(scheme);
    skua_slice rest = { NULL, 0 };
    for (size_t i = 0; i < len; i++) {
        if (i >= field.len || (field.ptr[i] | 0x20) != (scheme[i] | 0x20)) return rest;
    }
    if (field.len <= len || field.ptr[len] != ' ') return rest;
    while (len < field.len && field.ptr[len] == ' ')
        len++;
    rest.ptr = field.ptr + len;
    rest.len = field.len - len;
    return rest;
}

static inline int skua_base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

// Decodes base64 with its padding, RFC 4648 §4, and nothing else. out: room for 3/4 of text. Returns the
// number of octets, or -1.
static inline long skua_base64_decode(skua_slice text, char *out)
{
    size_t pads = text.len && text.ptr[text.len - 1] == '=';
    pads += pads && text.len > 1 && text.ptr[text.len - 2] == '=';
    unsigned long bits = 0;
    long octets = 0;
    if (text.len % 4 || !text.len) return -1;
    for (size_t i = 0; i < text.len; i++) {
        int digit = i < text.len - pads ? skua_base64_digit(text.ptr[i]) : 0;
        if (digit < 0) return -1;
        bits = (bits << 6 | (unsigned long)digit) & 0xffffff;
        for (size_t k = 0; i % 4 == 3 && k < 3; k++)
            out[octets++] = (char)(bits >> (16 - 8 * k) & 0xff);
    }
    bool is_whole = pads == 0 || (bits & (pads == 1 ? 0xff : 0xffff)) == 0;
    return is_whole ? octets - (long)pads : -1;
}

static inline bool skua_basic_read(skua_request *request, skua_credentials *c)
{
    skua_slice field = skua_request_field(request, "authorization");
    skua_slice text = skua_credentials_of(field, "Basic");
    char *plain = (char *)skua_request_alloc(request, text.len + 1);
    long len = plain ? skua_base64_decode(text, plain) : -1;
    const char *colon = len > 0 ? (const char *)memchr(plain, ':', (size_t)len) : NULL;
    if (!colon) return false;
    c->name.ptr = plain;
    c->name.len = (size_t)(colon - plain);
    c->secret.ptr = colon + 1;
    c->secret.len = (size_t)(len - (colon + 1 - plain));
    return true;
}

static inline bool skua_bearer_read(const skua_request *request, skua_credentials *c)
{
    c->secret = skua_credentials_of(skua_request_field(request, "authorization"), "Bearer");
    for (size_t i = 0; i < c->secret.len; i++) {
        char octet = c->secret.ptr[i];
        if (skua_base64_digit(octet) < 0 && !strchr("-._~=", octet)) return false;
    }
    return c->secret.len > 0;
}

#endif
