// SPDX-License-Identifier: MIT
//
// Content of a request: delivered against credit, collected, or discarded.

#include "exchange/content.h"

#include "exchange/carrier.h"
#include "exchange/recorder.h"
#include "exchange/error.h"
#include "exchange/respond.h"
#include "exchange/worker.h"

// Octets a reader may have been given and not consumed.
static size_t content_window(const skua_request *r)
{
    return worker_config(r->worker)->content_window_octets;
}

bool content_is_blocked(const skua_request *r)
{
    if (request_is_answered(r)) return false; // what still comes is discarded
    return !r->reader || r->paused || r->unconsumed >= content_window(r);
}

void content_pause(skua_request *r)
{
    r->paused = true;
}

void content_resume(skua_request *r)
{
    if (!r->paused) return;
    r->paused = false;
    if (r->life == LIFE_GOES_ON) r->carrier->table->kick(r->carrier);
}

void content_expect_many(const skua_request *r)
{
    const session_link *link = &r->carrier->session->link;
    if (r->carrier->number == 0 && !link->transport) io_expect_many(&r->worker->loop, link->stream);
}

// Tells the reader, once, that nothing more follows.
static inline void content_tell(skua_request *r, request_delivery how)
{
    if (r->delivery != DELIVERY_GOES_ON) return;
    request_set_delivery(r, how);
    skua_content_event event = how == DELIVERY_COMPLETE ? SKUA_CONTENT_END : SKUA_CONTENT_LOST;
    if (r->reader) r->reader(r, event, (slice){ 0 }, r->reader_user);
}

void content_lost(skua_request *r)
{
    content_tell(r, DELIVERY_LOST);
}

void content_end(skua_request *r)
{
    request_set_reading(r, READING_DONE);
    if (r->reader) content_tell(r, DELIVERY_COMPLETE); // else whoever begins to read is told
}

// After the response, content is read only to keep the connection, and only so much of it.
static void content_discard(skua_request *r, size_t n)
{
    r->discarded += n;
    if (r->discarded > worker_config(r->worker)->discard_octets_max) r->close = true;
}

void content_deliver(skua_request *r, slice octets)
{
    const skua_worker *w = r->worker;
    if (r->expectation == EXPECTATION_OPEN) request_set_expectation(r, EXPECTATION_MET);
    if (w->tells & TELL_FIGURES) figure_add(&w->figures->shared.received, octets.len);
    if (request_is_answered(r) || !r->reader) {
        content_discard(r, octets.len);
        return;
    }
    r->unconsumed += octets.len;
    r->reader(r, SKUA_CONTENT_DATA, octets, r->reader_user);
}

// The framing is lost: a response that has begun cannot be taken back, so the connection just ends.
__attribute__((cold)) void content_refuse(skua_request *r, fault why)
{
    r->close = true;
    request_blame(r, why.reason);
    bool begun = r->responding != RESPONSE_NONE;
    if (!begun) content_lost(r); // which may respond
    if (begun || r->responding == RESPONSE_NONE) error_refuse(r, why.status);
}

// Said before the reader hears that the content is lost: the response is the server's.
__attribute__((cold)) static void content_refuse_length(skua_request *r)
{
    r->close = true;
    request_blame(r, "content too long");
    error_refuse(r, 413);
    content_tell(r, DELIVERY_TOO_LONG);
}

void content_deliver_unstated(skua_request *r, slice octets)
{
    r->content_got += octets.len;
    if (r->content_max && r->content_got > r->content_max) content_refuse_length(r);
    else content_deliver(r, octets);
}

// ---- Reading ----

int64_t skua_content_length(const skua_request *r)
{
    request_expect_reader(r, __func__);
    switch ((head_content)r->head.content) {
    case HEAD_CONTENT_NONE: return 0;
    case HEAD_CONTENT_LENGTH:
        return r->head.content_length > INT64_MAX ? INT64_MAX : (int64_t)r->head.content_length;
    case HEAD_CONTENT_STREAMED: return -1;
    }
    return 0;
}

// The client may wait for it before it sends anything; unless it has sent something already (RFC
// 9110 §10.1.1).
bool request_awaits_continue(const skua_request *r)
{
    return r->expectation == EXPECTATION_OPEN && r->reading == READING_CONTENT &&
           r->responding <= RESPONSE_HEADING;
}

static void content_continue(skua_request *r)
{
    if (!request_awaits_continue(r)) return;
    request_set_expectation(r, EXPECTATION_MET);
    if (r->carrier->table->inform(r, 100, NULL, 0, 0)) carrier_break(r->carrier);
}

skua_status skua_content_read(skua_request *r, skua_content_fn *fn, void *user)
{
    request_expect(r, __func__);
    CONTRACT_GIVEN(fn);
    if (r->reader || r->is_socket || request_is_answered(r)) return request_refusal(r);
    r->reader = fn;
    r->reader_user = user;
    content_continue(r);
    if (r->reading == READING_DONE) content_tell(r, DELIVERY_COMPLETE);
    else if (!r->carrier->running) r->carrier->table->kick(r->carrier);
    return SKUA_OK;
}

skua_status skua_content_limit(skua_request *r, uint64_t octets_max)
{
    request_expect(r, __func__);
    if (request_is_answered(r) || r->responding == RESPONSE_HEADING) return request_refusal(r);
    r->content_max = octets_max;
    if (octets_max == 0) return SKUA_OK;
    uint64_t known =
        r->head.content == HEAD_CONTENT_LENGTH ? r->head.content_length : r->content_got;
    if (known <= octets_max) return SKUA_OK;
    content_refuse_length(r);
    if (!r->carrier->running) r->carrier->table->kick(r->carrier);
    return SKUA_ELIMIT;
}

