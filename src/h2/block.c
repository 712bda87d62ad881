// SPDX-License-Identifier: MIT
//
// Header blocks. Whatever becomes of the stream, its block is decompressed, since later ones depend
// on it.

#include "h2/block.h"

#ifndef SKUA_NO_HTTP2

#include "exchange/content.h"
#include "exchange/request_begin.h"
#include "exchange/request_end.h"
#include "exchange/worker.h"
#include "h2/admission.h"
#include "h2/content.h"
#include "h2/ending.h"
#include "h2/framing.h"
#include "h2/priority.h"
#include "h2/ready.h"
#include "h2/signal.h"
#include "h2/worker.h"
#include "http/chunk.h"
#include "http/h2_head.h"

void h2_block_forget(h2_session *s)
{
    counted_free(s->block);
    s->block = NULL;
    s->block_len = s->block_room = 0;
    s->block_stream = 0;
}

// ---- Decompression ----

static fault h2_block_compression_fault(const h2_session *s)
{
    (void)s;
    return h2_fault(H2_COMPRESSION_ERROR, "a header block that cannot be decompressed");
}

// Twice the list that is taken is answered by nothing but the end.
static fault h2_block_size_fault(void)
{
    return h2_fault(H2_ENHANCE_YOUR_CALM, "a list of fields that is far too large");
}

// For nobody: but the table has to follow.
static fault h2_block_discard(h2_session *s, slice lines)
{
    hpack_field field;
    uint64_t octets = 0, most = 2 * h2_list_octets_max(&s->base.worker->head_bounds);
    hpack_decoder_begin(&s->decoder, lines);
    for (;;) {
        switch (hpack_decoder_next(&s->decoder, &field)) {
        case HPACK_FIELD: octets += field.octets; break;
        case HPACK_END: return FAULT_NONE;
        case HPACK_FAULT: return h2_block_compression_fault(s);
        case HPACK_NO_MEMORY: return h2_fault(H2_INTERNAL_ERROR, "out of memory");
        }
        if (octets > most) return h2_block_size_fault();
    }
}

// Reads the fields of a request.
static fault h2_block_read(h2_session *s, h2_head_reader *in, slice lines)
{
    hpack_decoder_begin(&s->decoder, lines);
    switch (h2_run_read(&s->memory->run, &s->decoder, in)) {
    case HPACK_FIELD: return h2_block_size_fault();
    case HPACK_END: return FAULT_NONE;
    case HPACK_FAULT: return h2_block_compression_fault(s);
    case HPACK_NO_MEMORY: return h2_fault(H2_INTERNAL_ERROR, "out of memory");
    }
    return FAULT_NONE;
}

// ---- Requests ----

static void h2_block_begin_content(h2_stream *stream, skua_request *r, const h2_head_reader *in,
                                   bool ends)
{
    if (in->protocol_len) { // what comes is the tunnel's
        stream->protocol = in->protocol;
        stream->protocol_len = in->protocol_len;
        if (ends) stream->peer = H2_HALF_ENDED;
        request_set_reading(r, READING_DONE);
        return;
    }
    if (ends) {
        stream->peer = H2_HALF_ENDED;
        request_set_reading(r, READING_DONE);
        return;
    }
    stream->content_left = r->head.content_length;
    request_set_reading(r, READING_CONTENT);
    if (r->head.expect_continue) request_set_expectation(r, EXPECTATION_OPEN);
}

// The request will never be. It goes back unseen but for a line in the log.
static fault h2_block_drop_request(h2_stream *stream, skua_request *r, slice text, fault why)
{
    request_blame(r, why.reason);
    r->method = arena_copy(&r->memory, head_method(&r->head, text.ptr));
    r->target_text = arena_copy(&r->memory, head_target(&r->head, text.ptr));
    stream->carrier.current = r;
    return why; // which resets the stream
}

// A PRIORITY_UPDATE that came before counts more than the field, RFC 9218 §7.
static void h2_block_set_priority(h2_stream *stream, const h2_head_reader *in)
{
    h2_priority priority = { 0 };
    if (h2_priority_find(h2_stream_session(stream), stream->carrier.number, &priority))
        h2_ready_set_priority(stream, priority);
    else if (in->priority)
        h2_ready_set_priority(stream,
                              h2_priority_read(head_value(in->head, in->text, in->priority - 1u)));
}

