// SPDX-License-Identifier: MIT
//
// Input. Every frame of a read is taken before anything is written. Content is passed on as it comes;
// other frames are taken whole, from where they lie if that is possible.

#include "h2/input.h"

#ifndef SKUA_NO_HTTP2

#include "base/inline.h"
#include "exchange/worker.h"
#include "h2/block.h"
#include "h2/content.h"
#include "h2/control.h"
#include "h2/ending.h"
#include "h2/signal.h"
#include "h2/tunnel.h"

void h2_input_forget(h2_session *s)
{
    counted_free(s->in);
    s->in = NULL;
    s->in_len = s->in_room = 0;
}

// ---- Faults ----

// A fault of a stream that is not open has nobody to tell but by its number.
static void h2_input_fail_stream(h2_session *s, uint32_t number, fault why)
{
    h2_stream *stream = h2_stream_find(s, number);
    if (stream && (stream->carrier.current || h2_tunnel_is_parked(stream))) {
        if (stream->carrier.current) request_blame(stream->carrier.current, why.reason);
        h2_ending_reset(stream, (h2_code)why.h2_code, SKUA_END_ERROR);
    } else {
        h2_signal_reset(s, number, (h2_code)why.h2_code);
    }
    if (!h2_limits_reset(&s->limits, s->base.worker->loop.now_ns))
        h2_ending_fail(s, h2_fault(H2_ENHANCE_YOUR_CALM, "too many streams that fail"));
}

static void h2_input_blame(h2_session *s, uint32_t stream, fault why)
{
    if (why.scope == FAULT_CONNECTION) h2_ending_fail(s, why);
    else h2_input_fail_stream(s, stream, why);
}

static inline void h2_input_judge(h2_session *s, uint32_t stream, fault why)
{
    if (why.status) h2_input_blame(s, stream, why);
}

// ---- Frames of streams ----

static bool h2_input_is_idle(const h2_session *s, uint32_t stream)
{
    return stream > s->last_stream || stream % 2 == 0;
}

// A frame came for a stream that is not open. Who has not heard yet that it was reset is not blamed.
static fault h2_input_check_closed(const h2_session *s, uint32_t stream)
{
    if (h2_input_is_idle(s, stream))
        return h2_fault(H2_PROTOCOL_ERROR, "a frame for a stream that was not opened");
    if (h2_signal_has_reset(s, stream)) return FAULT_NONE;
    return h2_fault(H2_STREAM_CLOSED, "a frame for a stream that is closed");
}

// Counts a frame of content, padding too, before any of it is looked at.
static fault h2_input_count_data(h2_session *s, h2_stream *stream, const h2_frame *frame)
{
    if ((int64_t)frame->len > s->recv_window)
        return h2_fault(H2_FLOW_CONTROL_ERROR, "more content than the connection's window");
    s->recv_window -= (int32_t)frame->len;
    if (!stream) return h2_input_check_closed(s, frame->stream);
    if (stream->peer == H2_HALF_ENDED)
        return h2_stream_fault(H2_STREAM_CLOSED, "content behind END_STREAM");
    if ((int64_t)frame->len > stream->recv_window)
        return h2_stream_fault(H2_FLOW_CONTROL_ERROR, "more content than the stream's window");
    stream->recv_window -= (int32_t)frame->len;
    return FAULT_NONE;
}

static bool h2_input_is_patient(h2_session *s, const h2_frame *frame)
{
    bool says_something = frame->len || frame->flags & H2_FLAG_END_STREAM;
    s->limits.empty = says_something ? 0 : (uint16_t)(s->limits.empty + 1);
    return s->limits.empty <= h2_config(s)->http2.empty_frames_max;
}

static void h2_input_end_data(h2_session *s)
{
    s->input = H2_INPUT_FRAME;
    h2_stream *stream = h2_stream_find(s, s->frame.stream);
    bool goes_on = stream && (stream->carrier.current || h2_tunnel_is_parked(stream));
    if (!goes_on || stream->peer != H2_HALF_OPEN) return;
    if (s->frame.flags & H2_FLAG_END_STREAM && !h2_content_end(stream)) return;
    h2_content_credit(stream);
    h2_ending_settle(stream);
}

// The content of a frame that has begun. Returns: octets that were used.
static size_t h2_input_take_data(h2_session *s, const char *octets, size_t len)
{
    size_t used = len < s->left ? len : s->left;
    size_t content = s->left > s->padding ? s->left - s->padding : 0;
    if (content > used) content = used;
    s->left -= (uint32_t)used;
    h2_stream *stream = h2_stream_find(s, s->frame.stream);
    if (content && stream && stream->peer == H2_HALF_OPEN)
        (void)h2_content_take(stream, slice_make(octets, content));
    if (s->left == 0 && s->input == H2_INPUT_DATA) h2_input_end_data(s);
    return used;
}

