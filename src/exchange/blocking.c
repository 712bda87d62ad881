// SPDX-License-Identifier: MIT
//
// Blocking routes: the content is collected, and a thread of the pool calls the handler with the
// request pinned beneath it. What it says of its response is carried out here, on the worker: a whole
// response when the handler has returned, and content that it writes as it comes.

#include "exchange/blocking.h"

#include "base/assert.h"
#include "base/memory.h"
#include "exchange/call.h"
#include "exchange/carrier.h"
#include "exchange/complaint.h"
#include "exchange/error.h"
#include "exchange/objects.h"
#include "exchange/request.h"
#include "exchange/request_end.h"
#include "exchange/worker.h"

struct blocking_route {
    blocking_route *next;
    skua_handler *handler;
    void *user;
};

struct blocking {
    thread_pool *pool;
    unsigned sockets_max;
    struct {
        _Atomic(unsigned) sockets; // that handlers serve, or are about to
    } shared;
};

// ---- What was known when the handler was called ----

const io_address *blocking_peer(const blocking_call *call)
{
    return &call->peer;
}

bool blocking_tls(const blocking_call *call, skua_tls_info *info)
{
    if (call->is_secure) *info = call->tls;
    return call->is_secure;
}

bool blocking_peer_was_done(const blocking_call *call)
{
    return call->peer_was_done;
}

// ---- The end of a call ----

static void call_free(blocking_call *call)
{
    call_stream *stream = &call->stream;
    pthread_cond_destroy(&stream->moved);
    pthread_mutex_destroy(&stream->lock);
    counted_free(stream->waiting);
    counted_free(stream->taken);
    arena_reset(&call->memory);
    block_store_deinit(&call->blocks);
    counted_free(call->octets);
    memory_free(call);
}

// The request is the worker's alone again.
static void call_end(blocking_call *call)
{
    skua_request *r = call->request;
    r->call = NULL;
    call_free(call);
    skua_request_drop(r);
}

// A handler that waits for room is let go, too.
void blocking_let_go(blocking_call *call)
{
    pthread_mutex_lock(&call->stream.lock);
    atomic_store_explicit(&call->shared.gone, true, memory_order_relaxed);
    pthread_cond_broadcast(&call->stream.moved);
    pthread_mutex_unlock(&call->stream.lock);
    if (call->returned) call_end(call);
}

bool blocking_end_later(blocking_call *call, skua_end how)
{
    if (call->returned) return false;
    call->ended = true;
    call->how = how;
    return true;
}

// ---- Carrying out what a handler says ----

static void call_put_fields(const blocking_call *call, skua_request *r)
{
    for (const call_field *field = call->fields.first; field; field = field->next)
        skua_field_add(r, field->name, field->value);
}

// The handler may ask at any time for the end of the connection, or of the request.
static bool call_carry_on(blocking_call *call, skua_request *r)
{
    call_stream *stream = &call->stream;
    pthread_mutex_lock(&stream->lock);
    bool closes = stream->closes, aborts = stream->aborts;
    pthread_mutex_unlock(&stream->lock);
    if (aborts) skua_request_abort(r);
    else if (closes) skua_request_close(r);
    return !aborts;
}

// The octets that the handler has written since, if any: the buffers change places.
static bool call_take(blocking_call *call)
{
    call_stream *stream = &call->stream;
    pthread_mutex_lock(&stream->lock);
    char *emptied = stream->taken;
    size_t room = stream->taken_room;
    stream->taken = stream->waiting;
    stream->taken_room = stream->waiting_room;
    stream->taken_len = stream->waiting_len;
    stream->taken_at = 0;
    stream->waiting = emptied;
    stream->waiting_room = room;
    stream->waiting_len = 0;
    pthread_cond_broadcast(&stream->moved);
    pthread_mutex_unlock(&stream->lock);
    return stream->taken_len > 0;
}

static bool call_has_finished(blocking_call *call)
{
    pthread_mutex_lock(&call->stream.lock);
    bool finished = call->stream.finished && call->stream.waiting_len == 0;
    pthread_mutex_unlock(&call->stream.lock);
    return finished;
}

// The handler has returned without skua_finish, or a trailer is lost: the content must not look whole.
static void call_cut_off(blocking_call *call, skua_request *r)
{
    complain(r, call->complaint
                    ? call->complaint
                    : "a blocking handler has returned without skua_finish; the response is "
                      "cut off");
    skua_request_abort(r);
}

static void call_finish_stream(blocking_call *call, skua_request *r)
{
    call->stream.over = true;
    for (const call_field *field = call->trailers.first; field; field = field->next)
        skua_trailer_add(r, field->name, field->value);
    skua_finish(r);
}

