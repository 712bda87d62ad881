// SPDX-License-Identifier: MIT
//
// Handoff. A socket travels in a letter of the worker that accepted it, which comes back when it
// has been adopted, so that in steady state nothing is allocated. The receiver's posting gate keeps
// it from ending while a letter is under way; a worker whose gate is closed is passed over.

#include "server/handoff.h"

#include "base/memory.h"
#include "server/connection_accept.h"
#include "server/locals.h"
#include "server/server.h"

struct handed {
    mail letter; // first
    handed *next;
    server_worker *owner;
    arrival came;
    unsigned turn;  // the worker that is tried next
    unsigned tries; // how many are left
};

// ---- Letters ----

static void handed_came_back(mail *letter, void *reader)
{
    server_worker *w = reader;
    handed *h = (handed *)(void *)letter;
    h->next = w->free_handed;
    w->free_handed = h;
}

// Nobody is woken for it: the owner looks when it has none left.
static void handed_give_back(handed *h)
{
    h->letter.deliver = handed_came_back;
    (void)mailbox_post(&h->owner->handed_back, &h->letter);
}

static handed *handed_take(server_worker *w)
{
    if (!w->free_handed) mailbox_deliver(&w->handed_back, w);
    handed *h = w->free_handed;
    if (!h) return memory_alloc(sizeof *h);
    w->free_handed = h->next;
    return h;
}

void handoff_end(server_worker *w)
{
    mailbox_deliver(&w->handed_back, w);
    while (w->free_handed) {
        handed *h = w->free_handed;
        w->free_handed = h->next;
        memory_free(h);
    }
}

// A free letter has no owner once a sweep has seen it; sending it gives it one.
size_t handoff_sweep(server_worker *w)
{
    size_t freed = 0;
    mailbox_deliver(&w->handed_back, w);
    handed **link = &w->free_handed;
    while (*link) {
        handed *h = *link;
        if (h->owner) {
            h->owner = NULL;
            link = &h->next;
        } else {
            *link = h->next;
            memory_free(h);
            freed += sizeof *h;
        }
    }
    return freed;
}

// ---- Handing on ----

static void handed_adopt(server_worker *w, handed *h)
{
    connection_accepted(w, &h->came);
    handed_give_back(h);
}

static bool handoff_send(server_worker *to, handed *h)
{
    if (!gate_enter(&to->posting)) return false;
    worker_post(&to->self, &h->letter);
    return true;
}

// Each worker is tried once. The last resort refuses it, which closes and counts.
static void handoff_pass(server_worker *w, handed *h)
{
    const skua_server *server = w->self.server;
    unsigned serving = server_serving_count(server); // perhaps fewer than when it was accepted
    while (h->tries) {
        server_worker *to = server->workers[h->turn % serving];
        h->turn = (h->turn + 1) % serving;
        h->tries--;
        if (to == w) {
            if (worker_has_room(w)) break;
        } else if (handoff_send(to, h)) {
            return;
        }
    }
    handed_adopt(w, h);
}

static void handed_deliver(mail *letter, void *reader)
{
    server_worker *w = reader;
    handed *h = (handed *)(void *)letter;
    if (worker_has_room(w)) handed_adopt(w, h);
    else handoff_pass(w, h);
    gate_leave(&w->posting);
}

void handoff_accepted(server_worker *w, const arrival *came)
{
    unsigned serving = server_serving_count(w->self.server), turn = w->turn % serving;
    w->turn = (turn + 1) % serving;
    handed *h = turn == w->self.index && worker_has_room(w) ? NULL : handed_take(w);
    if (!h) { // its own, or there is no memory for a letter
        connection_accepted(w, came);
        return;
    }
    *h = (handed){
        .letter = { .deliver = handed_deliver }, .owner = w, .came = *came, .turn = turn
    };
    h->tries = serving;
    handoff_pass(w, h);
}

// ---- Descriptors ----

static void handoff_told_to_evict(server_worker *w)
{
    (void)locals_evict(w);
}

void handoff_evict(server_worker *w)
{
    const skua_server *server = w->self.server;
    for (unsigned i = 0; i < server_worker_count(server); i++) {
        server_worker *to = server->workers[i];
        if (to != w) worker_tell(to, &to->evicting, handoff_told_to_evict);
    }
}
