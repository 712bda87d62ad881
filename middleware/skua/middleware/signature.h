// SPDX-License-Identifier: MIT
//
// Signed text: content that clients keep and can read, but not change. The signature covers the name of the cookie,
// so that the text of one cookie is not valid in another, and the time at which it expires.
//
//     content "." seconds since 1970 "." HMAC-SHA-256 of (name "=" content "." seconds), RFC 2104,
//     with content and signature in base64url, RFC 4648 §5
#ifndef SKUA_MIDDLEWARE_SIGNATURE_H
#define SKUA_MIDDLEWARE_SIGNATURE_H

#include "base64url.h"

#include <time.h>

enum {
    SKUA_SIGNED_OCTETS_MAX = 2048, // of content
    SKUA_SIGNED_TEXT_MAX = 4096,   // of a signed text and its name, as of a cookie
    SKUA_SIGNING_KEY_OCTETS_MIN = 32
};

// The keys, random octets, at least 32 each; they stay until the server is freed. To change the key, make
// it previous for as long as texts are good, so that those that clients have are still known.
typedef struct skua_signing {
    skua_slice key;
    skua_slice previous; // empty: none
} skua_signing;

// Signed text that was good.
typedef struct skua_signed {
    skua_slice content;
    int64_t expires_s; // seconds since 1970
    bool is_previous;  // signed by the previous key
} skua_signed;

// text: at most SKUA_SIGNED_TEXT_MAX octets.
static inline void skua_hmac_sha256(skua_slice key, skua_slice text, unsigned char mac[32])
{
    unsigned char octets[64 + SKUA_SIGNED_TEXT_MAX] = { 0 };
    skua_slice all = { (const char *)octets, 64 + text.len };
    if (key.len > 64) skua_sha256(key, octets);
    else if (key.len) memcpy(octets, key.ptr, key.len);
    for (int i = 0; i < 64; i++)
        octets[i] ^= 0x36;
    if (text.len) memcpy(octets + 64, text.ptr, text.len);
    skua_sha256(all, mac);
    for (int i = 0; i < 64; i++)
        octets[i] ^= 0x36 ^ 0x5c;
    memcpy(octets + 64, mac, 32);
    all.len = 64 + 32;
    skua_sha256(all, mac);
}

// Signs content. Returns a text in the request's memory; empty when the key is too short, the content too
// long, or memory ran out.
static inline skua_slice skua_sign(skua_request *request, const skua_signing *s, const char *name,
                                   skua_slice content, int64_t expires_s)
{
    size_t start = strlen(name) + 1, len = start;
    unsigned char mac[32];
    const skua_slice signature = { (const char *)mac, sizeof mac }, none = { NULL, 0 };
    char *text = (char *)skua_request_alloc(request, start + SKUA_SIGNED_TEXT_MAX);
    if (!text || s->key.len < SKUA_SIGNING_KEY_OCTETS_MIN || content.len > SKUA_SIGNED_OCTETS_MAX ||
        start > SKUA_SIGNED_OCTETS_MAX / 2)
        return none;
    (void)snprintf(text, start + 1, "%s=", name);
    len += skua_base64url_encode(content, text + len);
    len += (size_t)snprintf(text + len, 24, ".%lld", (long long)expires_s);
    const skua_slice whole = { text, len };
    skua_hmac_sha256(s->key, whole, mac);
    text[len++] = '.';
    len += skua_base64url_encode(signature, text + len);
    const skua_slice made = { text + start, len - start };
    return made;
}

static inline bool skua_signed_by(skua_slice key, skua_slice text, skua_slice signature)
{
    unsigned char mac[32];
    char expected[48];
    if (key.len < SKUA_SIGNING_KEY_OCTETS_MIN) return false;
    skua_hmac_sha256(key, text, mac);
    const skua_slice octets = { (const char *)mac, sizeof mac };
    const skua_slice right = { expected, skua_base64url_encode(octets, expected) };
    return skua_words_equal(right, signature);
}

static inline size_t skua_signed_part(skua_slice text)
{
    while (text.len && text.ptr[text.len - 1] != '.')
        text.len--;
    return text.len;
}

// Reads a text that has been signed for that name. Returns false when it is none, by neither key, or has
// expired. found->content: in the request's memory.
static inline bool skua_signed_read(skua_request *request, const skua_signing *s, const char *name,
                                    skua_slice text, skua_signed *found)
{
    size_t start = strlen(name) + 1, end = skua_signed_part(text);
    char *whole = (char *)skua_request_alloc(request, start + text.len + 1);
    if (!whole || end < 2 || start + text.len > SKUA_SIGNED_TEXT_MAX) return false;
    (void)snprintf(whole, start + 1, "%s=", name);
    memcpy(whole + start, text.ptr, text.len);
    const skua_slice told = { whole, start + end - 1 };
    const skua_slice signature = { text.ptr + end, text.len - end };
    found->is_previous = !skua_signed_by(s->key, told, signature);
    if (found->is_previous && !skua_signed_by(s->previous, told, signature)) return false;
    const skua_slice body = { whole + start, end - 1 };
    size_t time_at = skua_signed_part(body);
    const skua_slice seconds = { body.ptr + time_at, body.len - time_at };
    if (!time_at || !skua_slice_i64(seconds, &found->expires_s)) return false;
    const skua_slice content = { body.ptr, time_at - 1 };
    found->content.ptr = whole; // which is longer, and has been read by then
    found->content.len = skua_base64url_decode(content, whole);
    return found->expires_s > (int64_t)time(NULL);
}

#endif
