// SPDX-License-Identifier: MIT
//
// Framing. HEADERS are written when a handler responds, since the order of compressed heads must be
// that of the wire. Content follows in the same piece of memory where the windows allow it; else it
// waits in the stream's backlog for its turn.

#include "h2/framing.h"

#ifndef SKUA_NO_HTTP2

#include "exchange/prepared.h"
#include "exchange/respond.h"
#include "exchange/worker.h"
#include "h2/backlog.h"
#include "h2/session.h"
#include "http/octets.h"

enum {
    // Status, Date, Content-Type, Content-Length and changes of the table's size.
    H2_HEAD_AROUND = 160,
    // A frame of content that is not smaller than this is handed over with its block.
    H2_STAGED_MIN = 8192,
    // Rather than in a smaller piece, content is put into a block of its own.
    H2_PIECE_MIN = 2048
};

static h2_session *h2_framing_session(const skua_request *r)
{
    return h2_session_of(r->carrier->session);
}

// ---- Windows ----

static size_t h2_framing_window(const h2_stream *stream)
{
    const h2_session *s = h2_stream_session(stream);
    int32_t window = stream->send_window < s->send_window ? stream->send_window : s->send_window;
    return window > 0 ? (size_t)window : 0;
}

// Whether content may be framed now, out of turn: nothing of this stream waits, and the queue is
// short.
static bool h2_framing_is_free(const h2_stream *stream, size_t octets)
{
    const h2_session *s = h2_stream_session(stream);
    return h2_backlog_octets(stream) == 0 && s->base.out->octets < H2_QUEUED_OCTETS_MAX &&
           !h2_session_queue_is_full(s) && octets <= h2_framing_window(stream);
}

static void h2_framing_count(h2_stream *stream, size_t octets)
{
    h2_session *s = h2_stream_session(stream);
    stream->send_window -= (int32_t)octets;
    s->send_window -= (int32_t)octets;
    stream->content_framed += octets;
    h2_stream_moved(stream, octets);
}

// ---- The head ----

static size_t h2_framing_fields_room(const response_fields *fields)
{
    return fields->octets + (size_t)fields->count * HPACK_FIELD_AROUND;
}

static size_t h2_framing_head_room(const skua_request *r, const response *given)
{
    const skua_prepared *made = given->prepared;
    size_t own = made ? made->fields_octets + (size_t)made->fields_count * HPACK_FIELD_AROUND : 0;
    return H2_HEAD_OCTETS + H2_HEAD_AROUND + own + given->type.len +
           h2_framing_fields_room(&r->fields);
}

// A field takes up to HPACK_FIELD_AROUND more than its text, of which the exchange counts four.
static bool h2_framing_head_fits(const skua_request *r, const response *given, size_t *left)
{
    size_t room = h2_framing_head_room(r, given);
    if (room > BLOCK_OCTETS) return false;
    *left = (BLOCK_OCTETS - room) / 3;
    return true;
}

static char *h2_framing_write_field(h2_session *s, char *at, slice name, slice value)
{
    return hpack_encode_field(&s->encoder, at, name, value, HPACK_INDEXING_BY_NAME);
}

// Fields that handlers add for HTTP/1 alone: they make a response malformed here (RFC 9113 §8.2.2).
static bool h2_framing_is_of_connection(field_id id)
{
    return id == FIELD_CONNECTION || id == FIELD_UPGRADE || id == FIELD_TRANSFER_ENCODING;
}

static char *h2_framing_write_fields(h2_session *s, char *at, const response_field *fields,
                                     unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (!h2_framing_is_of_connection(fields[i].id))
            at = h2_framing_write_field(s, at, fields[i].name, fields[i].value);
    }
    return at;
}

static char *h2_framing_write_prepared(h2_session *s, char *at, const skua_prepared *made,
                                       bool typed_anew)
{
    for (unsigned i = 0; i < made->fields_count; i++) {
        field_id id = made->fields[i].id;
        if (!(typed_anew && id == FIELD_CONTENT_TYPE) && !h2_framing_is_of_connection(id))
            at = h2_framing_write_field(s, at, made->fields[i].name, made->fields[i].value);
    }
    return made->stated_length < 0 ? at : hpack_encode_length(at, (uint64_t)made->stated_length);
}

