// SPDX-License-Identifier: MIT
//
// Limits per key, over all workers: requests per second, octets of responses per second, requests at once.
// A key is the client's address, or one that the program makes from a request.
//
//     static skua_limit limit = { .requests_per_s = 10, .burst = 50 };
//     const skua_middleware m = skua_limit_middleware(&limit);
//     if (skua_use(server, "/api", &m)) return 1;
#ifndef SKUA_MIDDLEWARE_LIMIT_H
#define SKUA_MIDDLEWARE_LIMIT_H

#include "limit_network.h"
#include "limit_table.h"

// Zero means no limit of that kind. Static, or zeroed; its table is in use until the server is freed.
typedef struct skua_limit {
    double requests_per_s,
        burst;           // burst: requests at once after a rest; default requests_per_s, at least 1
    double octets_per_s; // of responses' content; what a long one takes too much is owed
    unsigned running_max; // requests under way
    // Writes a key of at most 128 octets and returns its length; 0: the request is not limited. NULL:
    // the client's address, and of IPv6 its network of 64 bits, since one client has that.
    size_t (*key)(skua_request *request, char key[128], void *arg);
    void *arg;
    skua_limit_table table; // the middleware's own
} skua_limit;

static inline size_t skua_limit_address(skua_request *request, char key[128])
{
    return skua_limit_network(key, skua_request_peer(request, key, 128));
}

static inline void skua_limit_refuse(skua_request *request, double seconds)
{
    char after[24];
    (void)snprintf(after, sizeof after, "%ld",
                   seconds < 1      ? 1
                   : seconds > 3600 ? 3600
                                    : (long)seconds + 1);
    skua_field_add(request, "Retry-After", skua_slice_of(after));
    skua_refuse(request, 429, SKUA_SLICE("There were too many requests."));
}

static inline void skua_limit_before(skua_request *request, void *user)
{
    skua_limit *l = (skua_limit *)user;
    char key[128];
    size_t len = l->key ? l->key(request, key, l->arg) : skua_limit_address(request, key);
    double burst = l->burst > 0 ? l->burst : l->requests_per_s;
    const skua_limit_rates rates = { l->requests_per_s, burst < 1 ? 1 : burst, l->octets_per_s,
                                     l->running_max };
    skua_limit_entry *entry = NULL;
    double wait_s = len ? skua_limit_take(&l->table, &rates, key, len, &entry) : 0;
    if (wait_s > 0) skua_limit_refuse(request, wait_s);
    else if (entry && skua_request_set(request, l, entry)) {
        skua_limit_give(&l->table, entry, 0);
        skua_respond_error(request, 503);
    } else skua_next(request);
}

static inline void skua_limit_end(skua_request *request, skua_end how, void *user)
{
    skua_limit *l = (skua_limit *)user;
    skua_limit_entry *entry = (skua_limit_entry *)skua_request_get(request, l);
    (void)how;
    if (entry) skua_limit_give(&l->table, entry, (double)skua_request_sent(request));
}

static inline skua_middleware skua_limit_middleware(skua_limit *limit)
{
    skua_middleware m = { skua_limit_before, NULL, skua_limit_end, limit };
    return m;
}

#endif
