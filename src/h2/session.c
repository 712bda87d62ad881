// SPDX-License-Identifier: MIT
//
// Session: its memory.

#include "h2/session.h"

#ifndef SKUA_NO_HTTP2

#include "exchange/worker.h"

static const int64_t h2_session_rest_ns = 1000000000;

static const size_t h2_segments_octets = H2_SEGMENTS * sizeof(out_segment);

// ---- What it remembers ----

__attribute__((noinline)) static void h2_session_await_rest(skua_worker *w)
{
    if (w->h2.memories && !w->h2.resting.due)
        io_deadline_set(&w->loop.timers, &w->h2.resting, h2_session_rest_ns);
}

// Members are set one by one, as most is of no use before it has been set.
__attribute__((noinline)) static bool h2_session_remember(h2_session *s)
{
    skua_worker *w = s->base.worker;
    h2_memory *memory = counted_alloc_lined(&w->memory, sizeof *memory, 0);
    if (!memory) return false;
    memset(&memory->kept, 0, sizeof *memory - offsetof(h2_memory, kept));
    memory->opening.status = 0;
    h2_run_init(&memory->run);
    memory->session = s;
    memory->next = w->h2.memories;
    memory->link = &w->h2.memories;
    if (memory->next) memory->next->link = &memory->next;
    w->h2.memories = memory;
    s->memory = memory;
    h2_session_await_rest(w);
    return true;
}

h2_kept *h2_session_kept(h2_session *s)
{
    h2_memory *memory = s->memory;
    if (!memory->kept)
        memory->kept = counted_zeroed(&s->base.worker->memory, H2_KEPT_BLOCKS * sizeof(h2_kept));
    return memory->kept;
}

static size_t h2_session_remembered(const h2_memory *memory)
{
    return sizeof *memory + h2_run_octets(&memory->run) +
           (memory->kept ? H2_KEPT_BLOCKS * sizeof(h2_kept) : 0);
}

size_t h2_session_octets(const h2_session *s)
{
    const h2_work *work = s->work;
    size_t works_with = work ? sizeof *work + (work->segments ? h2_segments_octets : 0) : 0;
    return sizeof *s + works_with + (s->memory ? h2_session_remembered(s->memory) : 0);
}

// The table of our encoder goes too: the client is told so when there is something to send again.
static void h2_session_forget(h2_session *s)
{
    h2_memory *memory = s->memory;
    if (!memory) return;
    hpack_encoder_drop(&s->encoder);
    hpack_decoder_rest(&s->decoder);
    *memory->link = memory->next;
    if (memory->next) memory->next->link = memory->link;
    s->memory = NULL;
    h2_run_deinit(&memory->run);
    counted_free(memory->kept);
    counted_free_lined(memory);
}

// ---- What it works with ----

// A connection in the clear sends the queue itself.
static void h2_session_queue(h2_session *s, out_queue *out)
{
    s->base.out = out;
    if (s->base.link.transport) return;
    if (s->base.link.stream) s->base.link.stream->out = out;
}

static void h2_work_free(h2_work *work)
{
    counted_free(work->segments);
    counted_free(work);
}

static h2_work *h2_work_new(skua_worker *w)
{
    h2_work *work = counted_zeroed(&w->memory, sizeof *work);
    if (!work) return NULL;
    work->segments = counted_alloc(&w->memory, h2_segments_octets);
    if (work->segments) return work;
    counted_free(work);
    return NULL;
}

h2_session *h2_session_new(skua_worker *w)
{
    h2_session *s = counted_alloc_lined(&w->memory, sizeof *s, H2_SESSION_HOT);
    if (!s) return NULL;
    memset(s, 0, sizeof *s);
    s->base.worker = w;
    s->base.out = &w->h2.nothing;
    return s;
}

void h2_session_free(h2_session *s)
{
    counted_free_lined(s);
}

bool h2_session_work(h2_session *s)
{
    if (s->work) return true;
    if (!s->memory && !h2_session_remember(s)) return false;
    skua_worker *w = s->base.worker;
    h2_work *work = w->h2.free_works;
    if (work) w->h2.free_works = work->next;
    else work = h2_work_new(w);
    if (!work) return false;
    out_init(&work->out, &w->blocks, work->segments, H2_SEGMENTS);
    h2_session_queue(s, &work->out);
    s->work = work;
    return true;
}

