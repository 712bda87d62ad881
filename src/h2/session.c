// SPDX-License-Identifier: MIT
//
// Session: its memory.

#include "h2/session.h"

#ifndef SKUA_NO_HTTP2

#include "exchange/worker.h"

static const int64_t h2_session_rest_ns = 1000000000;

__attribute__((noinline)) static void h2_session_await_rest(skua_worker *w)
{
    if (w->h2.works && !w->h2.resting.due)
        io_deadline_set(&w->loop.timers, &w->h2.resting, h2_session_rest_ns);
}

// Members are set one by one: to clear the whole would also write to all segments of the queue.
bool h2_session_work(h2_session *s)
{
    if (s->work) return true;
    skua_worker *w = s->base.worker;
    h2_work *work = w->h2.free_works;
    if (work) w->h2.free_works = work->next;
    else work = counted_alloc(&w->memory, sizeof *work);
    if (!work) return false;
    memset(work, 0, offsetof(h2_work, segments));
    work->session = s;
    work->next = w->h2.works;
    work->link = &w->h2.works;
    if (work->next) work->next->link = &work->next;
    w->h2.works = work;
    h2_session_await_rest(w);
    h2_run_init(&work->run);
    work->opening.status = 0;
    for (size_t i = 0; i < H2_KEPT_BLOCKS; i++)
        work->kept[i].number = 0;
    work->date_from_ns = 0;
    work->dated = 0;
    out_init(&s->out, &w->blocks, work->segments, H2_SEGMENTS);
    s->work = work;
    return true;
}

void h2_session_work_near(const h2_session *s)
{
    const h2_work *work = s->work;
    const char *run = (const char *)&work->run, *opening = (const char *)&work->opening;
    __builtin_prefetch(run);
    __builtin_prefetch(run + 64);
    __builtin_prefetch(work->run.lines);
    __builtin_prefetch(work->run.text);
    __builtin_prefetch(&work->buckets[(s->last_stream + 2) / 2 % H2_BUCKETS]);
    __builtin_prefetch(&work->leaving);
    __builtin_prefetch(work->segments);
    __builtin_prefetch(&work->date_from_ns);
    __builtin_prefetch(opening);
    __builtin_prefetch(opening + 64);
}

static void h2_session_give_room(h2_session *s)
{
    out_deinit(&s->out);
    if (s->work->staging) block_give(&s->base.worker->blocks, &s->work->staging);
}

void h2_session_pause(h2_session *s)
{
    if (!s->work) return;
    if (s->base.worker->pressure >= BUDGET_SCARCE) h2_session_idle(s);
    else h2_session_give_room(s);
}

// The table of our encoder goes too: the client is told so when there is something to send again.
void h2_session_idle(h2_session *s)
{
    h2_work *work = s->work;
    if (!work) return;
    SKUA_ASSERT(s->streams == 0 && s->out.octets == 0);
    skua_worker *w = s->base.worker;
    h2_session_give_room(s);
    hpack_encoder_drop(&s->encoder);
    hpack_decoder_rest(&s->decoder);
    s->work = NULL;
    *work->link = work->next;
    if (work->next) work->next->link = work->link;
    work->next = w->h2.free_works;
    w->h2.free_works = work;
}

static void h2_session_rest_since(skua_worker *w, int64_t since_ns)
{
    for (h2_work *at = w->h2.works, *next; at; at = next) {
        next = at->next;
        h2_session *s = at->session;
        bool idles = s->base.idles && s->streams == 0 && s->out.octets == 0;
        if (idles && s->heard_ns <= since_ns && s->base.rests_from_ns <= since_ns)
            h2_session_idle(s);
    }
}

void h2_session_free_all(skua_worker *w)
{
    while (w->h2.free_works) {
        h2_work *work = w->h2.free_works;
        w->h2.free_works = work->next;
        counted_free(work);
    }
}

// The memory that they give back is freed: there may be thousands of them, and no session that needs it soon.
void h2_session_rest_all(skua_worker *w)
{
    h2_session_rest_since(w, w->loop.now_ns - h2_session_rest_ns);
    h2_session_free_all(w);
    h2_session_await_rest(w);
}

size_t h2_session_sweep(skua_worker *w)
{
    size_t freed = 0;
    h2_session_rest_since(w, w->loop.now_ns);
    for (const h2_work *at = w->h2.free_works; at; at = at->next)
        freed += sizeof *at;
    h2_session_free_all(w);
    return freed;
}

void h2_session_break(h2_session *s)
{
    s->stage = H2_FAILED;
    s->input = H2_INPUT_OVER;
}

#endif
