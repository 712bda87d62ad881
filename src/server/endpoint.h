// SPDX-License-Identifier: MIT
//
// Endpoint: our end of a connection. A worker accepts connections, and can open some itself. All
// endpoints of a worker are in one pool. The role of an endpoint decides how it is treated.
#ifndef SKUA_SERVER_ENDPOINT_H
#define SKUA_SERVER_ENDPOINT_H

#include "server/worker.h"

// The beginning of every object in the pool.
typedef struct endpoint {
    io_stream stream; // first: the loop finds it in the pool
    io_deadline deadline;
} endpoint;

// The side of the connection that is ours. The number is that of the stream's table of events.
typedef enum endpoint_side {
    ENDPOINT_SERVER,        // the peer has connected: see connection.h
    ENDPOINT_SECURE_SERVER, // the same over a transport: see transported.h
    ENDPOINT_CLIENT,        // the worker has connected
    ENDPOINT_PROXIED_SERVER // opened by a proxy that has not reported its client yet: see proxied.h
} endpoint_side;

// The functions that are called for an endpoint.
typedef struct endpoint_role {
    io_stream_events events; // first: the loop has it by the side's number
    // The deadline has come.
    void (*timed_out)(endpoint *end);
    // The server drains: what is not in use is to end soon, and what is in use when it is done.
    void (*hurry)(endpoint *end);
    // It is to be closed at once, unless it is being closed: the worker ends, or its loop has failed.
    void (*abort)(endpoint *end);
} endpoint_role;

_Static_assert(offsetof(endpoint_role, events) == 0, "endpoint_role_of");

static inline endpoint_side endpoint_side_of(const endpoint *end)
{
    return (endpoint_side)io_events_number(&end->stream);
}

static inline const endpoint_role *endpoint_role_of(const server_worker *w, const endpoint *end)
{
    return (const endpoint_role *)(const void *)io_events_of(&w->self.loop, &end->stream);
}

// The next endpoint of the worker's from *slot on, which is 0 at first; NULL: there are no more.
// Those that are found may be closed meanwhile.
endpoint *endpoint_next(const server_worker *w, uint32_t *slot);

// The deadline of an endpoint has come.
void endpoint_deadline(server_worker *w, io_deadline *deadline);

// Tells all of them.
void endpoint_hurry_all(server_worker *w);
void endpoint_abort_all(server_worker *w);

#endif