static char *h2_framing_write_stated(char *at, int status, const response_source *source)
{
    bool bare = response_is_bare(status) && status != 304;
    if (source->no_length || (bare && status != 205)) return at;
    if (bare) return hpack_encode_length(at, 0);
    return source->length < 0 ? at : hpack_encode_length(at, (uint64_t)source->length);
}

static slice h2_framing_date(const skua_worker *w)
{
    return slice_make(w->date_line + WORKER_DATE_NAME_OCTETS, WORKER_DATE_VALUE_OCTETS);
}

// All responses of a second share it.
__attribute__((noinline)) static void h2_framing_renew_date(skua_worker *w)
{
    const char *end = hpack_encode_plain(w->h2.date, SKUA_SLICE("date"), h2_framing_date(w));
    w->h2.date_len = (uint8_t)(end - w->h2.date);
    w->h2.date_from_ns = w->date_from_ns;
}

static void h2_framing_tell_second(h2_session *s)
{
    const skua_worker *w = s->base.worker;
    (void)worker_date(s->base.worker);
    if (s->memory->date_from_ns == w->date_from_ns) return;
    s->memory->date_from_ns = w->date_from_ns;
    s->memory->dated = 0;
}

static char *h2_framing_write_date(h2_session *s, char *at)
{
    skua_worker *w = s->base.worker;
    h2_memory *memory = s->memory;
    h2_framing_tell_second(s);
    if (memory->dated == H2_DATED) return hpack_encode_date(&s->encoder, at, h2_framing_date(w));
    memory->dated++;
    if (w->h2.date_from_ns != w->date_from_ns || !w->h2.date_len) h2_framing_renew_date(w);
    memcpy(at, w->h2.date, sizeof w->h2.date);
    return at + w->h2.date_len;
}

static inline char *h2_framing_write_opening(h2_session *s, char *at, int status)
{
    at = hpack_encode_begin(&s->encoder, at);
    at = hpack_encode_status(&s->encoder, at, status);
    return h2_framing_write_date(s, at);
}

// A block that tells something only once is not kept: a change of the table's size, a date that is in no table,
// and a field that is added to the table, by which changes is no more what it was before.
__attribute__((noinline)) static char *
h2_framing_make_kept(h2_session *s, char *start, const skua_prepared *made, h2_kept *kept)
{
    if (kept) kept->number = 0;
    h2_framing_tell_second(s);
    uint64_t changes = s->encoder.changes;
    bool once = s->encoder.is_resized || s->memory->dated < H2_DATED;
    char *at = h2_framing_write_opening(s, start, made->status);
    at = h2_framing_write_prepared(s, at, made, false);
    size_t len = (size_t)(at - start);
    if (once || !kept || len > sizeof kept->octets) return at;
    kept->number = made->number;
    kept->date_from_ns = s->base.worker->date_from_ns;
    kept->changes = changes;
    kept->len = (uint8_t)len;
    memcpy(kept->octets, start, len);
    return at;
}

// A prepared response without a field of the request's own has the same block each time.
static char *h2_framing_write_kept(h2_session *s, char *at, const skua_prepared *made)
{
    _Static_assert((int)H2_KEPT_OCTETS <= (int)H2_HEAD_AROUND, "there is room for all of it");
    h2_kept *all = h2_session_kept(s), *kept = all ? &all[made->number % H2_KEPT_BLOCKS] : NULL;
    (void)worker_date(s->base.worker);
    if (!kept || kept->number != made->number ||
        kept->date_from_ns != s->base.worker->date_from_ns || kept->changes != s->encoder.changes ||
        s->encoder.is_resized)
        return h2_framing_make_kept(s, at, made, kept);
    memcpy(at, kept->octets, sizeof kept->octets);
    return at + kept->len;
}

