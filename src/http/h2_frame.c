// SPDX-License-Identifier: MIT
//
// Frames: each type has sizes and streams that it may have.

#include "http/h2_frame.h"

#ifndef SKUA_NO_HTTP2

enum { H2_PRIORITY_OCTETS = 5 };

// ---- Checks ----

static fault h2_check_size(const h2_frame *frame)
{
    const fault wrong = h2_fault(H2_FRAME_SIZE_ERROR, "a frame of the wrong size");
    if (frame->len > H2_PAYLOAD_OCTETS_MAX) return h2_fault(H2_FRAME_SIZE_ERROR, "frame too large");
    switch (frame->type) {
    case H2_PRIORITY:
        if (frame->len != H2_PRIORITY_OCTETS)
            return h2_stream_fault(H2_FRAME_SIZE_ERROR, "a PRIORITY of the wrong size");
        return FAULT_NONE;
    case H2_RST_STREAM:
    case H2_WINDOW_UPDATE: return frame->len == 4 ? FAULT_NONE : wrong;
    case H2_SETTINGS:
        if (frame->flags & H2_FLAG_ACK) return frame->len == 0 ? FAULT_NONE : wrong;
        return frame->len % H2_SETTING_OCTETS == 0 ? FAULT_NONE : wrong;
    case H2_PING: return frame->len == 8 ? FAULT_NONE : wrong;
    case H2_GOAWAY: return frame->len >= 8 ? FAULT_NONE : wrong;
    case H2_PRIORITY_UPDATE: return frame->len >= 4 ? FAULT_NONE : wrong;
    default: return FAULT_NONE;
    }
}

static fault h2_check_stream(const h2_frame *frame)
{
    switch (frame->type) {
    case H2_DATA:
    case H2_HEADERS:
    case H2_PRIORITY:
    case H2_RST_STREAM:
    case H2_CONTINUATION:
        if (frame->stream == 0) return h2_fault(H2_PROTOCOL_ERROR, "a frame that needs a stream");
        return FAULT_NONE;
    case H2_SETTINGS:
    case H2_PING:
    case H2_GOAWAY:
    case H2_PRIORITY_UPDATE:
        if (frame->stream) return h2_fault(H2_PROTOCOL_ERROR, "a frame that has no stream");
        return FAULT_NONE;
    case H2_PUSH_PROMISE: return h2_fault(H2_PROTOCOL_ERROR, "PUSH_PROMISE from a client");
    default: return FAULT_NONE;
    }
}

fault h2_check_head(const h2_frame *frame)
{
    fault why = h2_check_size(frame);
    if (why.status && why.scope == FAULT_CONNECTION) return why;
    fault stream = h2_check_stream(frame);
    return stream.status ? stream : why;
}

// ---- Payloads ----

bool h2_unpad(const h2_frame *frame, slice *payload, uint32_t *depends_on)
{
    size_t padding = 0;
    *depends_on = 0;
    if (frame->flags & H2_FLAG_PADDED) {
        if (payload->len == 0) return false;
        padding = (unsigned char)payload->ptr[0];
        *payload = slice_from(*payload, 1);
    }
    if (frame->type == H2_HEADERS && (frame->flags & H2_FLAG_PRIORITY)) {
        if (payload->len < H2_PRIORITY_OCTETS) return false;
        *depends_on = h2_read31(payload->ptr);
        *payload = slice_from(*payload, H2_PRIORITY_OCTETS);
    }
    if (padding > payload->len) return false;
    payload->len -= padding;
    return true;
}

#endif
