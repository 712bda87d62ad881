// SPDX-License-Identifier: MIT
//
// HTTP/2 as a protocol: its life on a connection, what that waits for, and what becomes of it.

#include "h2/protocol.h"

#ifndef SKUA_NO_HTTP2

#include "exchange/waiting.h"
#include "exchange/worker.h"
#include "h2/admission.h"
#include "h2/block.h"
#include "h2/broken.h"
#include "h2/content.h"
#include "h2/deadline.h"
#include "h2/ending.h"
#include "h2/framing.h"
#include "h2/input.h"
#include "h2/schedule.h"
#include "h2/session.h"
#include "h2/signal.h"
#include "h2/tunnel.h"
#include "http/h2_head.h"

enum { H2_TABLE_OCTETS = 4096 }; // of either compression table, at most

// ---- Life ----

static session *h2_protocol_begin(skua_worker *w)
{
    h2_session *s = h2_session_new(w);
    if (!s) return NULL;
    s->base.protocol = &h2_protocol;
    s->base.rests_from_ns = w->loop.now_ns;
    s->send_window = s->initial_window = s->recv_window = H2_WINDOW_INITIAL;
    s->paid_window = H2_WINDOW_INITIAL;
    hpack_decoder_init(&s->decoder, &w->memory, H2_TABLE_OCTETS,
                       (uint32_t)h2_list_octets_max(&w->head_bounds));
    hpack_encoder_init(&s->encoder, &w->memory, H2_TABLE_OCTETS);
    h2_limits_init(&s->limits, &w->config->http2, w->loop.now_ns);
    if (!h2_session_work(s)) {
        h2_session_idle(s);
        h2_session_free(s);
        return NULL;
    }
    h2_signal_greet(s);
    return &s->base;
}

static void h2_protocol_end(session *base, skua_end how)
{
    h2_session *s = h2_session_of(base);
    h2_ending_streams(s, how);
    h2_ending_lingering(s);
    if (s->work) {
        out_queue *out = s->base.out;
        out_pop(out, out->octets);
    }
    h2_session_idle(s);
    h2_block_forget(s);
    h2_input_forget(s);
    counted_free(s->early);
    hpack_decoder_deinit(&s->decoder);
    hpack_encoder_deinit(&s->encoder);
    h2_session_free(s);
}

// Idle for too long, or the server is being stopped or drained. A client of a server that drains may be about to
// open a stream: it stays until it knows.
static void h2_protocol_retire(session *base)
{
    h2_session *s = h2_session_of(base);
    bool stops = s->base.worker->disk.draining;
    bool drains = s->base.worker->disk.retiring && !stops && s->stage == H2_OPEN;
    if (s->streams || (drains && h2_session_work(s))) h2_ending_warn(s);
    else h2_ending_take_leave(s);
}

// ---- From the connection ----

// It was idle when the server began to stop or to drain, or has come since. One that comes while the
// server drains has its first request served: told before, it would end without any.
__attribute__((cold)) static void h2_protocol_warn(h2_session *s)
{
    if (s->last_stream || s->base.worker->disk.draining) h2_ending_warn(s);
}

static bool h2_protocol_received(session *base, const char *octets, size_t len)
{
    h2_session *s = h2_session_of(base);
    if (s->stage == H2_FAILED) return false;
    if (!h2_session_work(s)) {
        h2_session_break(s);
        return false;
    }
    h2_session_memory_near(s);
    s->base.idles = false;
    s->heard_ns = s->base.worker->loop.now_ns;
    s->pinged = false;
    h2_input_take(s, octets, len);
    if (s->base.worker->disk.retiring) h2_protocol_warn(s);
    h2_signal_credit_all(s);
    h2_schedule_fill(s);
    return s->base.out->octets && s->streams == 0 && s->stage == H2_OPEN && s->in_len == 0 &&
           s->block_stream == 0;
}

// Octets that a session in the clear is not for never come here: it begins with its preface.
static void h2_protocol_refuse(session *base, slice octets, fault why, slice sentence)
{
    (void)octets;
    (void)sentence;
    h2_ending_fail(h2_session_of(base), h2_fault(H2_HTTP_1_1_REQUIRED, why.reason));
}

static bool h2_protocol_sent(session *base)
{
    h2_session *s = h2_session_of(base);
    if (!s->work) return false;
    if (s->base.out->octets == 0) s->limits.replies = 0;
    h2_ending_release(s);
    if (s->waiting) h2_admission_run(s); // perhaps for room
    h2_signal_credit_all(s);
    h2_schedule_fill(s);
    return false;
}

static bool h2_protocol_file_failed(session *base)
{
    return h2_broken_file(h2_session_of(base));
}

static void h2_protocol_resume(session *base)
{
    h2_session *s = h2_session_of(base);
    if (!s->work) return;
    h2_schedule_run_kicked(s);
    h2_content_quicken(s);
    h2_admission_run(s);
    h2_signal_credit_all(s);
    h2_schedule_fill(s);
}

static void h2_protocol_peer_done(session *base)
{
    h2_session_of(base)->peer_over = true;
}

// While answers pile up that the client does not read, nothing more is read that would cause some.
static bool h2_protocol_wants_input(const session *base)
{
    const h2_session *s = h2_session_of_const(base);
    if (s->stage == H2_FAILED || s->peer_over) return false;
    return !s->work ||
           (s->limits.replies < h2_config(s)->http2.replies_max &&
            s->base.out->octets <= s->base.worker->out_octets_max && !h2_session_queue_is_full(s));
}

