// SPDX-License-Identifier: MIT
//
// Blocking functions of sockets. The worker reads and writes; the function waits on a condition, for messages
// in its inbox or for room among the letters. What it is ahead of, or behind, is bounded both ways.

#include "ws/call.h"

#ifndef SKUA_NO_WEBSOCKET

#include "base/assert.h"
#include "base/budget.h"
#include "base/memory.h"
#include "exchange/blocking.h"
#include "exchange/worker.h"
#include "thread/timed_wait.h"

enum { WS_INBOX_OCTETS = 65536 }; // nothing is read above it

typedef struct ws_parcel {
    struct ws_parcel *next;
    size_t len;
    bool text;
    char octets[];
} ws_parcel;

struct ws_call {
    const ws_endpoint *endpoint;
    skua_worker *worker;
    skua_socket socket;
    const ws_call_hooks *hooks;
    ws_session *session; // the worker's; NULL: it closes
    mail room, returned; // letters to the worker
    ws_parcel *taken;    // the function's
    struct {
        pthread_mutex_t lock; // of what follows
        pthread_cond_t moved;
        ws_parcel *inbox, **inbox_tail;
        size_t inbox_octets;
        bool is_paused; // the worker is to be told when there is room in the inbox
        bool is_told;   // the letter about that is under way
        bool is_closed;
        unsigned code;
        size_t reason_len;
        char reason[WS_CONTROL_OCTETS_MAX];
    } shared;
};

static _Thread_local ws_call *ws_call_visiting;

// ---- Messages ----

// They are made on the worker and freed on the other thread, so no lease counts them.
static ws_parcel *ws_parcel_new(ws_call *call, slice message, bool text)
{
    ws_parcel *parcel = memory_alloc(sizeof *parcel + message.len);
    if (!parcel) return NULL;
    *parcel = (ws_parcel){ .len = message.len, .text = text };
    if (message.len) memcpy(parcel->octets, message.ptr, message.len);
    budget_add(call->worker->memory.of, sizeof *parcel + message.len);
    return parcel;
}

static void ws_parcel_free(ws_call *call, ws_parcel *parcel)
{
    if (!parcel) return;
    budget_drop(call->worker->memory.of, sizeof *parcel + parcel->len);
    memory_free(parcel);
}

// ---- On the worker ----

bool ws_call_reserve(skua_worker *w)
{
    // the simulated kernel has no threads, and a function that waits would wait for ever
    return !w->disk.inline_work && blocking_take_socket(w->blocking);
}

void ws_call_release(skua_worker *w)
{
    blocking_give_socket(w->blocking);
}

static void ws_call_free(ws_call *call)
{
    ws_parcel_free(call, call->taken);
    while (call->shared.inbox) {
        ws_parcel *parcel = call->shared.inbox;
        call->shared.inbox = parcel->next;
        ws_parcel_free(call, parcel);
    }
    pthread_cond_destroy(&call->shared.moved);
    pthread_mutex_destroy(&call->shared.lock);
    memory_free(call);
}

static void ws_call_has_room(mail *letter, void *reader)
{
    (void)reader;
    ws_call *call = (ws_call *)(void *)((char *)letter - offsetof(ws_call, room));
    pthread_mutex_lock(&call->shared.lock);
    call->shared.is_told = false;
    pthread_mutex_unlock(&call->shared.lock);
    if (call->session) call->hooks->has_room(call->session);
}

// It comes behind the letters that the function has caused.
static void ws_call_has_returned(mail *letter, void *reader)
{
    (void)reader;
    ws_call *call = (ws_call *)(void *)((char *)letter - offsetof(ws_call, returned));
    ws_call_release(call->worker);
    if (call->session) call->hooks->has_returned(call->session);
    SKUA_ASSERT(!call->session); // it has been closed
    ws_call_free(call);
}

static void ws_call_run(skua_request *r, void *user)
{
    ws_call *call = user;
    const skua_websocket_desc *desc = &call->endpoint->desc;
    ws_call_visiting = call;
    desc->blocking(call->socket, r, desc->user);
    ws_call_visiting = NULL;
}

static ws_call *ws_call_new(const ws_endpoint *endpoint, skua_worker *w)
{
    ws_call *call = memory_zeroed(sizeof *call);
    if (!call) return NULL;
    call->endpoint = endpoint;
    call->worker = w;
    call->room.deliver = ws_call_has_room;
    call->returned.deliver = ws_call_has_returned;
    call->shared.inbox_tail = &call->shared.inbox;
    if (!timed_wait_init(&call->shared.moved)) {
        memory_free(call);
        return NULL;
    }
    pthread_mutex_init(&call->shared.lock, NULL);
    return call;
}

ws_call *ws_call_begin(skua_request *r, skua_socket socket, const ws_endpoint *endpoint,
                       const ws_call_hooks *hooks, ws_session *s)
{
    ws_call *call = ws_call_new(endpoint, r->worker);
    if (call) {
        call->socket = socket;
        call->hooks = hooks;
        call->session = s;
    }
    if (call && !blocking_begin_socket(r, ws_call_run, call, &call->returned)) return call;
    if (call) ws_call_free(call);
    ws_call_release(r->worker);
    return NULL;
}

