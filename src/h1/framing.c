// SPDX-License-Identifier: MIT
//
// Framing. A head is written in one piece, and short content behind it, so that most responses are
// one segment and one send.

#include "h1/framing.h"

#include "base/assert.h"
#include "base/memory.h"
#include "exchange/page.h"
#include "exchange/prepared.h"
#include "exchange/request.h"
#include "exchange/worker.h"
#include "h1/session.h"
#include "h1/upgrade.h"
#include "http/h1_write.h"

enum {
    FRAMING_CHUNK_HEAD = 6,    // of pulled content: four digits and CRLF
    FRAMING_CHUNK_OCTETS = 20, // around a chunk: at most 16 digits and twice CRLF
    FRAMING_ROOM_OCTETS = 160  // Connection, Content-Type and Content-Length but for the values
};

// A prepared response's status line and fields as they are written.
struct h1_prepared {
    slice status_line, fields;
    char text[];
};

// ---- Prepared responses ----

// Prepared fields, but for the Content-Type that another one has replaced.
__attribute__((cold, noinline)) static char *framing_write_untyped(char *at, const skua_prepared *a)
{
    for (unsigned i = 0; i < a->fields_count; i++) {
        if (a->fields[i].id != FIELD_CONTENT_TYPE)
            at = h1_write_field(at, a->fields[i].name, a->fields[i].value);
    }
    if (a->stated_length < 0) return at;
    at = H1_WRITE(at, "Content-Length: ");
    at = h1_write_length(at, (uint64_t)a->stated_length);
    return H1_WRITE(at, "\r\n");
}

static char *framing_write_fields(char *at, const response_field *fields, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        at = h1_write_field(at, fields[i].name, fields[i].value);
    return at;
}

static inline __attribute__((always_inline)) char *framing_write_stated_length(char *at,
                                                                               uint64_t length)
{
    at = H1_WRITE(at, "Content-Length: ");
    at = h1_write_length(at, length);
    return H1_WRITE(at, "\r\n");
}

static struct h1_prepared *framing_prepare_text(const skua_prepared *a)
{
    size_t room = H1_STATUS_LINE_OCTETS_MAX + a->fields_octets + 64;
    struct h1_prepared *made = memory_alloc(sizeof *made + room);
    if (!made) return NULL;
    char *at = h1_write_status(made->text, a->status, slice_of(page_reason(a->status)));
    made->status_line = slice_make(made->text, (size_t)(at - made->text));
    char *fields = at;
    at = framing_write_fields(at, a->fields, a->fields_count);
    if (a->stated_length >= 0) at = framing_write_stated_length(at, (uint64_t)a->stated_length);
    made->fields = slice_make(fields, (size_t)(at - fields));
    return made;
}

// Made at the first use. A prepared response belongs to one worker, so nobody else makes it too.
static const struct h1_prepared *framing_prepared(skua_prepared *a)
{
    if (!a->h1) a->h1 = framing_prepare_text(a);
    return a->h1;
}

// ---- The head ----

// Whether the connection can serve another request after this response, RFC 9112 §9.3 and RFC 9110
// §10.1.1. Beside a response that goes on for a while the content may be read to its end.
static bool framing_keeps_connection(const h1_session *s, const skua_request *r, bool streamed)
{
    if (!r->head.keep_alive || r->close || r->worker->disk.retiring || s->stage != H1_READS)
        return false;
    if (r->reading != READING_CONTENT) return true;
    if (r->expectation == EXPECTATION_OPEN) return false;
    return r->head.content != HEAD_CONTENT_LENGTH || (streamed && r->reader) ||
           s->content_left <= worker_config(r->worker)->discard_octets_max;
}

static inline bool framing_is_streamed(const response_source *source)
{
    return source->kind == SOURCE_PULL || source->kind == SOURCE_PUSH;
}

// Decides everything that must be known before the head is written.
static inline void framing_decide(h1_session *s, skua_request *r, const response_source *source)
{
    bool streamed = framing_is_streamed(source);
    s->chunked = false;
    if (!framing_keeps_connection(s, r, streamed)) r->close = true;
    if (streamed && source->length < 0) {
        s->chunked = r->head.version != 10;
        if (!s->chunked) r->close = true; // close-delimited, RFC 9112 §6.3
    }
}

// A response with Upgrade names it in Connection, and a 426 has to have one (RFC 9110 §7.8,
// §15.5.22).
static char *framing_write_connection(const skua_request *r, char *at, int status)
{
    if (status == 426 && !r->close) return H1_WRITE(at, "Connection: upgrade\r\n");
    if (status == 426) return H1_WRITE(at, "Connection: close, upgrade\r\n");
    if (r->close) return H1_WRITE(at, "Connection: close\r\n");
    return H1_WRITE(at, "Connection: keep-alive\r\n");
}

