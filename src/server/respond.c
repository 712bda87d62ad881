// SPDX-License-Identifier: MIT
//
// Answering: the one response path. Every answer is a status, fields and a content source; here
// they become an HTTP/1 message in the connection's output queue, framed as the request allows.

#include "server/respond.h"

#include "base/assert.h"
#include "base/memory.h"
#include "http/h1_write.h"
#include "http/syntax.h"
#include "server/answer.h"
#include "server/connection.h"
#include "server/page.h"
#include "server/server.h"
#include "server/worker.h"

enum {
    // content up to this is copied behind the head: one piece, one send
    RESPOND_COPY_MAX = 8192,
    RESPOND_PULL_QUEUED = 65536, // pulling stops above it
    RESPOND_CHUNK_HEAD = 6,      // four digits and CRLF
    RESPOND_CHUNK_MIN = 512
};

// Where the content of an answer comes from.
typedef enum source_kind {
    SOURCE_NONE,
    SOURCE_COPIED,
    SOURCE_LENT,
    SOURCE_FILE,
    SOURCE_PULL,
    SOURCE_PUSH
} source_kind;

typedef struct answer_source {
    source_kind kind;
    slice octets;         // COPIED, LENT
    out_release *release; // LENT, FILE
    void *user;
    int file;
    uint64_t offset;
    int64_t length; // -1: not known; for SOURCE_NONE: what Content-Length states
    bool no_length; // nothing is stated
} answer_source;

// ---- Fields ----

bool respond_takes_field(slice name, slice value)
{
    static const char *const reserved[] = { "content-length", "transfer-encoding", "connection",
                                            "keep-alive",     "trailer",           "date" };
    if (!syntax_is_token(name) || !syntax_is_field_value(value)) return false;
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
        if (slice_equal_nocase(name, slice_of(reserved[i]))) return false;
    }
    return true;
}

// Appends "name: value" CRLF to a growing text in the request's memory.
static skua_status field_append(skua_request *r, char **text, size_t *len, size_t *room, slice name,
                                slice value)
{
    size_t need = *len + name.len + value.len + 4;
    if (name.len > RESPOND_FIELDS_OCTETS_MAX || value.len > RESPOND_FIELDS_OCTETS_MAX ||
        need > RESPOND_FIELDS_OCTETS_MAX) {
        return SKUA_ELIMIT;
    }
    if (need > *room) {
        size_t grown_room = need < 512 ? 512 : need * 2;
        char *grown = arena_alloc(&r->memory, grown_room);
        if (!grown) return SKUA_ENOMEM;
        if (*len) memcpy(grown, *text, *len);
        *text = grown;
        *room = grown_room;
    }
    (void)h1_write_field(*text + *len, name, value);
    *len = need;
    return SKUA_OK;
}

skua_status skua_field_add(skua_request *r, const char *name, slice value)
{
    if (r->answering != ANSWER_NONE) return SKUA_ESTATE;
    if (!respond_takes_field(slice_of(name), value)) return SKUA_EINVAL;
    return field_append(r, &r->fields, &r->fields_len, &r->fields_room, slice_of(name), value);
}

skua_status skua_trailer_add(skua_request *r, const char *name, slice value)
{
    slice key = slice_of(name);
    if (r->answering == ANSWER_QUEUED) return SKUA_ESTATE;
    if (!syntax_is_token(key) || !syntax_is_field_value(value) || !chunk_trailer_allowed(key))
        return SKUA_EINVAL;
    return field_append(r, &r->trailers, &r->trailers_len, &r->trailers_room, key, value);
}

// ---- The head ----

// Whether answers of this status are without content, whatever was asked, RFC 9110 §6.4.1.
static inline bool respond_is_bare(int status)
{
    return status == 204 || status == 205 || status == 304;
}

