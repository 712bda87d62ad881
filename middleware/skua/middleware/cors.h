// SPDX-License-Identifier: MIT
//
// CORS (Fetch standard): which pages of other origins may use the server. The middleware responds to preflight
// requests; other requests go on, and their responses say which origins may read them.
//
//     static const skua_cors cors = { .origins = "https://app.example", .credentials = true };
//     const skua_middleware m = skua_cors_middleware(&cors);
//     if (skua_use(server, "/api", &m)) return 1;
#ifndef SKUA_MIDDLEWARE_CORS_H
#define SKUA_MIDDLEWARE_CORS_H

#include "words.h"

// Stays as it is until the server is freed. NULL means the default.
typedef struct skua_cors {
    const char *origins; // with spaces between them; "*" is every one; default none
    const char *methods; // that a preflight allows; default "GET, HEAD, POST, PUT, PATCH, DELETE"
    const char *fields;  // the same; default those that are asked for
    const char *exposed; // fields of a response that a page may read; default none
    bool credentials; // cookies come along; never for "*", or every page could act as its visitor
    int max_age_s;    // for how long a preflight is remembered; 0: as the browser likes
} skua_cors;

static inline bool skua_cors_is_any(const skua_cors *cors)
{
    return cors->origins && skua_slice_is(skua_slice_of(cors->origins), "*");
}

static inline bool skua_cors_allows(const skua_cors *cors, skua_slice origin)
{
    return skua_cors_is_any(cors) || skua_words_have(cors->origins, origin);
}

// Is told of every head. A cache must not give one origin what was said to another.
static inline void skua_cors_head(skua_request *request, int status, void *user)
{
    const skua_cors *cors = (const skua_cors *)user;
    skua_slice origin = skua_request_field(request, "origin");
    (void)status;
    if (!skua_cors_is_any(cors)) skua_field_add(request, "Vary", SKUA_SLICE("Origin"));
    if (!origin.len || !skua_cors_allows(cors, origin)) return;
    skua_field_add(request, "Access-Control-Allow-Origin",
                   skua_cors_is_any(cors) ? SKUA_SLICE("*") : origin);
    if (cors->credentials && !skua_cors_is_any(cors))
        skua_field_add(request, "Access-Control-Allow-Credentials", SKUA_SLICE("true"));
    if (cors->exposed)
        skua_field_add(request, "Access-Control-Expose-Headers", skua_slice_of(cors->exposed));
}

static inline void skua_cors_preflight(skua_request *request, const skua_cors *cors)
{
    char age[24];
    skua_slice asked = skua_request_field(request, "access-control-request-headers");
    skua_field_add(request, "Vary", SKUA_SLICE("Access-Control-Request-Method"));
    skua_field_add(request, "Vary", SKUA_SLICE("Access-Control-Request-Headers"));
    skua_field_add(
        request, "Access-Control-Allow-Methods",
        skua_slice_of(cors->methods ? cors->methods : "GET, HEAD, POST, PUT, PATCH, DELETE"));
    if (cors->fields) asked = skua_slice_of(cors->fields);
    if (asked.len) skua_field_add(request, "Access-Control-Allow-Headers", asked);
    (void)snprintf(age, sizeof age, "%d", cors->max_age_s);
    if (cors->max_age_s > 0) skua_field_add(request, "Access-Control-Max-Age", skua_slice_of(age));
    skua_respond(request, 204, NULL, SKUA_SLICE(""));
}

static inline void skua_cors_before(skua_request *request, void *user)
{
    skua_slice origin = skua_request_field(request, "origin");
    bool asks = skua_slice_is(skua_request_method(request), "OPTIONS") && origin.len &&
                skua_request_field(request, "access-control-request-method").len;
    if (!asks) skua_next(request);
    else if (skua_cors_allows((const skua_cors *)user, origin))
        skua_cors_preflight(request, (const skua_cors *)user);
    else skua_refuse(request, 403, SKUA_SLICE("This origin may not ask."));
}

static inline skua_middleware skua_cors_middleware(const skua_cors *cors)
{
    skua_middleware m = { skua_cors_before, skua_cors_head, NULL, skua_words_user(cors) };
    return m;
}

#endif