// Whether the response says what becomes of its connection: a kept one of HTTP/1.1 need not.
static inline bool framing_names_connection(const skua_request *r, int status)
{
    return r->close || r->head.version == 10 || status == 426 ||
           worker_config(r->worker)->keep_alive_field;
}

static inline char *framing_write_status(char *at, int status)
{
    if (status == 200) return H1_WRITE(at, "HTTP/1.1 200 OK\r\n");
    return h1_write_status(at, status, slice_of(page_reason(status)));
}

static inline char *framing_write_length(const h1_session *s, char *at, int status,
                                         const response_source *source)
{
    if (source->no_length) return at;
    if (response_is_bare(status) && status != 304)
        return status == 205 ? H1_WRITE(at, "Content-Length: 0\r\n") : at;
    if (source->length >= 0) return framing_write_stated_length(at, (uint64_t)source->length);
    return s->chunked ? H1_WRITE(at, "Transfer-Encoding: chunked\r\n") : at;
}

// The most octets that a head may take, with Date and framing.
static inline size_t framing_head_room(const skua_request *r, const response *given)
{
    size_t own = given->prepared ? given->prepared->fields_octets + 64 : 0;
    return H1_STATUS_LINE_OCTETS_MAX + WORKER_DATE_OCTETS + r->fields.octets + own +
           given->type.len + FRAMING_ROOM_OCTETS;
}

static bool framing_head_fits(const skua_request *r, const response *given, size_t *left)
{
    size_t room = framing_head_room(r, given);
    if (room > BLOCK_OCTETS) return false; // a head is written in one piece
    *left = BLOCK_OCTETS - room;
    return true;
}

// Content that is copied is written behind the head while both fit in a block for sure.
static inline bool framing_is_one_piece(const response *given, size_t head_room)
{
    const response_source *source = &given->source;
    return source->kind == SOURCE_COPIED && source->octets.len - 1 < RESPONSE_COPY_MAX &&
           source->octets.len + head_room <= BLOCK_OCTETS;
}

// Writes the fields that belong to this response alone: Connection, its own, and how its content is
// framed.
static inline __attribute__((always_inline)) char *framing_write_fields_of(const h1_session *s,
                                                                           const skua_request *r,
                                                                           const response *given,
                                                                           slice made, char *at)
{
    int status = given->status;
    if (framing_names_connection(r, status)) at = framing_write_connection(r, at, status);
    if (made.len && given->type.len && given->prepared->typed)
        at = framing_write_untyped(at, given->prepared);
    else if (made.len) at = h1_write_slice(at, made);
    if (r->fields.count) at = framing_write_fields(at, r->fields.at, r->fields.count);
    if (given->type.len) {
        at = H1_WRITE(at, "Content-Type: ");
        at = h1_write_slice(at, given->type);
        at = H1_WRITE(at, "\r\n");
    }
    if (!given->prepared) at = framing_write_length(s, at, status, &given->source);
    return H1_WRITE(at, "\r\n");
}

// ---- The content ----

static void framing_free(void *user)
{
    counted_free(user);
}

static bool framing_queue_copy(out_queue *out, slice octets)
{
    if (octets.len <= RESPONSE_COPY_MAX) return out_copy(out, octets);
    char *copy = counted_alloc(out->store->memory, RESPONSE_HEADROOM_OCTETS + octets.len);
    if (!copy) return false;
    char *content = copy + RESPONSE_HEADROOM_OCTETS;
    memcpy(content, octets.ptr, octets.len);
    out_lend_behind(out, RESPONSE_HEADROOM_OCTETS, slice_make(content, octets.len), framing_free,
                    copy);
    return true;
}

static bool framing_queue_lent(out_queue *out, const response_source *source)
{
    if (source->octets.len > RESPONSE_COPY_MAX) {
        out_lend_behind(out, source->headroom, source->octets, source->release, source->user);
        return true;
    }
    if (!out_copy(out, source->octets)) return false;
    if (source->release) source->release(source->user);
    return true;
}

static inline __attribute__((always_inline)) bool framing_queue(out_queue *out,
                                                                const response_source *source)
{
    switch (source->kind) {
    case SOURCE_NONE:
    case SOURCE_PULL:
    case SOURCE_PUSH: return true;
    case SOURCE_COPIED: return framing_queue_copy(out, source->octets);
    case SOURCE_LENT: return framing_queue_lent(out, source);
    case SOURCE_FILE:
        out_file(out, source->file, source->offset, (uint64_t)source->length, source->release,
                 source->user);
        return true;
    }
    return true;
}

