// SPDX-License-Identifier: MIT
//
// The same octets for a server of ours and for a server session of nghttp2. A request that both take
// must be the same one to both: its method, its target, its fields and, where both have read it to
// its end, its content. Which requests either refuses is not compared.
// Permitted differences: nghttp2 gives :authority and Host as they came, and lines of cookies one by
// one; here they are one field each (RFC 9113 §8.2.3, §8.3.1).

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
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 4096, TAKEN_MAX = 64, TURNS_MAX = 50000 };

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

static side ours, theirs;
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

static void run_ours(slice input)
{
    sim_client *client = sim_connect(kernel, listener);
    SKUA_ASSERT(client && sim_client_send(client, input));
    settle();
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

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *user)
{
    (void)session;
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

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    (void)session;
    (void)user;
    taken *t = side_find(&theirs, (uint32_t)frame->hd.stream_id);
    bool is_headers = frame->hd.type == NGHTTP2_HEADERS;
    if (!t || (!is_headers && frame->hd.type != NGHTTP2_DATA)) return 0;
    if (is_headers) t->has_head = true;
    if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) t->complete = true;
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *octets,
                   size_t len, void *user)
{
    (void)session;
    (void)flags;
    (void)user;
    taken *t = side_find(&theirs, (uint32_t)stream);
    if (t) text_add(&t->content, slice_make((const char *)octets, len));
    return 0;
}

static void run_theirs(slice input)
{
    nghttp2_session_callbacks *callbacks;
    nghttp2_session *session;
    SKUA_ASSERT(nghttp2_session_callbacks_new(&callbacks) == 0);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    SKUA_ASSERT(nghttp2_session_server_new(&session, callbacks, NULL) == 0);
    SKUA_ASSERT(nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, NULL, 0) == 0);
    (void)nghttp2_session_mem_recv(session, (const uint8_t *)input.ptr, input.len);
    nghttp2_session_del(session);
    nghttp2_session_callbacks_del(callbacks);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char input[INPUT_MAX + 64];
    const slice preface = H2_PREFACE;
    if (size > INPUT_MAX) return 0;
    if (!kernel) start();
    memcpy(input, preface.ptr, preface.len);
    memcpy(input + preface.len, "\0\0\0\4\0\0\0\0\0", H2_HEAD_OCTETS);
    size_t len = preface.len + H2_HEAD_OCTETS;
    if (size) memcpy(input + len, data, size);
    run_ours(slice_make(input, len + size));
    run_theirs(slice_make(input, len + size));
    for (unsigned i = 0; i < ours.count; i++) {
        const taken *other = side_find(&theirs, ours.all[i].stream);
        if (other && other->has_head) compare_request(&ours.all[i], other);
    }
    side_clear(&ours);
    side_clear(&theirs);
    return 0;
}
