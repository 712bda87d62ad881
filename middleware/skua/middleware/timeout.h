// SPDX-License-Identifier: MIT
//
// Timeouts: if a handler takes longer, the response is 503, and the handler learns that its request is gone.
//
//     static const skua_timeout slow = { .timeout_ns = 30000000000 };
//     const skua_middleware m = skua_timeout_middleware(&slow);
//     if (skua_use(server, "/reports", &m)) return 1;
#ifndef SKUA_MIDDLEWARE_TIMEOUT_H
#define SKUA_MIDDLEWARE_TIMEOUT_H

#include "words.h"

// Stays as it is until the server is freed.
typedef struct skua_timeout {
    // from here on, with the middleware that comes behind; -1: no timeout, whatever
    // skua_config.handler_timeout_ns says. A route's own timeout counts more.
    int64_t timeout_ns;
} skua_timeout;

static inline void skua_timeout_before(skua_request *request, void *user)
{
    const skua_timeout *t = (const skua_timeout *)user;
    skua_request_timeout(request, t->timeout_ns);
    skua_next(request);
}

static inline skua_middleware skua_timeout_middleware(const skua_timeout *t)
{
    skua_middleware m = { skua_timeout_before, NULL, NULL, skua_words_user(t) };
    return m;
}

#endif
