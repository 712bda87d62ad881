// SPDX-License-Identifier: MIT
//
// Sessions kept in a signed cookie: names and values of a client, without a table on the server. The client can
// read them, so do not put secrets there. A cookie that the client has kept is valid until it expires, even after the
// program has ended the session: keep sessions that must end at once in a database.
//
//     static skua_session_desc sessions = { .lifetime_s = 3600 }; // and .signing.key
//     const skua_middleware m = skua_session_middleware(&sessions);
//     if (skua_use(server, "/", &m)) return 1;
//     … skua_session_set(request, &sessions, "user", SKUA_SLICE("anna"));
//     … skua_slice user = skua_session_get(request, &sessions, "user");
#ifndef SKUA_MIDDLEWARE_SESSION_H
#define SKUA_MIDDLEWARE_SESSION_H

#include "session_values.h"

static inline const char *skua_session_name(const skua_session_desc *d)
{
    return d->cookie ? d->cookie : "session";
}

static inline int64_t skua_session_lifetime(const skua_session_desc *d)
{
    return d->lifetime_s > 0 ? d->lifetime_s : (int64_t)SKUA_SIGNED_COOKIE_AGE_S;
}

static inline void skua_session_before(skua_request *request, void *user)
{
    const skua_session_desc *d = (const skua_session_desc *)user;
    skua_session *s = (skua_session *)skua_request_alloc(request, sizeof *s);
    skua_slice text = skua_request_cookie(request, skua_session_name(d));
    skua_signed found;
    if (!s || skua_request_set(request, d, s)) {
        skua_respond_error(request, 503);
        return;
    }
    memset(s, 0, sizeof *s);
    if (text.ptr && skua_signed_read(request, &d->signing, skua_session_name(d), text, &found) &&
        skua_session_load(s, found.content)) {
        s->changed = found.is_previous ||
                     found.expires_s - (int64_t)time(NULL) < skua_session_lifetime(d) / 2;
    }
    skua_next(request);
}

// A response that sets a session belongs to one client, so caches must not share it.
static inline void skua_session_head(skua_request *request, int status, void *user)
{
    const skua_session_desc *d = (const skua_session_desc *)user;
    const skua_session *s = (const skua_session *)skua_request_get(request, d);
    skua_cookie cookie;
    (void)status;
    if (!s || !s->changed) return;
    memset(&cookie, 0, sizeof cookie); // C++ has another notation for it
    cookie.name = skua_session_name(d);
    cookie.value.ptr = s->pairs;
    cookie.value.len = s->len;
    cookie.path = "/";
    cookie.max_age_s = s->len ? skua_session_lifetime(d) : -1;
    cookie.secure = skua_request_is_secure(request);
    cookie.http_only = true;
    cookie.same_site = SKUA_SAME_SITE_LAX;
    skua_signed_cookie_set(request, &d->signing, &cookie);
    if (!skua_response_field(request, "Cache-Control").ptr)
        skua_field_add(request, "Cache-Control", SKUA_SLICE("no-store"));
}

static inline skua_middleware skua_session_middleware(const skua_session_desc *d)
{
    skua_middleware m = { skua_session_before, skua_session_head, NULL, skua_words_user(d) };
    return m;
}

#endif
