// SPDX-License-Identifier: MIT
//
// Receiving. Entries are read in turn, each is handed to the readers here, and only then counts as read. What
// cannot be handed on for want of memory is read again a little later: the stream is the queue.

#include "bridge/receiving.h"
#include "bridge/sending.h"

#ifdef SKUA_REDIS

#include "exchange/worker.h"
#include "topic/publish.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    BRIDGE_READ_OCTETS_MAX = 16777216, // of messages in one reply
    BRIDGE_READ_ENTRIES_MAX = 256,
    BRIDGE_BLOCK_MS = 10000 // for which the store waits with an empty reply
};

static const int64_t bridge_pause_ns = 20000000;

// ---- Gaps ----

// Returns: false when the readers cannot be told now.
static bool bridge_tell_gap(topic_bridge *b)
{
    const skua_publication gap = { .octets = slice_of(b->gap_text ? b->gap_text : "gap"),
                                   .event = SKUA_SLICE("gap") };
    skua_status status =
        topic_publish_here(b->server, slice_make("", 0), &gap,
                           b->gap_text ? TOPIC_FOREIGN : TOPIC_FOREIGN | TOPIC_FOR_EVENTS);
    if (status == SKUA_ENOMEM || status == SKUA_ELIMIT) return false;
    b->gap_due = false;
    figure_add(&b->worker->figures->shared.topics_gaps, 1);
    bridge_log(b, "publications of other machines are missing; readers are told");
    if (b->gap) b->gap(b->server, b->user);
    return true;
}

// ---- One entry ----

static void bridge_ignore(topic_bridge *b)
{
    figure_add(&b->worker->figures->shared.topics_ignored, 1);
    if (b->told_ignored) return;
    b->told_ignored = true;
    bridge_log(b, "the stream %s has entries that are none of a bridge's; they are ignored",
               b->stream);
}

// An entry of this program's may still hold what cannot be published, if somebody else has written it.
static bool bridge_publish(topic_bridge *b, const bridge_entry *entry)
{
    const skua_publication what = { .octets = entry->message,
                                    .binary = entry->kind == BRIDGE_BINARY,
                                    .event = entry->event,
                                    .id = entry->id };
    skua_status status = topic_publish_here(b->server, entry->topic, &what, TOPIC_FOREIGN);
    if (status == SKUA_ENOMEM || status == SKUA_ELIMIT) return false;
    if (status == SKUA_EINVAL) bridge_ignore(b);
    else figure_add(&b->worker->figures->shared.topics_received, 1);
    return true;
}

// Returns: false when it is to be read again.
static bool bridge_take(topic_bridge *b, const bridge_entry *entry)
{
    if (slice_equal(entry->instance, slice_of(b->instance))) return true;
    if (entry->kind == BRIDGE_HELLO && !bridge_origins_know(&b->origins, entry->instance))
        b->owes_count = true;
    bridge_verdict verdict = bridge_origins_judge(&b->origins, entry);
    if (verdict == BRIDGE_AGAIN) return true;
    bool is_long = entry->message.len > b->relay.message_octets_max;
    uint64_t before = bridge_entry_publishes(entry) ? entry->number - 1 : entry->number;
    if (!bridge_origins_make_room(&b->origins)) return false;
    if (verdict == BRIDGE_GAP || is_long) b->gap_due = true;
    if (b->gap_due && !bridge_tell_gap(b)) return false;
    bridge_origins_record(&b->origins, entry->instance, before); // it may be read again
    if (!bridge_entry_publishes(entry)) return true;
    if (!is_long && !bridge_publish(b, entry)) return false;
    bridge_origins_record(&b->origins, entry->instance, entry->number);
    return true;
}

static bool bridge_words(const redisReply *list, slice words[BRIDGE_FIELDS_MAX])
{
    if (list->type != REDIS_REPLY_ARRAY || list->elements > BRIDGE_FIELDS_MAX) return false;
    for (size_t i = 0; i < list->elements; i++) {
        if (list->element[i]->type != REDIS_REPLY_STRING) return false;
        words[i] = slice_make(list->element[i]->str, (size_t)list->element[i]->len);
    }
    return true;
}

// Whether it is an entry, and one that has not been read: a store that gives another would be asked again and again.
static bool bridge_is_news(const topic_bridge *b, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2) return false;
    const redisReply *id = reply->element[0];
    if (id->type != REDIS_REPLY_STRING || (size_t)id->len >= sizeof b->last) return false;
    return !slice_equal(slice_make(id->str, (size_t)id->len), slice_of(b->last));
}

// Returns: false when it is to be read again.
static bool bridge_take_reply(topic_bridge *b, const redisReply *reply)
{
    slice words[BRIDGE_FIELDS_MAX];
    bridge_entry entry;
    const redisReply *id = reply->element[0], *fields = reply->element[1];
    if (!bridge_words(fields, words) || !bridge_entry_read(words, fields->elements, &entry))
        bridge_ignore(b);
    else if (!bridge_take(b, &entry)) return false;
    memcpy(b->last, id->str, (size_t)id->len);
    b->last[id->len] = 0;
    b->last_is_entry = true;
    return true;
}