bool ws_call_deliver(ws_call *call, slice message, bool text)
{
    ws_parcel *parcel = ws_parcel_new(call, message, text);
    if (!parcel) return false;
    pthread_mutex_lock(&call->shared.lock);
    *call->shared.inbox_tail = parcel;
    call->shared.inbox_tail = &parcel->next;
    call->shared.inbox_octets += sizeof *parcel + message.len;
    pthread_cond_signal(&call->shared.moved);
    pthread_mutex_unlock(&call->shared.lock);
    return true;
}

bool ws_call_is_full(ws_call *call)
{
    pthread_mutex_lock(&call->shared.lock);
    bool full = call->shared.inbox_octets >= WS_INBOX_OCTETS;
    call->shared.is_paused = full;
    pthread_mutex_unlock(&call->shared.lock);
    return full;
}

void ws_call_moved(ws_call *call)
{
    pthread_mutex_lock(&call->shared.lock);
    pthread_cond_signal(&call->shared.moved);
    pthread_mutex_unlock(&call->shared.lock);
}

void ws_call_end(ws_call *call, unsigned code, slice reason)
{
    SKUA_ASSERT(reason.len <= sizeof call->shared.reason);
    call->session = NULL;
    pthread_mutex_lock(&call->shared.lock);
    call->shared.is_closed = true;
    call->shared.code = code;
    call->shared.reason_len = reason.len;
    if (reason.len) memcpy(call->shared.reason, reason.ptr, reason.len);
    pthread_cond_signal(&call->shared.moved);
    pthread_mutex_unlock(&call->shared.lock);
}

// ---- On its own thread ----

ws_call *ws_call_here(skua_socket socket)
{
    ws_call *call = ws_call_visiting;
    return call && call->socket.value == socket.value ? call : NULL;
}

static const int64_t ws_call_look_ns = 50000000;

// The lock is the one that the worker takes to tell of room, so that is not missed. It is looked for now and then
// all the same: what another thread adds to the letters' octets in vain makes no letter that could tell.
static skua_status ws_call_send_locked(ws_call *call, ws_call_try *attempt, ws_slot *slot,
                                       uint64_t word, ws_opcode opcode, slice message)
{
    for (;;) {
        if (call->shared.is_closed) return SKUA_ECLOSED;
        skua_status status = attempt(slot, word, opcode, message);
        if (status != SKUA_ELIMIT) return status;
        (void)timed_wait_ns(&call->shared.moved, &call->shared.lock, ws_call_look_ns);
    }
}

skua_status ws_call_send(ws_call *call, ws_call_try *attempt, ws_slot *slot, uint64_t word,
                         ws_opcode opcode, slice message)
{
    pthread_mutex_lock(&call->shared.lock);
    skua_status status = ws_call_send_locked(call, attempt, slot, word, opcode, message);
    pthread_mutex_unlock(&call->shared.lock);
    return status;
}

// Whether the socket has begun to close, which the worker is about to tell, with the code: so that a function which could
// not send learns why at once.
static bool ws_call_is_closing(const ws_call *call)
{
    uint64_t word;
    const ws_slot *slot = ws_slot_find(call->socket, &word);
    return !slot || ws_slot_is_closing(slot, word);
}

// Whether there is something to tell; else it is late.
static bool ws_call_wait(ws_call *call, int64_t timeout_ns)
{
    if (timeout_ns > INT64_MAX / 2) timeout_ns = -1; // for ever, and can be added to a time
    int64_t until = timeout_ns < 0 ? 0 : io_clock_ns() + timeout_ns;
    while (!call->shared.inbox && !call->shared.is_closed) {
        if (timeout_ns < 0 || ws_call_is_closing(call)) {
            pthread_cond_wait(&call->shared.moved, &call->shared.lock);
            continue;
        }
        int64_t left = until - io_clock_ns();
        if (left <= 0) return false;
        (void)timed_wait_ns(&call->shared.moved, &call->shared.lock, left);
    }
    return true;
}

static void ws_call_take(ws_call *call)
{
    ws_parcel *parcel = call->shared.inbox;
    call->shared.inbox = parcel->next;
    if (!parcel->next) call->shared.inbox_tail = &call->shared.inbox;
    call->shared.inbox_octets -= sizeof *parcel + parcel->len;
    call->taken = parcel;
    bool tells = call->shared.is_paused && !call->shared.is_told &&
                 call->shared.inbox_octets <= WS_INBOX_OCTETS / 2;
    if (!tells) return;
    call->shared.is_told = true;
    call->shared.is_paused = false;
    worker_post(call->worker, &call->room);
}

skua_status ws_call_receive(ws_call *call, int64_t timeout_ns, skua_message *message)
{
    ws_parcel_free(call, call->taken);
    call->taken = NULL;
    skua_status status = SKUA_OK;
    pthread_mutex_lock(&call->shared.lock);
    if (!ws_call_wait(call, timeout_ns)) {
        status = SKUA_ENOENT;
    } else if (call->shared.inbox) {
        ws_call_take(call);
        slice octets = slice_make(call->taken->octets, call->taken->len);
        *message = (skua_message){ .octets = octets, .text = call->taken->text };
    } else {
        slice reason = slice_make(call->shared.reason, call->shared.reason_len);
        *message = (skua_message){ .octets = reason, .code = call->shared.code };
        status = SKUA_ECLOSED;
    }
    pthread_mutex_unlock(&call->shared.lock);
    return status;
}

#endif
