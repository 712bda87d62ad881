// SPDX-License-Identifier: MIT
//
// The same frames, one at a time, for a server of ours and for a server session of nghttp2. A request
// that both take must be the same one to both: its method, its target, its fields and, where both have
// read it to its end, its content. A frame that one of them refuses, by RST_STREAM or GOAWAY, must be
// refused by the other with the same code. From the first lawful difference on the two are in different
// states, and only requests are compared.
// Lawful differences of requests: nghttp2 gives :authority and Host as they came, and lines of cookies
// one by one; here they are one field each (RFC 9113 §8.2.3, §8.3.1). Those of refusals are in
// lawful_differences.

#include "base/assert.h"
#include "exchange/carrier.h"
#include "exchange/request.h"
#include "http/h2_frame.h"
#include "io/sim.h"
#include "server/server.h"
#include "server/start.h"
#include "server/worker_run.h"
#include "app/text.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 4096, TAKEN_MAX = INPUT_MAX / H2_HEAD_OCTETS, TURNS_MAX = 50000 };

// A request as one of the two has read it.
typedef struct taken {
    uint32_t stream;
    text method, target, host, cookie, fields, content;
    bool has_head, has_cookie, complete;
} taken;

typedef struct side {
    taken all[TAKEN_MAX];
    unsigned count;
} side;

// The refusal of a frame: the GOAWAY that it provokes, or the first RST_STREAM.
typedef enum refusal_kind { REFUSES_NOTHING, REFUSES_STREAM, REFUSES_ALL } refusal_kind;

typedef struct refusal {
    refusal_kind kind;
    uint32_t stream, code;
} refusal;

enum { CODES_MAX = 32 };

static side ours, theirs;
static size_t ours_seen; // octets of the server's that have been read
static nghttp2_session *oracle;
static sim_kernel *kernel;
static server_worker *worker;
static int listener;

static taken *side_add(side *s, uint32_t stream)
{
    if (s->count == TAKEN_MAX) return NULL;
    taken *t = &s->all[s->count++];
    *t = (taken){ .stream = stream };
    return t;
}

static taken *side_find(side *s, uint32_t stream)
{
    for (unsigned i = 0; i < s->count; i++)
        if (s->all[i].stream == stream) return &s->all[i];
    return NULL;
}

static void side_clear(side *s)
{
    for (unsigned i = 0; i < s->count; i++) {
        text *texts[] = { &s->all[i].method, &s->all[i].target, &s->all[i].host,
                          &s->all[i].cookie, &s->all[i].fields, &s->all[i].content };
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
            text_free(texts[k]);
    }
    s->count = 0;
}

static bool is_name(skua_slice name, const char *wanted)
{
    return name.len == strlen(wanted) && memcmp(name.ptr, wanted, name.len) == 0;
}

static void taken_add_field(taken *t, skua_slice name, skua_slice value)
{
    if (is_name(name, ":method")) text_add(&t->method, value);
    else if (is_name(name, ":path")) text_add(&t->target, value);
    else if (is_name(name, ":authority")) text_add(&t->host, value);
    else if (is_name(name, "host") && t->host.len) return;
    else if (is_name(name, "host")) text_add(&t->host, value);
    else if (is_name(name, "cookie")) {
        if (t->has_cookie) text_add(&t->cookie, SKUA_SLICE("; "));
        t->has_cookie = true;
        text_add(&t->cookie, value);
    } else if (name.ptr[0] != ':') {
        text_add(&t->fields, name);
        text_add(&t->fields, SKUA_SLICE(": "));
        text_add(&t->fields, value);
        text_add(&t->fields, SKUA_SLICE("\n"));
    }
}

// ---- Ours ----

static void take_content(skua_request *request, skua_content_event event, skua_slice octets,
                         void *user)
{
    (void)user;
    taken *t = side_find(&ours, request->carrier->number);
    if (event == SKUA_CONTENT_DATA) {
        if (t) text_add(&t->content, octets);
        skua_content_consume(request, octets.len);
    }
    if (event != SKUA_CONTENT_END) return;
    if (t) t->complete = true;
    (void)skua_respond(request, 200, "text/plain", SKUA_SLICE(""));
}

