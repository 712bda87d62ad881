// SPDX-License-Identifier: MIT
//
// A WebSocket's life. Callbacks may send, close, and ask for the request; so nothing is taken to be
// as it was when one has returned. The memory is not the request's, which would take a block for it.

#include "ws/session.h"

#ifndef SKUA_NO_WEBSOCKET

#include "base/assert.h"
#include "base/budget.h"
#include "base/inline.h"
#include "exchange/carrier.h"
#include "exchange/content.h"
#include "exchange/push.h"
#include "exchange/session.h"
#include "exchange/worker.h"
#include "ws/call.h"
#include "ws/compressed.h"
#include "ws/letter.h"
#include "ws/piece.h"
#include "ws/send.h"

#include <stdio.h>

enum {
    WS_TRUSTED_OCTETS = 4096, // what a frame's head promises is allocated at once up to this
    WS_LOOKS_MAX = 100,       // for what is to be read, before it is not waited for any more
    WS_LOG_OCTETS = 200
};

// Rates are judged so often, and idle sockets looked for.
static const int64_t ws_second_ns = 1000000000;

static const int64_t ws_look_again_ns = 10000000;

_Thread_local ws_told ws_told_now;

static int64_t ws_now_ns(const ws_session *s)
{
    return s->request->worker->loop.now_ns;
}

// ---- The worker's list ----

static void ws_link(ws_session *s)
{
    skua_worker *w = s->request->worker;
    s->next = w->sockets;
    if (s->next) s->next->previous = s;
    w->sockets = s;
    worker_look_for_rest(w);
}

static void ws_unlink(ws_session *s)
{
    if (s->next) s->next->previous = s->previous;
    if (s->previous) s->previous->next = s->next;
    else s->slot->worker->sockets = s->next;
}

static void ws_disarm(ws_session *s)
{
    io_alarm_unset(&s->slot->worker->loop.alarms, &s->alarm);
}

// ---- The end ----

// The access log's line of the request has it as its reason; the octets and the time are there
// anyhow.
static void ws_log(ws_session *s, unsigned code)
{
    skua_request *r = s->request;
    char *text = r->worker->lane ? arena_alloc(&r->memory, WS_LOG_OCTETS) : NULL;
    if (!text) return;
    (void)snprintf(
        text, WS_LOG_OCTETS,
        "websocket %u, messages in %llu (%llu octets), out %llu (%llu octets), dropped %llu", code,
        (unsigned long long)s->messages_in, (unsigned long long)s->octets_in,
        (unsigned long long)s->messages_out, (unsigned long long)s->octets_out,
        (unsigned long long)atomic_load(&s->slot->shared.dropped));
    request_blame(r, text);
}

// The blocking function is told, once.
static void ws_end_call(ws_session *s, unsigned code, slice reason)
{
    if (s->call) ws_call_end(s->call, code, ws_close_reason(reason));
    s->call = NULL;
}

// The program is told, once, and the handle is refused from then on. Nothing is read or sent any more.
// A message that the program is being told of stays until it has returned.
__attribute__((cold)) static void ws_end(ws_session *s, unsigned code, slice reason)
{
    const skua_websocket_desc *desc = &s->endpoint->desc;
    if (s->state == WS_CLOSED) return;
    SKUA_ASSERT(s->inside > 0);
    s->state = WS_CLOSED;
    s->request->reader = NULL;
    s->request->drained = NULL;
    ws_disarm(s);
    ws_unlink(s);
    ws_letters_drop(s);
    if (desc->receive) skua_content_consume(s->request, s->request->unconsumed);
    ws_end_call(s, code, reason);
    ws_log(s, code);
    if (desc->close) desc->close(s->socket, code, reason, desc->user);
    ws_slot_close(s->slot);
}

// Our half is closed when the queue has left. Nothing that the peer still sends is of interest.
static void ws_finish(ws_session *s)
{
    (void)tunnel_finish(s->request);
}

// Returns: whether the close could be queued.
static bool ws_send_close(ws_session *s, uint16_t code, slice reason)
{
    char payload[WS_CONTROL_OCTETS_MAX];
    size_t len = ws_close_write(payload, code, reason);
    s->close_is_queued = true;
    return ws_send_frame(s, WS_CLOSE, slice_make(payload, len)) == SKUA_OK;
}