// Status line, Date, fields and the empty line; then content, if it is a copy and short. A response
// that is prepared brings its status line and fields ready-made.
static inline __attribute__((always_inline)) skua_status framing_write(skua_request *r,
                                                                       const response *given)
{
    h1_session *s = h1_session_of(r->carrier);
    const struct h1_prepared *made = NULL;
    size_t room = framing_head_room(r, given);
    if (room > BLOCK_OCTETS) return SKUA_ELIMIT;
    if (given->prepared && !(made = framing_prepared(given->prepared))) return SKUA_ENOMEM;
    framing_decide(s, r, &given->source);
    bool has_content = request_gets_content(r, given->status);
    bool one_piece = has_content && framing_is_one_piece(given, room);
    if (one_piece) room += given->source.octets.len;
    out_queue *out = &s->out;
    char *start = out_reserve(out, room, NULL);
    if (!start) return SKUA_ENOMEM;
    char *at = made ? h1_write_slice(start, made->status_line)
                    : framing_write_status(start, given->status);
    at = h1_write_octets(at, worker_date(r->worker), WORKER_DATE_OCTETS);
    at = framing_write_fields_of(s, r, given, made ? made->fields : (slice){ 0 }, at);
    if (one_piece) at = h1_write_slice(at, given->source.octets);
    out_commit(out, (size_t)(at - start));
    if (!has_content || framing_is_streamed(&given->source)) return SKUA_OK;
    if (given->source.length > 0) r->sent_octets = (uint64_t)given->source.length;
    if (one_piece) return SKUA_OK;
    return framing_queue(out, &given->source) ? SKUA_OK : SKUA_ENOMEM;
}

static skua_status framing_respond(skua_request *r, const response *given)
{
    return framing_write(r, given);
}

// Responds as framing_respond does, but where the compiler knows which cases cannot be.
static skua_status framing_respond_copied(skua_request *r, int status, slice type, slice content)
{
    return framing_write(r, &(response){ .status = status,
                                         .type = type,
                                         .source = { .kind = SOURCE_COPIED,
                                                     .octets = content,
                                                     .length = (int64_t)content.len,
                                                     .no_length = status == 304 } });
}

// ---- Content that comes in pieces ----

// A chunk's head stands before its content. Where the length is known only at the commit, room for
// the longest head is left.
static char *framing_reserve(skua_request *r, size_t least, size_t *room)
{
    h1_session *s = h1_session_of(r->carrier);
    size_t around = !s->chunked ? 0 : room ? FRAMING_CHUNK_HEAD + 2 : FRAMING_CHUNK_OCTETS;
    size_t there;
    char *at = out_reserve(&s->out, least + around, &there);
    if (!at) return NULL;
    s->piece = at;
    s->piece_head = 0;
    if (!s->chunked) {
        if (room) *room = there;
        return at;
    }
    s->piece_exact = !room;
    s->piece_head = (uint8_t)(room ? FRAMING_CHUNK_HEAD : chunk_write_size(at, least));
    if (room) *room = there - FRAMING_CHUNK_HEAD - 2;
    return at + s->piece_head;
}

// A chunk whose length was not known before: four digits, whatever they are.
static void framing_write_size(char *at, size_t octets)
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 4; i++)
        at[i] = digits[octets >> (12 - 4 * i) & 15];
    at[4] = '\r';
    at[5] = '\n';
}

static void framing_commit(skua_request *r, size_t octets)
{
    h1_session *s = h1_session_of(r->carrier);
    out_queue *out = &s->out;
    if (!s->chunked) {
        out_commit(out, octets);
        return;
    }
    if (!s->piece_exact) framing_write_size(s->piece, octets);
    size_t end = s->piece_head + octets;
    s->piece[end] = '\r';
    s->piece[end + 1] = '\n';
    out_commit(out, end + 2);
}

static char *framing_append(skua_request *r, size_t octets)
{
    h1_session *s = h1_session_of(r->carrier);
    SKUA_ASSERT(!s->chunked);
    return out_append(&s->out, octets);
}

static bool framing_lend(skua_request *r, const response_source *source)
{
    h1_session *s = h1_session_of(r->carrier);
    out_queue *out = &s->out;
    char *frame = s->chunked ? out_reserve(out, FRAMING_CHUNK_OCTETS, NULL) : NULL;
    if (s->chunked && !frame) return false;
    if (!out->room && !out->refill(out)) return false;
    if (frame) out_commit(out, chunk_write_size(frame, (uint64_t)source->length));
    if (source->kind == SOURCE_FILE)
        out_file(out, source->file, source->offset, (uint64_t)source->length, source->release,
                 source->user);
    else out_lend(out, source->octets, source->release, source->user);
    // The room that was reserved suffices for this too.
    if (frame && !out_copy(out, SKUA_SLICE("\r\n"))) carrier_break(&s->carrier);
    return true;
}