static void take_request(skua_request *request, void *user)
{
    (void)user;
    taken *t = side_add(&ours, request->carrier->number);
    skua_field field;
    if (t) {
        t->has_head = true;
        text_add(&t->method, skua_request_method(request));
        text_add(&t->target, skua_request_target(request));
    }
    for (size_t i = 0; t && skua_request_field_at(request, i, &field); i++)
        taken_add_field(t, field.name, field.value);
    SKUA_ASSERT(skua_content_read(request, take_content, NULL) == SKUA_OK);
}

static void discard_log(skua_slice lines, void *user)
{
    (void)lines;
    (void)user;
}

static void start(void)
{
    const skua_config config = { .workers = 1, .log_write = discard_log };
    kernel = sim_kernel_new(&(sim_config){ .seed = 1 });
    skua_server *server = skua_server_new(&config);
    SKUA_ASSERT(kernel && server);
    SKUA_ASSERT(skua_route(server, "/", take_request, NULL) == SKUA_OK);
    listener = sim_listen(kernel);
    SKUA_ASSERT(server_start_on(server, &io_backend_sim, kernel, listener) == SKUA_OK);
    worker = server->workers[0];
}

static void settle(void)
{
    const io_loop *loop = &worker->self.loop;
    int turns = 0;
    do {
        SKUA_ASSERT(turns++ < TURNS_MAX);
        SKUA_ASSERT(worker_turn(worker, 0));
    } while (loop->pending || loop->pending_ops || !sim_is_quiet(kernel));
}

// Reads frames that a server has sent. Returns: octets that were used.
static size_t read_refusal(slice octets, refusal *found, bool *answers)
{
    size_t at = 0;
    while (octets.len - at >= H2_HEAD_OCTETS) {
        h2_frame frame = h2_read_head(octets.ptr + at);
        const char *payload = octets.ptr + at + H2_HEAD_OCTETS;
        if (octets.len - at < H2_HEAD_OCTETS + frame.len) break;
        at += H2_HEAD_OCTETS + frame.len;
        bool fails = frame.type == H2_GOAWAY && h2_read32(payload + 4) != H2_NO_ERROR;
        if (frame.type == H2_HEADERS) *answers = true;
        if (fails) *found = (refusal){ REFUSES_ALL, 0, h2_read32(payload + 4) };
        else if (frame.type == H2_RST_STREAM && found->kind == REFUSES_NOTHING)
            *found = (refusal){ REFUSES_STREAM, frame.stream, h2_read32(payload) };
    }
    return at;
}

static sim_client *open_ours(slice input)
{
    sim_client *client = sim_connect(kernel, listener);
    ours_seen = 0;
    SKUA_ASSERT(client && sim_client_send(client, input));
    settle();
    return client;
}

// answers: whether a response begins.
static refusal feed_ours(sim_client *client, slice piece, bool *answers)
{
    refusal found = { REFUSES_NOTHING, 0, 0 };
    if (!sim_client_is_reset(client)) SKUA_ASSERT(sim_client_send(client, piece));
    settle();
    ours_seen += read_refusal(slice_from(sim_client_received(client), ours_seen), &found, answers);
    return found;
}

static void close_ours(sim_client *client)
{
    if (!sim_client_is_reset(client)) sim_client_shutdown(client);
    settle();
    for (int i = 0; sim_sockets_open(kernel); i++) {
        SKUA_ASSERT(i < TURNS_MAX);
        SKUA_ASSERT(worker_turn(worker, -1));
    }
    sim_drain(kernel);
    sim_client_free(client);
}

// ---- nghttp2's ----

static int on_header(nghttp2_session *at, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *user)
{
    (void)at;
    (void)flags;
    (void)user;
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    uint32_t stream = (uint32_t)frame->hd.stream_id;
    taken *t = side_find(&theirs, stream);
    if (!t) t = side_add(&theirs, stream);
    if (t)
        taken_add_field(t, slice_make((const char *)name, name_len),
                        slice_make((const char *)value, value_len));
    return 0;
}