__attribute__((cold)) void ws_fail(ws_session *s, uint16_t code, const char *reason)
{
    slice text = slice_of(reason);
    if (!s->close_is_queued) (void)ws_send_close(s, code, text);
    ws_end(s, code, text);
    ws_finish(s);
}

// The last to leave does what could not be done while others were inside.
__attribute__((cold)) void ws_session_leave_rarely(ws_session *s)
{
    if (s->inside == 1 && s->is_broken && s->state != WS_CLOSED)
        ws_fail(s, WS_CODE_INTERNAL, "out of memory");
    if (--s->inside || s->state != WS_CLOSED) return;
    counted_free(s->held);
    ws_message_drop(s->message);
    ws_deflate_free(s->deflate);
    counted_free_lined(s);
}

// ---- When something is due ----

// Octets that the carrier has let go of.
static uint64_t ws_left_octets(const ws_session *s)
{
    const skua_request *r = s->request;
    return r->sent_octets - r->carrier->table->unsent(r);
}

// Whether our close waits behind what was sent before.
static bool ws_close_is_leaving(const ws_session *s)
{
    return s->state == WS_CLOSING && s->close_by_ns == INT64_MAX;
}

static int64_t ws_window_ns(const ws_session *s)
{
    return worker_config(s->request->worker)->rate_window_ns;
}

static int64_t ws_earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t ws_ping_at(const skua_websocket_desc *desc, int64_t heard_ns, int64_t pinged_ns)
{
    return (heard_ns > pinged_ns ? heard_ns : pinged_ns) + desc->ping_ns;
}

int64_t ws_due_ns(const skua_websocket_desc *desc, int64_t heard_ns, int64_t pinged_ns,
                  int64_t ends_ns)
{
    int64_t due = ends_ns;
    if (desc->idle_timeout_ns > 0) due = ws_earlier(due, heard_ns + desc->idle_timeout_ns);
    if (desc->ping_ns > 0) due = ws_earlier(due, ws_ping_at(desc, heard_ns, pinged_ns));
    return due;
}

// Whether a message that has begun to come holds memory.
static bool ws_holds_message(const ws_session *s)
{
    return s->message || (s->deflate && ws_holds_piece(s));
}

static uint64_t ws_message_octets(const ws_session *s)
{
    return s->message ? s->message->len : ws_deflate_octets(s->deflate);
}

int64_t ws_session_due_ns(const ws_session *s)
{
    if (s->owes_closing) return ws_now_ns(s);
    if (s->state == WS_CLOSING) return ws_earlier(s->close_by_ns, s->window_ns + ws_window_ns(s));
    int64_t due = ws_due_ns(&s->endpoint->desc, s->heard_ns, s->pinged_ns, s->ends_ns);
    return ws_holds_message(s) ? ws_earlier(due, s->window_ns + ws_window_ns(s)) : due;
}

// ---- The alarm ----

static void ws_alarm_fired(io_alarm *alarm, void *user)
{
    (void)user;
    ws_session_look((ws_session *)(void *)((char *)alarm - offsetof(ws_session, alarm)));
}

static void ws_arm_at(ws_session *s, int64_t due)
{
    io_alarms *alarms = &s->request->worker->loop.alarms;
    io_alarm_unset(alarms, &s->alarm);
    s->armed_ns = due;
    s->alarm.fired = ws_alarm_fired;
    if (due != INT64_MAX && io_alarm_set(alarms, &s->alarm, due)) s->is_broken = true;
}

void ws_session_arm(ws_session *s)
{
    ws_arm_at(s, ws_session_due_ns(s));
}

// ---- A peer that is late ----

static const char ws_slow_message[] = "a message that comes too slowly";

// A close that the peer has not answered, or one to a peer that has gone, is not waited for.
static void ws_give_up(ws_session *s, const char *reason)
{
    if (s->state == WS_CLOSING && !s->close_is_queued) // behind messages that are given up too
        (void)ws_send_close(s, s->close_code, s->close_reason);
    else if (!s->close_is_queued) (void)ws_send_close(s, WS_CODE_GOING_AWAY, slice_of(reason));
    ws_end(s, WS_CODE_ABNORMAL, slice_of(reason));
    ws_finish(s);
}

