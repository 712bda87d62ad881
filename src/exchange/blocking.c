// SPDX-License-Identifier: MIT
//
// Blocking routes: the content is collected, the reply goes to the pool with the request pinned
// beneath it, and comes home as a letter.

#include "exchange/blocking.h"

#include "base/assert.h"
#include "base/contract.h"
#include "base/memory.h"
#include "exchange/carrier.h"
#include "exchange/request.h"
#include "exchange/error.h"
#include "exchange/fields.h"
#include "exchange/respond.h"
#include "exchange/worker.h"
#include "thread/thread_pool.h"

#include <stdatomic.h>
#include <stdio.h>

typedef struct blocking_route blocking_route;

struct blocking_route {
    blocking_route *next;
    skua_blocking_handler *handler;
    void *user;
};

struct blocking {
    thread_pool *pool;
    blocking_route *routes;
};

typedef struct reply_field reply_field;

struct reply_field {
    reply_field *next;
    const char *name;
    slice value;
};

struct skua_reply {
    task task; // first
    mail letter;
    skua_request *request;
    const blocking_route *entry;
    slice content; // of the request
    io_address peer;
    bool peer_was_done;
    bool is_secure;
    skua_tls_info tls; // if is_secure; what it points to lies in memory
    struct {
        atomic_bool gone;
    } shared;

    // The handler's until it returns.
    block_store blocks;
    arena memory;
    request_decoding decoding;
    reply_field *fields, **fields_tail;
    size_t fields_octets;
    int status; // 0: not given
    const char *type;
    char *octets;
    size_t octets_len;
};

// The reply whose handler runs on this thread.
static _Thread_local const skua_reply *reply_here;

// ---- What the handler says ----

// A reply is not looked at before it is known to be the one that is here: it may be gone.
static void reply_expect(const skua_reply *reply, const char *function)
{
    if (!reply) contract_broken(function, "reply must not be NULL");
    if (reply != reply_here)
        contract_broken(function, "called outside of the blocking handler that the reply was given "
                                  "to, or on another thread; to answer later, use a ticket");
}

skua_status skua_reply_field(skua_reply *reply, const char *name, slice value)
{
    reply_expect(reply, __func__);
    CONTRACT_GIVEN(name);
    CONTRACT_SLICE(value);
    if (reply->status) return SKUA_ESTATE;
    slice key = slice_of(name);
    if (!fields_take(key, value)) return SKUA_EINVAL;
    size_t octets = key.len + value.len + 4;
    if (octets > FIELDS_OCTETS_MAX - reply->fields_octets) return SKUA_ELIMIT;
    reply_field *field = arena_alloc(&reply->memory, sizeof *field);
    slice name_copy = arena_copy(&reply->memory, key);
    slice value_copy = arena_copy(&reply->memory, value);
    if (!field || !name_copy.ptr || !value_copy.ptr) return SKUA_ENOMEM;
    *field = (reply_field){ .name = name_copy.ptr, .value = value_copy };
    *reply->fields_tail = field;
    reply->fields_tail = &field->next;
    reply->fields_octets += octets;
    return SKUA_OK;
}

static skua_status reply_copy_content(skua_reply *reply, slice content)
{
    char *copy = counted_alloc(NULL, content.len ? content.len : 1);
    if (!copy) return SKUA_ENOMEM;
    if (content.len) memcpy(copy, content.ptr, content.len);
    reply->octets = copy;
    reply->octets_len = content.len;
    return SKUA_OK;
}

skua_status skua_reply_give(skua_reply *reply, int status, const char *type, slice content)
{
    reply_expect(reply, __func__);
    CONTRACT_SLICE(content);
    if (reply->status) return SKUA_ESTATE;
    slice media = type ? slice_of(type) : (slice){ 0 };
    skua_status checked = respond_check_type(status, media);
    if (checked) return checked;
    slice type_copy = type ? arena_copy(&reply->memory, media) : (slice){ 0 };
    if (type && !type_copy.ptr) return SKUA_ENOMEM;
    skua_status copied = reply_copy_content(reply, content);
    if (copied) return copied;
    reply->type = type_copy.ptr;
    reply->status = status;
    return SKUA_OK;
}

static bool reply_is_for_nobody(const skua_reply *reply)
{
    return atomic_load_explicit(&reply->shared.gone, memory_order_relaxed);
}

bool skua_reply_peer_is_gone(const skua_reply *reply)
{
    reply_expect(reply, __func__);
    return reply_is_for_nobody(reply);
}

// ---- Back on the worker ----

static void reply_free(skua_reply *reply)
{
    arena_reset(&reply->memory);
    block_store_deinit(&reply->blocks);
    counted_free(reply->octets);
    memory_free(reply);
}

static int reply_text_len(slice text)
{
    return text.len < 100 ? (int)text.len : 100;
}

static void reply_complain(const skua_request *r)
{
    char text[256];
    int len =
        snprintf(text, sizeof text, "a blocking handler gave no answer to %.*s %.*s",
                 reply_text_len(r->method), r->method.ptr, reply_text_len(r->path), r->path.ptr);
    worker_log(r->worker, slice_make(text, (size_t)len));
}

static void reply_send(skua_reply *reply, skua_request *r)
{
    for (const reply_field *field = reply->fields; field; field = field->next)
        skua_field_add(r, field->name, field->value);
    char *octets = reply->octets;
    reply->octets = NULL;
    counted_adopt(&r->worker->memory, octets);
    skua_respond_borrowed(r, reply->status, reply->type, slice_make(octets, reply->octets_len),
                          counted_free, octets);
}

