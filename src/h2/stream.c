// SPDX-License-Identifier: MIT
//
// Stream: its slot, and its place among others.

#include "h2/stream.h"

#ifndef SKUA_NO_HTTP2

#include "exchange/request_begin.h"
#include "exchange/worker.h"
#include "h2/backlog.h"
#include "h2/ready.h"
#include "h2/session.h"

h2_session *h2_stream_session(const h2_stream *stream)
{
    return h2_session_of(stream->carrier.session);
}

// ---- Slots ----

static h2_stream **h2_stream_bucket(const h2_session *s, uint32_t number)
{
    return &s->work->buckets[number / 2 % H2_BUCKETS];
}

h2_stream *h2_stream_find(const h2_session *s, uint32_t number)
{
    if (!s->work) return NULL;
    h2_stream *stream = *h2_stream_bucket(s, number);
    while (stream && stream->carrier.number != number)
        stream = stream->by_number;
    return stream;
}

// In lines of the cache: compilers choose the instruction for long strings for the whole, which begins
// slowly.
static inline void h2_stream_clear(h2_stream *stream)
{
    enum { LINE_OCTETS = 64, LINES = sizeof *stream / LINE_OCTETS };
    for (int i = 0; i < LINES; i++)
        memset((char *)stream + i * LINE_OCTETS, 0, LINE_OCTETS);
    memset((char *)stream + LINES * LINE_OCTETS, 0, sizeof *stream % LINE_OCTETS);
}

h2_stream *h2_stream_open(h2_session *s, uint32_t number, const carrier_table *table,
                          uint32_t window)
{
    skua_worker *w = s->base.worker;
    h2_stream *stream = w->h2.free_streams;
    if (stream) w->h2.free_streams = stream->by_number;
    else stream = counted_alloc(&w->memory, sizeof *stream);
    if (!stream) return NULL;
    h2_stream_clear(stream);
    stream->carrier.table = table;
    stream->carrier.session = &s->base;
    stream->carrier.number = number;
    stream->send_window = s->initial_window;
    stream->recv_window = (int32_t)window;
    stream->window = window;
    stream->moved_ns = w->loop.now_ns;
    stream->urgency = H2_URGENCY_DEFAULT;
    stream->incremental = true;
    stream->counted = true;
    h2_stream **bucket = h2_stream_bucket(s, number);
    stream->by_number = *bucket;
    *bucket = stream;
    s->open_streams++;
    s->streams++;
    return stream;
}

static void h2_stream_unkick(const h2_stream *stream)
{
    h2_work *work = h2_stream_session(stream)->work;
    h2_stream **at = &work->kicked;
    while (*at && *at != stream)
        at = &(*at)->next_kicked;
    if (!*at) at = &work->resumed;
    while (*at != stream)
        at = &(*at)->next_kicked;
    *at = stream->next_kicked;
}

// It is not open any more, as the protocol counts.
void h2_stream_uncount(h2_stream *stream)
{
    if (stream->counted) h2_stream_session(stream)->open_streams--;
    stream->counted = false;
}

void h2_stream_forget_content(h2_stream *stream)
{
    if (!stream->in) return;
    h2_stream_session(stream)->held -= stream->in_len;
    counted_free(stream->in);
    stream->in = NULL;
    stream->in_len = stream->in_room = 0;
}

// Takes off what few have when they end.
__attribute__((noinline)) static void h2_stream_strip(h2_stream *stream)
{
    h2_ready_remove(stream);
    if (stream->is_kicked) h2_stream_unkick(stream);
    h2_backlog_give(stream);
    h2_stream_forget_content(stream);
}

void h2_stream_free(h2_stream *stream)
{
    h2_session *s = h2_stream_session(stream);
    SKUA_ASSERT(!stream->carrier.current && !stream->leaving && !stream->occupant);
    if (stream->is_ready || stream->is_kicked || stream->backlog || stream->in)
        h2_stream_strip(stream);
    h2_stream_uncount(stream);
    if (stream->lingers) s->work->lingering--;
    h2_stream **at = h2_stream_bucket(s, stream->carrier.number);
    while (*at != stream)
        at = &(*at)->by_number;
    *at = stream->by_number;
    if (--s->streams == 0) s->base.rests_from_ns = s->base.worker->loop.now_ns;
    h2_worker *kept = &s->base.worker->h2;
    stream->by_number = kept->free_streams;
    kept->free_streams = stream;
    if (s->waiting) io_kick(&s->base.worker->loop, s->base.link.stream);
}

void h2_stream_free_all(skua_worker *w)
{
    while (w->h2.free_streams) {
        h2_stream *stream = w->h2.free_streams;
        w->h2.free_streams = stream->by_number;
        counted_free(stream);
    }
}

size_t h2_stream_sweep(skua_worker *w)
{
    size_t freed = 0;
    for (const h2_stream *at = w->h2.free_streams; at; at = at->by_number)
        freed += sizeof *at;
    h2_stream_free_all(w);
    return freed;
}

// ---- Slots that are kept ----

void h2_stream_linger(h2_stream *stream)
{
    stream->lingers = true;
    h2_stream_session(stream)->work->lingering++;
}

void h2_stream_occupy(skua_request *r)
{
    h2_stream_of(r->carrier)->occupant = r;
}

// Others may wait for the slot.
void h2_stream_vacate(carrier *c)
{
    h2_stream *stream = h2_stream_of(c);
    h2_session *s = h2_stream_session(stream);
    stream->occupant = NULL;
    if (!stream->lingers) return;
    h2_stream_free(stream);
    io_kick(&s->base.worker->loop, s->base.link.stream);
}

// ---- Handlers ----

void h2_stream_enter(h2_stream *stream)
{
    stream->carrier.running = true;
    stream->carrier.session->worker->disk.served = &stream->carrier;
}

void h2_stream_exit(h2_stream *stream)
{
    stream->carrier.running = false;
    stream->carrier.session->worker->disk.served = NULL;
}

// The one place, as much is inlined into it.
__attribute__((noinline)) void h2_stream_begin(h2_stream *stream, const char *text)
{
    request_begin(stream->carrier.current, text);
}

void h2_stream_moved(h2_stream *stream, size_t octets)
{
    stream->moved_ns = stream->carrier.session->worker->loop.now_ns;
    stream->rate_octets += (uint32_t)octets;
}

void h2_stream_kick(h2_stream *stream)
{
    h2_session *s = h2_stream_session(stream);
    if (!stream->is_kicked) {
        stream->is_kicked = true;
        stream->next_kicked = s->work->kicked;
        s->work->kicked = stream;
    }
    io_kick(&s->base.worker->loop, s->base.link.stream);
}

void h2_stream_stop_waiting(h2_stream *stream)
{
    h2_session *s = h2_stream_session(stream);
    if (!stream->text) return;
    h2_stream **at = &s->work->waiting;
    while (*at != stream)
        at = &(*at)->next_leaving;
    *at = stream->next_leaving;
    stream->text = NULL;
    s->waiting--;
}

void h2_stream_close_self(h2_stream *stream)
{
    stream->self = H2_HALF_ENDED;
    h2_ready_remove(stream);
}

#endif
