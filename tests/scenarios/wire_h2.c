// SPDX-License-Identifier: MIT
//
// HTTP/2 on a client's end of a connection. Requests that are sent at once are streams at once.

#include "scenarios/wire_h2.h"

#include "exchange/page.h"
#include "app/text.h"

#include <stdio.h>
#include <stdlib.h>

bool wire_h2_is_asked(void)
{
    const char *asked = getenv("SKUA_TRANSPORT");
    return asked && (strcmp(asked, "h2c") == 0 || strcmp(asked, "h2") == 0);
}

#ifdef SCENARIO_NGHTTP2

#include <nghttp2/nghttp2.h>

enum { H2_FIELDS_MAX = 64, H2_WIDE_OCTETS = 16 << 20 };

// A request and its response.
typedef struct h2_stream {
    struct h2_stream *next; // in the order of the requests
    wire_h2 *owner;
    int32_t id;
    text content; // of the request, that has not left yet,
    size_t content_at;
    text trailers; // of the request
    text fields;   // of the response, of a section that is not whole
    text out;      // of the response, in the form of HTTP/1
    int status;
    bool to_head, asks_close;
    bool complete;          // all of the request has been taken
    bool sent;              // all of it has left, or nobody wants it
    bool begun, has_length; // its final head has come
    bool ended, broken, refused;
} h2_stream;

// The kind of the next octets of requests.
typedef enum h2_step {
    H2_HEAD,
    H2_CONTENT,
    H2_CHUNK,
    H2_CHUNK_CONTENT,
    H2_CHUNK_END,
    H2_TRAILERS,
} h2_step;

struct wire_h2 {
    nghttp2_session *session;
    const char *scheme;
    size_t fed;    // octets of the wire that the session has had
    text out;      // for the wire,
    size_t out_at; // from here on
    text requests; // of HTTP/1, that have not been taken yet,
    size_t requests_at;
    h2_step step;
    h2_stream *sent; // whose content is taken
    uint64_t content_left;
    h2_stream *streams, **streams_tail;
    h2_stream *front; // whose response is given; NULL: that of the next to come
    text plain;       // responses of HTTP/1
    bool finishes, cut;
};

bool wire_h2_is_possible(void)
{
    return true;
}

static void h2_must(int result)
{
    if (result >= 0) return;
    fprintf(stderr, "nghttp2: %s\n", nghttp2_strerror(result));
    abort();
}

// ---- Responses ----

// Names of HTTP/2 are in lower case.
static void h2_add_name(text *t, slice name)
{
    if (slice_equal(name, slice_of("etag"))) {
        text_addf(t, "ETag");
        return;
    }
    for (size_t i = 0; i < name.len; i++) {
        bool first = i == 0 || name.ptr[i - 1] == '-', lower = name.ptr[i] >= 'a';
        char c = first && lower ? (char)(name.ptr[i] - ('a' - 'A')) : name.ptr[i];
        text_add(t, slice_make(&c, 1));
    }
}

static int on_field(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                    size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                    void *user)
{
    (void)flags;
    (void)user;
    h2_stream *s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    slice n = slice_make((const char *)name, name_len),
          v = slice_make((const char *)value, value_len);
    if (!s) abort();
    if (slice_equal(n, slice_of(":status"))) {
        s->status = (int)strtol(v.ptr, NULL, 10); // nghttp2 ends it by a NUL
        return 0;
    }
    if (slice_equal(n, slice_of("content-length"))) s->has_length = true;
    h2_add_name(&s->fields, n);
    text_addf(&s->fields, ": ");
    text_add(&s->fields, v);
    text_addf(&s->fields, "\r\n");
    return 0;
}

static bool h2_is_chunked(const h2_stream *s)
{
    return !s->has_length && s->status != 204 && s->status != 304;
}