void skua_content_consume(skua_request *r, size_t n)
{
    request_expect(r, __func__);
    CONTRACT(n <= r->unconsumed, "more octets than were delivered and have not been consumed");
    if (r->life != LIFE_GOES_ON) return;
    size_t before = r->unconsumed, window = content_window(r);
    r->unconsumed -= n;
    bool freed = before >= window && r->unconsumed < window;
    // a carrier with a window of its own for each request gives it back by halves
    bool halved = before >= window / 2 && r->unconsumed < window / 2;
    if (freed || (halved && r->carrier->number)) r->carrier->table->kick(r->carrier);
}

slice skua_request_trailer(const skua_request *r, const char *name)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(name);
    slice wanted = slice_of(name);
    for (unsigned i = 0; i < r->received_trailers_count; i++) {
        if (slice_equal_nocase(r->received_trailers[i].name, wanted))
            return r->received_trailers[i].value;
    }
    return (slice){ 0 };
}

// ---- Collecting ----

void content_free(skua_request *r)
{
    if (r->collection_block) block_give(&r->worker->blocks, &r->collection_block);
    else counted_free(r->collection);
    r->collection = NULL;
}

static void content_collected(skua_request *r, skua_status status)
{
    skua_collected_fn *fn = r->collected;
    r->collected = NULL;
    if (!fn) return;
    slice content =
        status ? (slice){ 0 } : slice_make(r->collection ? r->collection : "", r->collection_len);
    fn(r, status, content, r->collected_user);
}

// It does not fit: answered here, so that no handler has to.
static void content_collect_fail(skua_request *r, skua_status status)
{
    request_blame(r, status == SKUA_ELIMIT ? "content too long" : "out of memory");
    if (r->responding == RESPONSE_NONE) error_respond(r, status == SKUA_ELIMIT ? 413 : 503, true);
    content_collected(r, status);
}

static bool content_collect_begin(skua_request *r)
{
    r->collection_block = block_take(&r->worker->blocks);
    if (!r->collection_block) return false;
    r->collection = r->collection_block->data;
    r->collection_room = r->collection_block->room;
    return true;
}

// Small content stays in a block of the worker's. Larger content moves to the heap, where its room
// doubles, so that each octet is copied a bounded number of times.
static bool content_collect_grow(skua_request *r, size_t need)
{
    if (!r->collection && !content_collect_begin(r)) return false;
    if (need <= r->collection_room) return true;
    size_t room = r->collection_room;
    while (room < need)
        room *= 2;
    char *grown =
        counted_resize(&r->worker->memory, r->collection_block ? NULL : r->collection, room);
    if (!grown) return false;
    if (r->collection_block) {
        memcpy(grown, r->collection, r->collection_len);
        block_give(&r->worker->blocks, &r->collection_block);
    }
    r->collection = grown;
    r->collection_room = room;
    return true;
}

static void content_collect_more(skua_request *r, slice octets)
{
    if (!r->collected) return; // has failed; the rest is discarded
    size_t len = r->collection_len + octets.len;
    if (len > r->collection_max) {
        content_collect_fail(r, SKUA_ELIMIT);
    } else if (!content_collect_grow(r, len)) {
        content_collect_fail(r, SKUA_ENOMEM);
    } else {
        memcpy(r->collection + r->collection_len, octets.ptr, octets.len);
        r->collection_len = len;
    }
}

static void content_collect(skua_request *r, skua_content_event event, slice octets, void *user)
{
    (void)user;
    switch (event) {
    case SKUA_CONTENT_DATA:
        skua_content_consume(r, octets.len);
        content_collect_more(r, octets);
        return;
    case SKUA_CONTENT_END: content_collected(r, SKUA_OK); return;
    case SKUA_CONTENT_LOST:
        content_collected(r, r->delivery == DELIVERY_TOO_LONG ? SKUA_ELIMIT : SKUA_ECLOSED);
        return;
    }
}

slice skua_request_content(const skua_request *r)
{
    if (!request_is_here(r)) return recorder_of(r, __func__)->content;
    if (!r->collects || r->delivery != DELIVERY_COMPLETE) return (slice){ 0 };
    return slice_make(r->collection ? r->collection : "", r->collection_len);
}

skua_status skua_content_collect(skua_request *r, uint64_t octets_max, skua_collected_fn *fn,
                                 void *user)
{
    request_expect(r, __func__);
    CONTRACT_GIVEN(fn);
    if (r->reader || r->responding != RESPONSE_NONE) return request_refusal(r);
    r->collects = r->keeps = true;
    r->collection = NULL;
    r->collection_block = NULL;
    r->collection_len = r->collection_room = 0;
    r->collected = fn;
    r->collected_user = user;
    uint64_t usual = r->limited ? r->content_max : worker_config(r->worker)->content_octets_max;
    r->collection_max = octets_max ? octets_max : usual;
    if (r->head.content == HEAD_CONTENT_LENGTH && r->head.content_length > r->collection_max) {
        r->reader = content_collect;
        content_collect_fail(r, SKUA_ELIMIT);
        return SKUA_OK;
    }
    return skua_content_read(r, content_collect, NULL);
}