// Whether the connection can serve another request after this answer, RFC 9112 §9.3 and RFC 9110
// §10.1.1.
// Beside an answer that goes on for a while the content may be read to its end.
static bool respond_keeps_connection(const skua_request *r, bool streamed)
{
    if (!r->head.keep_alive || r->close || r->worker->disk.draining || r->session->closing) return false;
    if (r->reading != READING_CONTENT) return true;
    if (r->head.expect_continue && !r->continued && !r->has_input) return false;
    return r->head.content != H1_CONTENT_LENGTH || (streamed && r->reader) ||
           r->content_left <= worker_config(r->worker)->discard_octets_max;
}

// Who sends Upgrade names it in Connection, and a 426 has to have one (RFC 9110 §7.8, §15.5.22).
static char *respond_write_connection(const skua_request *r, char *at, int status)
{
    if (status == 426 && !r->close) return H1_WRITE(at, "Connection: upgrade\r\n");
    if (status == 426) return H1_WRITE(at, "Connection: close, upgrade\r\n");
    if (r->close) return H1_WRITE(at, "Connection: close\r\n");
    if (r->head.version == 10) return H1_WRITE(at, "Connection: keep-alive\r\n");
    return at;
}

static inline char *respond_write_status(char *at, int status)
{
    if (status == 200) return H1_WRITE(at, "HTTP/1.1 200 OK\r\n");
    return h1_write_status(at, status, slice_of(page_reason(status)));
}

static inline char *respond_write_length(const skua_request *r, char *at, int status,
                                         const answer_source *source)
{
    if (source->no_length) return at;
    if (respond_is_bare(status) && status != 304)
        return status == 205 ? H1_WRITE(at, "Content-Length: 0\r\n") : at;
    if (source->length >= 0) {
        at = H1_WRITE(at, "Content-Length: ");
        at = h1_write_length(at, (uint64_t)source->length);
        return H1_WRITE(at, "\r\n");
    }
    return r->chunked ? H1_WRITE(at, "Transfer-Encoding: chunked\r\n") : at;
}

// The most octets that a head may take, with Date and framing.
static size_t respond_head_room(const skua_request *r, slice made, slice type)
{
    return H1_STATUS_LINE_OCTETS_MAX + WORKER_DATE_OCTETS + made.len + r->fields_len + type.len +
           160;
}

// Content that is copied is written behind the head while both fit in a block for sure.
static bool respond_is_one_piece(const answer_source *source, size_t head_room)
{
    return source->kind == SOURCE_COPIED && source->octets.len - 1 < RESPOND_COPY_MAX &&
           source->octets.len + head_room <= BLOCK_OCTETS;
}

// Status line, Date, what is ready-made, what the handler added, framing, and the empty line;
// content if it is a copy and short, and source then is left with none.
static inline __attribute__((always_inline)) bool respond_write_head_here(skua_request *r,
                                                                          int status, slice line,
                                                                          slice made, slice type,
                                                                          answer_source *source)
{
    size_t room = respond_head_room(r, made, type);
    bool one_piece = !r->is_head && !respond_is_bare(status) && respond_is_one_piece(source, room);
    if (one_piece) room += source->octets.len;
    char *start = out_reserve(&r->session->out, room, NULL);
    if (!start) return false;
    char *at = line.len ? h1_write_slice(start, line) : respond_write_status(start, status);
    at = h1_write_octets(at, worker_date(r->worker), WORKER_DATE_OCTETS);
    if (r->close || r->head.version == 10 || status == 426)
        at = respond_write_connection(r, at, status);
    if (made.len) at = h1_write_slice(at, made);
    if (r->fields_len) at = h1_write_octets(at, r->fields, r->fields_len);
    if (type.len) {
        at = H1_WRITE(at, "Content-Type: ");
        at = h1_write_slice(at, type);
        at = H1_WRITE(at, "\r\n");
    }
    at = respond_write_length(r, at, status, source);
    at = H1_WRITE(at, "\r\n");
    if (one_piece) {
        at = h1_write_slice(at, source->octets);
        source->kind = SOURCE_NONE;
    }
    out_commit(&r->session->out, (size_t)(at - start));
    return true;
}