// ---- What becomes of the connection ----

// Whether content waits for a window, which nobody opens behind a FIN.
static bool h2_protocol_is_shut(const h2_session *s, const h2_stream *stream)
{
    if (s->send_window > 0 && stream->send_window > 0) return false;
    return h2_deadline_has_content(stream);
}

// A FIN is the client leaving for all streams: messages that are not complete never will be, and
// what only time can bring is not waited for in its name. That of a parked tunnel may have come behind octets that wake
// it, and is looked at when everything has been read.
static bool h2_protocol_is_left(const h2_session *s, const h2_stream *stream)
{
    const skua_request *r = stream->carrier.current;
    if (h2_tunnel_is_parked(stream)) return s->peer_over;
    if (!r) return false;
    if (s->peer_over && stream->peer == H2_HALF_OPEN) return true;
    if (s->peer_over && h2_protocol_is_shut(s, stream)) return true;
    return !h2_config(s)->half_close && waiting_of(r) == WAITING_TIME;
}

static h2_stream *h2_protocol_next_left(const h2_session *s)
{
    for (size_t i = 0; i < H2_BUCKETS; i++) {
        for (h2_stream *at = s->work->buckets[i]; at; at = at->by_number) {
            if (h2_protocol_is_left(s, at)) return at;
        }
    }
    return NULL;
}

static void h2_protocol_end_left(h2_session *s)
{
    h2_stream *stream;
    while ((stream = h2_protocol_next_left(s)))
        h2_ending_drop(stream, SKUA_END_CLOSED);
}

// Whether nobody is served and everything has left. Slots may be kept still for those who hold a request.
static bool h2_protocol_is_idle(const h2_session *s)
{
    return !s->work || (s->base.out->octets == 0 && s->streams == s->work->lingering);
}

// Whether something has begun that the client is to complete within a head's time: the preface, a
// frame, a header block, or, while no stream is open, the acknowledgement of SETTINGS.
static bool h2_protocol_is_begun(const h2_session *s)
{
    return s->in_len || s->block_stream || s->input == H2_INPUT_PREFACE ||
           (s->settings_ns && !s->streams);
}

static session_fate h2_protocol_fate(session *base)
{
    h2_session *s = h2_session_of(base);
    base->idles = false;
    if (s->work) h2_ending_release(s);
    if (s->stage == H2_FAILED && s->streams) h2_ending_streams(s, SKUA_END_ERROR);
    if (s->work && *s->base.link.peer_is_done && s->streams) h2_protocol_end_left(s);
    if (!h2_protocol_is_idle(s)) return SESSION_GOES_ON;
    if (s->stage >= H2_LEAVES || s->peer_over) return SESSION_ENDS;
    if (s->streams || h2_protocol_is_begun(s)) return SESSION_GOES_ON;
    h2_session_pause(s);
    return SESSION_IDLES;
}

static bool h2_protocol_sends_last(const session *base)
{
    const h2_session *s = h2_session_of_const(base);
    if (s->stage < H2_LEAVES || s->peer_over) return false;
    return s->streams == 0 || s->streams == s->work->lingering;
}

static bool h2_protocol_close_half(session *base)
{
    (void)base;
    return false;
}

// ---- What is waited for ----

static session_wait h2_protocol_awaits(const session *base)
{
    const h2_session *s = h2_session_of_const(base);
    if (s->base.out->octets) return SESSION_AWAITS_PEER;
    return h2_protocol_is_begun(s) ? SESSION_AWAITS_HEAD : SESSION_AWAITS_HANDLER;
}

static bool h2_protocol_is_paced(const session *base)
{
    (void)base;
    return false;
}

static size_t h2_protocol_octets(const session *base)
{
    const h2_session *s = h2_session_of_const(base);
    return h2_session_octets(s) + s->in_room + s->block_room + hpack_decoder_octets(&s->decoder);
}

// The preface, a frame or a header block has not come in time.
static bool h2_protocol_timed_out(session *base)
{
    h2_session *s = h2_session_of(base);
    bool begun = s->in_len || s->block_stream || s->input == H2_INPUT_PREFACE;
    h2_ending_fail(s, begun ? h2_fault(H2_PROTOCOL_ERROR, "a frame did not come in time")
                            : h2_fault(H2_SETTINGS_TIMEOUT, "SETTINGS were not acknowledged"));
    return true;
}

const protocol_table h2_protocol = {
    .judges = true,
    .begin = h2_protocol_begin,
    .end = h2_protocol_end,
    .received = h2_protocol_received,
    .refuse = h2_protocol_refuse,
    .sent = h2_protocol_sent,
    .file_failed = h2_protocol_file_failed,
    .resume = h2_protocol_resume,
    .peer_done = h2_protocol_peer_done,
    .wants_input = h2_protocol_wants_input,
    .look = h2_deadline_look_on,
    .retire = h2_protocol_retire,
    .fate = h2_protocol_fate,
    .sends_last = h2_protocol_sends_last,
    .close_half = h2_protocol_close_half,
    .awaits = h2_protocol_awaits,
    .is_paced = h2_protocol_is_paced,
    .octets = h2_protocol_octets,
    .look_at_handler = h2_deadline_look,
    .timed_out = h2_protocol_timed_out,
};

#endif
