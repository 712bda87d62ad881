// SPDX-License-Identifier: MIT
//
// Polls of a worker. Each has a slot of a registry, as timers have, so that a handle never dangles.
// All descriptors of a worker lie in one set, which its loop polls as one operation; at most
// POLL_SET_TAKEN_MAX of them are told of in a turn, so that clients have their share of it.
// Invariant: a poll whose handle is good is in the table, and no two in it have the same descriptor.

#include "server/poll.h"

#include "base/contract.h"
#include "base/memory.h"
#include "base/registry.h"
#include "io/poll_set.h"

#include <unistd.h>

enum {
    POLL_BUCKETS = 256,
    POLL_ASKED = SKUA_POLL_READABLE | SKUA_POLL_WRITABLE,
    POLL_KNOWN = POLL_ASKED | SKUA_POLL_ONCE
};

_Static_assert(SKUA_POLL_READABLE == (int)READY_IN && SKUA_POLL_WRITABLE == (int)READY_OUT,
               "events are handed on as they are");

static const char poll_bad_events[] =
    "events must be made of SKUA_POLL_READABLE, SKUA_POLL_WRITABLE and SKUA_POLL_ONCE";
typedef struct poll_entry poll_entry;

struct poll_entry {
    registry_slot slot; // first
    poll_entry *next;   // of its bucket
    skua_worker *worker;
    skua_poll_fn *fn;
    void *user;
    uint64_t handle;
    int fd;
    unsigned events; // POLL_KNOWN
};

struct poll_table {
    int set;
    io_op ready; // of the set
    registry_slot *free;
    unsigned count;
    poll_entry *buckets[POLL_BUCKETS]; // by descriptor
};

static registry poll_registry = REGISTRY_OF(poll_entry);

// ---- The table ----

static poll_entry **poll_bucket(struct poll_table *table, int fd)
{
    return &table->buckets[(unsigned)fd % POLL_BUCKETS];
}

static poll_entry *poll_with(struct poll_table *table, int fd)
{
    poll_entry *p = *poll_bucket(table, fd);
    while (p && p->fd != fd)
        p = p->next;
    return p;
}

static void poll_insert(struct poll_table *table, poll_entry *p)
{
    poll_entry **bucket = poll_bucket(table, p->fd);
    p->next = *bucket;
    *bucket = p;
    table->count++;
}

// Ends a poll that the set has let go: its handle is over, and its slot is free for another.
static void poll_end(struct poll_table *table, poll_entry *p)
{
    poll_entry **place = poll_bucket(table, p->fd);
    while (*place != p)
        place = &(*place)->next;
    *place = p->next;
    table->count--;
    registry_advance(&p->slot);
    registry_put(&table->free, &p->slot);
}

static poll_entry *poll_find(skua_poll handle)
{
    uint64_t word;
    registry_slot *slot = registry_look_up(&poll_registry, handle.value, &word);
    bool good = slot && atomic_load_explicit(&slot->shared.word, memory_order_acquire) == word;
    return good ? (poll_entry *)(void *)slot : NULL;
}

// ---- Events ----

static void polls_ready(io_op *op, int64_t result);

static unsigned poll_told(const poll_entry *p, unsigned ready)
{
    unsigned asked = p->events & POLL_ASKED;
    if (!(ready & READY_ERROR)) return ready & asked;
    return asked ? asked | SKUA_POLL_ERROR : 0;
}

// An earlier function of the same turn may have stopped or changed the poll. A poll that is told
// once is over before its function is called.
static void poll_tell(skua_worker *w, const poll_set_event *event)
{
    struct poll_table *table = w->polls;
    poll_entry *p = poll_find((skua_poll){ event->key });
    unsigned told = p ? poll_told(p, event->ready) : 0;
    if (!told) return;
    skua_poll_fn *fn = p->fn;
    void *user = p->user;
    int fd = p->fd;
    if (p->events & SKUA_POLL_ONCE) {
        (void)poll_set_remove(table->set, fd, p->events & POLL_ASKED);
        poll_end(table, p);
    }
    fn(w, fd, told, user); // which may stop it: nothing of it is looked at afterwards
}

static void polls_watch(skua_worker *w)
{
    struct poll_table *table = w->polls;
    table->ready =
        (io_op){ .code = IO_POLL, .kept = true, .fd = table->set, .done = polls_ready, .user = w };
    io_submit(&w->loop, &table->ready);
}

// Fills an empty set with the descriptors of the table. A poll whose descriptor was closed ends.
static bool polls_move(struct poll_table *table, int set)
{
    for (unsigned i = 0; i < POLL_BUCKETS; i++) {
        for (poll_entry *p = table->buckets[i], *next; p; p = next) {
            next = p->next;
            skua_status status = poll_set_add(set, p->fd, p->events & POLL_ASKED, p->handle);
            if (status == SKUA_EINVAL) poll_end(table, p);
            else if (status) return false;
        }
    }
    return true;
}

// A descriptor that was closed before its poll was stopped stays in an epoll instance while there is
// a duplicate of it, in a child process too, and nobody can name it any more. So that it keeps no
// worker busy, a new set takes the place of the old one. Without memory the next turn tries again.
static void polls_renew(skua_worker *w)
{
    struct poll_table *table = w->polls;
    int fresh;
    if (poll_set_open(&fresh)) return;
    if (!polls_move(table, fresh)) {
        (void)close(fresh);
        return;
    }
    io_cancel(&w->loop, &table->ready);
    (void)close(table->set);
    table->set = fresh;
    polls_watch(w);
}

