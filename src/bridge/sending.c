// SPDX-License-Identifier: MIT
//
// Sending. A publication waits until the store has said that it has it. A connection that ends before it has leaves
// that open; then it is sent again, and whoever has seen it knows it by its number. So none may overtake another, also
// where a store refuses some for a moment: several are one transaction, and nothing else is under way beside it.

#include "bridge/sending.h"

#ifdef SKUA_REDIS

#include "exchange/worker.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    BRIDGE_SENT_MAX = 64,             // commands under way
    BRIDGE_SENT_OCTETS_MAX = 1048576, // of publications under way, but one in any case
    BRIDGE_REFUSALS_MAX = 3,          // of one publication
    BRIDGE_CLOCK_SLACK_MS = 1000      // by which a greeting may be later than it should be
};

// ---- Adding to the stream ----

static bool bridge_add(topic_bridge *b, const bridge_entry *entry, const bridge_question *question)
{
    char retained[BRIDGE_NUMBER_OCTETS], number[BRIDGE_NUMBER_OCTETS];
    int len = snprintf(retained, sizeof retained, "%" PRIu64, b->retained_max);
    slice words[6 + BRIDGE_WORDS_MAX] = { SKUA_SLICE("XADD"),
                                          slice_of(b->stream),
                                          SKUA_SLICE("MAXLEN"),
                                          SKUA_SLICE("~"),
                                          slice_make(retained, (size_t)len),
                                          SKUA_SLICE("*") };
    size_t count = 6 + bridge_entry_write(entry, number, words + 6);
    return bridge_link_ask(&b->adder, words, count, question);
}

static void bridge_count_taken(bridge_link *l, const redisReply *reply)
{
    (void)l, (void)reply;
}

static bool bridge_add_count(topic_bridge *b, bridge_kind kind, uint64_t number,
                             const bridge_question *question)
{
    const bridge_entry count = { .kind = kind,
                                 .instance = slice_of(b->instance),
                                 .number = number };
    b->owes_count = false;
    return bridge_add(b, &count, question);
}

static void bridge_take_off(topic_bridge *b)
{
    bridge_waiting_taken(&b->waiting);
    figure_add(&b->worker->figures->shared.topics_carried, 1);
}

static void bridge_taken(bridge_link *l, const redisReply *reply)
{
    topic_bridge *b = l->user;
    (void)reply;
    if (b->alone) b->alone--;
    bridge_take_off(b);
    bridge_send_waiting(b);
}

static void bridge_queued(bridge_link *l, const redisReply *reply)
{
    (void)l, (void)reply;
}

// Those behind one that was refused while the others were added are gone for the readers of other machines.
static void bridge_all_taken(bridge_link *l, const redisReply *reply)
{
    topic_bridge *b = l->user;
    unsigned count = b->waiting.sent;
    bool is_right = reply->type == REDIS_REPLY_ARRAY && reply->elements == count;
    for (unsigned i = 0; is_right && i < count; i++) {
        is_right = reply->element[i]->type == REDIS_REPLY_STRING;
        if (is_right) bridge_take_off(b);
    }
    b->alone = is_right ? 0 : 1;
    if (is_right) bridge_send_waiting(b);
    else bridge_go_away(b, "it has not taken all of a transaction");
}

// A store names its own states (OOM, READONLY, LOADING and so on), which pass. Its other errors are about the command:
// one for a publication, behind a greeting that it has taken, would keep back all that wait behind it for ever. Which of
// several it is for is found by sending all of those one by one, until one is refused.
static void bridge_refused(bridge_link *l, const redisReply *error)
{
    topic_bridge *b = l->user;
    const bridge_waiter *first = b->waiting.first;
    b->alone = 1;
    if (strncmp(error->str, "ERR ", 4) != 0) return;
    if (b->refused != first->number) b->refusals = 0;
    b->refused = first->number;
    if (++b->refusals < BRIDGE_REFUSALS_MAX) return;
    bridge_log(b, "the store refuses a publication of %zu octets, which is dropped (%.200s)",
               first->message->message.len, error->str);
    bridge_waiting_taken(&b->waiting);
    figure_add(&b->worker->figures->shared.topics_dropped, 1);
    b->attempts = b->alone = 0;
}

static bool bridge_send_next(topic_bridge *b, const bridge_question *question)
{
    const bridge_waiter *next = bridge_waiting_send(&b->waiting);
    const topic_message *m = next->message;
    const bridge_entry entry = { .kind = m->binary ? BRIDGE_BINARY : BRIDGE_TEXT,
                                 .instance = slice_of(b->instance),
                                 .number = next->number,
                                 .topic = m->topic,
                                 .message = m->message,
                                 .event = m->event,
                                 .id = m->id };
    return bridge_add(b, &entry, question);
}

static bool bridge_may_send(const bridge_waiting *waiting)
{
    return waiting->unsent && waiting->sent < BRIDGE_SENT_MAX &&
           (waiting->sent == 0 || waiting->sent_octets < BRIDGE_SENT_OCTETS_MAX);
}

static bool bridge_send_one(topic_bridge *b)
{
    static const bridge_question question = { .replied = bridge_taken, .refused = bridge_refused };
    return bridge_send_next(b, &question);
}

