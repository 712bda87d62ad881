// SPDX-License-Identifier: MIT
//
// Endpoint: a route of sockets, as long as its server or its site.
#ifndef SKUA_WS_ENDPOINT_H
#define SKUA_WS_ENDPOINT_H
#ifndef SKUA_NO_WEBSOCKET

#include "http/ws_reader.h"

#include <stdatomic.h>

enum { WS_WHY_OCTETS = 256 };

typedef struct ws_endpoint ws_endpoint;

struct ws_endpoint {
    ws_endpoint *next;        // of a site
    skua_websocket_desc desc; // with defaults in place of zeros
    ws_limits limits;
    struct {
        atomic_size_t windows; // octets that those of its sockets may take
    } shared;
};

// Whether sockets can be served so. why: a sentence, where they cannot.
// Errors: SKUA_EINVAL, SKUA_EUNSUPPORTED.
skua_status ws_endpoint_check(const char *pattern, const skua_websocket_desc *desc,
                              char why[WS_WHY_OCTETS]);

// NULL when memory ran out.
ws_endpoint *ws_endpoint_new(const skua_websocket_desc *desc);

void ws_endpoint_free(void *endpoint);

#endif
#endif