// Whether less has moved in a window than the minimum rate asks for, of what is so much by now.
static bool ws_moves_slowly(ws_session *s, int64_t now, uint64_t moved)
{
    int64_t window = ws_window_ns(s);
    if (now - s->window_ns < window) return false;
    if (moved - s->window_len < session_owed(s->request->worker, window)) return true;
    s->window_ns = now;
    s->window_len = moved;
    return false;
}

// Returns: in which way the peer is late by now; NULL: in none. A peer that does not take what it was sent is judged here from
// our close on; before, the carrier judges it.
static const char *ws_lapse_at(ws_session *s, int64_t now)
{
    const skua_websocket_desc *desc = &s->endpoint->desc;
    if (s->state == WS_CLOSING && now >= s->close_by_ns) return "the close was not answered";
    if (ws_close_is_leaving(s) && ws_moves_slowly(s, now, ws_left_octets(s)))
        return "too slow to take what was sent";
    if (s->state != WS_OPEN) return NULL;
    // its memory would be held for as long as the client likes
    if (ws_holds_message(s) && ws_moves_slowly(s, now, ws_message_octets(s)))
        return ws_slow_message;
    bool is_silent = desc->idle_timeout_ns > 0 && now - s->heard_ns >= desc->idle_timeout_ns;
    return is_silent ? "silent for too long" : NULL;
}

static void ws_end_for(ws_session *s, const char *lapse)
{
    if (lapse == ws_slow_message) ws_fail(s, WS_CODE_POLICY, lapse);
    else ws_give_up(s, lapse);
}

// Input may be just what was waited for. It is read in one of the next turns.
static bool ws_reads_first(ws_session *s, int64_t now)
{
    const skua_request *r = s->request;
    if (s->looks == WS_LOOKS_MAX) return false;
    if (!io_has_input(&r->worker->loop, r->carrier->session->link.stream)) return false;
    s->looks++;
    ws_arm_at(s, now + ws_look_again_ns);
    return true;
}

// Nothing is heard of a client that is not read; and one that was not pinged when it was due had no cause to say
// anything since.
static void ws_excuse(ws_session *s, int64_t now)
{
    const skua_websocket_desc *desc = &s->endpoint->desc;
    bool is_read = !s->request->paused && !content_is_blocked(s->request);
    bool was_asked = desc->ping_ns <= 0 || s->pinged_ns > s->heard_ns;
    if (!is_read) s->heard_ns = now;
    else if (!was_asked && now - s->heard_ns > desc->ping_ns) s->heard_ns = now - desc->ping_ns;
    if (!is_read && s->state == WS_OPEN) s->window_ns = now;
}

// ---- The look ----

// Tells the program that this side closes the socket: by the alarm, and so never inside its own call that does.
static void ws_tell_closing(ws_session *s)
{
    const skua_websocket_desc *desc = &s->endpoint->desc;
    s->owes_closing = false;
    desc->closing(s->socket, s->close_code, s->close_reason, desc->user);
}

static void ws_look(ws_session *s, int64_t now)
{
    const skua_websocket_desc *desc = &s->endpoint->desc;
    if (s->owes_closing) ws_tell_closing(s);
    if (s->state == WS_CLOSED) return;
    ws_excuse(s, now);
    const char *lapse = ws_lapse_at(s, now);
    if (lapse) {
        if (!ws_reads_first(s, now)) ws_end_for(s, lapse);
        return;
    }
    s->looks = 0;
    if (s->state == WS_OPEN && now >= s->ends_ns) {
        ws_session_close(s, WS_CODE_GOING_AWAY, SKUA_SLICE("open for as long as it may be"));
        return;
    }
    if (s->state == WS_OPEN && desc->ping_ns > 0 &&
        now >= ws_ping_at(desc, s->heard_ns, s->pinged_ns)) {
        s->pinged_ns = now;
        if (ws_has_room(s, 0)) (void)ws_send_frame(s, WS_PING, (slice){ 0 });
    }
    ws_session_arm(s);
}

void ws_session_look(ws_session *s)
{
    ws_session_enter(s);
    ws_look(s, ws_now_ns(s));
    ws_session_leave(s);
}

void ws_session_look_last(ws_session *s)
{
    s->looks = WS_LOOKS_MAX;
    ws_session_look(s);
}

// ---- Closing ----

