// SPDX-License-Identifier: MIT
//
// Session: its memory.

#include "h2/session.h"

#ifndef SKUA_NO_HTTP2

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
    h2_run_init(&work->run);
    work->opening.status = 0;
    out_init(&s->out, &w->blocks, work->segments, H2_SEGMENTS);
    s->work = work;
    return true;
}

// The table of our encoder goes too: the client is told so when there is something to send again.
void h2_session_idle(h2_session *s)
{
    h2_work *work = s->work;
    if (!work) return;
    SKUA_ASSERT(s->streams == 0 && s->out.octets == 0);
    skua_worker *w = s->base.worker;
    out_deinit(&s->out);
    if (work->staging) block_give(&w->blocks, &work->staging);
    hpack_encoder_drop(&s->encoder);
    hpack_decoder_rest(&s->decoder);
    s->work = NULL;
    work->next = w->h2.free_works;
    w->h2.free_works = work;
}

void h2_session_free_all(skua_worker *w)
{
    while (w->h2.free_works) {
        h2_work *work = w->h2.free_works;
        w->h2.free_works = work->next;
        counted_free(work);
    }
}

size_t h2_session_sweep(skua_worker *w)
{
    size_t freed = 0;
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