static char *h2_framing_write_head(h2_session *s, const skua_request *r, const response *given,
                                   char *at)
{
    if (given->prepared && !r->fields.count && !given->type.len)
        return h2_framing_write_kept(s, at, given->prepared);
    at = h2_framing_write_opening(s, at, given->status);
    if (given->prepared) at = h2_framing_write_prepared(s, at, given->prepared, given->type.len);
    at = h2_framing_write_fields(s, at, r->fields.at, r->fields.count);
    if (given->type.len)
        at = hpack_encode_known(&s->encoder, at, HPACK_STATIC_CONTENT_TYPE, given->type);
    if (!given->prepared) at = h2_framing_write_stated(at, given->status, &given->source);
    return at;
}

// Writes the head of a frame in the place that was left for it.
static void h2_framing_head_of(char *start, const char *end, h2_type type, uint8_t flags,
                               const h2_stream *stream)
{
    (void)h2_write_head(start, (h2_frame){ .len = (uint32_t)(end - start) - H2_HEAD_OCTETS,
                                           .type = (uint8_t)type,
                                           .flags = flags,
                                           .stream = stream->carrier.number });
}

// ---- The end of the content ----

static bool h2_framing_write_trailers(h2_stream *stream, const response_fields *trailers)
{
    h2_session *s = h2_stream_session(stream);
    char *start = out_reserve(
        s->base.out, H2_HEAD_OCTETS + H2_HEAD_AROUND + h2_framing_fields_room(trailers), NULL);
    if (!start) return false;
    char *at = hpack_encode_begin(&s->encoder, start + H2_HEAD_OCTETS);
    at = h2_framing_write_fields(s, at, trailers->at, trailers->count);
    h2_framing_head_of(start, at, H2_HEADERS, H2_FLAG_END_HEADERS | H2_FLAG_END_STREAM, stream);
    out_commit(s->base.out, (size_t)(at - start));
    return true;
}

static const response_fields *h2_framing_trailers(const h2_stream *stream)
{
    const skua_request *r = stream->carrier.current;
    return r && r->trailers && r->trailers->count ? r->trailers : NULL;
}

// END_STREAM, behind content that has been framed already.
static bool h2_framing_end(h2_stream *stream)
{
    h2_session *s = h2_stream_session(stream);
    const response_fields *trailers = h2_framing_trailers(stream);
    if (trailers) {
        if (!h2_framing_write_trailers(stream, trailers)) return false;
    } else if (stream->piece) {
        stream->piece[4] |= H2_FLAG_END_STREAM; // of the frame that has just been written
    } else {
        char *start = out_reserve(s->base.out, H2_HEAD_OCTETS, NULL);
        if (!start) return false;
        h2_framing_head_of(start, start + H2_HEAD_OCTETS, H2_DATA, H2_FLAG_END_STREAM, stream);
        out_commit(s->base.out, H2_HEAD_OCTETS);
    }
    h2_stream_close_self(stream);
    return true;
}

// ---- Responses ----

static void h2_framing_free(void *user)
{
    counted_free(user);
}

static bool h2_framing_keep_copy(out_queue *out, slice octets)
{
    if (octets.len <= RESPONSE_COPY_MAX) return out_copy(out, octets);
    char *copy = counted_alloc(out->store->memory, octets.len);
    if (!copy) return false;
    memcpy(copy, octets.ptr, octets.len);
    out_lend(out, slice_make(copy, octets.len), h2_framing_free, copy);
    return true;
}

static bool h2_framing_keep(h2_stream *stream, const response_source *source)
{
    h2_backlog *backlog = h2_backlog_of(stream);
    if (!backlog) return false;
    switch (source->kind) {
    case SOURCE_NONE:
    case SOURCE_PULL:
    case SOURCE_PUSH: return true;
    case SOURCE_COPIED: return h2_framing_keep_copy(&backlog->out, source->octets);
    case SOURCE_LENT:
        out_lend(&backlog->out, source->octets, source->release, source->user);
        return true;
    case SOURCE_FILE:
        out_file(&backlog->out, source->file, source->offset, (uint64_t)source->length,
                 source->release, source->user);
        return true;
    }
    return true;
}

