// SPDX-License-Identifier: MIT
//
// Output queue. A block is shared by the segments in it and by the queue while octets are still
// copied to it; whoever lets go last gives it back.
// Invariant: if the last segment lies in the tail block, it ends where the next octet will be
// copied to, and is the open one. Without a tail block, at is NULL and left is 0.

#include "base/out.h"

#include "base/assert.h"
#include "base/inline.h"

static void out_unref_block(out_queue *out, block *b)
{
    SKUA_ASSERT(b->refs > 0);
    if (--b->refs == 0) block_give(out->store, &b);
}

static void out_drop_tail(out_queue *out)
{
    if (!out->tail) return;
    out_unref_block(out, out->tail);
    out->tail = NULL;
    out->at = NULL;
    out->left = 0;
    out->open = NULL;
}

void out_rest(out_queue *out)
{
    if (out->count == 0) out_drop_tail(out);
}

void out_init(out_queue *out, block_store *store, out_segment *segments, unsigned room)
{
    SKUA_ASSERT(store);
    SKUA_ASSERT(room > OUT_SEGMENTS_KEPT && room <= OUT_SEGMENTS_MAX);
    out->store = store;
    out->tail = NULL;
    out->at = NULL;
    out->left = 0;
    out->open = NULL;
    out->octets = 0;
    out->total_in = 0;
    out->segments = segments;
    out->first = 0;
    out->count = 0;
    out->room = (uint8_t)room;
}

// The first segment leaves the ring before its release is called, which finds a queue in order.
static void out_drop_first(out_queue *out)
{
    const out_segment *gone = &out->segments[out->first];
    block *owner = gone->owner;
    out_release *release = gone->release;
    void *user = gone->user;
    out->first = out->first + 1 == out->room ? 0 : (uint8_t)(out->first + 1);
    if (--out->count == 0) {
        out->open = NULL;
        out->first = 0; // the segment that is still in the processor's cache
    }
    if (owner) out_unref_block(out, owner);
    if (release) release(user);
}

BASE_INLINE void out_deinit(out_queue *out)
{
    while (out->count) {
        uint64_t len = out->segments[out->first].len; // it does not leave
        out->octets -= len;
        out->total_in -= len;
        out_drop_first(out);
    }
    SKUA_ASSERT(out->octets == 0);
    out_drop_tail(out);
}

__attribute__((cold)) static char *out_reserve_refilled(out_queue *out, size_t need, size_t *room)
{
    if (out->room || !out->refill(out)) return NULL;
    return out_reserve_slow(out, need, room);
}

char *out_reserve_slow(out_queue *out, size_t need, size_t *room)
{
    SKUA_ASSERT(need <= BLOCK_OCTETS);
    size_t left = out->left;
    bool fits = left > 0 && left >= need;
    if (out->count == out->room && !(fits && out->open))
        return out_reserve_refilled(out, need, room);
    if (!fits) {
        block *fresh = block_take(out->store);
        if (!fresh) return NULL;
        SKUA_ASSERT(fresh->refs == 1 && fresh->room >= need);
        out_drop_tail(out);
        out->tail = fresh;
        out->at = fresh->data;
        out->left = fresh->room;
        left = fresh->room;
    }
    if (room) *room = left;
    return out->at;
}

static void out_segment_begin(out_segment *segment, out_kind kind, uint64_t len)
{
    segment->kind = (uint8_t)kind;
    segment->len = len;
    segment->owner = NULL;
    segment->release = NULL;
    segment->user = NULL;
}

static out_segment *out_push(out_queue *out, out_kind kind, uint64_t len)
{
    SKUA_ASSERT(out->count < out->room);
    out_segment *segment = out_segment_at(out, out->count);
    out->count++;
    out->open = kind == OUT_COPIED ? segment : NULL;
    out_segment_begin(segment, kind, len);
    return segment;
}

static void out_count_in(out_queue *out, uint64_t n)
{
    out->octets += n;
    out->total_in += n;
}

void out_commit_slow(out_queue *out, size_t n)
{
    if (n == 0) return;
    SKUA_ASSERT(out->tail);
    SKUA_ASSERT(!out->open);
    out_segment *segment = out_push(out, OUT_COPIED, n);
    segment->ptr = out->at;
    segment->owner = out->tail;
    out->tail->refs++;
    out->at += n;
    out->left -= (uint32_t)n;
    out_count_in(out, n);
}

