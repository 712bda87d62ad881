// SPDX-License-Identifier: MIT
//
// Schedule: frames are made as late as possible, so that a more urgent stream need not wait behind
// those of others.

#include "h2/schedule.h"

#ifndef SKUA_NO_HTTP2

#include "base/assert.h"
#include "exchange/push.h"
#include "exchange/worker.h"
#include "h2/backlog.h"
#include "h2/content.h"
#include "h2/ending.h"
#include "h2/framing.h"
#include "h2/ready.h"

// A handler that pushes content may wait for room.
static void h2_schedule_tell(h2_stream *stream)
{
    skua_request *r = stream->carrier.current;
    if (r->responding != RESPONSE_PUSHED || !r->wanted) return;
    h2_stream_enter(stream);
    stream_drain(r);
    h2_stream_exit(stream);
}

// Whether the connection's window has been used up, perhaps by the last of a source's content. No stream
// has its turn then, but the end needs no window.
static bool h2_schedule_may_end(const h2_stream *stream)
{
    const skua_request *r = stream->carrier.current;
    return h2_stream_session(stream)->send_window <= 0 && !stream->carrier.broken && r &&
           r->responding == RESPONSE_PULLED && r->pull_left <= 0 && !h2_backlog_octets(stream);
}

static void h2_schedule_serve(h2_stream *stream)
{
    h2_ready_remove(stream);
    if (!h2_backlog_octets(stream)) h2_framing_pull(stream);
    else if (h2_framing_move(stream)) h2_schedule_tell(stream);
    else carrier_break(&stream->carrier);
    if (h2_schedule_may_end(stream)) h2_framing_pull(stream);
    h2_ending_settle(stream); // which enters it again, behind the others
}

// Frames are made as late as possible, so that a more urgent stream need not wait behind them. While
// memory is scarce there are fewer, since a slow reader holds them all.
void h2_schedule_fill(h2_session *s)
{
    enum { SEGMENTS_MIN = 4 }; // of a frame: its head and two pieces, and one for luck
    uint64_t most = s->base.worker->out_octets_max;
    if (most > H2_QUEUED_OCTETS_MAX) most = H2_QUEUED_OCTETS_MAX;
    while (s->ready_mask && s->send_window > 0 && s->base.out->octets < most &&
           h2_session_segments_left(s) >= SEGMENTS_MIN && s->stage != H2_FAILED)
        h2_schedule_serve(h2_ready_choose(s));
}

// ---- Kicks ----

static void h2_schedule_resume(h2_stream *stream)
{
    skua_request *r = stream->carrier.current;
    if (!r) return;
    if (r->responding == RESPONSE_PUSHED) {
        h2_stream_enter(stream);
        stream_drain(r);
        h2_stream_exit(stream);
    }
    h2_content_resume(stream);
}

// One that is kicked meanwhile waits for the loop: others may have their turn before.
void h2_schedule_run_kicked(h2_session *s)
{
    if (!s->work) return;
    SKUA_ASSERT(!s->work->resumed);
    s->work->resumed = s->work->kicked;
    s->work->kicked = NULL;
    while (s->work && s->work->resumed) {
        h2_stream *stream = s->work->resumed;
        s->work->resumed = stream->next_kicked;
        stream->is_kicked = false;
        h2_schedule_resume(stream);
    }
}

#endif
