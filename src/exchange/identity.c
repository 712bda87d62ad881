// SPDX-License-Identifier: MIT
//
// The name of a request. It is kept as an object of the request's, so that a request that nobody asks
// for its name has none.

#include "exchange/identity.h"

#include "base/siphash.h"
#include "exchange/client.h"
#include "exchange/recorder.h"
#include "exchange/worker.h"
#include "http/request_id.h"

static const char identity_key;

// Two of a name mean that somebody has added one to another's: none is taken.
static slice identity_field(const skua_request *r, slice name)
{
    slice value = { 0 };
    unsigned count = 0;
    for (size_t i = 0; i < r->head.count; i++) {
        if (!slice_equal_nocase(head_name(&r->head, r->base, i), name)) continue;
        value = head_value(&r->head, r->base, i);
        count++;
    }
    return count == 1 ? value : (slice){ 0 };
}

static bool identity_given(const skua_request *r, slice *id)
{
    if (!client_is_named_by_peer(r)) return false;
    if (request_id_of_trace(identity_field(r, SKUA_SLICE("traceparent")), id)) return true;
    *id = identity_field(r, SKUA_SLICE("x-request-id"));
    return request_id_is_safe(*id);
}

// The object ends with NUL, so that one pointer is enough.
static slice identity_keep(skua_request *r, slice id)
{
    char *kept = skua_request_alloc(r, id.len + 1);
    if (!kept) return (slice){ 0 };
    memcpy(kept, id.ptr, id.len);
    kept[id.len] = 0;
    if (skua_request_set(r, &identity_key, kept)) return (slice){ 0 };
    return slice_make(kept, id.len);
}

slice identity_known(const skua_request *r)
{
    const char *kept = r->objects ? skua_request_get(r, &identity_key) : NULL;
    slice id;
    if (kept) return slice_of(kept);
    return r->began_ns && identity_given(r, &id) ? id : (slice){ 0 };
}

slice identity_trace(const skua_request *r)
{
    slice id;
    if (worker_config(r->worker)->log != SKUA_LOG_JSON) return (slice){ 0 };
    bool is_valid = request_id_of_trace(identity_field(r, SKUA_SLICE("traceparent")), &id);
    return is_valid ? id : (slice){ 0 };
}

slice skua_request_id(skua_request *r)
{
    request_expect_reader(r, __func__);
    const char *kept = skua_request_get(r, &identity_key);
    if (kept) return slice_of(kept);
    if (!r->call && r->life == LIFE_IS_OVER) return (slice){ 0 };
    slice id;
    if (identity_given(r, &id)) return identity_keep(r, id);
    siphash_key number;
    char text[REQUEST_ID_TRACE_OCTETS];
    siphash_key_random(&number);
    request_id_write(number.high, number.low, text);
    return identity_keep(r, slice_make(text, sizeof text));
}