// Content in memory that is framed behind the head at once.
static bool h2_framing_is_short(const h2_stream *stream, const response_source *source,
                                size_t head_room)
{
    bool copied = source->kind == SOURCE_COPIED || source->kind == SOURCE_LENT;
    return copied && source->octets.len <= RESPONSE_COPY_MAX &&
           head_room + H2_HEAD_OCTETS + source->octets.len <= BLOCK_OCTETS &&
           h2_framing_is_free(stream, source->octets.len);
}

static char *h2_framing_write_short(h2_stream *stream, char *at, slice content, bool ends)
{
    char *start = at;
    at += H2_HEAD_OCTETS;
    octets_copy(at, content);
    at += content.len;
    h2_framing_head_of(start, at, H2_DATA, ends ? H2_FLAG_END_STREAM : 0, stream);
    h2_framing_count(stream, content.len);
    return at;
}

// The parts of a response that decide how it is framed.
typedef struct h2_plan {
    size_t head_room;
    bool content;  // octets that are there, or a file's
    bool streamed; // pulled or pushed
    bool is_short;
    bool ends; // with the head
} h2_plan;

static h2_plan h2_framing_plan(const h2_stream *stream, const skua_request *r,
                               const response *given)
{
    const response_source *source = &given->source;
    bool gets = request_gets_content(r, given->status);
    h2_plan plan = { .head_room = h2_framing_head_room(r, given) };
    plan.streamed = gets && (source->kind == SOURCE_PULL || source->kind == SOURCE_PUSH);
    plan.content = gets && !plan.streamed && source->kind != SOURCE_NONE && source->length > 0;
    plan.is_short = plan.content && h2_framing_is_short(stream, source, plan.head_room);
    plan.ends = !plan.streamed && !plan.content && !h2_framing_trailers(stream);
    return plan;
}

// Octets that are lent and need no keeping go back at once, as the exchange expects of a success.
static void h2_framing_give_back(const response_source *source)
{
    bool lent = source->kind == SOURCE_LENT || source->kind == SOURCE_FILE;
    if (lent && source->release) source->release(source->user);
}

static skua_status h2_framing_respond(skua_request *r, const response *given)
{
    h2_stream *stream = h2_stream_of(r->carrier);
    h2_session *s = h2_framing_session(r);
    h2_plan plan = h2_framing_plan(stream, r, given);
    if (plan.head_room > BLOCK_OCTETS) return SKUA_ELIMIT;
    size_t room = plan.head_room;
    if (plan.is_short) room += H2_HEAD_OCTETS + given->source.octets.len;
    char *start = out_reserve(s->base.out, room, NULL);
    if (!start) return SKUA_ENOMEM;
    if (plan.content && !plan.is_short && !h2_framing_keep(stream, &given->source))
        return SKUA_ENOMEM;
    char *at = h2_framing_write_head(s, r, given, start + H2_HEAD_OCTETS);
    uint8_t flags = H2_FLAG_END_HEADERS | (plan.ends ? H2_FLAG_END_STREAM : 0);
    h2_framing_head_of(start, at, H2_HEADERS, flags, stream);
    bool ends = plan.is_short && !h2_framing_trailers(stream);
    if (plan.is_short) at = h2_framing_write_short(stream, at, given->source.octets, ends);
    out_commit(s->base.out, (size_t)(at - start));
    r->mark = s->base.out->total_in;
    if (plan.content) r->sent_octets = (uint64_t)given->source.length;
    stream->finished = !plan.streamed;
    if (plan.ends || ends) h2_stream_close_self(stream);
    else if (stream->finished && (plan.is_short || !plan.content) && !h2_framing_end(stream))
        carrier_break(&stream->carrier); // the head is queued: there is no way back
    bool gets = request_gets_content(r, given->status);
    if (gets && (plan.is_short || !plan.content)) h2_framing_give_back(&given->source);
    return SKUA_OK;
}

