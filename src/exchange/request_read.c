// SPDX-License-Identifier: MIT
//
// The parts of a request that a program can read.

#include "exchange/request.h"

#include "base/contract.h"
#include "base/sized.h"
#include "exchange/blocking.h"
#include "exchange/carrier.h"
#include "exchange/client.h"
#include "exchange/recorder.h"
#include "exchange/worker.h"
#include "http/cookie.h"
#include "http/query.h"

slice skua_request_method(const skua_request *r)
{
    request_expect_reader(r, __func__);
    return r->method;
}

slice skua_request_target(const skua_request *r)
{
    request_expect_reader(r, __func__);
    return r->target_text;
}

slice skua_request_path(const skua_request *r)
{
    request_expect_reader(r, __func__);
    return r->path;
}

slice skua_request_query(const skua_request *r)
{
    request_expect_reader(r, __func__);
    return r->query;
}

slice skua_request_authority(const skua_request *r)
{
    request_expect_reader(r, __func__);
    return r->authority;
}

int skua_request_version(const skua_request *r)
{
    request_expect_reader(r, __func__);
    return r->head.version;
}

static bool request_tls(const skua_request *r, skua_tls_info *info)
{
    if (r->call) return blocking_tls(r->call, info);
    if (r->life == LIFE_IS_OVER) return false;
    const transport *t = r->carrier->session->link.transport;
    return t && t->table->info(t, info);
}

bool skua_request_tls_sized(const skua_request *r, skua_tls_info *info, const skua_sizes *sizes)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(info);
    CONTRACT_SIZES(sizes);
    skua_tls_info own;
    if (!request_tls(r, &own)) return false;
    sized_give(info, sizes->tls_info, &own, sizeof own);
    return true;
}

// A proxy's word is for its own client's connection: what lies between it and here is another.
static bool request_is_secure(const skua_request *r)
{
    skua_tls_info info;
    bool secure = request_tls(r, &info);
    bool ended = !r->call && r->life == LIFE_IS_OVER;
    return !ended && client_is_forwarded(r) ? client_is_secure(r, secure) : secure;
}

bool skua_request_is_secure(const skua_request *r)
{
    request_expect_reader(r, __func__);
    return request_is_secure(r);
}

const char *skua_request_scheme(const skua_request *r)
{
    request_expect_reader(r, __func__);
    return request_is_secure(r) ? "https" : "http";
}

bool skua_request_path_is_plain(const skua_request *r)
{
    request_expect_reader(r, __func__);
    return r->plain;
}

slice skua_request_param(const skua_request *r, const char *name)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(name);
    const route *found = r->match.route;
    for (unsigned i = 0; found && i < found->pattern.param_count; i++) {
        if (slice_equal(found->pattern.params[i], slice_of(name))) return r->match.values[i];
    }
    return (slice){ 0 };
}

bool skua_request_param_at(const skua_request *r, size_t index, skua_field *param)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(param);
    const route *found = r->match.route;
    if (!found || index >= found->pattern.param_count) return false;
    *param = (skua_field){ found->pattern.params[index], r->match.values[index] };
    return true;
}

const char *skua_request_route(const skua_request *r)
{
    request_expect_reader(r, __func__);
    return r->match.route ? route_label(r->match.route) : NULL;
}

const char *skua_request_pattern(const skua_request *r)
{
    request_expect_reader(r, __func__);
    return r->match.route ? r->match.route->pattern.text.ptr : NULL;
}

slice skua_request_field(const skua_request *r, const char *name)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(name);
    slice wanted = slice_of(name);
    field_id id = field_identify(wanted);
    if (id) return request_known_field(r, id);
    for (size_t i = 0; i < r->head.count; i++) {
        if (r->head_fields[i].id == FIELD_OTHER &&
            slice_equal_nocase(head_name(&r->head, r->base, i), wanted)) {
            return head_value(&r->head, r->base, i);
        }
    }
    return (slice){ 0 };
}

bool skua_request_field_next(const skua_request *r, const char *name, size_t *index, slice *value)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(name);
    CONTRACT_GIVEN(index);
    CONTRACT_GIVEN(value);
    slice wanted = slice_of(name);
    field_id id = field_identify(wanted);
    if (id && !(r->head.seen & 1u << id)) return false;
    for (size_t i = *index; i < r->head.count; i++) {
        if (r->head_fields[i].id != id) continue;
        if (!id && !slice_equal_nocase(head_name(&r->head, r->base, i), wanted)) continue;
        *value = head_value(&r->head, r->base, i);
        *index = i + 1;
        return true;
    }
    return false;
}