// By a turn of the carrier's, so that the program is told of no message inside its own call.
static void ws_resume_soon(ws_session *s)
{
    if (!s->request->paused || s->state != WS_OPEN) return;
    ws_want_room(s, 0);
    s->request->carrier->table->kick(s->request->carrier);
}

// Octets that were inflated are not the request's, which have been given back as they were read.
void ws_session_consume(ws_session *s, size_t n)
{
    bool held_up = ws_owes_much(s);
    s->owed -= n;
    if (!s->deflate) skua_content_consume(s->request, n);
    else if (held_up && !ws_owes_much(s)) ws_resume_soon(s);
}

static void ws_close_soon(ws_session *s)
{
    s->close_by_ns = ws_now_ns(s) + s->endpoint->desc.close_timeout_ns;
    ws_session_arm(s);
}

// The peer answers when it has read everything before. A close that cannot be sent, or has left already, is not
// waited for.
static void ws_queue_close(ws_session *s)
{
    if (!ws_send_close(s, s->close_code, s->close_reason) || ws_is_idle(s)) ws_close_soon(s);
    else ws_want_all(s);
}

void ws_session_close(ws_session *s, uint16_t code, slice reason)
{
    SKUA_ASSERT(s->state == WS_OPEN);
    ws_slot_shut(s->slot);
    s->state = WS_CLOSING;
    s->is_refused = false;
    s->close_by_ns = INT64_MAX;
    s->close_code = code;
    s->close_reason = reason;
    s->window_ns = ws_now_ns(s);
    s->window_len = ws_left_octets(s);
    ws_end_call(s, code, reason);
    if (s->outgoing.open) ws_letters_drop(s); // it will not be ended, and they wait behind it
    s->outgoing.open = false;
    ws_session_consume(s, s->owed); // nobody will, and the peer's close is to be read
    s->owes_closing = s->endpoint->desc.closing;
    if (s->waiting || s->owes_closing)
        s->close_reason = arena_copy(&s->request->memory, ws_close_reason(reason));
    if (!s->waiting) ws_queue_close(s);
    if (s->request->paused) s->request->wanted = 1; // the peer's close is to be read
    ws_session_arm(s);
}

void ws_session_close_slow(ws_session *s)
{
    ws_session_close(s, WS_CODE_POLICY, SKUA_SLICE("too slow"));
    ws_close_soon(s);
}

// Ours is answered by it, or it is answered by one with the same code.
static void ws_on_peer_close(ws_session *s)
{
    slice reason = s->reader.reason;
    if (!s->close_is_queued) (void)ws_send_close(s, s->reader.code, (slice){ 0 });
    ws_end(s, s->reader.code, reason);
    ws_finish(s);
}

// ---- Messages ----

// The alarm need not be moved for a message that is whole before it is due.
void ws_message_begins(ws_session *s)
{
    if (s->state != WS_OPEN) return; // the window is that of our close
    s->window_ns = ws_now_ns(s);
    s->window_len = 0;
    if (s->armed_ns > s->window_ns + ws_window_ns(s)) ws_session_arm(s);
}

// A client that promises much is believed as it sends, or as there is a buffer that is kept anyhow.
static bool ws_message_begin(ws_session *s, size_t need)
{
    uint64_t said = s->reader.message_octets;
    size_t trusted = said < WS_TRUSTED_OCTETS ? (size_t)said : WS_TRUSTED_OCTETS;
    if (trusted < need) trusted = need;
    if (trusted > WS_TRUSTED_OCTETS && worker_is_short(s->request->worker, BUDGET_SCARCE))
        return false;
    s->message = ws_message_new(s->request->worker, (size_t)said, trusted);
    if (s->message) ws_message_begins(s);
    return s->message != NULL;
}

bool ws_message_grow(ws_session *s, size_t more)
{
    if (!s->message) return ws_message_begin(s, more);
    size_t need = s->message->len + more, room = s->message->room * 2;
    if (need <= s->message->room) return true;
    if (room > s->reader.limits->message_octets_max)
        room = (size_t)s->reader.limits->message_octets_max;
    if (room < need) room = need;
    if (room > WS_TRUSTED_OCTETS && worker_is_short(s->request->worker, BUDGET_SCARCE))
        return false;
    return ws_message_resize(&s->message, room);
}

