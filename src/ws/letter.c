// SPDX-License-Identifier: MIT
//
// Letters to a socket. Octets that are on their way or wait are bounded: a thread that sends faster than
// the worker delivers is refused here.

#include "ws/letter.h"

#ifndef SKUA_NO_WEBSOCKET

#include "base/assert.h"
#include "base/budget.h"
#include "thread/mailbox.h"
#include "ws/call.h"
#include "ws/send.h"

typedef enum ws_letter_kind {
    WS_LETTER_MESSAGE,
    WS_LETTER_CLOSE,
    WS_LETTER_REFUSED,
    WS_LETTER_CLOSING, // the program is to be told of
    WS_LETTER_VOID
} ws_letter_kind;

struct ws_letter {
    mail letter; // first
    ws_letter *next;
    ws_slot *slot;
    ws_letter_kind kind;
    ws_opcode opcode;
    uint16_t code;
    size_t len;
    union {
        size_t message_octets; // that the log counts: as they were before they were compressed
        const ws_endpoint *endpoint; // WS_LETTER_CLOSING
    };
    char octets[];
};

enum { WS_LETTER_AROUND = 64 }; // octets that a letter takes beside its message

_Static_assert(sizeof(ws_letter) <= WS_LETTER_AROUND, "a letter is counted as what it is");

static slice ws_letter_text(const ws_letter *l)
{
    return slice_make(l->octets, l->len);
}

// Counts a message of so many octets among those that have not found room. The letter counts, too: a flood of short
// messages would otherwise hold many times what it says. The longest message finds room where none waits.
// Returns: false when there is no room for it.
static bool ws_letter_reserve(ws_slot *slot, size_t len)
{
    uint64_t octets = ws_framed_octets(len) + WS_LETTER_AROUND;
    uint64_t most = atomic_load_explicit(&slot->shared.posted_max, memory_order_relaxed);
    uint64_t before = atomic_fetch_add_explicit(&slot->shared.posted, octets, memory_order_relaxed);
    if (before + octets - WS_LETTER_AROUND <= most) return true;
    atomic_fetch_sub_explicit(&slot->shared.posted, octets, memory_order_relaxed);
    return false;
}

static void ws_letter_unreserve(ws_slot *slot, size_t len)
{
    atomic_fetch_sub_explicit(&slot->shared.posted, ws_framed_octets(len) + WS_LETTER_AROUND,
                              memory_order_relaxed);
}

static void ws_letter_free(ws_letter *l)
{
    if (l->kind == WS_LETTER_MESSAGE) ws_letter_unreserve(l->slot, l->len);
    counted_free(l);
}

// ---- On the worker ----

// Its octets are room for the blocking function, which may wait for it.
static void ws_letter_done(ws_session *s, ws_letter *l)
{
    ws_letter_free(l);
    if (s && s->call) ws_call_moved(s->call);
}

static void ws_letter_wait(ws_session *s, ws_letter *l)
{
    l->next = NULL;
    if (s->waiting) s->waiting_last->next = l;
    else s->waiting = l;
    s->waiting_last = l;
    counted_adopt(&s->request->worker->memory, l);
    if (!s->outgoing.open) ws_want_room(s, ws_framed_octets(l->len));
}

// Many letters come in one turn, and nothing leaves meanwhile: so they wait for room, whatever is done for
// slow readers. Those whose letters pile up are found when a thread is refused.
// Returns: whether the letter is kept.
static bool ws_letter_message(ws_session *s, ws_letter *l)
{
    uint64_t octets = ws_framed_octets(l->len);
    if (s->state != WS_OPEN) {
        ws_count_dropped(s);
        return false;
    }
    if (!ws_is_between_messages(s) || !ws_has_room(s, octets)) {
        ws_letter_wait(s, l);
        return true;
    }
    if (ws_send(s, l->opcode, ws_letter_text(l)) == SKUA_ENOMEM)
        ws_session_close(s, WS_CODE_INTERNAL, SKUA_SLICE("out of memory"));
    return false;
}

