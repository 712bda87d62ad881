// SPDX-License-Identifier: MIT
//
// Endpoint: what a worker tells all of its endpoints.

#include "server/endpoint.h"

endpoint *endpoint_next(const server_worker *w, uint32_t *slot)
{
    uint32_t slots = w->connections.slab_count * POOL_SLAB_ITEMS;
    while (*slot < slots) {
        pool_item *item = pool_at(&w->connections, (*slot)++);
        if (item->generation & 1) return (endpoint *)(void *)item;
    }
    return NULL;
}

void endpoint_deadline(server_worker *w, io_deadline *deadline)
{
    endpoint *end = (endpoint *)(void *)((char *)deadline - offsetof(endpoint, deadline));
    endpoint_role_of(w, end)->timed_out(end);
}

void endpoint_hurry_all(server_worker *w)
{
    uint32_t slot = 0;
    for (endpoint *end; (end = endpoint_next(w, &slot));)
        endpoint_role_of(w, end)->hurry(end);
}

void endpoint_abort_all(server_worker *w)
{
    uint32_t slot = 0;
    for (endpoint *end; (end = endpoint_next(w, &slot));)
        endpoint_role_of(w, end)->abort(end);
}