static void h2_take_head(h2_stream *s)
{
    text_addf(&s->out, "HTTP/1.1 %d %s\r\n", s->status, page_reason(s->status));
    text_add(&s->out, text_slice(&s->fields));
    s->begun = s->status >= 200;
    if (s->begun && h2_is_chunked(s)) text_addf(&s->out, "Transfer-Encoding: chunked\r\n");
    text_addf(&s->out, "\r\n");
    s->fields.len = 0;
}

static void h2_take_end(h2_stream *s)
{
    s->ended = true;
    if (!h2_is_chunked(s) || s->to_head) return;
    text_addf(&s->out, "0\r\n");
    text_add(&s->out, text_slice(&s->fields));
    text_addf(&s->out, "\r\n");
}

// A server that wants no more of a request than it has got says so, as over HTTP/1 it closes.
static void h2_take_reset(h2_stream *s, uint32_t code)
{
    if (code == NGHTTP2_NO_ERROR && !s->sent) s->owner->finishes = true;
    s->sent = true;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    (void)user;
    h2_stream *s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (!s) return 0;
    if (frame->hd.type == NGHTTP2_RST_STREAM) h2_take_reset(s, frame->rst_stream.error_code);
    if (frame->hd.type == NGHTTP2_HEADERS && !s->begun) h2_take_head(s);
    bool may_end = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (may_end && frame->hd.flags & NGHTTP2_FLAG_END_STREAM) h2_take_end(s);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *octets,
                   size_t len, void *user)
{
    (void)flags;
    (void)user;
    h2_stream *s = nghttp2_session_get_stream_user_data(session, id);
    if (!s || s->ended || !len) abort();
    if (h2_is_chunked(s)) text_addf(&s->out, "%zx\r\n", len);
    text_add(&s->out, slice_make((const char *)octets, len));
    if (h2_is_chunked(s)) text_addf(&s->out, "\r\n");
    return 0;
}

// REFUSED_STREAM says that nobody has looked at the request: over HTTP/1 there is no response to it
// either.
static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *user)
{
    (void)user;
    h2_stream *s = nghttp2_session_get_stream_user_data(session, id);
    if (!s) return 0;
    s->sent = true;
    s->refused = code == NGHTTP2_REFUSED_STREAM;
    s->broken = !s->refused && (!s->ended || code != NGHTTP2_NO_ERROR);
    return 0;
}

// Gives responses in the order of their requests, each as far as it has come.
static void h2_give(wire_h2 *h)
{
    for (h2_stream *s; !h->cut && (s = h->front); h->front = s->next) {
        text_add(&h->plain, text_slice(&s->out));
        s->out.len = 0;
        h->cut = s->broken;
        if (s->ended && s->asks_close) h->finishes = true;
        if (h->cut || (!s->ended && !s->refused)) return;
    }
}

void wire_h2_feed(wire_h2 *h, slice received)
{
    slice fresh = slice_from(received, h->fed);
    h->fed = received.len;
    ssize_t taken = nghttp2_session_mem_recv(h->session, (const uint8_t *)fresh.ptr, fresh.len);
    h2_must((int)taken);
    h2_give(h);
}

slice wire_h2_received(const wire_h2 *h)
{
    return text_slice(&h->plain);
}

bool wire_h2_is_cut(const wire_h2 *h)
{
    return h->cut;
}

// ---- Requests ----

static slice h2_rest(const wire_h2 *h)
{
    return slice_from(text_slice(&h->requests), h->requests_at);
}

// Takes a line from the front, without its end. Returns false if none is whole.
static bool h2_take_line(wire_h2 *h, slice *line)
{
    slice rest = h2_rest(h);
    const char *end = rest.len ? memmem(rest.ptr, rest.len, "\r\n", 2) : NULL;
    if (!end) return false;
    *line = slice_make(rest.ptr, (size_t)(end - rest.ptr));
    h->requests_at += line->len + 2;
    return true;
}

// Takes what is before mark from the front of *rest, and the mark.
static slice h2_cut(slice *rest, const char *mark)
{
    const char *at = rest->len ? memmem(rest->ptr, rest->len, mark, strlen(mark)) : NULL;
    if (!at) abort(); // no request of HTTP/2: the scenario is HTTP/1's
    slice taken = slice_make(rest->ptr, (size_t)(at - rest->ptr));
    *rest = slice_from(*rest, taken.len + strlen(mark));
    return taken;
}