void h2_session_pause(h2_session *s)
{
    h2_work *work = s->work;
    if (!work) return;
    skua_worker *w = s->base.worker;
    SKUA_ASSERT(s->streams == 0 && s->base.out->octets == 0);
    SKUA_ASSERT(!s->ready_mask && !work->leaving && !work->kicked && !work->resumed);
    out_deinit(&work->out);
    h2_session_queue(s, &w->h2.nothing);
    if (work->staging) block_give(&w->blocks, &work->staging);
    s->work = NULL;
    if (work->segments) {
        work->next = w->h2.free_works;
        w->h2.free_works = work;
    } else {
        h2_work_free(work);
    }
    if (w->pressure >= BUDGET_SCARCE) h2_session_forget(s);
}

void h2_session_idle(h2_session *s)
{
    h2_session_pause(s);
    h2_session_forget(s);
}

// ---- Rest ----

#ifndef SKUA_NO_WEBSOCKET

// Whether it has streams, all of them are parked tunnels, and nothing is under way.
static bool h2_session_has_parked_alone(const h2_session *s)
{
    const h2_work *work = s->work;
    if (!s->streams || work->out.octets || s->ready_mask || work->waiting) return false;
    if (work->leaving || work->kicked || work->resumed) return false;
    for (size_t i = 0; i < H2_BUCKETS; i++) {
        for (const h2_stream *at = work->buckets[i]; at; at = at->by_number)
            if (!at->parked) return false;
    }
    return true;
}

static bool h2_session_refill(out_queue *out)
{
    h2_work *work = (h2_work *)(void *)((char *)out - offsetof(h2_work, out));
    work->segments = counted_alloc(out->store->memory, h2_segments_octets);
    if (!work->segments) return false;
    out->segments = work->segments;
    out->first = 0;
    out->room = H2_SEGMENTS;
    return true;
}

// Blocks that the worker keeps of it are freed with what parked sockets gave back.
static void h2_session_give_segments(skua_worker *w, h2_work *work)
{
    out_rest(&work->out);
    if (work->staging) block_give(&w->blocks, &work->staging);
    counted_free(work->segments);
    work->segments = NULL;
    work->out.room = 0;
    work->out.refill = h2_session_refill;
    worker_free_rest(w);
}

#endif

static void h2_session_rest(h2_session *s)
{
    bool idles = s->base.idles && s->streams == 0 && s->base.out->octets == 0;
    if (idles) h2_session_idle(s);
#ifndef SKUA_NO_WEBSOCKET
    else if (s->work && s->work->segments && h2_session_has_parked_alone(s))
        h2_session_give_segments(s->base.worker, s->work);
#endif
}

static void h2_session_rest_since(skua_worker *w, int64_t since_ns)
{
    for (h2_memory *at = w->h2.memories, *next; at; at = next) {
        next = at->next;
        h2_session *s = at->session;
        if (s->heard_ns <= since_ns && s->base.rests_from_ns <= since_ns) h2_session_rest(s);
    }
}

void h2_session_free_all(skua_worker *w)
{
    while (w->h2.free_works) {
        h2_work *work = w->h2.free_works;
        w->h2.free_works = work->next;
        h2_work_free(work);
    }
}

// Many sessions may have worked at once, of which few will again.
void h2_session_rest_all(skua_worker *w)
{
    h2_session_rest_since(w, w->loop.now_ns - h2_session_rest_ns);
    h2_session_free_all(w);
    h2_session_await_rest(w);
}

static size_t h2_session_held(const skua_worker *w)
{
    size_t held = 0;
    for (const h2_memory *at = w->h2.memories; at; at = at->next)
        held += h2_session_remembered(at);
    for (const h2_work *at = w->h2.free_works; at; at = at->next)
        held += sizeof *at + h2_segments_octets;
    return held;
}

size_t h2_session_sweep(skua_worker *w)
{
    size_t before = h2_session_held(w);
    h2_session_rest_since(w, w->loop.now_ns);
    h2_session_free_all(w);
    return before - h2_session_held(w);
}

void h2_session_break(h2_session *s)
{
    s->stage = H2_FAILED;
    s->input = H2_INPUT_OVER;
}

#endif
