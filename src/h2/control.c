// SPDX-License-Identifier: MIT
//
// Control frames that come, all of them small.

#include "h2/control.h"

#ifndef SKUA_NO_HTTP2

#include "exchange/worker.h"
#include "h2/ending.h"
#include "h2/priority.h"
#include "h2/ready.h"
#include "h2/signal.h"
#include "h2/tunnel.h"

enum {
    H2_FRAME_SIZE_MAX = 16777215, // RFC 9113 §6.5.2
    H2_SMALL_CREDIT = 256,        // octets: a WINDOW_UPDATE of less costs more than it brings
    H2_SMALL_FRAME_PRICE = 2      // octets of content that the client has been sent
};

// Clients of gRPC send a PING, or WINDOW_UPDATEs, for each message, which may be of a few octets. So
// content that has been sent pays for small frames. It does not pay for one with each octet: a client
// may ask for octets one at a time.
bool h2_control_count_small(h2_session *s)
{
    // More than 2^32 octets between two small frames may be counted as fewer.
    uint32_t sent = s->paid_window - (uint32_t)s->send_window;
    s->paid_window -= sent - sent % H2_SMALL_FRAME_PRICE;
    return h2_limits_small(&s->limits, sent / H2_SMALL_FRAME_PRICE, s->base.worker->loop.now_ns);
}

// ---- SETTINGS ----

// The client has changed its mind about all windows: they may become negative.
static fault h2_control_set_window(h2_session *s, uint32_t value)
{
    if (value > H2_WINDOW_MAX)
        return h2_fault(H2_FLOW_CONTROL_ERROR, "SETTINGS_INITIAL_WINDOW_SIZE out of range");
    int64_t change = (int64_t)value - s->initial_window;
    s->initial_window = (int32_t)value;
    for (size_t i = 0; i < H2_BUCKETS; i++) {
        for (h2_stream *at = s->work->buckets[i]; at; at = at->by_number) {
            int64_t window = at->send_window + change;
            if (window > H2_WINDOW_MAX)
                return h2_fault(H2_FLOW_CONTROL_ERROR, "a window above 2^31-1");
            at->send_window = (int32_t)window;
            h2_ready_update(at);
        }
    }
    return FAULT_NONE;
}

static fault h2_control_set(h2_session *s, uint32_t setting, uint32_t value)
{
    switch (setting) {
    case H2_SETTING_HEADER_TABLE_SIZE: hpack_encoder_resize(&s->encoder, value); return FAULT_NONE;
    case H2_SETTING_INITIAL_WINDOW_SIZE: return h2_control_set_window(s, value);
    case H2_SETTING_ENABLE_PUSH:
    case H2_SETTING_ENABLE_CONNECT_PROTOCOL:
    case H2_SETTING_NO_RFC7540_PRIORITIES:
        if (value > 1) return h2_fault(H2_PROTOCOL_ERROR, "a setting that is neither 0 nor 1");
        return FAULT_NONE;
    case H2_SETTING_MAX_FRAME_SIZE:
        if (value < H2_PAYLOAD_OCTETS_MAX || value > H2_FRAME_SIZE_MAX)
            return h2_fault(H2_PROTOCOL_ERROR, "SETTINGS_MAX_FRAME_SIZE out of range");
        return FAULT_NONE;
    default: return FAULT_NONE;
    }
}

// Answers are counted while they are queued: a client that does not read them may not have more.
static fault h2_control_reply(h2_session *s, h2_type type, slice payload)
{
    h2_signal_send(s, type, H2_FLAG_ACK, 0, payload);
    s->limits.replies++;
    if (h2_control_count_small(s)) return FAULT_NONE;
    return h2_fault(H2_ENHANCE_YOUR_CALM, "too many frames that have to be acknowledged");
}

static fault h2_control_take_settings(h2_session *s, const h2_frame *frame, slice payload)
{
    if (frame->flags & H2_FLAG_ACK) {
        s->settings_ns = 0;
        s->settled = true;
        return FAULT_NONE;
    }
    if (payload.len > (size_t)h2_config(s)->http2.settings_max * H2_SETTING_OCTETS)
        return h2_fault(H2_ENHANCE_YOUR_CALM, "too many settings");
    for (size_t at = 0; at < payload.len; at += H2_SETTING_OCTETS) {
        const char *entry = payload.ptr + at;
        fault why = h2_control_set(s, h2_read16(entry), h2_read32(entry + 2));
        if (why.status) return why;
    }
    return h2_control_reply(s, H2_SETTINGS, (slice){ 0 });
}

