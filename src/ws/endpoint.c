// SPDX-License-Identifier: MIT
//
// Routes of sockets: what the program has said of them, checked and copied.

#include "ws/endpoint.h"

#ifndef SKUA_NO_WEBSOCKET

#include "base/memory.h"
#include "http/ws_handshake.h"
#include "ws/deflate.h"

#include <limits.h>
#include <stdio.h>

enum {
    WS_MESSAGE_OCTETS = 1048576,
    WS_FRAGMENTS = 1024,
    WS_MESSAGES_PER_SECOND = 10000,
    WS_WINDOW_BITS = 12,    // 4 KiB
    WS_DEFLATE_OCTETS = 128 // shorter messages hardly gain
};

static const int64_t ws_ping_ns = 30000000000, ws_idle_ns = 90000000000, ws_close_ns = 5000000000;

void ws_endpoint_free(void *user)
{
    const ws_endpoint *endpoint = user;
    memory_free((void *)(uintptr_t)endpoint->desc.protocols);
    memory_free((void *)(uintptr_t)endpoint->desc.origins);
    memory_free(user);
}

// Centuries are as good as for ever, and can be added to a time.
static int64_t ws_time(int64_t ns)
{
    return ns < INT64_MAX / 2 ? ns : INT64_MAX / 2;
}

static void ws_set_defaults(ws_endpoint *endpoint)
{
    skua_websocket_desc *desc = &endpoint->desc;
    uint64_t octets_max = desc->receive ? UINT64_MAX : WS_MESSAGE_OCTETS;
    if (!desc->message_octets_max) desc->message_octets_max = octets_max;
    if (!desc->fragments_max) desc->fragments_max = desc->receive ? UINT_MAX : WS_FRAGMENTS;
    if (!desc->messages_per_second_max) desc->messages_per_second_max = WS_MESSAGES_PER_SECOND;
    if (!desc->ping_ns) desc->ping_ns = ws_ping_ns;
    if (!desc->idle_timeout_ns) desc->idle_timeout_ns = ws_idle_ns;
    if (desc->close_timeout_ns <= 0) desc->close_timeout_ns = ws_close_ns;
    desc->lifetime_ns = desc->lifetime_ns > 0 ? ws_time(desc->lifetime_ns) : 0;
    if (!desc->deflate_window_bits) desc->deflate_window_bits = WS_WINDOW_BITS;
    if (!desc->deflate_octets_min) desc->deflate_octets_min = WS_DEFLATE_OCTETS;
    desc->ping_ns = ws_time(desc->ping_ns);
    desc->idle_timeout_ns = ws_time(desc->idle_timeout_ns);
    desc->close_timeout_ns = ws_time(desc->close_timeout_ns);
    if (desc->message_octets_max > INT64_MAX / 2) desc->message_octets_max = INT64_MAX / 2;
    endpoint->limits = (ws_limits){ .message_octets_max = desc->message_octets_max,
                                    .fragments_max = desc->fragments_max };
}

__attribute__((cold)) ws_endpoint *ws_endpoint_new(const skua_websocket_desc *desc)
{
    ws_endpoint *endpoint = memory_zeroed(sizeof *endpoint);
    if (!endpoint) return NULL;
    endpoint->desc = *desc;
    endpoint->desc.protocols = desc->protocols ? memory_text(desc->protocols) : NULL;
    endpoint->desc.origins = desc->origins ? memory_text(desc->origins) : NULL;
    ws_set_defaults(endpoint);
    bool whole = (endpoint->desc.protocols || !desc->protocols) &&
                 (endpoint->desc.origins || !desc->origins);
    if (whole) return endpoint;
    ws_endpoint_free(endpoint);
    return NULL;
}

static skua_status ws_endpoint_fail(char why[WS_WHY_OCTETS], const char *what, const char *sentence)
{
    (void)snprintf(why, WS_WHY_OCTETS, "%.100s: %s", what, sentence);
    return SKUA_EINVAL;
}

static skua_status ws_deflate_check(const char *pattern, const skua_websocket_desc *desc,
                                    char why[WS_WHY_OCTETS])
{
    unsigned bits = desc->deflate_window_bits;
    if ((unsigned)desc->deflate > SKUA_WEBSOCKET_DEFLATE_DEDICATED)
        return ws_endpoint_fail(why, pattern, "deflate is none of skua_websocket_deflate");
    if (bits && (bits < WS_DEFLATE_BITS_MIN || bits > WS_DEFLATE_BITS_MAX))
        return ws_endpoint_fail(why, pattern, "deflate_window_bits are 9 to 15");
    if (bits && desc->deflate != SKUA_WEBSOCKET_DEFLATE_DEDICATED)
        return ws_endpoint_fail(why, pattern, "deflate_window_bits are for dedicated windows");
    if (desc->deflate == SKUA_WEBSOCKET_DEFLATE_OFF || WS_DEFLATE_IS_BUILT_IN) return SKUA_OK;
    (void)ws_endpoint_fail(why, pattern, "messages are not compressed: zlib is not built in");
    return SKUA_EUNSUPPORTED;
}

__attribute__((cold)) skua_status ws_endpoint_check(const char *pattern,
                                                    const skua_websocket_desc *desc,
                                                    char why[WS_WHY_OCTETS])
{
    if (strncmp(pattern, "GET ", 4) != 0)
        return ws_endpoint_fail(why, pattern, "the pattern of a WebSocket begins with \"GET \"");
    if (desc->protocols && !ws_protocols_are_words(slice_of(desc->protocols)))
        return ws_endpoint_fail(why, desc->protocols, "protocols are tokens, separated by spaces");
    if (desc->origins && !ws_origins_are_valid(slice_of(desc->origins)))
        return ws_endpoint_fail(why, desc->origins,
                                "origins are \"https://host\" or \"http://host:port\", or \"*\"");
    if (desc->message && desc->receive)
        return ws_endpoint_fail(why, pattern, "messages go to message or to receive, not to both");
    if (desc->blocking && (desc->open || desc->message || desc->receive || desc->drain ||
                           desc->close || desc->closing))
        return ws_endpoint_fail(why, pattern, "a blocking function serves sockets alone");
    if ((unsigned)desc->slow > SKUA_WEBSOCKET_CLOSE)
        return ws_endpoint_fail(why, pattern, "slow is none of skua_websocket_slow");
    return ws_deflate_check(pattern, desc, why);
}

#endif