static bool h2_framing_is_usual(const skua_request *r, int status, size_t room, slice content)
{
    return content.len && content.len <= RESPONSE_COPY_MAX && room <= BLOCK_OCTETS &&
           !r->fields.count && !r->trailers && request_gets_content(r, status) &&
           h2_framing_is_free(h2_stream_of_const(r->carrier), content.len);
}

// A change of the table's size is told once, and a date that is in no table is to get into it. So is a
// field that is added to the table: changes is what it was before.
__attribute__((noinline)) static char *h2_framing_make_opening(h2_session *s, char *start,
                                                               int status, slice type)
{
    h2_opening *made = &s->memory->opening;
    made->status = 0;
    h2_framing_tell_second(s);
    uint64_t changes = s->encoder.changes;
    bool once = s->encoder.is_resized || s->memory->dated < H2_DATED;
    char *at = h2_framing_write_opening(s, start, status);
    if (type.len) at = hpack_encode_known(&s->encoder, at, HPACK_STATIC_CONTENT_TYPE, type);
    size_t len = (size_t)(at - start);
    if (once || len + HPACK_LENGTH_OCTETS_MAX > H2_OPENING_OCTETS ||
        type.len > H2_OPENING_TYPE_OCTETS)
        return at;
    *made = (h2_opening){ .date_from_ns = s->base.worker->date_from_ns,
                          .changes = changes,
                          .status = (uint16_t)status,
                          .type_len = (uint8_t)type.len,
                          .len = (uint8_t)len };
    if (type.len) memcpy(made->text, type.ptr, type.len);
    memcpy(made->text + type.len, start, len);
    return at;
}

static inline char *h2_framing_write_usual(h2_session *s, char *at, int status, slice type,
                                           size_t length)
{
    h2_opening *made = &s->memory->opening;
    (void)worker_date(s->base.worker);
    if (made->status != status || made->date_from_ns != s->base.worker->date_from_ns ||
        made->changes != s->encoder.changes || s->encoder.is_resized ||
        made->type_len != type.len || !octets_equal_at_once(made->text, type.ptr, type.len))
        return hpack_encode_length(h2_framing_make_opening(s, at, status, type), length);
    char *octets = made->text + type.len;
    if (made->stated != length || !made->stated_len) {
        made->stated = length;
        const char *end = hpack_encode_length(octets + made->len, length);
        made->stated_len = (uint8_t)(end - octets);
    }
    memcpy(at, octets, H2_OPENING_SHORT_OCTETS);
    if (made->stated_len > H2_OPENING_SHORT_OCTETS) memcpy(at, octets, H2_OPENING_OCTETS);
    return at + made->stated_len;
}

// Most responses are a text that leaves with its head, and has no fields but the server's.
static skua_status h2_framing_respond_copied(skua_request *r, int status, slice type, slice content)
{
    h2_session *s = h2_framing_session(r);
    size_t room = 2 * H2_HEAD_OCTETS + H2_HEAD_AROUND + type.len + content.len;
    if (!h2_framing_is_usual(r, status, room, content))
        return h2_framing_respond(r, &(response){ .status = status,
                                                  .type = type,
                                                  .source = { .kind = SOURCE_COPIED,
                                                              .octets = content,
                                                              .length = (int64_t)content.len,
                                                              .no_length = status == 304 } });
    h2_stream *stream = h2_stream_of(r->carrier);
    char *start = out_reserve(s->base.out, room, NULL);
    if (!start) return SKUA_ENOMEM;
    char *at = h2_framing_write_usual(s, start + H2_HEAD_OCTETS, status, type, content.len);
    h2_framing_head_of(start, at, H2_HEADERS, H2_FLAG_END_HEADERS, stream);
    at = h2_framing_write_short(stream, at, content, true);
    out_commit(s->base.out, (size_t)(at - start));
    r->mark = s->base.out->total_in;
    r->sent_octets = content.len;
    stream->finished = true;
    h2_stream_close_self(stream);
    return SKUA_OK;
}

// ---- Content that comes in pieces ----