// Fields that it would ignore make the request malformed, RFC 9113 §8.2.1.
static int on_invalid(nghttp2_session *at, const nghttp2_frame *frame, const uint8_t *name,
                      size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                      void *user)
{
    (void)at;
    (void)frame;
    (void)name;
    (void)name_len;
    (void)value;
    (void)value_len;
    (void)flags;
    (void)user;
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

// A request that has come whole is answered, as ours is.
static int on_frame(nghttp2_session *at, const nghttp2_frame *frame, void *user)
{
    (void)user;
    taken *t = side_find(&theirs, (uint32_t)frame->hd.stream_id);
    bool is_headers = frame->hd.type == NGHTTP2_HEADERS;
    if (!t || (!is_headers && frame->hd.type != NGHTTP2_DATA)) return 0;
    if (is_headers) t->has_head = true;
    if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) return 0;
    static uint8_t name[] = ":status", value[] = "200";
    const nghttp2_nv status = { name, value, sizeof name - 1, sizeof value - 1, 0 };
    t->complete = true;
    (void)nghttp2_submit_response(at, frame->hd.stream_id, &status, 1, NULL);
    return 0;
}

static int on_data(nghttp2_session *at, uint8_t flags, int32_t stream, const uint8_t *octets,
                   size_t len, void *user)
{
    (void)at;
    (void)flags;
    (void)user;
    taken *t = side_find(&theirs, (uint32_t)stream);
    if (t) text_add(&t->content, slice_make((const char *)octets, len));
    return 0;
}

// Whatever it has to say about what has come so far.
static refusal read_theirs(void)
{
    refusal found = { REFUSES_NOTHING, 0, 0 };
    const uint8_t *octets;
    bool answers;
    for (ssize_t n; (n = nghttp2_session_mem_send(oracle, &octets)) > 0;)
        (void)read_refusal(slice_make((const char *)octets, (size_t)n), &found, &answers);
    return found;
}

static refusal feed_theirs(slice piece)
{
    ssize_t taken = nghttp2_session_mem_recv(oracle, (const uint8_t *)piece.ptr, piece.len);
    refusal found = read_theirs();
    if (taken < 0 && found.kind != REFUSES_ALL) return (refusal){ REFUSES_ALL, 0, CODES_MAX };
    return found;
}

static void open_theirs(slice input)
{
    const nghttp2_settings_entry settings[] = {
        { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, worker->self.config->http2.streams_max },
    };
    nghttp2_session_callbacks *callbacks;
    SKUA_ASSERT(nghttp2_session_callbacks_new(&callbacks) == 0);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, on_invalid);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    SKUA_ASSERT(nghttp2_session_server_new(&oracle, callbacks, NULL) == 0);
    SKUA_ASSERT(nghttp2_submit_settings(oracle, NGHTTP2_FLAG_NONE, settings, 1) == 0);
    nghttp2_session_callbacks_del(callbacks);
    SKUA_ASSERT(feed_theirs(input).kind == REFUSES_NOTHING);
}

// ---- What must hold ----

static void compare(const text *a, const text *b)
{
    SKUA_ASSERT(a->len == b->len && (a->len == 0 || memcmp(a->octets, b->octets, a->len) == 0));
}

static void compare_request(const taken *a, const taken *b)
{
    compare(&a->method, &b->method);
    compare(&a->target, &b->target);
    compare(&a->host, &b->host);
    compare(&a->cookie, &b->cookie);
    compare(&a->fields, &b->fields);
    if (a->complete && b->complete) compare(&a->content, &b->content);
}

// ---- Who refuses what ----

// A frame, and each of the two answers to it that are compared. Of a header block in several
// frames it is the last.
typedef struct difference {
    refusal ours, theirs;
    h2_frame frame;
    unsigned updates; // changes of the table's size that the header block begins with
    bool answers;     // a response of ours begins
    bool is_whole;
} difference;

// Streams that are over, for either; and the highest that was opened, which closes those below it that
// were not.
static uint32_t past[2 * TAKEN_MAX];
static size_t past_count;
static uint32_t last_opened;
static bool said_farewell; // the client has sent GOAWAY

static bool is_past(uint32_t stream)
{
    for (size_t i = 0; i < past_count; i++)
        if (past[i] == stream) return true;
    return false;
}