__attribute__((noinline)) static bool respond_write_head(skua_request *r, int status, slice line,
                                                         slice made, slice type,
                                                         answer_source *source)
{
    return respond_write_head_here(r, status, line, made, type, source);
}

// ---- The content ----

static void respond_free(void *user)
{
    memory_free(user);
}

// Octets that the caller keeps: copied, behind the head when they are few.
static bool respond_queue_copy(out_queue *out, slice octets)
{
    if (octets.len <= RESPOND_COPY_MAX) return out_copy(out, octets);
    char *copy = memory_alloc(octets.len);
    if (!copy) return false;
    memcpy(copy, octets.ptr, octets.len);
    out_lend(out, slice_make(copy, octets.len), respond_free, copy);
    return true;
}

static bool respond_queue_lent(out_queue *out, const answer_source *source)
{
    if (source->octets.len > RESPOND_COPY_MAX) {
        out_lend(out, source->octets, source->release, source->user);
        return true;
    }
    if (!out_copy(out, source->octets)) return false;
    if (source->release) source->release(source->user);
    return true;
}

static bool respond_queue(skua_request *r, const answer_source *source)
{
    out_queue *out = &r->session->out;
    switch (source->kind) {
    case SOURCE_NONE:
    case SOURCE_PULL:
    case SOURCE_PUSH: return true;
    case SOURCE_COPIED: return respond_queue_copy(out, source->octets);
    case SOURCE_LENT: return respond_queue_lent(out, source);
    case SOURCE_FILE:
        out_file(out, source->file, source->offset, (uint64_t)source->length, source->release,
                 source->user);
        return true;
    }
    return true;
}

// Memory ran out with a head half written: only closing is left.
__attribute__((cold, noinline)) static skua_status respond_out_of_memory(skua_request *r)
{
    r->session->broken = true;
    r->failed = true;
    r->answering = ANSWER_QUEUED;
    r->close = true;
    connection_kick(r->session->conn);
    return SKUA_ENOMEM;
}

// What comes behind the head: content, or a source that goes on.
static skua_status respond_give_content(skua_request *r, int status, const answer_source *source)
{
    bool has_content = !r->is_head && !respond_is_bare(status);
    if (source->kind == SOURCE_PUSH || (has_content && source->kind == SOURCE_PULL)) {
        r->answering = source->kind == SOURCE_PUSH ? ANSWER_PUSHED : ANSWER_PULLED;
        r->muted = !has_content;
        return SKUA_OK;
    }
    if (has_content) {
        if (!respond_queue(r, source)) return respond_out_of_memory(r);
        r->sent_octets = source->length > 0 ? (uint64_t)source->length : 0;
    } else if (source->release) {
        source->release(source->user);
    }
    r->answering = ANSWER_QUEUED;
    return SKUA_OK;
}

// Has the connection go on with an answer, unless it is about to.
static inline void respond_kick(const skua_request *r)
{
    const session *s = r->session;
    if (r != s->current || !s->running || r->answering == ANSWER_PULLED) connection_kick(s->conn);
}

// What is to be known before the head is written.
static inline skua_status respond_prepare(skua_request *r, int status, slice made, slice type,
                                          const answer_source *source)
{
    r->status = (uint16_t)status;
    if (r->entered) middleware_head(r, status);
    // a head is written in one piece
    if (respond_head_room(r, made, type) > BLOCK_OCTETS) return SKUA_ELIMIT;
    bool streamed = source->kind == SOURCE_PULL || source->kind == SOURCE_PUSH;
    if (!respond_keeps_connection(r, streamed)) r->close = true;
    if (streamed && source->length < 0) {
        r->chunked = r->head.version != 10;
        if (!r->chunked) r->close = true; // close-delimited, RFC 9112 §6.3
    }
    return SKUA_OK;
}