static char *h2_framing_reserve_backlog(h2_stream *stream, size_t least, size_t *room)
{
    h2_backlog *backlog = h2_backlog_of(stream);
    stream->backlogged = true;
    return backlog ? out_reserve(&backlog->out, least, room) : NULL;
}

// A source may call the program, which may answer other requests of this connection meanwhile: it
// writes to a block aside.
static char *h2_framing_reserve_staging(h2_stream *stream, size_t window, size_t *room)
{
    h2_session *s = h2_stream_session(stream);
    if (!s->work->staging) s->work->staging = block_take(&s->base.worker->blocks);
    block *staging = s->work->staging;
    if (!staging) return NULL;
    *room = staging->room - H2_HEAD_OCTETS;
    if (*room > window) *room = window;
    if (*room > H2_PAYLOAD_OCTETS_MAX) *room = H2_PAYLOAD_OCTETS_MAX;
    stream->staged = true;
    return staging->data + H2_HEAD_OCTETS;
}

static char *h2_framing_reserve(skua_request *r, size_t least, size_t *room)
{
    h2_stream *stream = h2_stream_of(r->carrier);
    stream->piece = NULL;
    stream->staged = stream->backlogged = false;
    if (!h2_framing_is_free(stream, least)) return h2_framing_reserve_backlog(stream, least, room);
    if (room) return h2_framing_reserve_staging(stream, h2_framing_window(stream), room);
    char *start = out_reserve(h2_stream_session(stream)->base.out, H2_HEAD_OCTETS + least, NULL);
    if (!start) return NULL;
    stream->piece = start;
    return start + H2_HEAD_OCTETS;
}

static void h2_framing_commit_late(h2_stream *stream, slice octets)
{
    h2_backlog *backlog = h2_backlog_of(stream);
    if (!backlog || !out_copy(&backlog->out, octets)) carrier_break(&stream->carrier);
}

// A long piece is handed over with its block, a short one copied. The program may have used up the
// window meanwhile by what it answered to others.
static void h2_framing_commit_staged(h2_stream *stream, size_t octets)
{
    h2_session *s = h2_stream_session(stream);
    char *start = s->work->staging->data, *end = start + H2_HEAD_OCTETS + octets;
    size_t len = (size_t)(end - start);
    if (octets > h2_framing_window(stream)) {
        h2_framing_commit_late(stream, slice_make(start + H2_HEAD_OCTETS, octets));
        return;
    }
    h2_framing_head_of(start, end, H2_DATA, 0, stream);
    if (octets >= H2_STAGED_MIN && !out_is_full(s->base.out)) {
        stream->piece = start;
        out_give(s->base.out, &s->work->staging, len);
    } else {
        char *to = out_reserve(s->base.out, len, NULL);
        if (!to) {
            carrier_break(&stream->carrier);
            return;
        }
        memcpy(to, start, len);
        stream->piece = to;
        out_commit(s->base.out, len);
    }
    h2_framing_count(stream, octets);
}

static void h2_framing_commit(skua_request *r, size_t octets)
{
    h2_stream *stream = h2_stream_of(r->carrier);
    h2_session *s = h2_stream_session(stream);
    if (stream->backlogged) {
        out_commit(&stream->backlog->out, octets);
    } else if (stream->staged) {
        h2_framing_commit_staged(stream, octets);
    } else {
        char *end = stream->piece + H2_HEAD_OCTETS + octets;
        h2_framing_head_of(stream->piece, end, H2_DATA, 0, stream);
        out_commit(s->base.out, H2_HEAD_OCTETS + octets);
        h2_framing_count(stream, octets);
        stream->piece = NULL; // the program may write more before it finishes
    }
    r->mark = s->base.out->total_in;
}

#ifndef SKUA_NO_WEBSOCKET

