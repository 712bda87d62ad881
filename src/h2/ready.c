// SPDX-License-Identifier: MIT
//
// Ready streams. The most urgent come first. Among these, incremental ones have a frame each in
// turn, and others go one after the other by their numbers; the two kinds alternate.

#include "h2/ready.h"

#ifndef SKUA_NO_HTTP2

#include "h2/backlog.h"

// Of so many frames one is a less urgent stream's, so that none starves.
enum { H2_FRAMES_PER_KINDNESS = 16 };

// ---- The lists ----

static h2_ready *h2_ready_list(const h2_stream *stream)
{
    h2_session *s = h2_stream_session(stream);
    return &s->work->ready[stream->urgency][stream->incremental];
}

static void h2_ready_insert(h2_stream *stream)
{
    h2_ready *list = h2_ready_list(stream);
    h2_stream *before = list->last;
    while (!stream->incremental && before && before->carrier.number > stream->carrier.number)
        before = before->ready_before;
    h2_stream *after = before ? before->ready_next : list->first;
    stream->ready_before = before;
    stream->ready_next = after;
    *(before ? &before->ready_next : &list->first) = stream;
    *(after ? &after->ready_before : &list->last) = stream;
    stream->is_ready = true;
    h2_stream_session(stream)->ready_mask |= 1u << stream->urgency;
}

void h2_ready_remove(h2_stream *stream)
{
    if (!stream->is_ready) return;
    h2_session *s = h2_stream_session(stream);
    h2_ready *list = h2_ready_list(stream);
    h2_stream *before = stream->ready_before, *after = stream->ready_next;
    *(before ? &before->ready_next : &list->first) = after;
    *(after ? &after->ready_before : &list->last) = before;
    stream->is_ready = false;
    const h2_ready *kinds = s->work->ready[stream->urgency];
    if (!kinds[0].first && !kinds[1].first) s->ready_mask &= ~(1u << stream->urgency);
}

// Before a shut window a source is asked for what comes next all the same, where that may be the end, which
// needs no window (RFC 9113 §6.9.1) and which its client may be waiting for. Octets go to the backlog; so
// one that is known to have more is not asked, or each stream would hold a block.
static bool h2_ready_is_due(const h2_stream *stream)
{
    const skua_request *r = stream->carrier.current;
    if (!r || stream->self != H2_HALF_OPEN) return false;
    if (h2_backlog_octets(stream) > 0) return stream->send_window > 0;
    return r->responding == RESPONSE_PULLED && (stream->send_window > 0 || r->pull_left <= 0);
}

void h2_ready_update(h2_stream *stream)
{
    bool ready = h2_ready_is_due(stream);
    if (ready && !stream->is_ready) h2_ready_insert(stream);
    else if (!ready) h2_ready_remove(stream);
}

void h2_ready_set_priority(h2_stream *stream, h2_priority priority)
{
    h2_ready_remove(stream);
    stream->urgency = priority.urgency;
    stream->incremental = priority.incremental;
    h2_ready_update(stream);
}

// ---- Choosing ----

static unsigned h2_ready_lowest(uint32_t mask)
{
    return (unsigned)__builtin_ctz(mask);
}

// The urgency whose turn it is: the least number, but now and then one of the others in turn.
static unsigned h2_ready_urgency(const h2_session *s)
{
    uint32_t mask = s->ready_mask;
    unsigned first = h2_ready_lowest(mask);
    if (s->turn % H2_FRAMES_PER_KINDNESS) return first;
    mask &= mask - 1;
    if (!mask) return first;
    unsigned turn = s->turn / H2_FRAMES_PER_KINDNESS % H2_URGENCIES;
    uint32_t rest = mask >> turn << turn;
    return h2_ready_lowest(rest ? rest : mask);
}

h2_stream *h2_ready_choose(h2_session *s)
{
    const h2_ready *kinds = s->work->ready[h2_ready_urgency(s)];
    bool shared = kinds[1].first && (!kinds[0].first || s->turn & 1);
    s->turn++;
    return kinds[shared].first;
}

#endif