// The head is written.
static inline skua_status respond_complete(skua_request *r, int status, const answer_source *source)
{
    if (source->kind == SOURCE_NONE) { // it is behind the head already
        r->sent_octets = (uint64_t)source->length;
        r->answering = ANSWER_QUEUED;
    } else {
        skua_status given = respond_give_content(r, status, source);
        if (given) return given;
    }
    respond_kick(r);
    return SKUA_OK;
}

// Gives an answer that has been checked. What the source lends is released on success, once.
static skua_status respond_give(skua_request *r, int status, slice line, slice made, slice type,
                                answer_source *source)
{
    skua_status prepared = respond_prepare(r, status, made, type, source);
    if (prepared) return prepared;
    if (!respond_write_head(r, status, line, made, type, source)) return respond_out_of_memory(r);
    return respond_complete(r, status, source);
}

// ---- The ways to answer ----

skua_status respond_check_type(int status, slice type)
{
    if (status < 200 || status > 599 || !syntax_is_field_value(type)) return SKUA_EINVAL;
    return type.len > RESPOND_FIELDS_OCTETS_MAX / 2 ? SKUA_ELIMIT : SKUA_OK;
}

static skua_status respond_check(const skua_request *r, int status, slice type)
{
    return r->answering != ANSWER_NONE || r->heading ? SKUA_ESTATE
                                                     : respond_check_type(status, type);
}

static slice respond_type(const char *type)
{
    return type ? slice_of(type) : (slice){ 0 };
}

// What most answers are: as respond_give, but all of it in one place, where the compiler knows what
// it is not.
skua_status skua_respond(skua_request *r, int status, const char *type, slice content)
{
    slice media = respond_type(type);
    skua_status checked = respond_check(r, status, media);
    if (checked) return checked;
    answer_source source = { .kind = SOURCE_COPIED,
                             .octets = content,
                             .length = (int64_t)content.len };
    if (status == 304) source.no_length = true;
    checked = respond_prepare(r, status, (slice){ 0 }, media, &source);
    if (checked) return checked;
    if (!respond_write_head_here(r, status, (slice){ 0 }, (slice){ 0 }, media, &source))
        return respond_out_of_memory(r);
    return respond_complete(r, status, &source);
}

skua_status skua_respond_borrowed(skua_request *r, int status, const char *type, slice content,
                                  skua_release_fn *release, void *user)
{
    slice media = respond_type(type);
    skua_status checked = respond_check(r, status, media);
    if (checked) return checked;
    answer_source source = { .kind = SOURCE_LENT,
                             .octets = content,
                             .length = (int64_t)content.len,
                             .release = release,
                             .user = user,
                             .no_length = status == 304 };
    return respond_give(r, status, (slice){ 0 }, (slice){ 0 }, media, &source);
}

static void respond_unref_file(void *user)
{
    skua_file_unref(user);
}

static void respond_unref_answer(void *user)
{
    skua_answer_unref(user);
}

skua_status skua_respond_file(skua_request *r, int status, const char *type, skua_file *file,
                              uint64_t offset, uint64_t length)
{
    slice media = respond_type(type);
    skua_status checked = respond_check(r, status, media);
    if (checked) return checked;
    if (length > INT64_MAX || offset > INT64_MAX - length) return SKUA_EINVAL;
    answer_source source = { .kind = SOURCE_FILE,
                             .file = file->fd,
                             .offset = offset,
                             .length = (int64_t)length,
                             .release = respond_unref_file,
                             .user = skua_file_ref(file) };
    skua_status given = respond_give(r, status, (slice){ 0 }, (slice){ 0 }, media, &source);
    if (given) skua_file_unref(file);
    return given;
}