// Whether the set tells of a poll that is over: one that is stopped leaves the set, unless its
// descriptor was closed before.
static bool polls_tell_of_ended(const poll_set_event *events, int n)
{
    for (int i = 0; i < n; i++) {
        if (!poll_find((skua_poll){ events[i].key })) return true;
    }
    return false;
}

// After a failure the next poll that starts asks again.
static void polls_ready(io_op *op, int64_t result)
{
    skua_worker *w = op->user;
    poll_set_event events[POLL_SET_TAKEN_MAX];
    if (result < 0) {
        worker_log(w, SKUA_SLICE("polls: the kernel refuses to wait for their descriptors"));
        return;
    }
    int n = poll_set_take(w->polls->set, events, POLL_SET_TAKEN_MAX);
    if (polls_tell_of_ended(events, n)) polls_renew(w);
    for (int i = 0; i < n; i++)
        poll_tell(w, &events[i]);
}

// ---- Life ----

static skua_status polls_make(skua_worker *w)
{
    struct poll_table *table = memory_zeroed(sizeof *table);
    if (!table) return SKUA_ENOMEM;
    skua_status status = poll_set_open(&table->set);
    if (status) {
        memory_free(table);
        return status;
    }
    w->polls = table;
    return SKUA_OK;
}

// The slot is opened before the set has it, as events carry the handle.
static skua_status poll_begin(skua_worker *w, poll_entry *p)
{
    struct poll_table *table = w->polls;
    p->handle = registry_open(&p->slot);
    skua_status status = poll_set_add(table->set, p->fd, p->events & POLL_ASKED, p->handle);
    if (status) {
        registry_advance(&p->slot);
        registry_put(&table->free, &p->slot);
        return status;
    }
    poll_insert(table, p);
    if (!table->ready.active) polls_watch(w);
    return SKUA_OK;
}

// Ends the poll of a descriptor that the set has forgotten: it was closed, as libpq closes its socket
// by itself when its server has gone, and its number was given out again.
static bool poll_is_forgotten(struct poll_table *table, poll_entry *p)
{
    unsigned events = p->events & POLL_ASKED;
    if (poll_set_change(table->set, p->fd, events, events, p->handle) != SKUA_ENOENT) return false;
    poll_end(table, p);
    return true;
}

skua_status skua_poll_start(skua_worker *w, int fd, unsigned events, skua_poll_fn *fn, void *user,
                            skua_poll *handle)
{
    home_expect(w, __func__);
    CONTRACT_GIVEN(fn);
    CONTRACT(!(events & ~(unsigned)POLL_KNOWN), poll_bad_events);
    if (fd < 0) return SKUA_EINVAL;
    skua_status status = w->polls ? SKUA_OK : polls_make(w);
    if (status) return status;
    poll_entry *same = poll_with(w->polls, fd);
    if (same && !poll_is_forgotten(w->polls, same)) return SKUA_EEXIST;
    if (w->polls->count == POLLS_MAX) return SKUA_ELIMIT;
    registry_slot *slot;
    status = registry_take(&poll_registry, &w->polls->free, &slot);
    if (status) return status;
    poll_entry *p = (poll_entry *)(void *)slot;
    p->worker = w;
    p->fn = fn;
    p->user = user;
    p->fd = fd;
    p->events = events;
    status = poll_begin(w, p);
    if (!status && handle) *handle = (skua_poll){ p->handle };
    return status;
}

skua_status skua_poll_change(skua_poll handle, unsigned events)
{
    CONTRACT(!(events & ~(unsigned)POLL_KNOWN), poll_bad_events);
    poll_entry *p = poll_find(handle);
    if (!p) return SKUA_ECLOSED;
    home_expect(p->worker, __func__);
    skua_status status = poll_set_change(p->worker->polls->set, p->fd, p->events & POLL_ASKED,
                                         events & POLL_ASKED, p->handle);
    if (status == SKUA_ENOENT) { // its descriptor was closed
        poll_end(p->worker->polls, p);
        return SKUA_ECLOSED;
    }
    if (!status) p->events = events;
    return status;
}

bool skua_poll_stop(skua_poll handle)
{
    poll_entry *p = poll_find(handle);
    if (!p) return false;
    home_expect(p->worker, __func__);
    struct poll_table *table = p->worker->polls;
    (void)poll_set_remove(table->set, p->fd, p->events & POLL_ASKED); // it may be closed
    poll_end(table, p);
    return true;
}

bool polls_wait(const skua_worker *w)
{
    return w->polls && w->polls->count;
}

void polls_drop(skua_worker *w)
{
    struct poll_table *table = w->polls;
    if (!table) return;
    io_cancel(&w->loop, &table->ready);
    for (unsigned i = 0; i < POLL_BUCKETS; i++) {
        while (table->buckets[i])
            poll_end(table, table->buckets[i]);
    }
    registry_give_back(&poll_registry, &table->free);
    (void)close(table->set);
    memory_free(table);
    w->polls = NULL;
}