__attribute__((noinline)) static char *out_append_slow(out_queue *out, size_t n)
{
    char *at = out_reserve(out, n, NULL);
    if (at) out_commit(out, n);
    return at;
}

// A queue that has been empty for a moment has neither block nor segment: both are begun at once, the segment where the
// ring begins.
static char *out_append_first(out_queue *out, size_t n)
{
    block *fresh = block_take(out->store);
    if (!fresh) return NULL;
    fresh->refs = 2;
    out->tail = fresh;
    out->at = fresh->data + n;
    out->left = (uint32_t)(BLOCK_OCTETS - n);
    out_segment *segment = out->segments;
    out_segment_begin(segment, OUT_COPIED, n);
    segment->ptr = fresh->data;
    segment->owner = fresh;
    out->open = segment;
    out->count = 1;
    out_count_in(out, n);
    return fresh->data;
}

char *out_append(out_queue *out, size_t n)
{
    SKUA_ASSERT(n > 0 && n <= BLOCK_OCTETS);
    return out->tail || out->count || !out->room ? out_append_slow(out, n)
                                                 : out_append_first(out, n);
}

__attribute__((noinline)) bool out_copy(out_queue *out, slice octets)
{
    while (octets.len) {
        size_t room;
        char *to = out_reserve(out, 1, &room);
        if (!to) return false;
        size_t n = octets.len < room ? octets.len : room;
        memcpy(to, octets.ptr, n);
        out_commit(out, n);
        octets = slice_from(octets, n);
    }
    return true;
}

__attribute__((noinline)) void out_lend_behind(out_queue *out, uint16_t headroom, slice octets,
                                               out_release *release, void *user)
{
    if (octets.len == 0) {
        if (release) release(user);
        return;
    }
    out_segment *segment = out_push(out, OUT_LENT, octets.len);
    segment->ptr = octets.ptr;
    segment->headroom = headroom;
    segment->release = release;
    segment->user = user;
    out_count_in(out, octets.len);
}

void out_lend(out_queue *out, slice octets, out_release *release, void *user)
{
    out_lend_behind(out, 0, octets, release, user);
}

__attribute__((noinline)) void out_give(out_queue *out, block **b, size_t len)
{
    block *given = *b;
    SKUA_ASSERT(given && given->refs == 1 && len > 0 && len <= given->room);
    *b = NULL;
    out_segment *segment = out_push(out, OUT_COPIED, len);
    segment->ptr = given->data;
    segment->owner = given;
    out->open = NULL; // octets that are copied go to the queue's own block
    out_count_in(out, len);
}

__attribute__((noinline)) void out_file(out_queue *out, int file, uint64_t offset, uint64_t len,
                                        out_release *release, void *user)
{
    SKUA_ASSERT(file >= 0);
    if (len == 0) {
        if (release) release(user);
        return;
    }
    out_segment *segment = out_push(out, OUT_FILE, len);
    segment->ptr = NULL;
    segment->file = file;
    segment->failed = false;
    segment->offset = offset;
    segment->release = release;
    segment->user = user;
    out_count_in(out, len);
}

// Mostly the segment lies in the tail block, and nobody else holds that.
void out_clear(out_queue *out)
{
    block *owner = out->segments[out->first].owner;
    SKUA_ASSERT(out->count == 1 && owner);
    out->octets = 0;
    out->first = out->count = 0;
    if (owner == out->tail) owner->refs--;
    else out_unref_block(out, owner);
    out_drop_tail(out);
}

static void out_pop_part(out_segment *segment, uint64_t n)
{
    segment->len -= n;
    if (segment->kind == OUT_FILE) {
        segment->offset += n;
    } else {
        segment->ptr += n;
        segment->headroom = 0; // octets of the content are before it now
    }
}

void out_pop(out_queue *out, uint64_t n)
{
    SKUA_ASSERT(n <= out->octets);
    if (out->count == 1 && n == out->octets) { // most are one segment that has left whole
        out->octets = 0;
        n = 0;
        out_drop_first(out);
    }
    while (n) {
        out_segment *segment = &out->segments[out->first];
        uint64_t part = n < segment->len ? n : segment->len;
        n -= part;
        out->octets -= part;
        if (part < segment->len) {
            out_pop_part(segment, part);
        } else {
            out_drop_first(out);
        }
    }
    // Nothing points into the block any more: the next response uses the same cache lines again.
    if (out->count || !out->tail) return;
    out->at = out->tail->data;
    out->left = out->tail->room;
}