static bool framing_finish(skua_request *r)
{
    h1_session *s = h1_session_of(r->carrier);
    if (!s->chunked) return true;
    size_t room = (r->trailers ? r->trailers->octets : 0) + 5;
    char *start = out_reserve(&s->out, room, NULL);
    if (!start) return false;
    char *at = H1_WRITE(start, "0\r\n");
    if (r->trailers) at = framing_write_fields(at, r->trailers->at, r->trailers->count);
    at = H1_WRITE(at, "\r\n");
    out_commit(&s->out, (size_t)(at - start));
    return true;
}

// ---- Interim responses and tunnels ----

static skua_status framing_inform(skua_request *r, int status, const skua_field *fields,
                                  size_t count, size_t octets)
{
    out_queue *out = &h1_session_of(r->carrier)->out;
    char *start = out_reserve(out, H1_STATUS_LINE_OCTETS_MAX + octets + 2, NULL);
    if (!start) return SKUA_ENOMEM;
    char *at = h1_write_status(start, status, slice_of(page_reason(status)));
    for (size_t i = 0; i < count; i++)
        at = h1_write_field(at, fields[i].name, fields[i].value);
    at = H1_WRITE(at, "\r\n");
    out_commit(out, (size_t)(at - start));
    return SKUA_OK;
}

// Nothing is said of closing: the connection is the tunnel's, and ends with it.
static skua_status framing_upgrade(skua_request *r, slice protocol)
{
    if (!upgrade_is_asked(r, protocol)) return SKUA_EPROTOCOL;
    h1_session *s = h1_session_of(r->carrier);
    size_t room = H1_STATUS_LINE_OCTETS_MAX + WORKER_DATE_OCTETS + protocol.len + r->fields.octets +
                  FRAMING_ROOM_OCTETS;
    char *start = out_reserve(&s->out, room, NULL);
    if (!start) return SKUA_ENOMEM;
    s->chunked = false;
    char *at = h1_write_status(start, 101, slice_of(page_reason(101)));
    at = h1_write_octets(at, worker_date(r->worker), WORKER_DATE_OCTETS);
    at = H1_WRITE(at, "Connection: upgrade\r\nUpgrade: ");
    at = h1_write_slice(at, protocol);
    at = H1_WRITE(at, "\r\n");
    at = framing_write_fields(at, r->fields.at, r->fields.count);
    at = H1_WRITE(at, "\r\n");
    out_commit(&s->out, (size_t)(at - start));
    return SKUA_OK;
}

// ---- What is queued ----

static uint64_t framing_room(const skua_request *r)
{
    const out_queue *out = &h1_session_of(r->carrier)->out;
    bool full = (out_is_full(out) && out->room) || out->octets >= r->worker->out_octets_max;
    return full ? 0 : worker_config(r->worker)->out_octets_max - out->octets;
}

static bool framing_is_crowded(const skua_request *r)
{
    return out_is_crowded(&h1_session_of(r->carrier)->out, r->worker->out_octets_max);
}

static uint64_t framing_unsent(const skua_request *r)
{
    if (r->push >= PUSH_TUNNEL) return h1_session_of(r->carrier)->out.octets;
    uint64_t left = out_has_left(&h1_session_of(r->carrier)->out);
    return r->mark > left ? r->mark - left : 0;
}

// A session ends without regard to who holds its requests.
static void framing_occupy(skua_request *r)
{
    (void)r;
}

static void framing_vacate(carrier *c)
{
    (void)c;
}

const carrier_table h1_carrier = {
    .head_fits = framing_head_fits,
    .respond = framing_respond,
    .respond_copied = framing_respond_copied,
    .reserve = framing_reserve,
    .commit = framing_commit,
    .append = framing_append,
    .lend = framing_lend,
    .finish = framing_finish,
    .inform = framing_inform,
    .upgrade = framing_upgrade,
    .room = framing_room,
    .is_crowded = framing_is_crowded,
    .unsent = framing_unsent,
    .occupy = framing_occupy,
    .vacate = framing_vacate,
    .kick = h1_session_kick,
    .send = h1_session_send,
    .rest = h1_session_give_segments,
    .peer_is_done = h1_session_peer_is_done,
};