// Writes what there is room for. What is left waits for the connection, which calls call_drained.
static void call_write_on(blocking_call *call, skua_request *r)
{
    call_stream *stream = &call->stream;
    while (stream->taken_at < stream->taken_len || call_take(call)) {
        size_t n = stream->taken_len - stream->taken_at;
        uint64_t room = skua_write_room(r);
        if (n > room)
            n = room ? (size_t)room : 1; // to be refused, and told when there is room again
        slice octets = slice_make(stream->taken + stream->taken_at, n);
        skua_status written = skua_write(r, octets);
        if (written && written != SKUA_ELIMIT) skua_request_abort(r); // no memory
        if (written) return;
        stream->taken_at += n;
    }
    if (call_has_finished(call) && !call->spoiled) call_finish_stream(call, r);
    else if (call->returned) call_cut_off(call, r);
}

static void call_drained(skua_request *r, void *user)
{
    (void)user;
    blocking_call *call = r->call;
    if (!call || call->stream.over) return;
    call_write_on(call, r);
    if (call->returned && request_is_answered(r)) call_end(call);
}

static void call_begin_stream(blocking_call *call, skua_request *r)
{
    call_put_fields(call, r);
    skua_status begun =
        call->taken.sends_events
            ? skua_events_open(r, call_drained, NULL)
            : skua_respond_stream(r, call->status, call->type, call->length, call_drained, NULL);
    call->stream.begun = begun == SKUA_OK;
}

// The handler does not know yet that what it writes goes nowhere.
static void call_refuse_stream(blocking_call *call)
{
    call->stream.over = true;
    blocking_let_go(call);
}

static void call_send(blocking_call *call)
{
    skua_request *r = call->request;
    if (r->life != LIFE_GOES_ON || call->stream.over || !call_carry_on(call, r)) return;
    if (!call->stream.begun && r->responding == RESPONSE_NONE) call_begin_stream(call, r);
    if (call->stream.begun && r->responding == RESPONSE_PUSHED) call_write_on(call, r);
    else if (!call->returned) call_refuse_stream(call);
}

static void call_stream_told(mail *letter, void *reader)
{
    (void)reader;
    blocking_call *call =
        (blocking_call *)(void *)((char *)letter - offsetof(blocking_call, stream.letter));
    pthread_mutex_lock(&call->stream.lock);
    call->stream.told = false;
    pthread_mutex_unlock(&call->stream.lock);
    call_send(call);
}

// The content is lent to the response, which frees it.
static void call_send_whole(blocking_call *call, skua_request *r)
{
    call_put_fields(call, r);
    char *octets = call->octets;
    call->octets = NULL;
    counted_adopt(&r->worker->memory, octets);
    skua_respond_borrowed(r, call->status, call->type, slice_make(octets, call->octets_len),
                          counted_free, octets);
}

static void call_respond_now(blocking_call *call, skua_request *r)
{
    bool other = r->responding != RESPONSE_NONE && !call->stream.begun; // by handler_timeout_ns
    if (other || r->life != LIFE_GOES_ON) return;
    if (call->complaint) complain(r, call->complaint);
    if (!call_carry_on(call, r)) return;
    switch (call->saying) {
    case CALL_SILENT: complain(r, "a blocking handler gave no response"); break;
    case CALL_FAILED: break;
    case CALL_GIVEN: call_send_whole(call, r); return;
    case CALL_STREAMS:
    case CALL_FINISHED: call_send(call); return;
    }
    error_respond(r, 500, false);
}

// Whether the handler's content still waits for room.
static bool call_goes_on(const blocking_call *call, const skua_request *r)
{
    return call->stream.begun && !call->stream.over && r->life == LIFE_GOES_ON &&
           !request_is_answered(r);
}

static void call_returned(mail *letter, void *reader)
{
    skua_worker *w = reader;
    blocking_call *call =
        (blocking_call *)(void *)((char *)letter - offsetof(blocking_call, letter));
    skua_request *r = call->request;
    SKUA_ASSERT(w->blocked_requests > 0);
    w->blocked_requests--;
    call->returned = true;
    if (call->ended) request_tell_end(r, call->how);
    else call_respond_now(call, r);
    if (r->call == call && !call_goes_on(call, r)) call_end(call);
}

// ---- The way there ----

// A socket's function runs though its client has left: what that sent before is to be taken.
static void call_run(task *self)
{
    blocking_call *call = (blocking_call *)(void *)self;
    skua_worker *home = call->request->worker;
    if (call->also || !call_is_gone(call)) {
        if (call->is_inline) call_enter_inline(call);
        else recorder_visit(call->request, &call->taken);
        call->handler(call->request, call->user);
        if (call->is_inline) call_leave_inline(call);
        else recorder_visit(NULL, NULL);
    }
    if (call->also) worker_post(home, call->also);
    worker_post(home, &call->letter);
}

// The connection may be gone while the handler runs.
static bool call_copy_tls(blocking_call *call, const skua_request *r)
{
    skua_tls_info *info = &call->tls;
    call->is_secure = skua_request_tls(r, info);
    if (!call->is_secure) return true;
    slice name = info->server_name, client = info->client, protocol = info->protocol;
    slice print = { 0 };
    if (info->client_fingerprint)
        print = slice_make((const char *)info->client_fingerprint, SKUA_TLS_FINGERPRINT_OCTETS);
    info->server_name = arena_copy(&call->memory, name);
    info->client = arena_copy(&call->memory, client);
    info->protocol = arena_copy(&call->memory, protocol);
    print = arena_copy(&call->memory, print);
    info->client_fingerprint = print.len ? (const unsigned char *)print.ptr : NULL;
    return info->server_name.len == name.len && info->client.len == client.len &&
           info->protocol.len == protocol.len;
}