// ---- WINDOW_UPDATE ----

static fault h2_control_open_all(h2_session *s, uint32_t octets)
{
    if (octets == 0) return h2_fault(H2_PROTOCOL_ERROR, "a WINDOW_UPDATE of no octets");
    if ((int64_t)s->send_window + octets > H2_WINDOW_MAX)
        return h2_fault(H2_FLOW_CONTROL_ERROR, "a window above 2^31-1");
    s->send_window += (int32_t)octets;
    s->paid_window += octets;
    s->shut_ns = 0;
    if (!s->work) return FAULT_NONE;
    s->memory->opened += octets;
    s->memory->credit += octets;
    return FAULT_NONE;
}

// stream: NULL where it is closed, which its client may not have heard of.
static fault h2_control_open_window(h2_stream *stream, uint32_t octets)
{
    if (octets == 0) return h2_stream_fault(H2_PROTOCOL_ERROR, "a WINDOW_UPDATE of no octets");
    if (!stream) return FAULT_NONE;
    if ((int64_t)stream->send_window + octets > H2_WINDOW_MAX)
        return h2_stream_fault(H2_FLOW_CONTROL_ERROR, "a window above 2^31-1");
    stream->send_window += (int32_t)octets;
    h2_ready_update(stream);
    return FAULT_NONE;
}

static fault h2_control_take_credit(h2_session *s, const h2_frame *frame, slice payload)
{
    uint32_t octets = h2_read31(payload.ptr);
    if (octets < H2_SMALL_CREDIT && !h2_control_count_small(s))
        return h2_fault(H2_ENHANCE_YOUR_CALM, "too many small WINDOW_UPDATEs");
    if (frame->stream == 0) return h2_control_open_all(s, octets);
    return h2_control_open_window(h2_stream_find(s, frame->stream), octets);
}

// ---- The others ----

static fault h2_control_take_reset(h2_session *s, const h2_frame *frame)
{
    h2_signal_forgive(s, frame->stream);
    h2_stream *stream = h2_stream_find(s, frame->stream);
    if (!stream || !(stream->carrier.current || h2_tunnel_is_parked(stream))) return FAULT_NONE;
    h2_ending_drop(stream, SKUA_END_CLOSED);
    if (h2_limits_reset(&s->limits, s->base.worker->loop.now_ns)) return FAULT_NONE;
    return h2_fault(H2_ENHANCE_YOUR_CALM, "too many streams that are reset");
}

static fault h2_control_take_priority(h2_session *s, slice payload)
{
    uint32_t number = h2_read31(payload.ptr);
    if (number % 2 == 0) return h2_fault(H2_PROTOCOL_ERROR, "PRIORITY_UPDATE for no stream");
    if (!h2_control_count_small(s))
        return h2_fault(H2_ENHANCE_YOUR_CALM, "too many PRIORITY_UPDATEs");
    h2_priority priority = h2_priority_read(slice_from(payload, 4));
    h2_stream *stream = h2_stream_find(s, number);
    if (stream) h2_ready_set_priority(stream, priority);
    else if (number > s->last_stream && !h2_priority_keep(s, number, priority))
        return h2_fault(H2_ENHANCE_YOUR_CALM, "priorities of too many streams that are to come");
    return FAULT_NONE;
}

fault h2_control_take(h2_session *s, const h2_frame *frame, slice payload)
{
    switch (frame->type) {
    case H2_SETTINGS: return h2_control_take_settings(s, frame, payload);
    case H2_PING:
        if (!(frame->flags & H2_FLAG_ACK)) return h2_control_reply(s, H2_PING, payload);
        if (s->stage == H2_WARNED) h2_ending_take_leave(s);
        return FAULT_NONE;
    case H2_WINDOW_UPDATE: return h2_control_take_credit(s, frame, payload);
    case H2_RST_STREAM: return h2_control_take_reset(s, frame);
    case H2_PRIORITY_UPDATE: return h2_control_take_priority(s, payload);
    case H2_PRIORITY:
        if (payload.len >= 4 && h2_read31(payload.ptr) == frame->stream)
            return h2_stream_fault(H2_PROTOCOL_ERROR, "a stream that depends on itself");
        return h2_control_count_small(s) ? FAULT_NONE
                                         : h2_fault(H2_ENHANCE_YOUR_CALM, "too many PRIORITYs");
    default: return FAULT_NONE; // GOAWAY: the client opens no more; others are not known
    }
}

#endif
