// SPDX-License-Identifier: MIT
//
// Backlog: a queue that frames are filled from.

#include "h2/backlog.h"

#ifndef SKUA_NO_HTTP2

#include "exchange/worker.h"

// Frames share what is lent: it is given back when the last of them has left.
typedef struct h2_share {
    lease *memory;
    size_t frames;
    out_release *release;
    void *user;
} h2_share;

h2_backlog *h2_backlog_of(h2_stream *stream)
{
    if (stream->backlog) return stream->backlog;
    skua_worker *w = stream->carrier.session->worker;
    h2_backlog *made = w->h2.free_backlogs;
    if (made) w->h2.free_backlogs = made->next;
    else made = counted_alloc(&w->memory, sizeof *made);
    if (!made) return NULL;
    out_init(&made->out, &w->blocks, made->segments, H2_BACKLOG_SEGMENTS);
    stream->backlog = made;
    return made;
}

void h2_backlog_give(h2_stream *stream)
{
    h2_backlog *gone = stream->backlog;
    if (!gone) return;
    stream->backlog = NULL;
    out_deinit(&gone->out); // a release may call the program, which finds no backlog any more
    h2_worker *kept = &stream->carrier.session->worker->h2;
    gone->next = kept->free_backlogs;
    kept->free_backlogs = gone;
}

// ---- Moving ----

static void h2_share_drop(void *user)
{
    h2_share *share = user;
    if (--share->frames) return;
    out_release *release = share->release;
    void *lent_by = share->user;
    counted_free(share);
    if (release) release(lent_by);
}

// A segment of which only a part is moved gets a share in place of its release. That takes memory,
// so it happens before a frame is begun.
bool h2_backlog_split(h2_stream *stream, size_t octets)
{
    out_segment *segment = out_segment_at(&stream->backlog->out, 0);
    bool whole = segment->len <= octets;
    if (whole || segment->kind == OUT_COPIED || segment->release == h2_share_drop) return true;
    h2_share *share = counted_alloc(&stream->carrier.session->worker->memory, sizeof *share);
    if (!share) return false;
    *share = (h2_share){ .frames = 1, .release = segment->release, .user = segment->user };
    segment->release = h2_share_drop;
    segment->user = share;
    return true;
}

static size_t h2_backlog_copy(out_queue *to, const out_segment *segment, size_t octets)
{
    return out_copy(to, slice_make(segment->ptr, octets)) ? octets : 0;
}

// The stream is to be found if the file cannot be read.
static void h2_backlog_move_file(const h2_stream *stream, out_queue *to, const out_segment *segment,
                                 size_t octets)
{
    out_file(to, segment->file, segment->offset, octets, segment->release, segment->user);
    out_segment_at(to, to->count - 1u)->label = stream->carrier.number;
}

size_t h2_backlog_move(h2_stream *stream, out_queue *to, size_t octets_max)
{
    out_queue *from = &stream->backlog->out;
    SKUA_ASSERT(from->octets > 0 && octets_max > 0);
    out_segment *segment = out_segment_at(from, 0);
    bool whole = segment->len <= octets_max;
    size_t octets = whole ? (size_t)segment->len : octets_max;
    if (segment->kind == OUT_COPIED) {
        octets = h2_backlog_copy(to, segment, octets);
    } else {
        if (!whole) ((h2_share *)segment->user)->frames++;
        if (segment->kind == OUT_LENT)
            out_lend(to, slice_make(segment->ptr, octets), segment->release, segment->user);
        else h2_backlog_move_file(stream, to, segment, octets);
        if (whole) segment->release = NULL;
    }
    out_pop(from, octets);
    return octets;
}

// ---- Free ones ----

void h2_backlog_free_all(skua_worker *w)
{
    while (w->h2.free_backlogs) {
        h2_backlog *backlog = w->h2.free_backlogs;
        w->h2.free_backlogs = backlog->next;
        counted_free(backlog);
    }
}

size_t h2_backlog_sweep(skua_worker *w)
{
    size_t freed = 0;
    for (const h2_backlog *at = w->h2.free_backlogs; at; at = at->next)
        freed += sizeof *at;
    h2_backlog_free_all(w);
    return freed;
}

#endif