static void ws_message_free(ws_session *s)
{
    ws_message_drop(s->message);
    s->message = NULL;
}

// Messages and control frames are counted together. They are read in the turn in which the peer was heard last.
bool ws_is_too_fast(ws_session *s)
{
    int64_t now = s->heard_ns;
    if (now - s->rate_from_ns >= ws_second_ns) {
        s->rate_from_ns = now;
        s->rate_count = 0;
    }
    return ++s->rate_count > s->endpoint->desc.messages_per_second_max;
}

// Its callbacks may read on another socket that was paused: what they send on this one then needs its handle looked up.
static BASE_INLINE_ALWAYS void ws_tell_message(ws_session *s, slice message)
{
    const skua_websocket_desc *desc = &s->endpoint->desc;
    ws_told_now.session = s;
    ws_told_now.text = slice_make(s->reader.is_text ? message.ptr : NULL, message.len);
    desc->message(s->socket, message, s->reader.is_text, desc->user);
    ws_told_now.session = NULL;
}

// The same for one that was collected in s->message.
static void ws_tell_collected(ws_session *s, slice message)
{
    skua_worker *w = s->request->worker;
    w->told = s->message;
    ws_tell_message(s, message);
    w->told = NULL;
}

// Counts a message, and hands it to the blocking function that there may be.
// Returns: whether the program is to be told of it.
static BASE_INLINE_ALWAYS bool ws_on_whole_message(ws_session *s, slice message)
{
    if (ws_is_too_fast(s)) {
        ws_fail(s, WS_CODE_POLICY, "too many messages in a second");
        return false;
    }
    s->messages_in++;
    s->octets_in += message.len;
    if (s->call && !ws_call_deliver(s->call, message, s->reader.is_text)) {
        ws_fail(s, WS_CODE_TRY_LATER, "out of memory");
        return false;
    }
    return s->state == WS_OPEN && s->endpoint->desc.message;
}

static void ws_on_collected_message(ws_session *s, slice message)
{
    if (ws_on_whole_message(s, message)) ws_tell_collected(s, message);
    if (s->message && s->state != WS_CLOSED) ws_message_free(s);
}

// Only the last of the pings that find no room is answered: RFC 6455 §5.5.3.
static void ws_owe_pong(ws_session *s, slice payload)
{
    if (!s->pong) s->pong = arena_alloc(&s->request->memory, WS_CONTROL_OCTETS_MAX);
    if (!s->pong) return;
    if (payload.len) memcpy(s->pong, payload.ptr, payload.len);
    s->pong_len = (uint8_t)payload.len;
    s->owes_pong = true;
    if (!s->request->wanted) ws_want_room(s, 0);
}

static void ws_pay_pong(ws_session *s)
{
    if (!s->owes_pong) return;
    s->owes_pong = false;
    (void)ws_send_frame(s, WS_PONG, slice_make(s->pong, s->pong_len));
}

static void ws_on_control_frame(ws_session *s, ws_opcode opcode)
{
    if (ws_is_too_fast(s)) {
        ws_fail(s, WS_CODE_POLICY, "too many messages in a second");
        return;
    }
    slice payload = slice_make(s->reader.control, s->reader.control_len);
    if (opcode != WS_PING) return;
    if (ws_has_room(s, 0) && !ws_close_is_leaving(s)) (void)ws_send_frame(s, WS_PONG, payload);
    else ws_owe_pong(s, payload);
}

// ---- Whole messages ----

// Whether the message is one frame that has come whole, and is short.
static bool ws_is_direct(const ws_session *s, size_t room)
{
    const ws_reader *reader = &s->reader;
    return room <= WS_DIRECT_OCTETS && reader->head.final && reader->fragments == 1 &&
           room == reader->message_octets;
}

// *whole: the message, when it has come in one piece and lies in direct.
static void ws_on_message_octets(ws_session *s, slice *input, char *direct, slice *whole)
{
    if (s->reader.compressed) {
        ws_compressed_take(s, input, direct, whole);
        return;
    }
    size_t room = ws_reader_room(&s->reader, *input);
    if (ws_is_direct(s, room)) {
        *whole = slice_make(direct, room);
        (void)ws_reader_take(&s->reader, input, direct); // a fault is told by the next event
        return;
    }
    if (!ws_message_grow(s, room)) {
        ws_fail(s, WS_CODE_TRY_LATER, "out of memory");
        return;
    }
    if (s->reader.left - room > IO_RECV_OCTETS) content_expect_many(s->request);
    (void)ws_reader_take(&s->reader, input, s->message->octets + s->message->len);
    s->message->len += room;
}

