// SPDX-License-Identifier: MIT
//
// Worker: what is kept between connections, and the room in which heads are put together.

#include "h2/worker.h"

#ifndef SKUA_NO_HTTP2

#include "h2/backlog.h"
#include "h2/session.h"
#include "http/h2_head.h"

char *h2_worker_text(skua_worker *w)
{
    if (!w->h2.text) w->h2.text = counted_alloc(&w->memory, h2_head_room(&w->head_bounds));
    return w->h2.text;
}

void h2_worker_free_all(skua_worker *w)
{
    io_deadline_remove(&w->loop.timers, &w->h2.resting);
    h2_session_free_all(w);
    h2_stream_free_all(w);
    h2_backlog_free_all(w);
    counted_free(w->h2.text);
    w->h2.text = NULL;
}

size_t h2_worker_sweep(skua_worker *w)
{
    size_t freed = h2_session_sweep(w) + h2_stream_sweep(w) + h2_backlog_sweep(w);
    if (w->h2.text) freed += h2_head_room(&w->head_bounds);
    counted_free(w->h2.text);
    w->h2.text = NULL;
    return freed;
}

#endif
