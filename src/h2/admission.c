// SPDX-License-Identifier: MIT
//
// Admission: requests wait in the order in which they came.

#include "h2/admission.h"

#ifndef SKUA_NO_HTTP2

#include "h2/content.h"

// Slots that are not waiting themselves.
static unsigned h2_admission_taken(const h2_session *s)
{
    return s->streams - s->waiting;
}

// Whether another response might find no room for its head, which may take a block of its own.
static bool h2_admission_is_crowded(const h2_session *s)
{
    enum { SEGMENTS_LEFT = 8 };
    return s->base.out->count > H2_SEGMENTS - SEGMENTS_LEFT;
}

bool h2_admission_is_full(h2_session *s)
{
    return s->waiting || h2_admission_taken(s) > h2_config(s)->http2.streams_max ||
           h2_admission_is_crowded(s) || h2_limits_delays(&s->limits, s->base.worker->loop.now_ns);
}

bool h2_admission_wait(h2_stream *stream, const char *text)
{
    h2_session *s = h2_stream_session(stream);
    skua_request *r = stream->carrier.current;
    int64_t now = s->base.worker->loop.now_ns;
    stream->text = arena_alloc(&r->memory, r->head.octets);
    if (!stream->text) return false;
    if (stream->text != text) memcpy(stream->text, text, r->head.octets);
    stream->begins_ns = h2_limits_delays(&s->limits, now) ? now + H2_DELAY_NS : 0;
    stream->next_leaving = NULL;
    h2_stream **at = &s->work->waiting;
    while (*at)
        at = &(*at)->next_leaving;
    *at = stream;
    s->waiting++;
    s->base.looks_anew = true;
    return true;
}

static bool h2_admission_may_begin(const h2_session *s, const h2_stream *stream)
{
    return h2_admission_taken(s) < h2_config(s)->http2.streams_max && !h2_admission_is_crowded(s) &&
           stream->begins_ns <= s->base.worker->loop.now_ns;
}

void h2_admission_run(h2_session *s)
{
    while (s->work && s->work->waiting && h2_admission_may_begin(s, s->work->waiting)) {
        h2_stream *stream = s->work->waiting;
        const char *text = stream->text;
        h2_stream_stop_waiting(stream);
        stream->moved_ns = s->base.worker->loop.now_ns; // it has not been anybody's time so far
        h2_stream_enter(stream);
        h2_stream_begin(stream, text);
        h2_stream_exit(stream);
        if (stream->carrier.current) h2_content_resume(stream); // it may have come meanwhile
    }
}

int64_t h2_admission_look_ns(const h2_session *s)
{
    if (!s->work || !s->work->waiting || !s->work->waiting->begins_ns) return 0;
    int64_t left = s->work->waiting->begins_ns - s->base.worker->loop.now_ns;
    return left > 0 ? left : 1;
}

#endif