bool skua_request_is_conditional(const skua_request *r)
{
    request_expect_reader(r, __func__);
    return (r->head.seen &
            (1u << FIELD_IF_MATCH | 1u << FIELD_IF_NONE_MATCH | 1u << FIELD_IF_MODIFIED_SINCE |
             1u << FIELD_IF_UNMODIFIED_SINCE | 1u << FIELD_IF_RANGE | 1u << FIELD_RANGE)) != 0;
}

bool skua_request_field_at(const skua_request *r, size_t index, skua_field *field)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(field);
    if (index >= r->head.count) return false;
    *field =
        (skua_field){ head_name(&r->head, r->base, index), head_value(&r->head, r->base, index) };
    return true;
}

slice skua_request_query_param(const skua_request *r, const char *name)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(name);
    slice rest = r->query, key, value, wanted = slice_of(name);
    for (unsigned i = 0;
         i < worker_config(r->worker)->params_max && query_next(&rest, &key, &value); i++) {
        if (!query_equal(key, wanted)) continue;
        char *decoded = arena_alloc(request_decoding_here(r)->memory, value.len + 1);
        return decoded ? slice_make(decoded, query_decode(value, decoded)) : slice_make("", 0);
    }
    return (slice){ 0 };
}

bool skua_request_cookie_at(const skua_request *r, size_t index, skua_field *cookie)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(cookie);
    for (size_t i = 0; i < r->head.count; i++) {
        if (r->head_fields[i].id != FIELD_COOKIE) continue;
        slice rest = head_value(&r->head, r->base, i), name, value;
        while (cookie_next(&rest, &name, &value)) {
            if (index-- > 0) continue;
            *cookie = (skua_field){ name, value };
            return true;
        }
    }
    return false;
}

// skua_request_cookie_at would begin anew for each index, and a head holds thousands of cookies.
slice skua_request_cookie(const skua_request *r, const char *name)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(name);
    slice wanted = slice_of(name);
    for (size_t i = 0; i < r->head.count; i++) {
        if (r->head_fields[i].id != FIELD_COOKIE) continue;
        slice rest = head_value(&r->head, r->base, i), found, value;
        while (cookie_next(&rest, &found, &value)) {
            if (slice_equal(found, wanted)) return value;
        }
    }
    return (slice){ 0 };
}

// The request's connection may be gone, or another's by now.
static size_t request_write_no_peer(char *text, size_t room)
{
    if (room) text[0] = 0;
    return 0;
}

size_t skua_request_peer(const skua_request *r, char *text, size_t room)
{
    request_expect_reader(r, __func__);
    CONTRACT(text || !room, "text must not be NULL");
    if (!r->call && r->life == LIFE_IS_OVER) return request_write_no_peer(text, room);
    return client_write(r, text, room);
}

bool skua_request_peer_is_done(const skua_request *r)
{
    request_expect_reader(r, __func__);
    if (!r->call && r->life == LIFE_IS_OVER) return true;
    return r->call ? blocking_peer_was_done(r->call) : r->carrier->table->peer_is_done(r->carrier);
}

bool skua_request_is_gone(const skua_request *r)
{
    if (request_is_here(r)) return r->life != LIFE_GOES_ON;
    const recorder *taken = recorder_of(r, __func__);
    return taken->table->is_gone(taken);
}

int skua_request_status(const skua_request *r)
{
    if (request_is_here(r)) return r->status;
    const recorder *taken = recorder_of(r, __func__);
    return taken->table->status(taken);
}

uint64_t skua_request_sent(const skua_request *r)
{
    request_expect(r, __func__);
    return r->sent_octets;
}

void *skua_request_alloc(skua_request *r, size_t octets)
{
    request_expect_reader(r, __func__);
    return arena_alloc(request_decoding_here(r)->memory, octets);
}

skua_worker *skua_request_worker(const skua_request *r)
{
    request_expect_reader(r, __func__);
    return r->worker;
}

skua_server *skua_request_server(const skua_request *r)
{
    request_expect_reader(r, __func__);
    return r->worker->server;
}