skua_status skua_respond_answer(skua_request *r, skua_answer *answer)
{
    if (r->answering != ANSWER_NONE || r->heading) return SKUA_ESTATE;
    answer_source source = { .length = (int64_t)answer->length, .no_length = true };
    bool held = false;
    if (answer->file) {
        source.kind = SOURCE_FILE;
        source.file = answer->file->fd;
        source.offset = answer->offset;
        held = true;
    } else {
        source.kind = answer->length > RESPOND_COPY_MAX ? SOURCE_LENT : SOURCE_COPIED;
        source.octets = slice_make(answer->content, (size_t)answer->length);
        held = source.kind == SOURCE_LENT;
    }
    if (held) {
        source.release = respond_unref_answer;
        source.user = skua_answer_ref(answer);
    }
    skua_status given =
        respond_give(r, answer->status, answer->status_line, answer->fields, (slice){ 0 }, &source);
    if (given && held) skua_answer_unref(answer);
    return given;
}

// ---- Pulling ----

skua_status skua_respond_pull(skua_request *r, int status, const char *type, int64_t length,
                              skua_pull_fn *pull, void *user)
{
    slice media = respond_type(type);
    skua_status checked = respond_check(r, status, media);
    if (checked) return checked;
    if (length < -1 || !pull) return SKUA_EINVAL;
    r->pull = pull;
    r->pull_user = user;
    r->pull_left = length;
    answer_source source = { .kind = SOURCE_PULL, .length = length, .no_length = status == 304 };
    return respond_give(r, status, (slice){ 0 }, (slice){ 0 }, media, &source);
}

// ---- Pushing ----

skua_status respond_push(skua_request *r, int status, const char *type, int64_t length)
{
    slice media = respond_type(type);
    skua_status checked = respond_check(r, status, media);
    if (checked) return checked;
    if (length < -1) return SKUA_EINVAL;
    r->pull_left = length;
    r->wanted = 0;
    answer_source source = { .kind = SOURCE_PUSH, .length = length, .no_length = status == 304 };
    return respond_give(r, status, (slice){ 0 }, (slice){ 0 }, media, &source);
}

// Nothing is said of closing: the connection is the tunnel's, and ends with it.
skua_status respond_switch(skua_request *r, slice lines)
{
    answer_source source = { .kind = SOURCE_PUSH, .length = -1, .no_length = true };
    r->close = false;
    r->status = 101;
    if (!respond_write_head(r, 101, (slice){ 0 }, lines, (slice){ 0 }, &source))
        return respond_out_of_memory(r);
    r->close = true;
    r->pull_left = -1;
    r->wanted = 0;
    r->answering = ANSWER_PUSHED;
    if (r != r->session->current || !r->session->running) connection_kick(r->session->conn);
    return SKUA_OK;
}

// ---- What pulled and pushed content share ----

void skua_wake(skua_request *r)
{
    r->waiting = false;
    connection_kick(r->session->conn);
}

__attribute__((cold)) void respond_break(skua_request *r)
{
    r->failed = true;
    r->close = true;
    r->answering = ANSWER_QUEUED;
}

// What has left the session already is complete.
__attribute__((cold)) void skua_request_abort(skua_request *r)
{
    if (r != r->session->current || r->answering == ANSWER_QUEUED) return;
    respond_break(r);
    connection_kick(r->session->conn);
}

__attribute__((cold)) static void respond_log_too_long(skua_request *r)
{
    skua_log(r->worker->server,
             SKUA_SLICE("a content source gave more octets than it had stated; the rest was cut"));
}

void respond_finish(skua_request *r)
{
    if (r->pull_left > 0) {
        respond_break(r);
        return;
    }
    out_queue *out = &r->session->out;
    bool ok = true;
    if (r->chunked) {
        ok = out_copy(out, SKUA_SLICE("0\r\n")) &&
             out_copy(out, slice_make(r->trailers, r->trailers_len)) &&
             out_copy(out, SKUA_SLICE("\r\n"));
    }
    if (ok) r->answering = ANSWER_QUEUED;
    else respond_break(r);
}

static void respond_frame(skua_request *r, char *at, size_t octets)
{
    static const char digits[] = "0123456789abcdef";
    if (!r->chunked) {
        out_commit(&r->session->out, octets);
        return;
    }
    for (int i = 0; i < 4; i++)
        at[i] = digits[octets >> (12 - 4 * i) & 15];
    at[4] = '\r';
    at[5] = '\n';
    at[RESPOND_CHUNK_HEAD + octets] = '\r';
    at[RESPOND_CHUNK_HEAD + octets + 1] = '\n';
    out_commit(&r->session->out, RESPOND_CHUNK_HEAD + octets + 2);
}