static bool h2_framing_send_parked(carrier *c, slice octets)
{
    h2_stream *stream = h2_stream_of(c);
    h2_session *s = h2_stream_session(stream);
    bool fits = H2_HEAD_OCTETS + octets.len <= BLOCK_OCTETS; // written in one piece
    if (!fits || !h2_framing_is_free(stream, octets.len)) return false;
    char *start = out_reserve(s->base.out, H2_HEAD_OCTETS + octets.len, NULL);
    if (!start) return false;
    char *end = start + H2_HEAD_OCTETS + octets.len;
    memcpy(start + H2_HEAD_OCTETS, octets.ptr, octets.len);
    h2_framing_head_of(start, end, H2_DATA, 0, stream);
    out_commit(s->base.out, H2_HEAD_OCTETS + octets.len);
    h2_framing_count(stream, octets.len);
    h2_stream_kick(stream);
    return true;
}

#endif

static bool h2_framing_lend(skua_request *r, const response_source *source)
{
    return h2_framing_keep(h2_stream_of(r->carrier), source);
}

static bool h2_framing_finish(skua_request *r)
{
    h2_stream *stream = h2_stream_of(r->carrier);
    stream->finished = true;
    if (h2_backlog_octets(stream)) return true; // it follows the last of that
    return h2_framing_end(stream);
}

// ---- In turn ----

// Makes room for a frame: in what is left of a block, if that is enough to be worth it.
static size_t h2_framing_payload(h2_session *s, h2_stream *stream)
{
    size_t most = h2_framing_window(stream);
    uint64_t there = h2_backlog_octets(stream);
    if (most > there) most = (size_t)there;
    if (most > H2_PAYLOAD_OCTETS_MAX) most = H2_PAYLOAD_OCTETS_MAX;
    const out_segment *first = out_segment_at(&stream->backlog->out, 0);
    if (first->kind != OUT_COPIED) return most;
    size_t left = s->base.out->left;
    size_t room = left >= H2_PIECE_MIN ? left : BLOCK_OCTETS;
    return most + H2_HEAD_OCTETS <= room ? most : room - H2_HEAD_OCTETS;
}

// A frame is filled from one segment, so that its head can be written before.
bool h2_framing_move(h2_stream *stream)
{
    h2_session *s = h2_stream_session(stream);
    out_queue *from = &stream->backlog->out;
    size_t octets = h2_framing_payload(s, stream);
    if (octets == 0 || h2_session_segments_left(s) < 2) return false;
    const out_segment *first = out_segment_at(from, 0);
    if (octets > first->len) octets = (size_t)first->len;
    bool last = octets == from->octets && stream->finished && !h2_framing_trailers(stream) &&
                first->kind != OUT_FILE; // whose end is not said before it has been read
    size_t need = H2_HEAD_OCTETS + (first->kind == OUT_COPIED ? octets : 0);
    char *start = out_reserve(s->base.out, need, NULL);
    if (!start || !h2_backlog_split(stream, octets)) return false;
    h2_framing_head_of(start, start + H2_HEAD_OCTETS + octets, H2_DATA,
                       last ? H2_FLAG_END_STREAM : 0, stream);
    out_commit(s->base.out, H2_HEAD_OCTETS);
    h2_framing_count(stream, octets);
    if (h2_backlog_move(stream, s->base.out, octets) != octets) {
        h2_session_break(s); // a frame has been begun that cannot be completed
        return false;
    }
    stream->carrier.current->mark = s->base.out->total_in;
    if (from->octets) return true;
    h2_backlog_give(stream);
    stream->piece = NULL;
    if (last) h2_stream_close_self(stream);
    else if (stream->finished && !h2_framing_end(stream)) carrier_break(&stream->carrier);
    return true;
}

void h2_framing_pull(h2_stream *stream)
{
    h2_stream_enter(stream);
    (void)respond_pull(stream->carrier.current);
    h2_stream_exit(stream);
    stream->piece = NULL;
}

// ---- Interim responses and tunnels ----

