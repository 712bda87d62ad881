// SPDX-License-Identifier: MIT
//
// Upgrade, RFC 9110 §7.8: after a 101 the connection is a tunnel of octets. What lies behind the
// request's head is its first input, and no other request is read.

#include "http/h1_write.h"
#include "http/syntax.h"
#include "server/connection.h"
#include "server/respond.h"
#include "server/stream.h"

enum { UPGRADE_PROTOCOL_OCTETS_MAX = 256 };

// protocol-name ["/" protocol-version]
static bool upgrade_is_protocol(slice protocol)
{
    const char *slash = protocol.len ? memchr(protocol.ptr, '/', protocol.len) : NULL;
    if (protocol.len > UPGRADE_PROTOCOL_OCTETS_MAX) return false;
    if (!slash) return syntax_is_token(protocol);
    size_t name_len = (size_t)(slash - protocol.ptr);
    return syntax_is_token(slice_make(protocol.ptr, name_len)) &&
           syntax_is_token(slice_from(protocol, name_len + 1));
}

// Whether a list field has that member, on any of its lines.
static bool upgrade_lists(const skua_request *r, field_id id, slice wanted)
{
    for (size_t i = 0; i < r->head.count; i++) {
        if (r->head_fields[i].id != id) continue;
        slice rest = h1_value(&r->head, r->base, i), member;
        while (syntax_list_next(&rest, &member)) {
            if (slice_equal_nocase(member, wanted)) return true;
        }
    }
    return false;
}

// A server ignores Upgrade in HTTP/1.0, and where Connection does not name it: it was not meant for
// this hop.
static bool upgrade_is_asked(const skua_request *r, slice protocol)
{
    return r->head.version >= 11 && upgrade_lists(r, FIELD_CONNECTION, SKUA_SLICE("upgrade")) &&
           upgrade_lists(r, FIELD_UPGRADE, protocol);
}

static slice upgrade_lines(skua_request *r, slice protocol)
{
    static const char before[] = "Connection: upgrade\r\nUpgrade: ";
    char *text = arena_alloc(&r->memory, sizeof before + protocol.len + 2);
    if (!text) return (slice){ 0 };
    char *at = H1_WRITE(text, before);
    at = h1_write_slice(at, protocol);
    at = H1_WRITE(at, "\r\n");
    return slice_make(text, (size_t)(at - text));
}

skua_status skua_upgrade(skua_request *r, const char *name, skua_drained_fn *drained, void *user)
{
    slice protocol = slice_of(name);
    if (r->answering != ANSWER_NONE || r->reading != READING_DONE) return SKUA_ESTATE;
    if (!upgrade_is_protocol(protocol)) return SKUA_EINVAL;
    if (!upgrade_is_asked(r, protocol)) return SKUA_EPROTOCOL;
    slice lines = upgrade_lines(r, protocol);
    if (!lines.ptr) return SKUA_ENOMEM;
    skua_status given = respond_switch(r, lines);
    if (given) return given;
    r->push = PUSH_TUNNEL;
    r->drained = drained;
    r->drained_user = user;
    r->reading = READING_TUNNEL;
    // the request's content has been read; from here on another may read the tunnel's
    r->reader = NULL;
    r->lost_told = false;
    return SKUA_OK;
}
