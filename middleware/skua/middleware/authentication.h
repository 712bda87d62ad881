// SPDX-License-Identifier: MIT
//
// Authentication by a password (Basic, RFC 7617) or a token (Bearer, RFC 6750). The
// program supplies the check. A slow check, such as that of a hashed password, runs on a helper thread.
//
//     static bool check(skua_slice name, skua_slice secret, void *arg) { … }
//     static const skua_authentication guard = { .realm = "admin", .check = check, .slow = true };
//     const skua_middleware m = skua_basic_middleware(&guard);
//     if (skua_use(server, "/admin", &m)) return 1;
#ifndef SKUA_MIDDLEWARE_AUTHENTICATION_H
#define SKUA_MIDDLEWARE_AUTHENTICATION_H

#include "credentials.h"

#define SKUA_BASIC_MORE ", charset=\"UTF-8\""

// Stays as it is until the server is freed.
typedef struct skua_authentication {
    const char *realm; // letters, digits and spaces
    // name: of the user; empty for a token. secret: the password, or the token; skua_words_equal
    // compares it. Thread: the worker's, where it must not wait; a helper's if slow.
    bool (*check)(skua_slice name, skua_slice secret, void *arg);
    void *arg;
    bool slow;
} skua_authentication;

// The authenticated user, in the middleware and handlers that follow; empty for a token.
static inline skua_slice skua_request_user(const skua_request *request,
                                           const skua_authentication *a)
{
    const skua_credentials *c = (const skua_credentials *)skua_request_get(request, a);
    return c ? c->name : SKUA_SLICE("");
}

static inline void skua_authentication_refuse(skua_request *request, const skua_authentication *a,
                                              const char *scheme, const char *more)
{
    char field[256];
    (void)snprintf(field, sizeof field, "%s realm=\"%.150s\"%s", scheme, a->realm, more);
    skua_field_add(request, "WWW-Authenticate", skua_slice_of(field));
    skua_field_add(request, "Cache-Control", SKUA_SLICE("no-store"));
    skua_respond_error(request, 401);
}

static inline void skua_authentication_run(void *user)
{
    skua_credentials *c = (skua_credentials *)user;
    const skua_authentication *a = (const skua_authentication *)c->asker;
    c->passed = a->check(c->name, c->secret, a->arg);
}

// A token has no name, and a password has one, if an empty one.
static inline void skua_authentication_done(skua_request *request, void *user)
{
    const skua_credentials *c = (const skua_credentials *)user;
    const skua_authentication *a = (const skua_authentication *)c->asker;
    if (!request) return;
    if (!c->passed && c->name.ptr) skua_authentication_refuse(request, a, "Basic", SKUA_BASIC_MORE);
    else if (!c->passed)
        skua_authentication_refuse(request, a, "Bearer", ", error=\"invalid_token\"");
    else if (skua_request_set(request, a, user)) skua_respond_error(request, 503);
    else skua_next(request);
}

static inline void skua_authentication_check(skua_request *request, skua_credentials *c)
{
    const skua_authentication *a = (const skua_authentication *)c->asker;
    if (!a->slow) {
        skua_authentication_run(c);
        skua_authentication_done(request, c);
    } else if (skua_request_offload(request, skua_authentication_run, skua_authentication_done,
                                    c)) {
        skua_respond_error(request, 503);
    }
}

static inline void skua_basic_before(skua_request *request, void *user)
{
    const skua_authentication *a = (const skua_authentication *)user;
    skua_credentials *c = skua_credentials_new(request, user);
    if (!c) return;
    if (skua_basic_read(request, c)) skua_authentication_check(request, c);
    else skua_authentication_refuse(request, a, "Basic", SKUA_BASIC_MORE);
}

static inline void skua_bearer_before(skua_request *request, void *user)
{
    skua_credentials *c = skua_credentials_new(request, user);
    if (!c) return;
    if (skua_bearer_read(request, c)) skua_authentication_check(request, c);
    else skua_authentication_refuse(request, (const skua_authentication *)user, "Bearer", "");
}

static inline skua_middleware skua_basic_middleware(const skua_authentication *a)
{
    skua_middleware m = { skua_basic_before, NULL, NULL, skua_words_user(a) };
    return m;
}

static inline skua_middleware skua_bearer_middleware(const skua_authentication *a)
{
    skua_middleware m = { skua_bearer_before, NULL, NULL, skua_words_user(a) };
    return m;
}

#endif
