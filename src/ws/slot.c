// SPDX-License-Identifier: MIT
//
// Slots of sockets. The state has both the word and the number of letters, so that one
// compare-exchange finds the socket open and keeps its slot.
// Invariant: a closed slot with letters under way is one of the worker's orphans, and is free for
// another socket when the last of them has been delivered.

#include "ws/slot.h"

#ifndef SKUA_NO_WEBSOCKET

#include "base/assert.h"
#include "thread/here.h"

enum { WS_LETTER_BITS = 22 }; // the highest of them: the socket closes

static const uint64_t ws_closing = UINT64_C(1) << (WS_LETTER_BITS - 1);
static const uint64_t ws_letters_max = (UINT64_C(1) << (WS_LETTER_BITS - 1)) - 1;

static registry ws_registry = REGISTRY_OF(ws_slot);

static ws_slot *ws_slot_of(registry_slot *slot)
{
    return (ws_slot *)(void *)slot;
}

skua_status ws_slot_take(skua_worker *w, ws_slot **slot)
{
    registry_slot *taken;
    skua_status status = registry_take(&ws_registry, &w->free_sockets, &taken);
    if (status) return status;
    *slot = ws_slot_of(taken);
    (*slot)->worker = w;
    return SKUA_OK;
}

void ws_slot_put(skua_worker *w, ws_slot *slot)
{
    registry_put(&w->free_sockets, &slot->slot);
}

// posted is never set: what a thread adds to it in vain, it takes off again, perhaps only when the
// slot has another socket.
skua_socket ws_slot_open(ws_slot *slot, ws_session *session)
{
    slot->session = session;
    slot->object = NULL;
    atomic_store_explicit(&slot->shared.home, slot->worker->disk.thread, memory_order_relaxed);
    atomic_store_explicit(&slot->shared.dropped, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->shared.told, false, memory_order_relaxed);
    uint64_t handle = registry_open(&slot->slot);
    uint64_t state = registry_word(&slot->slot) << WS_LETTER_BITS;
    atomic_store_explicit(&slot->shared.state, state, memory_order_release);
    return (skua_socket){ handle };
}

static void ws_slot_free(ws_slot *slot)
{
    registry_advance(&slot->slot);
    ws_slot_put(slot->worker, slot);
}

void ws_slot_close(ws_slot *slot)
{
    slot->session = NULL;
    uint64_t before = atomic_fetch_add_explicit(&slot->shared.state, UINT64_C(1) << WS_LETTER_BITS,
                                                memory_order_acq_rel);
    SKUA_ASSERT(!(before >> WS_LETTER_BITS & 1));
    if (before & ws_letters_max) slot->worker->orphans++;
    else ws_slot_free(slot);
}

ws_slot *ws_slot_find(skua_socket socket, uint64_t *word)
{
    registry_slot *slot = registry_look_up(&ws_registry, socket.value, word);
    return slot ? ws_slot_of(slot) : NULL;
}

bool ws_slot_is_here(const ws_slot *slot)
{
    return atomic_load_explicit(&slot->shared.home, memory_order_relaxed) == thread_here();
}

skua_socket ws_slot_handle(const ws_slot *slot)
{
    return (skua_socket){ registry_handle(&slot->slot) };
}

__attribute__((noinline)) static ws_session *ws_slot_unpark(const ws_slot *slot)
{
    skua_worker *w = slot->worker;
    if (w->woken_ns != w->loop.now_ns) w->woken = 0;
    w->woken_ns = w->loop.now_ns;
    w->woken++;
    if (!slot->parked || !slot->worker->parks->unpark_to_use(slot->parked)) return NULL;
    return slot->session;
}

ws_session *ws_slot_awake(const ws_slot *slot)
{
    return slot->session ? slot->session : ws_slot_unpark(slot);
}

// The word in the registry stays until the last letter has been delivered; that in the state does not.
static bool ws_slot_has_closed(const ws_slot *slot, uint64_t word)
{
    return atomic_load_explicit(&slot->shared.state, memory_order_relaxed) >> WS_LETTER_BITS !=
           word;
}

ws_slot *ws_slot_here(skua_socket socket, const char *function)
{
    uint64_t word;
    ws_slot *slot = ws_slot_find(socket, &word);
    if (!slot || registry_word(&slot->slot) != word || ws_slot_has_closed(slot, word)) return NULL;
    home_expect(slot->worker, function);
    return slot;
}

ws_session *ws_slot_session_here(skua_socket socket, const char *function)
{
    const ws_slot *slot = ws_slot_here(socket, function);
    return slot ? ws_slot_awake(slot) : NULL;
}

skua_status ws_slot_pin(ws_slot *slot, uint64_t word, bool last)
{
    uint64_t state = atomic_load_explicit(&slot->shared.state, memory_order_relaxed), next;
    do {
        if (state >> WS_LETTER_BITS != word || state & ws_closing) return SKUA_ECLOSED;
        if ((state & ws_letters_max) == ws_letters_max) return SKUA_ELIMIT;
        next = (state + 1) | (last ? ws_closing : 0);
    } while (!atomic_compare_exchange_weak_explicit(&slot->shared.state, &state, next,
                                                    memory_order_acq_rel, memory_order_relaxed));
    return SKUA_OK;
}

bool ws_slot_is_closing(const ws_slot *slot, uint64_t word)
{
    uint64_t state = atomic_load_explicit(&slot->shared.state, memory_order_relaxed);
    return state >> WS_LETTER_BITS != word || state & ws_closing;
}

void ws_slot_shut(ws_slot *slot)
{
    atomic_fetch_or_explicit(&slot->shared.state, ws_closing, memory_order_relaxed);
}

void ws_slot_unpin(ws_slot *slot)
{
    uint64_t before = atomic_fetch_sub_explicit(&slot->shared.state, 1, memory_order_acq_rel);
    SKUA_ASSERT(before & ws_letters_max);
    bool closed = before >> WS_LETTER_BITS & 1;
    if (!closed || (before & ws_letters_max) > 1) return;
    SKUA_ASSERT(slot->worker->orphans > 0);
    slot->worker->orphans--;
    ws_slot_free(slot);
}

void ws_slot_give_back(skua_worker *w)
{
    registry_give_back(&ws_registry, &w->free_sockets);
}

#endif
