// SPDX-License-Identifier: MIT
//
// Delivery of publications. A worker hands out one after the other, and in a turn to so many readers at
// most, so that a topic that everybody reads takes nothing from others but its share; and so few octets that
// a reader's queue can leave before more come: a burst must not look like a slow reader.

#include "topic/delivery.h"

#include "base/assert.h"
#include "base/budget.h"
#include "base/memory.h"
#include "server/server.h"
#include "topic/reader.h"

struct topic_letter {
    mail letter; // first
    topic_letter *next;
    topic_message *what;
};

// ---- On the worker ----

void delivery_done(topic_message *p)
{
    if (atomic_fetch_sub_explicit(&p->shared.letters, 1, memory_order_acq_rel) == 1)
        atomic_fetch_sub_explicit(&p->server->shared.published, p->size, memory_order_relaxed);
    topic_message_release(p);
}

static void delivery_end(server_worker *w, topic_letter *l)
{
    delivery_done(l->what);
    memory_free(l);
    gate_leave(&w->posting);
}

// A long message that is compressed for each reader takes time as many readers do.
static void delivery_spend(struct topic_table *table, size_t own_octets)
{
    size_t readers = 1 + own_octets / TOPIC_TURN_OWN;
    table->readers_left -= readers < table->readers_left ? (unsigned)readers : table->readers_left;
}

// Hands the first publication out, as far as the turn goes.
static void delivery_hand_out(struct topic_table *table)
{
    topic_message *what = table->first->what;
    if (!table->begun) {
        const topic_entry *t = topic_find(table, what->topic);
        table->cursor = t && table->done >= table->former ? t->seats : NULL;
        table->begun = true;
    }
    while (table->cursor && table->readers_left > 0) {
        topic_seat *seat = table->cursor;
        table->cursor = seat->next;
        skua_request *reader = reader_of(seat);
        delivery_spend(table, reader ? reader_hand(reader, what) : 0);
    }
}

// Many letters may arrive in a turn. Those behind each other leave together. One alone is sent to few readers at a time,
// while what it was written to is in the processor's cache.
static void delivery_begin_turn(struct topic_table *table, const skua_worker *w)
{
    if (table->turn_ns == w->loop.now_ns) return;
    table->turn_ns = w->loop.now_ns;
    table->readers_left = table->first->next ? TOPIC_TURN_READERS : TOPIC_TURN_ALONE;
    table->octets_left = worker_config(w)->out_octets_max / 4;
}

static void delivery_again(mail *letter, void *reader);

static void delivery_go_on(server_worker *w)
{
    struct topic_table *table = w->self.topics;
    delivery_begin_turn(table, &w->self);
    while (table->first && table->readers_left > 0 && table->octets_left > 0) {
        delivery_hand_out(table);
        if (table->cursor) break;
        topic_letter *l = table->first;
        size_t octets = topic_message_octets(l->what);
        table->octets_left -= octets < table->octets_left ? octets : table->octets_left;
        table->first = l->next;
        table->done++;
        table->begun = false;
        delivery_end(w, l);
    }
    if (!table->first) {
        topic_table_drop(w);
        return;
    }
    table->comes_again = true;
    table->again.deliver = delivery_again;
    worker_post(&w->self, &table->again);
}

static void delivery_again(mail *letter, void *reader)
{
    (void)letter;
    server_worker *w = reader;
    w->self.topics->comes_again = false;
    w->self.topics->turn_ns = -1; // another one, even if no time has passed
    delivery_go_on(w);
}

static void delivery_arrive(mail *letter, void *reader)
{
    server_worker *w = reader;
    struct topic_table *table = w->self.topics;
    topic_letter *l = (topic_letter *)(void *)letter;
    if (!table || table->fences) {
        delivery_end(w, l);
        return;
    }
    table->arrived++;
    l->next = NULL;
    if (table->first) table->last->next = l;
    else table->first = l;
    table->last = l;
    if (!table->comes_again) delivery_go_on(w);
}

// On worker 0.
static void delivery_carry(mail *letter, void *reader)
{
    topic_letter *l = (topic_letter *)(void *)letter;
    server_relay *relay = l->what->server->relay;
    relay->carry(relay, l->what);
    delivery_end(reader, l);
}

// ---- The first reader ----

static void delivery_reach_fence(mail *letter, void *reader)
{
    server_worker *w = reader;
    w->self.topics->fences--;
    counted_free(letter);
    gate_leave(&w->posting);
    topic_table_drop(w);
}

// Nobody sends publications to a worker without readers. One that was sent while there still were some would be told to
// a new reader, who would then miss those behind it, and take that for a loss.
bool delivery_forget(server_worker *w)
{
    mail *fence = counted_alloc(&w->self.memory, sizeof *fence);
    if (!fence) return false;
    w->self.topics->former = w->self.topics->arrived;
    if (!gate_enter(&w->posting)) {
        counted_free(fence); // the worker is ending
        return true;
    }
    w->self.topics->fences++;
    *fence = (mail){ .deliver = delivery_reach_fence };
    worker_post(&w->self, fence);
    return true;
}

// ---- On any thread ----

// A publisher that finds no reader here has posted all its letters to this worker before the first reader's fence: this
// look, the count of seats and posting are in one order for all threads.
static bool delivery_is_wanted(const server_worker *w)
{
    return atomic_load_explicit(&w->shared.seats, memory_order_seq_cst) > 0;
}

static void delivery_free(topic_letter *letters)
{
    while (letters) {
        topic_letter *l = letters;
        letters = l->next;
        memory_free(l);
    }
}

static bool delivery_is_carried(const skua_server *server, const topic_message *p)
{
    return server->relay && !(p->manner & TOPIC_FOREIGN);
}

// All letters before the first is sent, so that either everybody gets the publication or nobody. The first is
// for the relay, if it is to be carried.
// Returns: false when memory ran out.
static bool delivery_write(unsigned count, topic_message *p, topic_letter **letters)
{
    *letters = NULL;
    for (unsigned i = 0; i < count; i++) {
        topic_letter *l = memory_alloc(sizeof *l);
        if (!l) {
            delivery_free(*letters);
            return false;
        }
        *l =
            (topic_letter){ .letter = { .deliver = delivery_arrive }, .next = *letters, .what = p };
        *letters = l;
    }
    return true;
}

static void delivery_post(server_worker *w, topic_letter *l, bool is_wanted)
{
    if (!is_wanted || !gate_enter(&w->posting)) {
        memory_free(l);
        return;
    }
    topic_message_keep(l->what);
    atomic_fetch_add_explicit(&l->what->shared.letters, 1, memory_order_relaxed);
    worker_post(&w->self, &l->letter);
}

skua_status delivery_send(topic_message *p)
{
    skua_server *server = p->server;
    topic_letter *letters;
    unsigned count = server_worker_count(server);
    bool is_carried = delivery_is_carried(server, p);
    bool written = delivery_write(count + (is_carried ? 1 : 0), p, &letters);
    if (written && is_carried && letters) {
        topic_letter *l = letters;
        SKUA_ASSERT(l);
        letters = l->next;
        l->letter.deliver = delivery_carry;
        delivery_post(server->workers[0], l, true);
    }
    for (unsigned i = 0; written && letters && i < count; i++) {
        topic_letter *l = letters;
        letters = l->next;
        delivery_post(server->workers[i], l, delivery_is_wanted(server->workers[i]));
    }
    return written ? SKUA_OK : SKUA_ENOMEM;
}