typedef struct h2_fields {
    nghttp2_nv list[H2_FIELDS_MAX];
    size_t count;
    text names; // in lower case, with room for all of them
} h2_fields;

static void h2_add_field(h2_fields *f, slice name, slice value)
{
    if (f->count == H2_FIELDS_MAX || f->names.len + name.len > f->names.room) abort();
    char *lower = f->names.octets + f->names.len;
    for (size_t i = 0; i < name.len; i++)
        lower[i] = octet_lower(name.ptr[i]);
    f->names.len += name.len;
    f->list[f->count++] = (nghttp2_nv){ .name = (uint8_t *)lower,
                                        .namelen = name.len,
                                        .value = (uint8_t *)(uintptr_t)value.ptr,
                                        .valuelen = value.len };
}

static h2_fields h2_fields_new(slice section)
{
    h2_fields f = { .count = 0 };
    text_add(&f.names, section);
    text_addf(&f.names, ":method:scheme:path:authority");
    f.names.len = 0;
    return f;
}

static ssize_t on_content(nghttp2_session *session, int32_t id, uint8_t *out, size_t room,
                          uint32_t *flags, nghttp2_data_source *source, void *user)
{
    (void)user;
    h2_stream *s = source->ptr;
    slice left = slice_from(text_slice(&s->content), s->content_at);
    size_t n = left.len < room ? left.len : room;
    if (n) memcpy(out, left.ptr, n);
    s->content_at += n;
    if (n < left.len || (n && !s->complete)) return (ssize_t)n;
    if (!s->complete) return NGHTTP2_ERR_DEFERRED;
    s->sent = true;
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (!s->trailers.len) return (ssize_t)n;
    *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    h2_fields f = h2_fields_new(text_slice(&s->trailers));
    for (slice rest = text_slice(&s->trailers); rest.len;) {
        slice line = h2_cut(&rest, "\r\n"), name = h2_cut(&line, ":");
        h2_add_field(&f, name, slice_trim(line));
    }
    h2_must(nghttp2_submit_trailer(session, id, f.list, f.count));
    text_free(&f.names);
    return (ssize_t)n;
}

static h2_stream *h2_stream_new(wire_h2 *h)
{
    h2_stream *s = calloc(1, sizeof *s);
    if (!s) abort();
    s->owner = h;
    *h->streams_tail = s;
    h->streams_tail = &s->next;
    if (!h->front) h->front = s;
    return s;
}

// Adds a field of the request, or says by the step what content there is.
static void h2_take_field(wire_h2 *h, h2_stream *s, h2_fields *f, slice name, slice value)
{
    if (slice_equal_nocase(name, slice_of("Transfer-Encoding"))) h->step = H2_CHUNK;
    else if (slice_equal_nocase(name, slice_of("Connection")))
        s->asks_close = slice_equal_nocase(value, slice_of("close"));
    else if (slice_equal_nocase(name, slice_of("Host")))
        h2_add_field(f, slice_of(":authority"), value);
}

static void h2_take_length(wire_h2 *h, slice value)
{
    h->content_left = strtoull(value.ptr, NULL, 10);
    if (h->content_left) h->step = H2_CONTENT;
}

static bool h2_is_of_connection(slice name)
{
    return slice_equal_nocase(name, slice_of("Transfer-Encoding")) ||
           slice_equal_nocase(name, slice_of("Connection")) ||
           slice_equal_nocase(name, slice_of("Host"));
}

// Twice through the fields: pseudo-fields come first.
static void h2_take_fields(wire_h2 *h, h2_stream *s, h2_fields *f, slice section)
{
    for (int round = 0; round < 2; round++) {
        for (slice rest = section; rest.len;) {
            slice line = h2_cut(&rest, "\r\n"), name = h2_cut(&line, ":");
            slice value = slice_trim(line);
            bool is_length = slice_equal_nocase(name, slice_of("Content-Length"));
            if (round == 0) h2_take_field(h, s, f, name, value);
            else if (!h2_is_of_connection(name)) h2_add_field(f, name, value);
            if (round == 1 && is_length) h2_take_length(h, value);
        }
    }
}

