// SPDX-License-Identifier: MIT
//
// Request ids: each request gets an identifier, from a trusted proxy or random (skua_request_id). The response
// states it, also if it is an error of the server's own, and so does the JSON log.
//
//     const skua_middleware m = skua_request_id_middleware(NULL);
//     if (skua_use(server, "/", &m)) return 1;
#ifndef SKUA_MIDDLEWARE_REQUEST_ID_H
#define SKUA_MIDDLEWARE_REQUEST_ID_H

#include "words.h"

// A handler that waits on a thread of the pool finds the same name, since it has been asked for here.
static inline void skua_request_id_before(skua_request *request, void *user)
{
    (void)user;
    (void)skua_request_id(request);
    skua_next(request);
}

static inline void skua_request_id_head(skua_request *request, int status, void *user)
{
    const char *field = (const char *)user;
    skua_slice id = skua_request_id(request);
    (void)status;
    if (id.ptr && !skua_response_field(request, field).ptr) skua_field_add(request, field, id);
}

// field: of the response, which stays until the server is freed; NULL: "X-Request-Id".
static inline skua_middleware skua_request_id_middleware(const char *field)
{
    skua_middleware m = { skua_request_id_before, skua_request_id_head, NULL,
                          skua_words_user(field ? field : "X-Request-Id") };
    return m;
}

#endif