static void ws_has_its_turn(void *user);

// Octets that were too many for this turn are gone on with in a later one.
static void ws_await_turn(ws_session *s)
{
    if (!s->deflate || s->state != WS_OPEN || !s->request->paused) return;
    if (ws_deflate_is_to_wait(s->deflate) && !ws_deflate_await(s->deflate, ws_has_its_turn, s))
        s->is_broken = true;
}

// The rest is kept until the queue is shorter: a program that answers each message is not refused then,
// and a client that sends and does not read is held up.
__attribute__((cold)) static void ws_pause(ws_session *s, slice rest)
{
    content_pause(s->request);
    ws_want_room(s, 0);
    ws_await_turn(s);
    if (!rest.len) return;
    s->held = counted_alloc(&s->request->worker->memory, rest.len);
    if (!s->held) {
        ws_fail(s, WS_CODE_TRY_LATER, "out of memory");
        return;
    }
    memcpy(s->held, rest.ptr, rest.len);
    s->held_len = rest.len;
}

static slice ws_collected(const ws_session *s)
{
    return s->message ? slice_make(s->message->octets, s->message->len) : (slice){ 0 };
}

// Goes on until the input is used up or the socket is closed, or pauses.
__attribute__((noinline)) static void ws_feed_parts(ws_session *s, slice input)
{
    char direct[WS_DIRECT_OCTETS];
    slice whole = { 0 };
    const bool in_pieces = s->endpoint->desc.receive;
    while (s->state != WS_CLOSED) {
        switch (ws_reader_next(&s->reader, &input)) {
        case WS_EVENT_MORE: return;
        case WS_EVENT_FRAME:
            if (in_pieces) ws_on_piece_frame(s);
            break;
        case WS_EVENT_PAYLOAD:
            if (!in_pieces) {
                ws_on_message_octets(s, &input, direct, &whole);
                break;
            }
            ws_on_piece(s, &input, direct);
            if (!ws_is_to_pause(s)) break;
            ws_pause(s, input);
            return;
        case WS_EVENT_MESSAGE:
            if (s->reader.compressed && !ws_compressed_end(s, direct, &whole)) return;
            if (in_pieces) ws_on_last_piece(s);
            else ws_on_collected_message(s, whole.ptr ? whole : ws_collected(s));
            whole = (slice){ 0 };
            if (!ws_is_to_pause(s)) break;
            ws_pause(s, input);
            return;
        case WS_EVENT_PING: ws_on_control_frame(s, WS_PING); break;
        case WS_EVENT_PONG: ws_on_control_frame(s, WS_PONG); break;
        case WS_EVENT_CLOSE: ws_on_peer_close(s); return;
        case WS_EVENT_FAULT: ws_fail(s, s->reader.fault.code, s->reader.fault.reason); return;
        }
    }
}

// Messages of one frame that have come whole, as most do, need no more than this.
__attribute__((noinline)) static void ws_feed(ws_session *s, slice input)
{
    char direct[WS_DIRECT_OCTETS];
    slice message;
    while (!ws_is_to_pause(s)) {
        if (!input.len) return;
        if (!ws_reader_whole(&s->reader, &input, direct, sizeof direct, &message)) {
            ws_feed_parts(s, input);
            return;
        }
        if (ws_on_whole_message(s, message)) ws_tell_message(s, message);
        if (s->state == WS_CLOSED) return;
    }
    ws_pause(s, input);
}

// Octets that came are given back as they are read: what is held still counts, and what the program was given is
// its to give back.
static void ws_feed_counted(ws_session *s, slice input)
{
    uint64_t came = s->octets_in;
    if (ws_is_to_pause(s)) ws_pause(s, input);
    else ws_feed_parts(s, input);
    if (s->state == WS_CLOSED) return; // everything has been given back
    size_t kept = s->deflate ? 0 : (size_t)(s->octets_in - came);
    skua_content_consume(s->request, input.len - s->held_len - kept);
}