static fault h2_block_begin(h2_stream *stream, h2_head_reader *in, skua_request *r, bool ends)
{
    fault why = h2_head_end(in, ends);
    slice text = slice_make(in->text, in->used);
    const h2_session *s = h2_stream_session(stream);
    if (!why.status && worker_is_short(s->base.worker, BUDGET_SCARCE))
        why = fault_request(503, "memory_max is reached");
    if (why.status && in->text == r->memory.at) (void)arena_alloc(&r->memory, in->used); // it stays
    if (why.status && why.scope == FAULT_STREAM) return h2_block_drop_request(stream, r, text, why);
    stream->carrier.current = r;
    h2_block_set_priority(stream, in);
    h2_stream_enter(stream);
    if (why.status) {
        if (ends) stream->peer = H2_HALF_ENDED;
        request_refuse(r, text, why);
    } else {
        h2_block_begin_content(stream, r, in, ends);
        if (!h2_admission_is_full(h2_stream_session(stream))) h2_stream_begin(stream, in->text);
        else if (!h2_admission_wait(stream, in->text)) carrier_break(&stream->carrier);
    }
    h2_stream_exit(stream);
    h2_ending_settle(stream);
    return FAULT_NONE;
}

static fault h2_block_refuse(h2_session *s, uint32_t number, slice lines, h2_code code,
                             const char *reason)
{
    fault why = h2_block_discard(s, lines);
    if (why.status) return why;
    h2_signal_reset(s, number, code);
    (void)reason;
    return FAULT_NONE;
}

// A client that has not heard of the limit yet is not blamed for going over it.
static fault h2_block_refuse_stream(h2_session *s, uint32_t number, slice lines)
{
    if (s->settled && !h2_limits_reset(&s->limits, s->base.worker->loop.now_ns))
        return h2_fault(H2_ENHANCE_YOUR_CALM, "too many streams that are refused");
    return h2_block_refuse(s, number, lines, H2_REFUSED_STREAM, "too many streams");
}

// Most heads are put together where they will stay: at the beginning of the request's memory.
static void h2_block_begin_head(const h2_session *s, h2_head_reader *in, skua_request *r,
                                char *large)
{
    h2_head_begin(in, &r->head, r->memory.at, (size_t)(r->memory.end - r->memory.at), large);
    in->tunnels = h2_config(s)->http2.tunnels;
}

static fault h2_block_even_fault(void)
{
    return h2_fault(H2_PROTOCOL_ERROR, "a stream of a client's has an odd number");
}

static fault h2_block_open(h2_session *s, uint32_t number, slice lines, bool ends)
{
    if (number % 2 == 0) return h2_block_even_fault();
    h2_signal_remember(s, number);
    if (s->stage >= H2_LEAVES) return h2_block_discard(s, lines);
    unsigned most = h2_config(s)->http2.streams_max;
    if (s->open_streams >= most || s->streams >= 2 * most)
        return h2_block_refuse_stream(s, number, lines);
    char *text = h2_worker_text(s->base.worker);
    h2_stream *stream = text ? h2_stream_open(s, number, &h2_carrier, h2_signal_window(s)) : NULL;
    skua_request *r = stream ? request_take(s->base.worker, &stream->carrier) : NULL;
    if (!r) {
        if (stream) h2_stream_free(stream);
        return h2_block_refuse(s, number, lines, H2_REFUSED_STREAM, "out of memory");
    }
    h2_head_reader in;
    h2_block_begin_head(s, &in, r, text);
    fault why = h2_block_read(s, &in, lines);
    if (why.status) {
        request_dismiss(r);
        h2_stream_free(stream);
        return why;
    }
    return h2_block_begin(stream, &in, r, ends);
}

// ---- Trailers ----

static fault h2_block_take_trailer(skua_request *r, skua_field *fields, unsigned *count,
                                   const hpack_field *field)
{
    const int valid = HPACK_NAME_IS_VALID | HPACK_VALUE_IS_VALID;
    if (field->token != HPACK_TOKEN_FIELD || (field->flags & valid) != valid ||
        h2_head_is_of_connection(field))
        return h2_stream_fault(H2_PROTOCOL_ERROR, "malformed trailers");
    if (!chunk_trailer_allowed(field->name) || *count == r->head.limits->fields_max)
        return FAULT_NONE;
    slice name = arena_copy(&r->memory, field->name), value = arena_copy(&r->memory, field->value);
    if (!name.ptr || !value.ptr) return h2_stream_fault(H2_INTERNAL_ERROR, "out of memory");
    fields[(*count)++] = (skua_field){ .name = name, .value = value };
    return FAULT_NONE;
}

static fault h2_block_read_trailers(h2_session *s, skua_request *r, skua_field *fields, slice lines)
{
    unsigned count = 0;
    fault why = FAULT_NONE;
    uint64_t octets = 0, most = worker_config(r->worker)->trailer_octets_max;
    hpack_field field;
    hpack_decoder_begin(&s->decoder, lines);
    for (;;) {
        switch (hpack_decoder_next(&s->decoder, &field)) {
        case HPACK_FIELD: break;
        case HPACK_END:
            r->received_trailers = fields;
            r->received_trailers_count = count;
            return why;
        case HPACK_FAULT: return h2_block_compression_fault(s);
        case HPACK_NO_MEMORY: return h2_fault(H2_INTERNAL_ERROR, "out of memory");
        }
        octets += field.octets;
        if (octets > 2 * h2_list_octets_max(r->head.limits)) return h2_block_size_fault();
        if (octets > most && !why.status) why = fault_request(431, "trailers too large");
        if (!why.status) why = h2_block_take_trailer(r, fields, &count, &field);
    }
}