static void make_past(uint32_t stream)
{
    if (!is_past(stream) && past_count < sizeof past / sizeof past[0]) past[past_count++] = stream;
}

static bool is_cut_off(const difference *d)
{
    return !d->is_whole;
}

static bool is_refused_by_status(const difference *d)
{
    return d->answers && !side_find(&ours, d->frame.stream);
}

static bool is_of_the_past(const difference *d)
{
    uint32_t stream = d->frame.stream;
    bool is_passed_over = stream % 2 && stream < last_opened && !side_find(&ours, stream);
    return is_passed_over || is_past(stream);
}

static bool is_priority_update(const difference *d)
{
    return d->frame.type == H2_PRIORITY_UPDATE;
}

static bool ends_more(const difference *d)
{
    bool may = d->frame.type == H2_PRIORITY || d->frame.type == H2_HEADERS ||
               d->frame.type == H2_WINDOW_UPDATE; // which opens it by nothing, RFC 9113 §6.9
    return may && d->ours.kind == REFUSES_STREAM && d->theirs.kind == REFUSES_ALL &&
           d->ours.code == d->theirs.code;
}

static bool has_two_faults(const difference *d)
{
    return d->ours.kind == REFUSES_ALL && d->theirs.kind == REFUSES_ALL;
}

static bool acknowledges_nothing(const difference *d)
{
    return d->frame.type == H2_SETTINGS && (d->frame.flags & H2_FLAG_ACK) &&
           d->ours.kind == REFUSES_NOTHING;
}

static bool is_farewell(const difference *d)
{
    return said_farewell || (d->frame.type == H2_GOAWAY && d->ours.kind == REFUSES_NOTHING);
}

static bool changes_the_table_often(const difference *d)
{
    return d->updates > 2 && d->ours.kind == REFUSES_ALL && d->ours.code == H2_COMPRESSION_ERROR;
}

static bool has_empty_authority(const difference *d)
{
    const taken *t = side_find(&ours, d->frame.stream);
    return t && t->host.len == 0 && d->ours.kind == REFUSES_NOTHING;
}

static const struct {
    const char *why;
    bool (*holds)(const difference *d);
} lawful_differences[] = {
    { "nghttp2 judges a frame before it is whole", is_cut_off },
    { "a well-formed request that is answered by 4xx or 5xx: nghttp2 leaves that to the program",
      is_refused_by_status },
    { "a stream that is over, RFC 9113 §5.1: what comes after our own reset is ignored here, and what "
      "comes behind a good end is not; with nghttp2 that depends on what it remembers",
      is_of_the_past },
    { "nghttp2 does not look at PRIORITY_UPDATE, as it is set up here", is_priority_update },
    { "an error of a stream may be made one of the connection, RFC 9113 §5.4.1", ends_more },
    { "a frame with several faults: each says which it has seen first", has_two_faults },
    { "an acknowledgement of nothing: no rule forbids it", acknowledges_nothing },
    { "the number in a client's GOAWAY is of pushed streams: here there are none; and behind it nghttp2 "
      "may say no more",
      is_farewell },
    { "a block has at most two changes of the table's size, RFC 7541 §4.2: nghttp2 does not count them",
      changes_the_table_often },
    { "an empty :authority is taken as an empty Host is over HTTP/1, RFC 9112 §3.2: nghttp2 takes none",
      has_empty_authority },
};

static bool is_lawful(const difference *d)
{
    for (size_t i = 0; i < sizeof lawful_differences / sizeof lawful_differences[0]; i++)
        if (lawful_differences[i].holds(d)) return true;
    return false;
}

static bool is_same(const refusal *a, const refusal *b)
{
    return a->kind == b->kind && a->stream == b->stream && a->code == b->code;
}

static void show(const char *who, const refusal *r)
{
    static const char *const kinds[] = { "nothing", "RST_STREAM", "GOAWAY" };
    fprintf(stderr, "%s: %s, stream %u, code %u\n", who, kinds[r->kind], r->stream, r->code);
}