static skua_status h2_framing_inform(skua_request *r, int status, const skua_field *fields,
                                     size_t count, size_t octets)
{
    h2_session *s = h2_framing_session(r);
    size_t room = H2_HEAD_OCTETS + H2_HEAD_AROUND + octets + count * HPACK_FIELD_AROUND;
    bool full = h2_session_queue_is_full(s) || s->base.out->octets >= r->worker->out_octets_max;
    if (full || room > BLOCK_OCTETS) return SKUA_ELIMIT;
    char *start = out_reserve(s->base.out, room, NULL);
    if (!start) return SKUA_ENOMEM;
    char *at = hpack_encode_begin(&s->encoder, start + H2_HEAD_OCTETS);
    at = hpack_encode_status(&s->encoder, at, status);
    for (size_t i = 0; i < count; i++)
        at = h2_framing_write_field(s, at, fields[i].name, fields[i].value);
    h2_framing_head_of(start, at, H2_HEADERS, H2_FLAG_END_HEADERS, h2_stream_of(r->carrier));
    out_commit(s->base.out, (size_t)(at - start));
    return SKUA_OK;
}

// There is no Upgrade in HTTP/2: extended CONNECT asks for a tunnel, RFC 8441 §4.
static skua_status h2_framing_upgrade(skua_request *r, slice protocol)
{
    const h2_stream *stream = h2_stream_of(r->carrier);
    slice asked = slice_make(r->base + stream->protocol, stream->protocol_len);
    if (!asked.len || !slice_equal_nocase(asked, protocol)) return SKUA_EPROTOCOL;
    response given = { .status = 200, .source = { .kind = SOURCE_PUSH, .length = -1 } };
    return h2_framing_respond(r, &given);
}

// ---- What is queued ----

static uint64_t h2_framing_room(const skua_request *r)
{
    const h2_stream *stream = h2_stream_of_const(r->carrier);
    const out_queue *out = stream->backlog ? &stream->backlog->out : NULL;
    uint64_t most = worker_config(r->worker)->out_octets_max;
    if (!out) return most;
    bool full = out_is_full(out) || out->octets >= r->worker->out_octets_max;
    return full ? 0 : most - out->octets;
}

static bool h2_framing_is_crowded(const skua_request *r)
{
    const h2_stream *stream = h2_stream_of_const(r->carrier);
    return stream->backlog && out_is_crowded(&stream->backlog->out, r->worker->out_octets_max);
}

// The connection's queue also has octets of other streams, so a stream counts no more of it than it has framed itself.
static uint64_t h2_framing_unsent(const skua_request *r)
{
    const h2_stream *stream = h2_stream_of_const(r->carrier);
    if (r->push >= PUSH_TUNNEL) return h2_backlog_octets(stream);
    uint64_t left = out_has_left(h2_framing_session(r)->base.out);
    uint64_t queued = r->mark > left ? r->mark - left : 0;
    if (queued > stream->content_framed) queued = stream->content_framed;
    return queued + h2_backlog_octets(stream);
}

static void h2_framing_kick(carrier *c)
{
    h2_stream_kick(h2_stream_of(c));
}

#ifndef SKUA_NO_WEBSOCKET

// A tunnel's queue of its own is the backlog, which is gone when it is empty.
static bool h2_framing_rest(carrier *c)
{
    return h2_backlog_octets(h2_stream_of(c)) == 0;
}

#endif

static bool h2_framing_peer_is_done(const carrier *c)
{
    return *c->session->link.peer_is_done;
}

const carrier_table h2_carrier = {
    .head_fits = h2_framing_head_fits,
    .respond = h2_framing_respond,
    .respond_copied = h2_framing_respond_copied,
    .reserve = h2_framing_reserve,
    .commit = h2_framing_commit,
    .lend = h2_framing_lend,
    .finish = h2_framing_finish,
    .inform = h2_framing_inform,
    .upgrade = h2_framing_upgrade,
    .room = h2_framing_room,
    .is_crowded = h2_framing_is_crowded,
    .unsent = h2_framing_unsent,
    .occupy = h2_stream_occupy,
    .vacate = h2_stream_vacate,
    .kick = h2_framing_kick,
    .send = h2_framing_kick,
#ifndef SKUA_NO_WEBSOCKET
    .rest = h2_framing_rest,
    .send_parked = h2_framing_send_parked,
#endif
    .peer_is_done = h2_framing_peer_is_done,
};

#endif
