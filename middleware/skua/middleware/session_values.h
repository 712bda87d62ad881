// SPDX-License-Identifier: MIT
//
// The names and values of a session, read and written by handlers while it is in the request's memory.
#ifndef SKUA_MIDDLEWARE_SESSION_VALUES_H
#define SKUA_MIDDLEWARE_SESSION_VALUES_H

#include "signed_cookie.h"

// Stays as it is until the server is freed. Zero means default.
typedef struct skua_session_desc {
    skua_signing signing;
    const char *cookie; // its name; default "session". "__Host-session" needs TLS
    int64_t lifetime_s; // from the last renewal, at half of it; default 86400
} skua_session_desc;

typedef struct skua_session {
    bool changed;
    size_t len;
    char pairs[SKUA_SIGNED_OCTETS_MAX]; // each a name, NUL, a value, NUL
} skua_session;

// Takes the pairs of a cookie; false when they are none.
static inline bool skua_session_load(skua_session *s, skua_slice pairs)
{
    unsigned ends = 0;
    for (size_t i = 0; i < pairs.len; i++)
        ends += !pairs.ptr[i];
    if (!pairs.len || pairs.len > sizeof s->pairs || pairs.ptr[pairs.len - 1] || ends % 2)
        return false;
    memcpy(s->pairs, pairs.ptr, pairs.len);
    s->len = pairs.len;
    return true;
}

// Where the pair of that name begins in the session, and its octets; len when there is none.
static inline size_t skua_session_find(const skua_session *s, const char *name, size_t *octets)
{
    for (size_t at = 0; at < s->len; at += *octets) {
        const char *pair = s->pairs + at;
        *octets = strlen(pair) + 1;
        *octets += strlen(pair + *octets) + 1;
        if (strcmp(pair, name) == 0) return at;
    }
    *octets = 0;
    return s->len;
}

// A value; {NULL, 0} when there is none. Lifetime: until the next skua_session_set.  Thread: worker, pool.
static inline skua_slice skua_session_get(const skua_request *request, const skua_session_desc *d,
                                          const char *name)
{
    size_t octets, at;
    skua_slice value = { NULL, 0 };
    const skua_session *s = (const skua_session *)skua_request_get(request, d);
    if (!s || (at = skua_session_find(s, name, &octets)) == s->len) return value;
    return skua_slice_of(s->pairs + at + strlen(name) + 1);
}

// Sets a value, or removes it (ptr NULL), before the response. Errors: SKUA_EINVAL NUL in it, or an empty name; SKUA_ELIMIT
// the session would be longer than SKUA_SIGNED_OCTETS_MAX; SKUA_ESTATE no session of that middleware.
static inline skua_status skua_session_set(const skua_request *request, const skua_session_desc *d,
                                           const char *name, skua_slice value)
{
    skua_session *s = (skua_session *)skua_request_get(request, d);
    size_t octets, at, name_octets = strlen(name) + 1,
                       more = value.ptr ? name_octets + value.len + 1 : 0;
    if (!s) return SKUA_ESTATE;
    if (!*name || (value.len && memchr(value.ptr, 0, value.len))) return SKUA_EINVAL;
    at = skua_session_find(s, name, &octets);
    if (s->len - octets + more > sizeof s->pairs) return SKUA_ELIMIT;
    memmove(s->pairs + at, s->pairs + at + octets, s->len - at - octets);
    s->len -= octets;
    s->changed = true;
    if (!value.ptr) return SKUA_OK;
    memcpy(s->pairs + s->len, name, name_octets);
    if (value.len) memcpy(s->pairs + s->len + name_octets, value.ptr, value.len);
    s->pairs[s->len + more - 1] = '\0';
    s->len += more;
    return SKUA_OK;
}

// Ends the session: its cookie is deleted.
static inline void skua_session_end(const skua_request *request, const skua_session_desc *d)
{
    skua_session *s = (skua_session *)skua_request_get(request, d);
    if (s) s->len = 0;
    if (s) s->changed = true;
}

#endif
