// SPDX-License-Identifier: MIT
//
// Content: octets are counted or decoded here, and delivered to the exchange.

#include "h1/content.h"

#include "exchange/content.h"
#include "exchange/worker.h"

void h1_content_begin(h1_session *s, skua_request *r)
{
    switch ((head_content)r->head.content) {
    case HEAD_CONTENT_NONE: request_set_reading(r, READING_DONE); return;
    case HEAD_CONTENT_LENGTH:
        s->content_left = r->head.content_length;
        request_set_reading(r, s->content_left ? READING_CONTENT : READING_DONE);
        return;
    case HEAD_CONTENT_STREAMED:
        chunk_decoder_init(&s->chunks, &r->worker->chunk_limits, &r->memory);
        request_set_reading(r, READING_CONTENT);
        return;
    }
}

static size_t h1_content_feed_length(h1_session *s, skua_request *r, const char *octets, size_t len)
{
    size_t n = len < s->content_left ? len : (size_t)s->content_left;
    if (n == 0) return 0;
    s->content_left -= n;
    content_deliver(r, slice_make(octets, n));
    if (s->content_left == 0) content_end(r);
    return n;
}

static void h1_content_end_chunks(const h1_session *s, skua_request *r)
{
    r->received_trailers = s->chunks.trailers;
    r->received_trailers_count = s->chunks.trailer_count;
    content_end(r);
}

static size_t h1_content_feed_chunks(h1_session *s, skua_request *r, const char *octets, size_t len)
{
    slice input = slice_make(octets, len), data;
    while (!content_is_blocked(r) && !(r->close && request_is_answered(r))) {
        switch (chunk_next(&s->chunks, &input, &data)) {
        case CHUNK_MORE: return len;
        case CHUNK_DATA: content_deliver_unstated(r, data); break;
        case CHUNK_END: h1_content_end_chunks(s, r); return len - input.len;
        case CHUNK_FAULT: content_refuse(r, s->chunks.fault); return len - input.len;
        }
    }
    return len - input.len;
}

size_t h1_content_feed(h1_session *s, skua_request *r, const char *octets, size_t len)
{
    if (len == 0 || content_is_blocked(r)) return 0;
    if (r->reading == READING_TUNNEL) {
        h1_session_discount(s, octets, len);
        content_deliver(r, slice_make(octets, len));
        return len;
    }
    if (r->head.content == HEAD_CONTENT_LENGTH) return h1_content_feed_length(s, r, octets, len);
    return h1_content_feed_chunks(s, r, octets, len);
}