static void h2_submit(wire_h2 *h, h2_stream *s, const h2_fields *f)
{
    nghttp2_data_provider content = { .source.ptr = s, .read_callback = on_content };
    s->complete = s->sent = h->step == H2_HEAD;
    s->id = nghttp2_submit_request(h->session, NULL, f->list, f->count,
                                   s->complete ? NULL : &content, s);
    h2_must(s->id);
    h->sent = s;
}

static bool h2_take_head_of_request(wire_h2 *h)
{
    slice rest = h2_rest(h), line;
    if (rest.len >= 2 && memcmp(rest.ptr, "\r\n", 2) == 0) return h2_take_line(h, &line);
    const char *end = rest.len ? memmem(rest.ptr, rest.len, "\r\n\r\n", 4) : NULL;
    if (!end) return false;
    slice section = slice_make(rest.ptr, (size_t)(end + 2 - rest.ptr));
    h->requests_at += section.len + 2;
    h2_fields f = h2_fields_new(section);
    h2_stream *s = h2_stream_new(h);
    line = h2_cut(&section, "\r\n");
    slice method = h2_cut(&line, " "), target = h2_cut(&line, " ");
    if (!slice_equal(line, slice_of("HTTP/1.1"))) abort(); // the scenario is HTTP/1's
    h2_add_field(&f, slice_of(":method"), method);
    h2_add_field(&f, slice_of(":scheme"), slice_of(h->scheme));
    h2_add_field(&f, slice_of(":path"), target);
    s->to_head = slice_equal(method, slice_of("HEAD"));
    h2_take_fields(h, s, &f, section);
    h2_submit(h, s, &f);
    text_free(&f.names);
    return true;
}

static void h2_resume(wire_h2 *h)
{
    if (!h->sent->sent) (void)nghttp2_session_resume_data(h->session, h->sent->id);
}

static void h2_complete(wire_h2 *h)
{
    h->sent->complete = true;
    h->step = H2_HEAD;
    h2_resume(h);
}

// Takes octets of content. Nobody wants them when the stream is over.
static bool h2_take_content(wire_h2 *h)
{
    slice rest = h2_rest(h);
    size_t n = rest.len < h->content_left ? rest.len : (size_t)h->content_left;
    if (n == 0) return false;
    text_add(&h->sent->content, slice_make(rest.ptr, n));
    h->requests_at += n;
    h->content_left -= n;
    if (h->content_left == 0 && h->step == H2_CONTENT) h2_complete(h);
    else if (h->content_left == 0) h->step = H2_CHUNK_END;
    h2_resume(h);
    return true;
}

static bool h2_take_chunk(wire_h2 *h)
{
    slice line;
    if (!h2_take_line(h, &line)) return false;
    h->content_left = strtoull(line.ptr, NULL, 16);
    h->step = h->content_left ? H2_CHUNK_CONTENT : H2_TRAILERS;
    return true;
}

static bool h2_take_chunk_end(wire_h2 *h)
{
    slice line;
    if (!h2_take_line(h, &line)) return false;
    if (line.len) abort();
    h->step = H2_CHUNK;
    return true;
}

static bool h2_take_trailer(wire_h2 *h)
{
    slice line;
    if (!h2_take_line(h, &line)) return false;
    if (line.len) {
        text_add(&h->sent->trailers, line);
        text_addf(&h->sent->trailers, "\r\n");
    } else {
        h2_complete(h);
    }
    return true;
}

static bool h2_step_once(wire_h2 *h)
{
    switch (h->step) {
    case H2_HEAD: return h2_take_head_of_request(h);
    case H2_CONTENT:
    case H2_CHUNK_CONTENT: return h2_take_content(h);
    case H2_CHUNK: return h2_take_chunk(h);
    case H2_CHUNK_END: return h2_take_chunk_end(h);
    case H2_TRAILERS: return h2_take_trailer(h);
    }
    abort();
}

