// SPDX-License-Identifier: MIT
//
// Broken files. The head of a frame has left before its file turns out to be too short. Its frames are
// filled with zeros, since the connection cannot go on otherwise, and the stream is reset. END_STREAM
// follows a file in a frame of its own, and is taken back, so that no client takes zeros for content.

#include "h2/broken.h"

#ifndef SKUA_NO_HTTP2

#include "h2/ending.h"
#include "h2/signal.h"

static const char h2_broken_zeros[H2_PAYLOAD_OCTETS_MAX];

static const out_segment *h2_broken_find(h2_session *s, unsigned *at)
{
    for (*at = 0; *at < s->base.out->count; (*at)++) {
        const out_segment *segment = out_segment_at(s->base.out, *at);
        if (segment->kind == OUT_FILE && segment->failed) return segment;
    }
    return NULL;
}

// It keeps its length, which is on the wire already, and what it gives back.
static void h2_broken_fill(out_segment *segment)
{
    SKUA_ASSERT(segment->len <= sizeof h2_broken_zeros);
    segment->kind = OUT_LENT;
    segment->ptr = h2_broken_zeros;
    segment->headroom = 0;
}

// Returns: whether the frame says already that the stream is reset.
static bool h2_broken_take_back(char *head, const h2_frame *frame)
{
    if (frame->type == H2_RST_STREAM) {
        (void)h2_write32(head + H2_HEAD_OCTETS, H2_INTERNAL_ERROR);
        return true;
    }
    if (frame->type == H2_DATA || frame->type == H2_HEADERS)
        head[4] = (char)(frame->flags & ~H2_FLAG_END_STREAM);
    return false;
}

// The frames behind a file that is queued, of which the first begins where that ends.
typedef struct h2_broken_walk {
    uint32_t number; // of the stream that is reset
    uint64_t left;   // octets of the frame's payload
    bool is_reset;   // a frame that is queued says so
} h2_broken_walk;

// Heads of frames lie in one piece each, in blocks of the queue.
static void h2_broken_pass(h2_broken_walk *walk, out_segment *segment)
{
    uint64_t offset = 0;
    for (;;) {
        uint64_t rest = segment->len - offset;
        uint64_t n = walk->left < rest ? walk->left : rest;
        walk->left -= n;
        offset += n;
        if (offset == segment->len) return;
        SKUA_ASSERT(segment->kind == OUT_COPIED && segment->len - offset >= H2_HEAD_OCTETS);
        char *head = segment->owner->data + (segment->ptr - segment->owner->data) + offset;
        h2_frame frame = h2_read_head(head);
        if (frame.stream == walk->number) walk->is_reset |= h2_broken_take_back(head, &frame);
        walk->left = frame.len;
        offset += H2_HEAD_OCTETS;
    }
}

// All its files are given up at once: the others of it would only fail later.
static bool h2_broken_give_up(h2_session *s, unsigned at, uint32_t number)
{
    h2_broken_walk walk = { .number = number, .left = out_segment_at(s->base.out, at)->len };
    for (; at < s->base.out->count; at++) {
        out_segment *segment = out_segment_at(s->base.out, at);
        if (segment->kind == OUT_FILE && segment->label == number) h2_broken_fill(segment);
        h2_broken_pass(&walk, segment);
    }
    return walk.is_reset;
}

bool h2_broken_file(h2_session *s)
{
    unsigned at;
    const out_segment *failed = h2_broken_find(s, &at);
    if (!failed) return false;
    uint32_t number = failed->label;
    bool is_reset = h2_broken_give_up(s, at, number);
    h2_stream *stream = h2_stream_find(s, number);
    if (stream && stream->carrier.current) {
        request_blame(stream->carrier.current, "a file that cannot be read to its end");
        h2_ending_reset(stream, H2_INTERNAL_ERROR, SKUA_END_ERROR);
        return true;
    }
    if (!is_reset) h2_signal_reset(s, number, H2_INTERNAL_ERROR);
    if (stream && stream->leaving) h2_ending_spoil(stream, "a file that cannot be read to its end");
    return true;
}

#endif
