// SPDX-License-Identifier: MIT
//
// Topics and seats. Names may be chosen by clients, so the table's hash has a key; it doubles when it is
// full, is halved when an eighth is in use, and where there is no memory for that it stays as it is.

#include "topic/topic.h"

#include "base/assert.h"
#include "base/budget.h"
#include "base/memory.h"
#include "server/server.h"
#include "topic/delivery.h"

enum { TOPIC_BUCKETS = 16 };

// ---- The table ----

static struct topic_table *topic_table_new(lease *memory)
{
    struct topic_table *table = counted_zeroed(memory, sizeof *table);
    topic_entry **buckets = counted_zeroed(memory, TOPIC_BUCKETS * sizeof *buckets);
    if (!table || !buckets) {
        counted_free(table);
        counted_free((void *)buckets);
        return NULL;
    }
    table->memory = memory;
    siphash_key_random(&table->key);
    table->buckets = buckets;
    table->room = TOPIC_BUCKETS;
    return table;
}

void topic_table_drop(server_worker *w)
{
    struct topic_table *table = w->self.topics;
    if (!table || table->count || table->first || table->fences) return;
    counted_free((void *)table->buckets);
    counted_free(table);
    w->self.topics = NULL;
}

static topic_entry **topic_bucket(const struct topic_table *table, uint64_t hash)
{
    return &table->buckets[hash & (table->room - 1)];
}

static void topic_table_resize(struct topic_table *table, size_t room)
{
    struct topic_table other = { .room = room };
    other.buckets = counted_zeroed(table->memory, room * sizeof *other.buckets);
    if (!other.buckets) return;
    for (size_t i = 0; i < table->room; i++) {
        for (topic_entry *t = table->buckets[i], *next; t; t = next) {
            topic_entry **bucket = topic_bucket(&other, t->hash);
            next = t->next;
            t->next = *bucket;
            *bucket = t;
        }
    }
    counted_free((void *)table->buckets);
    table->buckets = other.buckets;
    table->room = other.room;
}

topic_entry *topic_find(struct topic_table *table, slice name)
{
    uint64_t hash = siphash(&table->key, name);
    topic_entry *t = *topic_bucket(table, hash);
    while (t && !(t->hash == hash && slice_equal(slice_make(t->name, t->len), name)))
        t = t->next;
    return t;
}

static topic_entry *topic_add(struct topic_table *table, slice name)
{
    topic_entry *t = counted_alloc(table->memory, sizeof *t + name.len);
    if (!t) return NULL;
    *t = (topic_entry){ .hash = siphash(&table->key, name), .len = (uint8_t)name.len };
    if (name.len) memcpy(t->name, name.ptr, name.len);
    if (table->count >= table->room) topic_table_resize(table, table->room * 2);
    topic_entry **bucket = topic_bucket(table, t->hash);
    t->next = *bucket;
    *bucket = t;
    table->count++;
    return t;
}

static void topic_remove(struct topic_table *table, topic_entry *t)
{
    topic_entry **at = topic_bucket(table, t->hash);
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    table->count--;
    counted_free(t);
    if (table->room > TOPIC_BUCKETS && table->count <= table->room / 8)
        topic_table_resize(table, table->room / 2);
}

// ---- Seats ----

static void topic_seat_link(topic_entry *t, topic_seat *seat)
{
    seat->of = t;
    seat->next = t->seats;
    if (seat->next) seat->next->previous = seat;
    t->seats = seat;
}

// The delivery that is handing out goes on with the next one.
static void topic_seat_free(server_worker *w, topic_seat *seat)
{
    struct topic_table *table = w->self.topics;
    topic_entry *t = seat->of;
    if (table->cursor == seat) table->cursor = seat->next;
    if (seat->next) seat->next->previous = seat->previous;
    if (seat->previous) seat->previous->next = seat->next;
    else t->seats = seat->next;
    counted_free(seat);
    if (!t->seats) topic_remove(table, t);
    atomic_fetch_sub_explicit(&w->shared.seats, 1, memory_order_relaxed);
}

static topic_seat **topic_seats_of(skua_request *reader)
{
    if (!reader->reads_topics) reader->topics = NULL;
    return &reader->topics;
}