static void ws_letter_refused(ws_session *s)
{
    atomic_store_explicit(&s->slot->shared.told, false, memory_order_relaxed);
    bool waits = s->endpoint->desc.slow == SKUA_WEBSOCKET_WAIT;
    if (s->state != WS_OPEN || !(waits || s->waiting)) return;
    ws_send_refused(s, 0);
    if (s->is_refused && !s->waiting && ws_has_room(s, 0)) {
        s->request->wanted = 0;
        ws_session_drained(s->request, s);
    }
}

static bool ws_letter_carry_out(ws_session *s, ws_letter *l)
{
    switch (l->kind) {
    case WS_LETTER_MESSAGE: return ws_letter_message(s, l);
    case WS_LETTER_REFUSED: ws_letter_refused(s); return false;
    case WS_LETTER_CLOSE:
        if (s->state == WS_OPEN) ws_session_close(s, l->code, ws_letter_text(l));
        return false;
    case WS_LETTER_CLOSING:
    case WS_LETTER_VOID: return false;
    }
    return false;
}

// To a socket with or without a session.
static bool ws_letter_is_told(const ws_slot *slot, const ws_letter *l)
{
    const skua_websocket_desc *desc = &l->endpoint->desc;
    bool is_open = slot->session || slot->parked;
    if (is_open) desc->closing(ws_slot_handle(slot), l->code, ws_letter_text(l), desc->user);
    return true;
}

// Returns: whether it has been dealt with, and the socket needs no session for it.
static bool ws_letter_needs_no_session(ws_slot *slot, const ws_letter *l)
{
    if (l->kind == WS_LETTER_VOID) return true;
    if (l->kind == WS_LETTER_CLOSING) return ws_letter_is_told(slot, l);
    if (!slot->parked) return false;
    const parking_table *parks = slot->worker->parks;
    switch (l->kind) {
    case WS_LETTER_MESSAGE: return parks->deliver(slot, (int)l->opcode, ws_letter_text(l));
    case WS_LETTER_REFUSED: return false;
    case WS_LETTER_CLOSE: return parks->close(slot, l->code, ws_letter_text(l));
    case WS_LETTER_CLOSING:
    case WS_LETTER_VOID: break;
    }
    return false;
}

static void ws_letter_deliver(mail *letter, void *reader)
{
    (void)reader;
    ws_letter *l = (ws_letter *)(void *)letter;
    ws_slot *slot = l->slot;
    bool kept = false;
    ws_session *s = ws_letter_needs_no_session(slot, l) ? NULL : ws_slot_awake(slot);
    if (s) {
        ws_session_enter(s);
        kept = ws_letter_carry_out(s, l);
        ws_session_leave(s);
    }
    if (!kept) ws_letter_done(slot->session, l);
    ws_slot_unpin(slot);
}

static void ws_letter_fail(ws_session *s)
{
    ws_letters_drop(s);
    if (s->state == WS_OPEN) ws_session_close(s, WS_CODE_INTERNAL, SKUA_SLICE("out of memory"));
}

bool ws_letters_flush(ws_session *s)
{
    if (s->outgoing.open) return true; // they wait for its end
    while (s->waiting && ws_has_room(s, ws_framed_octets(s->waiting->len))) {
        ws_letter *l = s->waiting;
        if (ws_send_message(s, l->opcode, ws_letter_text(l))) {
            ws_letter_fail(s);
            return true;
        }
        s->messages_out++;
        s->octets_out += l->message_octets;
        s->waiting = l->next;
        ws_letter_done(s, l);
    }
    if (!s->waiting) return true;
    ws_want_room(s, ws_framed_octets(s->waiting->len));
    return false;
}

void ws_letters_drop(ws_session *s)
{
    while (s->waiting) {
        ws_letter *l = s->waiting;
        s->waiting = l->next;
        ws_count_dropped(s);
        ws_letter_done(s, l);
    }
}

// ---- On any thread ----

static skua_status ws_letter_post(ws_slot *slot, uint64_t word, ws_letter *l)
{
    l->letter.deliver = ws_letter_deliver;
    l->slot = slot;
    skua_status status = ws_slot_pin(slot, word, l->kind == WS_LETTER_CLOSE);
    if (status) ws_letter_free(l);
    else worker_post(slot->worker, &l->letter);
    return status;
}