static fault h2_block_starve(h2_session *s, slice lines)
{
    fault why = h2_block_discard(s, lines);
    return why.status ? why : h2_stream_fault(H2_INTERNAL_ERROR, "out of memory");
}

// Nobody wants the fields; but they may end a tunnel's input, or what a client still sends.
static fault h2_block_ignore_trailers(h2_session *s, h2_stream *stream, slice lines, bool ends)
{
    fault why = h2_block_discard(s, lines);
    if (!why.status && ends && h2_content_end(stream)) h2_ending_settle(stream);
    return why;
}

static fault h2_block_take_trailers(h2_session *s, h2_stream *stream, slice lines, bool ends)
{
    skua_request *r = stream->carrier.current;
    if (!r || r->reading != READING_CONTENT || request_is_answered(r))
        return h2_block_ignore_trailers(s, stream, lines, ends);
    skua_field *fields = arena_alloc(&r->memory, r->head.limits->fields_max * sizeof(skua_field));
    if (!fields) return h2_block_starve(s, lines);
    fault why = h2_block_read_trailers(s, r, fields, lines);
    if (!why.status && !ends)
        why = h2_stream_fault(H2_PROTOCOL_ERROR, "trailers that do not end the stream");
    if (why.status && why.scope != FAULT_REQUEST) return why;
    if (why.status) {
        stream->peer = H2_HALF_ENDED;
        h2_stream_enter(stream);
        content_refuse(r, why);
        h2_stream_exit(stream);
    } else if (!h2_content_end(stream)) {
        return FAULT_NONE;
    }
    h2_ending_settle(stream);
    return FAULT_NONE;
}

// ---- Blocks ----

fault h2_block_take_whole(h2_session *s, uint32_t number, slice lines, bool ends)
{
    if (number > s->last_stream) return h2_block_open(s, number, lines, ends);
    h2_stream *stream = h2_stream_find(s, number);
    if (stream && stream->peer == H2_HALF_OPEN)
        return h2_block_take_trailers(s, stream, lines, ends);
    if (number % 2 == 0) return h2_block_even_fault(); // no reset is remembered of such
    fault why = h2_block_discard(s, lines);
    if (why.status || h2_signal_has_reset(s, number)) return why;
    if (stream) return h2_stream_fault(H2_STREAM_CLOSED, "HEADERS behind END_STREAM");
    return h2_fault(H2_STREAM_CLOSED, "HEADERS for a stream that is closed");
}

static bool h2_block_keep(h2_session *s, slice part)
{
    size_t room = s->block_len + part.len;
    if (room > s->block_room) {
        char *grown = counted_resize(&s->base.worker->memory, s->block, room);
        if (!grown) return false;
        s->block = grown;
        s->block_room = (uint32_t)room;
    }
    if (part.len) memcpy(s->block + s->block_len, part.ptr, part.len);
    s->block_len = (uint32_t)room;
    return true;
}

static fault h2_block_add(h2_session *s, slice part)
{
    uint64_t most = 2 * h2_list_octets_max(&s->base.worker->head_bounds);
    if (s->block_len + part.len > most) return h2_block_size_fault();
    return h2_block_keep(s, part) ? FAULT_NONE : h2_fault(H2_INTERNAL_ERROR, "out of memory");
}

static fault h2_block_continue(h2_session *s, const h2_frame *frame, slice part)
{
    if (s->block_frames++ >= h2_config(s)->http2.continuations_max)
        return h2_fault(H2_ENHANCE_YOUR_CALM, "too many CONTINUATIONs");
    fault why = h2_block_add(s, part);
    if (why.status || !(frame->flags & H2_FLAG_END_HEADERS)) return why;
    uint32_t number = s->block_stream;
    why = h2_block_take_whole(s, number, slice_make(s->block, s->block_len),
                              s->block_flags & H2_FLAG_END_STREAM);
    h2_block_forget(s);
    return why;
}

fault h2_block_take(h2_session *s, const h2_frame *frame, slice payload)
{
    if (frame->type == H2_CONTINUATION) return h2_block_continue(s, frame, payload);
    uint32_t depends_on;
    if (!h2_unpad(frame, &payload, &depends_on))
        return h2_fault(H2_PROTOCOL_ERROR, "more padding than payload");
    if (frame->flags & H2_FLAG_END_HEADERS) {
        fault why =
            h2_block_take_whole(s, frame->stream, payload, frame->flags & H2_FLAG_END_STREAM);
        if (why.status || depends_on != frame->stream) return why;
        return h2_stream_fault(H2_PROTOCOL_ERROR, "a stream that depends on itself");
    }
    s->block_stream = frame->stream;
    s->block_flags = frame->flags;
    s->block_frames = 0;
    return h2_block_add(s, payload);
}

#endif