// Reads what is held, and may pause again. Without an octet held, a message may be to end whose last piece was told.
static void ws_feed_held(ws_session *s)
{
    char *held = s->held;
    size_t len = s->held_len;
    s->held = NULL;
    s->held_len = 0;
    if (s->endpoint->desc.receive) ws_feed_counted(s, slice_make(held, len));
    else if (len) ws_feed(s, slice_make(held, len));
    else ws_feed_parts(s, (slice){ 0 });
    counted_free(held);
}

static void ws_resume(ws_session *s)
{
    s->heard_ns = ws_now_ns(s);
    if (s->state == WS_OPEN) s->window_ns = s->heard_ns;
    content_resume(s->request);
    ws_feed_held(s);
}

// Everything that was to leave has been queued. A pong behind our close waits for it to leave, or pings would keep
// it from ever having left.
static void ws_go_on_sending(ws_session *s)
{
    const skua_websocket_desc *desc = &s->endpoint->desc;
    if (s->state == WS_CLOSING && !s->close_is_queued) ws_queue_close(s);
    else if (ws_close_is_leaving(s) && ws_is_idle(s)) ws_close_soon(s);
    if (!ws_close_is_leaving(s)) ws_pay_pong(s);
    if (!s->is_refused || s->state != WS_OPEN) return;
    s->is_refused = false;
    if (desc->drain) desc->drain(s->socket, desc->user);
}

// Behind our close everything is read, as the peer's close is to come.
static bool ws_may_resume(ws_session *s)
{
    if (!s->request->paused || (s->call && ws_call_is_full(s->call))) return false;
    if (s->deflate && ws_is_inflated_enough(s)) return false;
    return s->state != WS_OPEN || !(s->is_paused || ws_is_crowded(s));
}

// Reading comes first: a program that writes whenever there is room would never be told anything.
static void ws_go_on(ws_session *s)
{
    if (ws_may_resume(s)) ws_resume(s);
    if (s->state != WS_CLOSED && ws_letters_flush(s)) ws_go_on_sending(s);
    if (s->state == WS_CLOSED || (s->waiting && !s->outgoing.open)) return;
    if (ws_close_is_leaving(s)) ws_want_all(s);
    else if ((s->request->paused || s->is_refused || s->owes_pong) && !s->request->wanted)
        ws_want_room(s, 0);
    ws_await_turn(s);
}

void ws_session_pause(ws_session *s)
{
    s->is_paused = true;
    s->crowds_at = 0;
}

void ws_session_resume(ws_session *s)
{
    s->is_paused = false;
    ws_resume_soon(s);
}

static void ws_has_its_turn(void *user)
{
    ws_session *s = user;
    ws_session_enter(s);
    if (s->state != WS_CLOSED) ws_go_on(s);
    ws_session_leave(s);
}

void ws_session_drained(skua_request *r, void *user)
{
    (void)r;
    ws_has_its_turn(user);
}

static BASE_INLINE_ALWAYS void ws_on_content(ws_session *s, slice octets)
{
    s->heard_ns = ws_now_ns(s);
    if (s->endpoint->desc.receive) {
        ws_feed_counted(s, octets);
        return;
    }
    content_take(s->request, octets.len);
    ws_feed(s, octets);
}

__attribute__((cold)) static void ws_on_content_end(ws_session *s, skua_content_event event)
{
    ws_end(s, WS_CODE_ABNORMAL, (slice){ 0 });
    if (event == SKUA_CONTENT_END) ws_finish(s);
}

static void ws_read(skua_request *r, skua_content_event event, slice octets, void *user)
{
    (void)r;
    ws_session *s = user;
    ws_session_enter(s);
    if (event == SKUA_CONTENT_DATA) ws_on_content(s, octets);
    else ws_on_content_end(s, event);
    ws_session_leave(s);
}

// ---- Its request ----

void ws_session_attach(ws_session *s, skua_request *r)
{
    s->request = r;
    s->reader.limits = &s->endpoint->limits;
    s->armed_ns = INT64_MAX;
    ws_link(s);
    skua_status reads = skua_content_read(r, ws_read, s);
    SKUA_ASSERT(reads == SKUA_OK);
    (void)reads;
    r->is_socket = true;
}

void ws_session_detach(ws_session *s)
{
    ws_disarm(s);
    ws_unlink(s);
}

#endif
