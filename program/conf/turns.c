// SPDX-License-Identifier: MIT
//
// Each worker has a row of its own, and a share of what may be checked at once: who waits in a row waits for somebody of
// the same row, and no lock is needed.

#include "conf/turns.h"

#include <stddef.h>

enum { TURNS_WORKERS_MAX = 1024 }; // of a server

typedef struct turn {
    skua_request *request;
    skua_credentials *c;
    skua_offloaded_fn *done;
    unsigned row;
    struct turn *next;
} turn;

static struct {
    unsigned running, waiting;
    turn *first; // of those that wait
} rows[TURNS_WORKERS_MAX];

static unsigned turns_share(skua_request *request)
{
    unsigned workers = skua_server_workers(skua_request_server(request));
    return workers < TURNS_MAX ? TURNS_MAX / workers : 1;
}

static void turns_next(unsigned row, unsigned share);

static void turns_run(void *user)
{
    skua_authentication_run(((turn *)user)->c);
}

static void turns_checked(skua_request *request, void *user)
{
    const turn *t = user;
    unsigned row = t->row, share = turns_share(t->request);
    rows[row].running--;
    t->done(request, t->c);
    turns_next(row, share);
}

static skua_status turns_check(turn *t)
{
    skua_status status = skua_request_offload(t->request, turns_run, turns_checked, t);
    if (!status) rows[t->row].running++;
    return status;
}

// ---- Waiting ----

static void turns_leave(turn *t)
{
    turn **at = &rows[t->row].first;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    rows[t->row].waiting--;
}

// Clients who come and go keep nobody from the row.
static void turns_gone(skua_request *request, skua_end how, void *user)
{
    (void)how;
    turns_leave(user);
    skua_request_drop(request);
}

// The request is held, since a client that sends no more still waits for this.
static skua_status turns_wait(turn *t)
{
    turn **end = &rows[t->row].first;
    if (rows[t->row].waiting == TURNS_WAITING_MAX) return SKUA_ELIMIT;
    while (*end)
        end = &(*end)->next;
    *end = t;
    rows[t->row].waiting++;
    skua_on_end(t->request, turns_gone, t);
    skua_request_hold(t->request);
    return SKUA_OK;
}

static void turns_next(unsigned row, unsigned share)
{
    turn *t;
    while (rows[row].running < share && (t = rows[row].first)) {
        skua_request *held = t->request;
        turns_leave(t);
        skua_on_end(held, NULL, NULL);
        if (turns_check(t)) skua_respond_error(held, 503);
        skua_request_drop(held);
    }
}

skua_status turns_take(skua_request *request, skua_credentials *c, skua_offloaded_fn *done)
{
    turn *t = skua_request_alloc(request, sizeof *t);
    if (!t) return SKUA_ENOMEM;
    *t = (turn){ request, c, done, skua_worker_index(skua_request_worker(request)), NULL };
    return rows[t->row].running < turns_share(request) ? turns_check(t) : turns_wait(t);
}