// Where the reader's seat is for that topic, or its list ends. *before: how many there are.
static topic_seat **topic_seat_place(skua_request *reader, const topic_entry *t, unsigned *before)
{
    topic_seat **at = topic_seats_of(reader);
    for (*before = 0; *at && (*at)->of != t; ++*before)
        at = &(*at)->next_of_reader;
    return at;
}

static void topic_seats_free(server_worker *w, topic_seat *seat)
{
    while (seat) {
        topic_seat *next = seat->next_of_reader;
        topic_seat_free(w, seat);
        seat = next;
    }
    topic_table_drop(w);
}

static void topic_leave_all(skua_request *reader)
{
    topic_seat *seats = *topic_seats_of(reader);
    reader->topics = NULL;
    topic_seats_free(worker_of(reader->worker), seats);
}

// For skua_worker.move_topics.
static void topic_move_all(skua_worker *w, topic_seat *seats, skua_request *reader,
                           struct ws_slot *parked)
{
    for (topic_seat *seat = seats; seat; seat = seat->next_of_reader) {
        seat->reader = reader;
        seat->parked = parked;
    }
    if (!reader && !parked) topic_seats_free(worker_of(w), seats);
}

// One more where each reader sits in the topic without a name.
static unsigned topic_seats_max(const skua_request *reader)
{
    return TOPIC_SEATS_MAX + (reader->worker->server->relay ? 1 : 0);
}

// Returns: false when memory ran out.
static bool topic_seat_count(server_worker *w)
{
    bool is_first = atomic_fetch_add_explicit(&w->shared.seats, 1, memory_order_seq_cst) == 0;
    if (!is_first || delivery_forget(w)) return true;
    atomic_fetch_sub_explicit(&w->shared.seats, 1, memory_order_relaxed);
    return false;
}

static skua_status topic_sit(skua_request *reader, topic_entry *t)
{
    unsigned before;
    topic_seat **place = topic_seat_place(reader, t, &before);
    if (*place) return SKUA_OK;
    if (before >= topic_seats_max(reader)) return SKUA_ELIMIT;
    if (worker_is_short(reader->worker, BUDGET_SCARCE)) return SKUA_ENOMEM;
    topic_seat *seat = counted_zeroed(&reader->worker->memory, sizeof *seat);
    if (!seat || !topic_seat_count(worker_of(reader->worker))) {
        counted_free(seat);
        return SKUA_ENOMEM;
    }
    seat->reader = reader;
    topic_seat_link(t, seat);
    *place = seat;
    reader->reads_topics = reader->is_followed = true;
    return SKUA_OK;
}

skua_status topic_join(skua_request *reader, slice name)
{
    skua_worker *w = reader->worker;
    if (!w->topics) w->topics = topic_table_new(&w->memory);
    if (!w->topics) return SKUA_ENOMEM;
    w->leave_topics = topic_leave_all;
    w->move_topics = topic_move_all;
    topic_entry *t = topic_find(w->topics, name);
    if (!t) t = topic_add(w->topics, name);
    skua_status status = t ? topic_sit(reader, t) : SKUA_ENOMEM;
    if (status && t && !t->seats) topic_remove(w->topics, t);
    topic_table_drop(worker_of(w));
    return status;
}

skua_status topic_leave(skua_request *reader, slice name)
{
    struct topic_table *table = reader->worker->topics;
    topic_entry *t = table ? topic_find(table, name) : NULL;
    if (!t) return SKUA_ENOENT;
    unsigned before;
    topic_seat **place = topic_seat_place(reader, t, &before), *seat = *place;
    if (!seat) return SKUA_ENOENT;
    *place = seat->next_of_reader;
    topic_seat_free(worker_of(reader->worker), seat);
    topic_leave_last(reader);
    topic_table_drop(worker_of(reader->worker));
    return SKUA_OK;
}

void topic_leave_last(skua_request *reader)
{
    topic_seat *seat = *topic_seats_of(reader);
    if (!seat || seat->next_of_reader || seat->of->len) return;
    reader->topics = NULL;
    topic_seat_free(worker_of(reader->worker), seat);
    topic_table_drop(worker_of(reader->worker));
}