// padding: its length, if there is some.
static void h2_input_begin_data(h2_session *s, const h2_frame *frame, slice padding)
{
    uint32_t around = padding.len ? 1 : 0;
    uint32_t octets = padding.len ? (unsigned char)padding.ptr[0] : 0;
    s->frame = *frame;
    s->left = frame->len - around;
    s->padding = octets;
    s->input = H2_INPUT_DATA;
    if (octets > s->left) {
        h2_ending_fail(s, h2_fault(H2_PROTOCOL_ERROR, "more padding than payload"));
        return;
    }
    if (!h2_input_is_patient(s, frame)) {
        h2_ending_fail(s, h2_fault(H2_ENHANCE_YOUR_CALM, "too many empty frames"));
        return;
    }
    h2_input_judge(s, frame->stream,
                   h2_input_count_data(s, h2_stream_find(s, frame->stream), frame));
    if (s->left == 0 && s->input == H2_INPUT_DATA) h2_input_end_data(s);
}

static fault h2_input_check_update(const h2_session *s, const h2_frame *frame)
{
    if (frame->stream && h2_input_is_idle(s, frame->stream))
        return h2_fault(H2_PROTOCOL_ERROR, "a frame for a stream that was not opened");
    return FAULT_NONE;
}

// A frame that has come whole.
static void h2_input_take_frame(h2_session *s, const h2_frame *frame, slice payload)
{
    if (frame->type == H2_HEADERS || frame->type == H2_CONTINUATION) {
        h2_input_judge(s, frame->stream, h2_block_take(s, frame, payload));
        return;
    }
    bool updates = frame->type == H2_RST_STREAM || frame->type == H2_WINDOW_UPDATE;
    fault why = updates ? h2_input_check_update(s, frame) : FAULT_NONE;
    if (!why.status) why = h2_control_take(s, frame, payload);
    h2_input_judge(s, frame->stream, why);
}

// ---- Octets ----

// Whether a frame may come now. The first is SETTINGS, and a header block is not interrupted.
static fault h2_input_check_order(const h2_session *s, const h2_frame *frame)
{
    bool continues = frame->type == H2_CONTINUATION;
    if (!s->peer_settled && (frame->type != H2_SETTINGS || frame->flags & H2_FLAG_ACK))
        return h2_fault(H2_PROTOCOL_ERROR, "the first frame is not SETTINGS");
    if (continues != (s->block_stream != 0) || (continues && s->block_stream != frame->stream))
        return h2_fault(H2_PROTOCOL_ERROR, continues ? "a CONTINUATION of nothing"
                                                     : "a header block that is interrupted");
    return FAULT_NONE;
}

// Types that nothing is known of are skipped, as they come: the payload may be large.
static bool h2_input_is_skipped(const h2_frame *frame)
{
    return frame->type == H2_GOAWAY ||
           (frame->type > H2_CONTINUATION && frame->type != H2_PRIORITY_UPDATE);
}

static void h2_input_begin_skip(h2_session *s, const h2_frame *frame)
{
    s->frame = *frame;
    s->left = frame->len;
    s->input = frame->len ? H2_INPUT_SKIP : H2_INPUT_FRAME;
    if (!h2_control_count_small(s))
        h2_ending_fail(s, h2_fault(H2_ENHANCE_YOUR_CALM, "too many frames that say nothing"));
}

// Octets that are needed of a frame before anything can be done with it.
static size_t h2_input_needed(const h2_frame *frame)
{
    if (h2_input_is_skipped(frame)) return H2_HEAD_OCTETS;
    if (frame->type != H2_DATA) return H2_HEAD_OCTETS + frame->len;
    return H2_HEAD_OCTETS + (frame->flags & H2_FLAG_PADDED ? 1 : 0);
}

// A frame, of which the head has come. Returns: octets that were used; 0: more are needed.
__attribute__((noinline)) static size_t h2_input_any_frame(h2_session *s, const char *octets,
                                                           size_t len, h2_frame frame)
{
    fault why = h2_input_check_order(s, &frame);
    if (!why.status) why = h2_check_head(&frame);
    if (why.status && why.scope == FAULT_CONNECTION) {
        h2_ending_fail(s, why);
        return len;
    }
    size_t needed = h2_input_needed(&frame);
    if (frame.type == H2_DATA && frame.flags & H2_FLAG_PADDED && frame.len == 0) {
        h2_ending_fail(s, h2_fault(H2_FRAME_SIZE_ERROR, "no room for padding"));
        return len;
    }
    if (len < needed) return 0;
    s->peer_settled = true;
    slice payload = slice_make(octets + H2_HEAD_OCTETS, needed - H2_HEAD_OCTETS);
    if (why.status) h2_input_judge(s, frame.stream, why);
    else if (frame.type == H2_DATA) h2_input_begin_data(s, &frame, payload);
    else if (h2_input_is_skipped(&frame)) h2_input_begin_skip(s, &frame);
    else h2_input_take_frame(s, &frame, payload);
    return needed;
}