static void reply_respond(skua_reply *reply, skua_request *r)
{
    if (r->responding != RESPONSE_NONE) return; // by handler_timeout_ns
    if (reply->status) {
        reply_send(reply, r);
        return;
    }
    reply_complain(r);
    error_respond(r, 500, false);
}

// The request is the worker's alone again.
static void reply_take_back(skua_reply *reply, skua_worker *w)
{
    SKUA_ASSERT(w->blocked_requests > 0);
    w->blocked_requests--;
    reply->request->reply = NULL;
}

static void reply_deliver(mail *letter, void *reader)
{
    skua_worker *w = reader;
    skua_reply *reply = (skua_reply *)(void *)((char *)letter - offsetof(skua_reply, letter));
    skua_request *r = reply->request;
    reply_take_back(reply, w);
    if (r->life == LIFE_GOES_ON) reply_respond(reply, r);
    skua_request_drop(r);
    reply_free(reply);
}

void blocking_let_go(skua_reply *reply)
{
    atomic_store_explicit(&reply->shared.gone, true, memory_order_relaxed);
}

const io_address *blocking_peer(const skua_reply *reply)
{
    return &reply->peer;
}

bool blocking_tls(const skua_reply *reply, skua_tls_info *info)
{
    if (reply->is_secure) *info = reply->tls;
    return reply->is_secure;
}

bool blocking_peer_was_done(const skua_reply *reply)
{
    return reply->peer_was_done;
}

// ---- The way there ----

static void reply_run(task *self)
{
    skua_reply *reply = (skua_reply *)(void *)self;
    skua_worker *home = reply->request->worker;
    if (!reply_is_for_nobody(reply)) {
        reply_here = reply;
        request_visit(reply->request, &reply->decoding);
        reply->entry->handler(reply->request, reply->content, reply, reply->entry->user);
        request_visit(NULL, NULL);
        reply_here = NULL;
    }
    worker_post(home, &reply->letter);
}

// The connection may be gone while the handler runs.
static bool reply_copy_tls(skua_reply *reply, const skua_request *r)
{
    skua_tls_info *info = &reply->tls;
    reply->is_secure = skua_request_tls(r, info);
    if (!reply->is_secure) return true;
    slice name = info->server_name, client = info->client, protocol = info->protocol;
    slice print = { 0 };
    if (info->client_fingerprint)
        print = slice_make((const char *)info->client_fingerprint, SKUA_TLS_FINGERPRINT_OCTETS);
    info->server_name = arena_copy(&reply->memory, name);
    info->client = arena_copy(&reply->memory, client);
    info->protocol = arena_copy(&reply->memory, protocol);
    print = arena_copy(&reply->memory, print);
    info->client_fingerprint = print.len ? (const unsigned char *)print.ptr : NULL;
    return info->server_name.len == name.len && info->client.len == client.len &&
           info->protocol.len == protocol.len;
}

static void reply_free(skua_reply *reply);

static skua_reply *reply_new(skua_request *r, const blocking_route *entry, slice content)
{
    skua_reply *reply = memory_zeroed(sizeof *reply);
    if (!reply) return NULL;
    reply->task.run = reply_run;
    reply->letter.deliver = reply_deliver;
    reply->request = r;
    reply->entry = entry;
    reply->content = content;
    reply->peer = *session_peer(r->carrier->session);
    reply->peer_was_done = r->carrier->table->peer_is_done(r->carrier);
    reply->fields_tail = &reply->fields;
    block_store_init(&reply->blocks, 0);
    arena_init(&reply->memory, &reply->blocks);
    reply->decoding.memory = &reply->memory;
    if (reply_copy_tls(reply, r)) return reply;
    reply_free(reply);
    return NULL;
}

// The simulated kernel has no threads: there the handler runs at once, so that runs replay.
static skua_status reply_submit(const skua_worker *w, skua_reply *reply)
{
    if (!w->disk.inline_work) return thread_pool_submit(w->blocking->pool, &reply->task);
    reply_run(&reply->task);
    return SKUA_OK;
}

// A thread of the pool reads the request from now on, so it is held until the reply is delivered.
static void blocking_collected(skua_request *r, skua_status status, slice content, void *user)
{
    if (status || r->responding != RESPONSE_NONE) return;
    skua_worker *w = r->worker;
    skua_reply *reply = reply_new(r, user, content);
    if (reply) {
        r->reply = reply;
        r->is_followed = true;
        w->blocked_requests++;
        skua_request_hold(r);
        if (reply_submit(w, reply) == SKUA_OK) return;
        reply_take_back(reply, w);
        skua_request_drop(r);
        reply_free(reply);
    }
    request_blame(r, "too many wait for blocking_threads");
    error_respond(r, 503, false);
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
    if (b->pool) return b;
    memory_free(b);
    return NULL;
}

void blocking_free(blocking *b)
{
    if (!b) return;
    thread_pool_free(b->pool);
    while (b->routes) {
        blocking_route *entry = b->routes;
        b->routes = entry->next;
        memory_free(entry);
    }
    memory_free(b);
}

unsigned blocking_busy(const blocking *b)
{
    return thread_pool_busy(b->pool);
}

void *blocking_add(blocking *b, skua_blocking_handler *handler, void *user)
{
    blocking_route *entry = memory_alloc(sizeof *entry);
    if (!entry) return NULL;
    *entry = (blocking_route){ .next = b->routes, .handler = handler, .user = user };
    b->routes = entry;
    return entry;
}