// ---- The stream ----

static void bridge_read_on(topic_bridge *b);

static void bridge_read_again(skua_worker *worker, void *user)
{
    (void)worker;
    topic_bridge *b = user;
    if (b->state == BRIDGE_IS_UP) bridge_read_on(b);
}

static void bridge_pause(topic_bridge *b)
{
    if (skua_timer_start(b->worker, bridge_pause_ns, 0, bridge_read_again, b, &b->again))
        bridge_go_away(b, skua_status_text(SKUA_ENOMEM));
}

// [[stream, [[id, [name, value, ...]], ...]]]. Returns: the entries; NULL: it is something else.
static const redisReply *bridge_entries_of(const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 1) return NULL;
    const redisReply *stream = reply->element[0];
    if (stream->type != REDIS_REPLY_ARRAY || stream->elements != 2) return NULL;
    return stream->element[1]->type == REDIS_REPLY_ARRAY ? stream->element[1] : NULL;
}

// A store that says nothing is asked again a little later: it should have waited, and might not.
static void bridge_take_entries(topic_bridge *b, const redisReply *entries)
{
    bool all = true, is_right = true;
    for (size_t i = 0; all && is_right && i < entries->elements; i++) {
        is_right = bridge_is_news(b, entries->element[i]);
        all = is_right && bridge_take_reply(b, entries->element[i]);
    }
    bridge_send_waiting(b); // a count, where one is owed
    if (b->state != BRIDGE_IS_UP) return;
    if (!is_right) {
        bridge_go_away(b, "it does not reply as a store does");
        return;
    }
    if (entries->elements < b->entries_max) b->entries_max = 0;
    if (b->told_away) bridge_log(b, "the store is back");
    b->told_away = false;
    if (all && entries->elements) bridge_read_on(b);
    else bridge_pause(b);
}

// Nil when nothing came.
static void bridge_came(bridge_link *l, const redisReply *reply)
{
    static const redisReply none = { .type = REDIS_REPLY_ARRAY };
    topic_bridge *b = l->user;
    const redisReply *entries = reply->type == REDIS_REPLY_NIL ? &none : bridge_entries_of(reply);
    if (entries) bridge_take_entries(b, entries);
    else bridge_go_away(b, "it does not reply as a store does");
}

static uint64_t bridge_entries_max(const topic_bridge *b)
{
    uint64_t count = BRIDGE_READ_OCTETS_MAX / b->relay.message_octets_max;
    if (b->entries_max) return b->entries_max;
    return count < 1 ? 1 : count > BRIDGE_READ_ENTRIES_MAX ? BRIDGE_READ_ENTRIES_MAX : count;
}

static void bridge_read_on(topic_bridge *b)
{
    static const bridge_question question = { .replied = bridge_came };
    char count[BRIDGE_NUMBER_OCTETS], wait[BRIDGE_NUMBER_OCTETS];
    int count_len = snprintf(count, sizeof count, "%" PRIu64, bridge_entries_max(b));
    int wait_len = snprintf(wait, sizeof wait, "%d", BRIDGE_BLOCK_MS);
    const slice words[] = { SKUA_SLICE("XREAD"),
                            SKUA_SLICE("COUNT"),
                            slice_make(count, (size_t)count_len),
                            SKUA_SLICE("BLOCK"),
                            slice_make(wait, (size_t)wait_len),
                            SKUA_SLICE("STREAMS"),
                            slice_of(b->stream),
                            slice_of(b->last) };
    if (b->gap_due && !bridge_tell_gap(b)) bridge_pause(b);
    else if (!bridge_link_ask(&b->reader, words, 8, &question))
        bridge_go_away(b, skua_status_text(SKUA_ENOMEM));
}

// The entry that is passed over is not asked for again, to see whether it is still there: that would be as long.
// A store that gives more entries than it is asked for, or one again that was passed over, would be asked for ever.
void bridge_receiving_shorten(topic_bridge *b)
{
    bridge_unasked *guard = &b->reader.unasked;
    guard->is_long = false;
    if (!guard->entry_id[0] || guard->entry >= bridge_entries_max(b)) return;
    if (strcmp(guard->entry_id, b->last) == 0) return;
    b->attempts = 0;
    b->entries_max = guard->entry;
    if (guard->entry) return;
    memcpy(b->last, guard->entry_id, sizeof b->last);
    b->last_is_entry = false;
    bridge_ignore(b);
}

void bridge_receiving_begin(void *user)
{
    topic_bridge *b = user;
    b->state = BRIDGE_IS_UP;
    b->up_ns = skua_worker_now_ns(b->worker);
    b->told_ignored = false;
    b->reader.patience_ns = BRIDGE_PATIENCE_NS + (int64_t)BRIDGE_BLOCK_MS * 1000000;
    bridge_read_on(b);
}

#endif
