// SPDX-License-Identifier: MIT
//
// Routes with limits.

#include "exchange/limited.h"

#include "base/memory.h"

struct limited_route {
    limited_route *next;
    skua_handler *handler;
    void *user;
    uint64_t octets_max;
    int64_t timeout_ns;
};

void *limited_add(limited_route **list, skua_handler *handler, void *user, uint64_t octets_max,
                  int64_t timeout_ns)
{
    limited_route *made = memory_alloc(sizeof *made);
    if (!made) return NULL;
    *made = (limited_route){ .next = *list,
                             .handler = handler,
                             .user = user,
                             .octets_max = octets_max,
                             .timeout_ns = timeout_ns };
    *list = made;
    return made;
}

void limited_free(limited_route *list)
{
    while (list) {
        limited_route *entry = list;
        list = entry->next;
        memory_free(entry);
    }
}

void limited_begin(skua_request *r, void *user)
{
    const limited_route *entry = user;
    if (entry->timeout_ns) skua_request_timeout(r, entry->timeout_ns);
    r->limited = entry->octets_max > 0;
    if (r->limited && skua_content_limit(r, entry->octets_max)) return; // 413 was the response
    entry->handler(r, entry->user);
}