// One call of the source. Returns whether another may follow.
static bool respond_pull_once(skua_request *r)
{
    size_t room, octets = 0;
    size_t framing = r->chunked ? RESPOND_CHUNK_HEAD + 2 : 0;
    char *at = out_reserve(&r->session->out, RESPOND_CHUNK_MIN, &room);
    if (!at) {
        respond_break(r);
        return false;
    }
    r->waiting = true; // a wake from within the source counts
    skua_pulled pulled = r->pull(r, at + (r->chunked ? RESPOND_CHUNK_HEAD : 0), room - framing,
                                 &octets, r->pull_user);
    SKUA_ASSERT(octets <= room - framing);
    SKUA_ASSERT(octets > 0 || pulled != SKUA_PULL_OCTETS); // it would be asked for ever
    if (pulled == SKUA_PULL_ERROR || r->session->broken) {
        respond_break(r);
        return false;
    }
    bool too_long = r->pull_left >= 0 && octets > (uint64_t)r->pull_left;
    if (too_long) {
        respond_log_too_long(r);
        octets = (size_t)r->pull_left;
    }
    if (octets) respond_frame(r, at, octets);
    r->sent_octets += octets;
    if (r->pull_left >= 0) r->pull_left -= (int64_t)octets;
    if (pulled == SKUA_PULL_END || too_long) {
        respond_finish(r);
        return false;
    }
    if (pulled == SKUA_PULL_PENDING) return !r->waiting;
    r->waiting = false;
    return true;
}

void respond_fill(skua_request *r)
{
    out_queue *out = &r->session->out;
    while (!r->waiting && r->answering == ANSWER_PULLED && out->octets < RESPOND_PULL_QUEUED &&
           !out_is_full(out)) {
        if (!respond_pull_once(r)) return;
    }
}

// ---- Errors ----

static bool respond_wants_html(const skua_request *r)
{
    if (r->head.count == 0) return true;
    slice rest = request_known_field(r, FIELD_ACCEPT), member;
    while (syntax_list_next(&rest, &member)) {
        if (member.len >= 9 &&
            slice_equal_nocase(slice_make(member.ptr, 9), SKUA_SLICE("text/html")))
            return true;
    }
    return false;
}

skua_status skua_refuse(skua_request *r, int status, slice sentence)
{
    if (status < 400 || status > 599) return SKUA_EINVAL;
    if (r->heading) return SKUA_ESTATE;
    char page[PAGE_OCTETS_MAX];
    if (!respond_wants_html(r)) {
        size_t len = page_write_text(status, r->method, sentence, page, sizeof page);
        return skua_respond(r, status, "text/plain; charset=utf-8", slice_make(page, len));
    }
    size_t len = page_write(status, r->method, sentence, page, sizeof page);
    skua_status added = skua_field_add(r, "Content-Security-Policy", slice_of(page_policy));
    if (!added) added = skua_field_add(r, "X-Content-Type-Options", SKUA_SLICE("nosniff"));
    if (added) return added;
    return skua_respond(r, status, "text/html; charset=utf-8", slice_make(page, len));
}

skua_status skua_respond_error(skua_request *r, int status)
{
    return skua_refuse(r, status, (slice){ 0 });
}

// Allow belongs to a 405 that request.c has just added it for; anything else a handler added is
// dropped.
__attribute__((cold)) void respond_fault(skua_request *r, int status, bool close)
{
    SKUA_ASSERT(r->answering == ANSWER_NONE);
    if (status != 405) r->fields_len = 0;
    if (close) r->close = true;
    if (skua_respond_error(r, status) != SKUA_OK && r->answering == ANSWER_NONE)
        (void)respond_out_of_memory(r);
}
