// SPDX-License-Identifier: MIT
//
// Fields that make browsers treat responses strictly. A field that a handler adds itself takes precedence.
//
//     static const skua_security security = { .hsts_max_age_s = 31536000 };
//     const skua_middleware m = skua_security_middleware(&security);
//     if (skua_use(server, "/", &m)) return 1;
#ifndef SKUA_MIDDLEWARE_SECURITY_H
#define SKUA_MIDDLEWARE_SECURITY_H

#include "words.h"

// Stays as it is until the server is freed. NULL means the default, "" that the field is not sent.
typedef struct skua_security {
    const char *content_policy; // Content-Security-Policy; default "default-src 'self'"
    const char *frames;         // X-Frame-Options; default "DENY"
    const char *referrers;      // Referrer-Policy; default "strict-origin-when-cross-origin"
    const char *permissions;    // Permissions-Policy; default not sent
    const char *opener;         // Cross-Origin-Opener-Policy; default "same-origin"
    const char *resources;      // Cross-Origin-Resource-Policy; default "same-origin"
    int hsts_max_age_s;         // Strict-Transport-Security, over TLS alone; default not sent
    bool hsts_includes_subdomains;
} skua_security;

static inline void skua_security_add(skua_request *request, const char *name, const char *given,
                                     const char *otherwise)
{
    const char *value = given ? given : otherwise;
    if (value && *value && !skua_response_field(request, name).ptr)
        skua_field_add(request, name, skua_slice_of(value));
}

static inline void skua_security_head(skua_request *request, int status, void *user)
{
    const skua_security *s = (const skua_security *)user;
    char hsts[64];
    (void)status;
    skua_security_add(request, "X-Content-Type-Options", NULL, "nosniff");
    skua_security_add(request, "Content-Security-Policy", s->content_policy, "default-src 'self'");
    skua_security_add(request, "X-Frame-Options", s->frames, "DENY");
    skua_security_add(request, "Referrer-Policy", s->referrers, "strict-origin-when-cross-origin");
    skua_security_add(request, "Permissions-Policy", s->permissions, NULL);
    skua_security_add(request, "Cross-Origin-Opener-Policy", s->opener, "same-origin");
    skua_security_add(request, "Cross-Origin-Resource-Policy", s->resources, "same-origin");
    if (s->hsts_max_age_s <= 0 || !skua_request_is_secure(request)) return;
    (void)snprintf(hsts, sizeof hsts, "max-age=%d%s", s->hsts_max_age_s,
                   s->hsts_includes_subdomains ? "; includeSubDomains" : "");
    skua_security_add(request, "Strict-Transport-Security", hsts, NULL);
}

static inline skua_middleware skua_security_middleware(const skua_security *security)
{
    skua_middleware m = { NULL, skua_security_head, NULL, skua_words_user(security) };
    return m;
}

#endif