static bool bridge_send_several(topic_bridge *b)
{
    static const bridge_question queues = { .replied = bridge_queued },
                                 runs = { .replied = bridge_all_taken };
    const slice begin = SKUA_SLICE("MULTI"), end = SKUA_SLICE("EXEC");
    bool well = bridge_link_ask(&b->adder, &begin, 1, &queues);
    while (well && bridge_may_send(&b->waiting))
        well = bridge_send_next(b, &queues);
    b->alone = b->waiting.sent; // if it is refused
    return well && bridge_link_ask(&b->adder, &end, 1, &runs);
}

void bridge_send_waiting(topic_bridge *b)
{
    static const bridge_question question = { .replied = bridge_count_taken };
    const bridge_waiter *next = b->waiting.unsent;
    bool well = true;
    if (b->state < BRIDGE_SENDS || b->waiting.sent) return;
    if (next) well = next->next && !b->alone ? bridge_send_several(b) : bridge_send_one(b);
    else if (b->owes_count)
        well = bridge_add_count(b, BRIDGE_COUNT, b->waiting.numbered, &question);
    if (!well) bridge_go_away(b, skua_status_text(SKUA_ENOMEM));
}

// ---- The place in the stream ----

// A store whose clock was set back goes on behind the latest id that it has given, so that entries from before this
// server's start seem to be later than that. Those behind the greeting are certainly new.
static void bridge_begin_at_greeting(topic_bridge *b, const redisReply *greeting)
{
    slice id = slice_make(greeting->str, greeting->str ? (size_t)greeting->len : 0);
    size_t digits = 0;
    int64_t ms, now = skua_worker_now_ns(b->worker), since_ns = now - b->timed_ns;
    while (digits < id.len && id.ptr[digits] != '-')
        digits++;
    if (id.len >= sizeof b->last || !skua_slice_i64(slice_make(id.ptr, digits), &ms)) return;
    if (ms - b->store_ms <= since_ns / 1000000 + BRIDGE_CLOCK_SLACK_MS) return;
    memcpy(b->last, id.ptr, id.len);
    b->last[id.len] = 0;
    b->last_is_entry = true;
    if (b->timed_ns - b->begun_ns > (int64_t)BRIDGE_CLOCK_SLACK_MS * 1000000) b->gap_due = true;
}

// Everything before the greeting that this server has published is in the stream, or dropped.
static void bridge_hello_came(bridge_link *l, const redisReply *reply)
{
    topic_bridge *b = l->user;
    if (b->store_ms) bridge_begin_at_greeting(b, reply);
    b->store_ms = 0;
    b->state = BRIDGE_SENDS;
    bridge_send_waiting(b);
    if (b->state != BRIDGE_SENDS) return;
    b->reader.patience_ns = BRIDGE_PATIENCE_NS;
    if (!bridge_link_open(&b->reader, b->worker, b->address))
        bridge_go_away(b, "a second connection failed");
}

static void bridge_greet_others(topic_bridge *b)
{
    static const bridge_question question = { .replied = bridge_hello_came };
    if (!bridge_add_count(b, BRIDGE_HELLO, bridge_waiting_before(&b->waiting), &question))
        bridge_go_away(b, skua_status_text(SKUA_ENOMEM));
}

// An entry that is there no more has been cut off, with others behind it, or the store has lost what it had. What
// is there now is read from its beginning; what has come before is known by its number.
static void bridge_place_checked(bridge_link *l, const redisReply *reply)
{
    topic_bridge *b = l->user;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements == 0) {
        b->gap_due = true;
        b->last_is_entry = false;
        memcpy(b->last, "0-0", 4);
    }
    bridge_greet_others(b);
}

// The server's start by the store's clock: others may have published since.
static void bridge_time_came(bridge_link *l, const redisReply *reply)
{
    topic_bridge *b = l->user;
    int64_t seconds, ms;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 2 || !reply->element[0]->str ||
        !skua_slice_i64(slice_of(reply->element[0]->str), &seconds) || seconds < 0 ||
        seconds > INT64_MAX / 1000000) {
        bridge_go_away(b, "it does not tell the time");
        return;
    }
    if (!reply->element[1]->str || !skua_slice_i64(slice_of(reply->element[1]->str), &ms) || ms < 0)
        ms = 0;
    b->store_ms = seconds * 1000 + ms / 1000;
    ms = b->store_ms - (skua_worker_now_ns(b->worker) - b->begun_ns) / 1000000;
    (void)snprintf(b->last, sizeof b->last, "%" PRId64 "-0", ms < 0 ? 0 : ms);
    bridge_greet_others(b);
}

void bridge_sending_begin(void *user)
{
    static const bridge_question check = { .replied = bridge_place_checked },
                                 time = { .replied = bridge_time_came };
    topic_bridge *b = user;
    slice last = slice_of(b->last);
    const slice clock = SKUA_SLICE("TIME");
    const slice place[] = { SKUA_SLICE("XRANGE"), slice_of(b->stream), last, last };
    bool asked = true;
    if (!last.len) {
        b->timed_ns = skua_worker_now_ns(b->worker);
        asked = bridge_link_ask(&b->adder, &clock, 1, &time);
    } else if (b->last_is_entry) asked = bridge_link_ask(&b->adder, place, 4, &check);
    else bridge_greet_others(b);
    if (!asked) bridge_go_away(b, skua_status_text(SKUA_ENOMEM));
}

#endif