// Whether a frame is a header block as most are: whole, and nothing can be said against its head.
static inline bool h2_input_is_plain_block(const h2_session *s, const h2_frame *frame)
{
    const unsigned asked = H2_FLAG_END_HEADERS | H2_FLAG_PADDED | H2_FLAG_PRIORITY;
    return frame->type == H2_HEADERS && (frame->flags & asked) == H2_FLAG_END_HEADERS &&
           frame->stream && frame->len <= H2_PAYLOAD_OCTETS_MAX && s->peer_settled &&
           !s->block_stream;
}

static BASE_INLINE_ALWAYS size_t h2_input_frame(h2_session *s, const char *octets, size_t len)
{
    h2_frame frame = h2_read_head(octets);
    if (h2_input_is_plain_block(s, &frame) && frame.len <= len - H2_HEAD_OCTETS) {
        h2_input_judge(s, frame.stream,
                       h2_block_take_whole(s, frame.stream,
                                           slice_make(octets + H2_HEAD_OCTETS, frame.len),
                                           frame.flags & H2_FLAG_END_STREAM));
        return H2_HEAD_OCTETS + frame.len;
    }
    return h2_input_any_frame(s, octets, len, frame);
}

static size_t h2_input_skip(h2_session *s, size_t len)
{
    size_t used = len < s->left ? len : s->left;
    s->left -= (uint32_t)used;
    if (s->left == 0) s->input = H2_INPUT_FRAME;
    return used;
}

static size_t h2_input_preface(h2_session *s, const char *octets, size_t len)
{
    const slice preface = H2_PREFACE;
    size_t left = preface.len - s->prefaced, used = len < left ? len : left;
    if (memcmp(preface.ptr + s->prefaced, octets, used) != 0) {
        h2_ending_fail(s, h2_fault(H2_PROTOCOL_ERROR, "this is not HTTP/2"));
        return len;
    }
    s->prefaced = (uint8_t)(s->prefaced + used);
    if (s->prefaced == preface.len) s->input = H2_INPUT_FRAME;
    return used;
}

// Returns: octets that were used; 0: what there is has to be kept until there is more.
static BASE_INLINE_ALWAYS size_t h2_input_step(h2_session *s, const char *octets, size_t len)
{
    switch ((h2_input)s->input) {
    case H2_INPUT_PREFACE: return h2_input_preface(s, octets, len);
    case H2_INPUT_FRAME: return len < H2_HEAD_OCTETS ? 0 : h2_input_frame(s, octets, len);
    case H2_INPUT_DATA: return h2_input_take_data(s, octets, len);
    case H2_INPUT_SKIP: return h2_input_skip(s, len);
    case H2_INPUT_OVER: return len;
    }
    return len;
}

static size_t h2_input_run(h2_session *s, const char *octets, size_t len)
{
    size_t used = 0;
    while (used < len) {
        size_t n = h2_input_step(s, octets + used, len - used);
        if (n == 0) break;
        used += n;
    }
    return used;
}

// ---- Keeping what is not complete ----

static bool h2_input_keep(h2_session *s, const char *octets, size_t len)
{
    size_t room = s->in_len + len;
    if (room > s->in_room) {
        char *grown = counted_resize(&s->base.worker->memory, s->in, room);
        if (!grown) return false;
        s->in = grown;
        s->in_room = (uint32_t)room;
    }
    memcpy(s->in + s->in_len, octets, len);
    s->in_len += (uint32_t)len;
    return true;
}

// How many octets are missing of the frame that is kept: of its head first.
static size_t h2_input_missing(const h2_session *s)
{
    if (s->in_len < H2_HEAD_OCTETS) return H2_HEAD_OCTETS - s->in_len;
    h2_frame frame = h2_read_head(s->in);
    return h2_input_needed(&frame) - s->in_len;
}

// Completes the frame that is kept, and no more, so that what is kept stays bounded.
static size_t h2_input_complete(h2_session *s, const char *octets, size_t len)
{
    size_t used = 0;
    while (s->in_len && used < len) {
        size_t more = h2_input_missing(s);
        if (more > len - used) more = len - used;
        if (!h2_input_keep(s, octets + used, more)) {
            h2_session_break(s);
            return len;
        }
        used += more;
        if (s->in_len >= H2_HEAD_OCTETS && h2_input_run(s, s->in, s->in_len)) h2_input_forget(s);
    }
    return used;
}

void h2_input_take(h2_session *s, const char *octets, size_t len)
{
    size_t used = s->in_len ? h2_input_complete(s, octets, len) : 0;
    used += h2_input_run(s, octets + used, len - used);
    if (used < len && !h2_input_keep(s, octets + used, len - used)) h2_session_break(s);
}

#endif