// Returns whether the two still agree.
static bool compare_refusals(const difference *d)
{
    if (is_same(&d->ours, &d->theirs)) return d->ours.kind != REFUSES_ALL;
    if (is_lawful(d)) return false;
    fprintf(stderr, "frame of type %u, flags %u, stream %u, %u octets\n", d->frame.type,
            d->frame.flags, d->frame.stream, d->frame.len);
    show("ours", &d->ours);
    show("nghttp2", &d->theirs);
    SKUA_ASSERT(getenv("REPORT"));
    return false;
}

// Changes of the table's size, each an octet or an octet and an integer, RFC 7541 §6.3.
static unsigned count_updates(const h2_frame *frame, slice payload)
{
    bool is_padded = frame->flags & H2_FLAG_PADDED, has_priority = frame->flags & H2_FLAG_PRIORITY;
    size_t at = (is_padded ? 1U : 0U) + (has_priority ? 5U : 0U);
    unsigned count = 0;
    for (; at < payload.len && ((unsigned char)payload.ptr[at] & 0xe0) == 0x20; count++) {
        bool is_long = ((unsigned char)payload.ptr[at++] & 0x1f) == 0x1f;
        while (is_long && at < payload.len && (unsigned char)payload.ptr[at++] & 0x80) {
        }
    }
    return count;
}

static size_t next_piece(slice rest, difference *d)
{
    d->is_whole = false;
    if (rest.len < H2_HEAD_OCTETS) return rest.len;
    d->frame = h2_read_head(rest.ptr);
    size_t len = H2_HEAD_OCTETS + d->frame.len;
    d->is_whole = len <= rest.len;
    if (d->is_whole && d->frame.type == H2_HEADERS)
        d->updates = count_updates(&d->frame, slice_make(rest.ptr + H2_HEAD_OCTETS, d->frame.len));
    return d->is_whole ? len : rest.len;
}

static bool is_block_to_be_continued(const difference *d)
{
    bool is_block = d->frame.type == H2_HEADERS || d->frame.type == H2_CONTINUATION;
    return d->is_whole && is_block && !(d->frame.flags & H2_FLAG_END_HEADERS);
}

static void add_refusal(refusal *sum, refusal more)
{
    if (more.kind > sum->kind) *sum = more;
}

static void note_past(const difference *d)
{
    bool opens = d->frame.type == H2_HEADERS || d->frame.type == H2_CONTINUATION;
    if (d->frame.type == H2_GOAWAY) said_farewell = true;
    if (opens && d->frame.stream > last_opened) last_opened = d->frame.stream;
    if (d->answers || d->frame.type == H2_RST_STREAM) make_past(d->frame.stream);
    if (d->ours.kind == REFUSES_STREAM) make_past(d->ours.stream);
    if (d->theirs.kind == REFUSES_STREAM) make_past(d->theirs.stream);
}

static void play(sim_client *client, slice rest)
{
    bool agree = true;
    difference d = { .is_whole = false };
    past_count = last_opened = 0;
    said_farewell = false;
    while (rest.len) {
        slice piece = slice_make(rest.ptr, next_piece(rest, &d));
        add_refusal(&d.ours, feed_ours(client, piece, &d.answers));
        add_refusal(&d.theirs, feed_theirs(piece));
        rest = slice_from(rest, piece.len);
        if (is_block_to_be_continued(&d)) {
            d.is_whole = false;
            if (rest.len) continue;
        }
        if (agree) agree = compare_refusals(&d);
        note_past(&d);
        d = (difference){ .is_whole = false };
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char input[INPUT_MAX];
    static const char greeting[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";
    const slice begin = slice_make(greeting, sizeof greeting);
    if (size > INPUT_MAX) return 0;
    if (!kernel) start();
    if (size) memcpy(input, data, size);
    sim_client *client = open_ours(begin);
    open_theirs(begin);
    play(client, slice_make(input, size));
    close_ours(client);
    nghttp2_session_del(oracle);
    for (unsigned i = 0; i < ours.count; i++) {
        const taken *other = side_find(&theirs, ours.all[i].stream);
        if (other && other->has_head) compare_request(&ours.all[i], other);
    }
    side_clear(&ours);
    side_clear(&theirs);
    return 0;
}