static blocking_call *call_new(skua_request *r, const blocking_route *entry)
{
    blocking_call *call = memory_zeroed(sizeof *call);
    if (!call) return NULL;
    call->task.run = call_run;
    call->letter.deliver = call_returned;
    call->stream.letter.deliver = call_stream_told;
    call->request = r;
    call->handler = entry->handler;
    call->user = entry->user;
    call->is_inline = r->worker->disk.inline_work;
    call->peer = *session_peer(r->carrier->session);
    call->peer_was_done = r->carrier->table->peer_is_done(r->carrier);
    call->fields.tail = &call->fields.first;
    call->trailers.tail = &call->trailers.first;
    pthread_mutex_init(&call->stream.lock, NULL);
    pthread_cond_init(&call->stream.moved, NULL);
    block_store_init(&call->blocks, 0);
    arena_init(&call->memory, &call->blocks);
    call->taken = (recorder){ .table = &call_table, .decoding = { .memory = &call->memory } };
    if (call_copy_tls(call, r) && objects_copy(r, &call->taken.objects, &call->memory)) return call;
    call_free(call);
    return NULL;
}

// The simulated kernel has no threads: there the handler runs at once, so that runs replay.
static skua_status call_submit(const skua_worker *w, blocking_call *call)
{
    if (!call->is_inline) return thread_pool_submit(w->blocking->pool, &call->task);
    call_run(&call->task);
    return SKUA_OK;
}

// A thread of the pool reads the request from now on, so it is held until the call is over.
static void blocking_collected(skua_request *r, skua_status status, slice content, void *user)
{
    if (status || r->responding != RESPONSE_NONE) return;
    skua_worker *w = r->worker;
    blocking_call *call = call_new(r, user);
    if (call) {
        call->taken.content = content;
        r->call = call;
        r->is_followed = true;
        w->blocked_requests++;
        skua_request_hold(r);
        if (call_submit(w, call) == SKUA_OK) return;
        w->blocked_requests--;
        call_end(call);
    }
    request_blame(r, "too many wait for blocking_threads");
    error_respond(r, 503, false);
}

skua_status blocking_begin_socket(skua_request *r, skua_handler *handler, void *user,
                                  mail *returned)
{
    const blocking_route entry = { .handler = handler, .user = user };
    blocking_call *call = call_new(r, &entry);
    if (!call) return SKUA_ENOMEM;
    skua_worker *w = r->worker;
    call->saying = CALL_GIVEN;
    call->status = r->status;
    call->also = returned;
    r->call = call;
    r->is_followed = true;
    w->blocked_requests++;
    skua_request_hold(r);
    skua_status submitted = thread_pool_submit(w->blocking->pool, &call->task);
    if (!submitted) return SKUA_OK;
    w->blocked_requests--;
    call_end(call);
    return submitted;
}

void blocking_begin(skua_request *r, void *user)
{
    if (skua_content_collect(r, 0, blocking_collected, user) == SKUA_OK ||
        r->responding != RESPONSE_NONE)
        return;
    error_respond(r, 500, true); // somebody before it has begun to read the content
}

// ---- Routes ----

blocking *blocking_new(const skua_config *config)
{
    blocking *b = memory_zeroed(sizeof *b);
    if (!b) return NULL;
    b->pool = thread_pool_new(config->blocking_threads, config->blocking_queue_max);
    b->sockets_max = config->blocking_threads > 1 ? config->blocking_threads / 2 : 1;
    if (b->pool) return b;
    memory_free(b);
    return NULL;
}

bool blocking_take_socket(blocking *b)
{
    unsigned before = atomic_load_explicit(&b->shared.sockets, memory_order_relaxed);
    do {
        if (before >= b->sockets_max) return false;
    } while (!atomic_compare_exchange_weak_explicit(&b->shared.sockets, &before, before + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

void blocking_give_socket(blocking *b)
{
    atomic_fetch_sub_explicit(&b->shared.sockets, 1, memory_order_relaxed);
}

void blocking_free(blocking *b)
{
    if (!b) return;
    thread_pool_free(b->pool);
    memory_free(b);
}

unsigned blocking_busy(const blocking *b)
{
    return thread_pool_busy(b->pool);
}

void *blocking_add(blocking_route **list, skua_handler *handler, void *user)
{
    blocking_route *entry = memory_alloc(sizeof *entry);
    if (!entry) return NULL;
    *entry = (blocking_route){ .next = *list, .handler = handler, .user = user };
    *list = entry;
    return entry;
}

void blocking_free_routes(blocking_route *list)
{
    while (list) {
        blocking_route *entry = list;
        list = entry->next;
        memory_free(entry);
    }
}