static ws_letter *ws_letter_new(ws_letter_kind kind, slice octets)
{
    ws_letter *l = counted_alloc(NULL, sizeof *l + octets.len);
    if (!l) return NULL;
    *l = (ws_letter){ .kind = kind, .len = octets.len, .message_octets = octets.len };
    if (octets.len) memcpy(l->octets, octets.ptr, octets.len);
    return l;
}

// One letter at a time tells the worker, however often a thread tries. Who is faster than the worker is not
// taken for a slow reader.
static skua_status ws_letter_refuse(ws_slot *slot, uint64_t word)
{
    int slow = atomic_load_explicit(&slot->shared.slow, memory_order_relaxed);
    if (slow == SKUA_WEBSOCKET_DROP) {
        atomic_fetch_add_explicit(&slot->shared.dropped, 1, memory_order_relaxed);
        return SKUA_OK;
    }
    if (!atomic_exchange_explicit(&slot->shared.told, true, memory_order_relaxed)) {
        ws_letter *l = ws_letter_new(WS_LETTER_REFUSED, (slice){ 0 });
        if (!l || ws_letter_post(slot, word, l))
            atomic_store_explicit(&slot->shared.told, false, memory_order_relaxed);
    }
    return SKUA_ELIMIT;
}

skua_status ws_letter_try(ws_slot *slot, uint64_t word, ws_opcode opcode, slice octets)
{
    uint64_t longest = atomic_load_explicit(&slot->shared.queued_max, memory_order_relaxed);
    if (ws_framed_octets(octets.len) > longest) return SKUA_EINVAL;
    if (!ws_letter_reserve(slot, octets.len)) return SKUA_ELIMIT;
    ws_letter *l = ws_letter_new(WS_LETTER_MESSAGE, octets);
    if (!l) {
        ws_letter_unreserve(slot, octets.len);
        return SKUA_ENOMEM;
    }
    l->opcode = opcode;
    return ws_letter_post(slot, word, l);
}

ws_letter *ws_letter_tell_closing(ws_slot *slot, uint64_t word, const ws_endpoint *endpoint,
                                  uint16_t code, slice reason)
{
    ws_letter *l = ws_letter_new(WS_LETTER_CLOSING, ws_close_reason(reason));
    if (!l) return NULL;
    l->code = code;
    l->endpoint = endpoint;
    return ws_letter_post(slot, word, l) ? NULL : l;
}

void ws_letter_void(ws_letter *l)
{
    SKUA_ASSERT(l->kind == WS_LETTER_CLOSING);
    l->kind = WS_LETTER_VOID;
}

void ws_letter_keep(ws_session *s, const ws_shared *shared)
{
    slice payload = shared->payload;
    bool fits = ws_framed_octets(payload.len) <= s->queued_max;
    if (!fits || !ws_letter_reserve(s->slot, payload.len)) {
        ws_session_close_slow(s);
        return;
    }
    ws_letter *l = ws_letter_new(WS_LETTER_MESSAGE, payload);
    if (!l) {
        ws_letter_unreserve(s->slot, payload.len);
        ws_session_close(s, WS_CODE_INTERNAL, SKUA_SLICE("out of memory"));
        return;
    }
    l->slot = s->slot;
    l->opcode = shared->opcode;
    l->message_octets = shared->message.len;
    ws_letter_wait(s, l);
}

skua_status ws_letter_send(ws_slot *slot, uint64_t word, ws_opcode opcode, uint16_t code,
                           slice octets)
{
    if (registry_word(&slot->slot) != word) return SKUA_ECLOSED;
    if (opcode != WS_CLOSE) {
        skua_status status = ws_letter_try(slot, word, opcode, octets);
        return status == SKUA_ELIMIT ? ws_letter_refuse(slot, word) : status;
    }
    ws_letter *l = ws_letter_new(WS_LETTER_CLOSE, ws_close_reason(octets));
    if (!l) return SKUA_ENOMEM;
    l->code = code;
    return ws_letter_post(slot, word, l);
}

#endif