void wire_h2_write(wire_h2 *h, slice octets)
{
    text_add(&h->requests, octets);
    while (!h->finishes && h2_step_once(h)) {
    }
    if (h->requests_at == h->requests.len) h->requests.len = h->requests_at = 0;
}

bool wire_h2_is_held_up(const wire_h2 *h)
{
    for (const h2_stream *s = h->streams; s; s = s->next) {
        if (!s->sent && (s->complete || s->content_at < s->content.len)) return true;
    }
    return false;
}

bool wire_h2_is_finished(const wire_h2 *h)
{
    return h->finishes && (!h->front || h->cut);
}

// ---- The session ----

wire_h2 *wire_h2_new(const char *scheme)
{
    if (!wire_h2_is_asked()) return NULL;
    wire_h2 *h = calloc(1, sizeof *h);
    nghttp2_session_callbacks *callbacks;
    if (!h || nghttp2_session_callbacks_new(&callbacks)) abort();
    h->streams_tail = &h->streams;
    h->scheme = scheme;
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_field);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    h2_must(nghttp2_session_client_new(&h->session, callbacks, h));
    nghttp2_session_callbacks_del(callbacks);
    h2_must(nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, NULL, 0));
    return h;
}

void wire_h2_widen(wire_h2 *h)
{
    const nghttp2_settings_entry entry = { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, H2_WIDE_OCTETS };
    h2_must(nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, &entry, 1));
    h2_must(
        nghttp2_session_set_local_window_size(h->session, NGHTTP2_FLAG_NONE, 0, H2_WIDE_OCTETS));
}

void wire_h2_free(wire_h2 *h)
{
    if (!h) return;
    nghttp2_session_del(h->session);
    for (h2_stream *s; (s = h->streams);) {
        h->streams = s->next;
        text_free(&s->content);
        text_free(&s->trailers);
        text_free(&s->fields);
        text_free(&s->out);
        free(s);
    }
    text_free(&h->out);
    text_free(&h->requests);
    text_free(&h->plain);
    free(h);
}

slice wire_h2_unsent(wire_h2 *h)
{
    if (h->out_at == h->out.len) h->out.len = h->out_at = 0;
    const uint8_t *octets;
    for (ssize_t n; (n = nghttp2_session_mem_send(h->session, &octets)) != 0;) {
        h2_must((int)n);
        text_add(&h->out, slice_make((const char *)octets, (size_t)n));
    }
    return slice_from(text_slice(&h->out), h->out_at);
}

void wire_h2_sent(wire_h2 *h, size_t octets)
{
    h->out_at += octets;
}

#else

bool wire_h2_is_possible(void)
{
    return false;
}

wire_h2 *wire_h2_new(const char *scheme)
{
    (void)scheme;
    return NULL;
}

void wire_h2_widen(wire_h2 *h)
{
    (void)h;
}

void wire_h2_free(wire_h2 *h)
{
    (void)h;
}

// A client without HTTP/2 never comes to the rest.
void wire_h2_feed(wire_h2 *h, slice received)
{
    (void)h;
    (void)received;
}

slice wire_h2_unsent(wire_h2 *h)
{
    (void)h;
    return (slice){ 0 };
}

void wire_h2_sent(wire_h2 *h, size_t octets)
{
    (void)h;
    (void)octets;
}

void wire_h2_write(wire_h2 *h, slice octets)
{
    (void)h;
    (void)octets;
}

bool wire_h2_is_held_up(const wire_h2 *h)
{
    (void)h;
    return false;
}

bool wire_h2_is_finished(const wire_h2 *h)
{
    (void)h;
    return false;
}

slice wire_h2_received(const wire_h2 *h)
{
    (void)h;
    return (slice){ 0 };
}

bool wire_h2_is_cut(const wire_h2 *h)
{
    (void)h;
    return false;
}

#endif
