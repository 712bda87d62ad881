// SPDX-License-Identifier: MIT
//
// An alarm comes at the end of a turn, behind what the loop does for everybody else.

#include "ws/share.h"

#if !defined(SKUA_NO_WEBSOCKET) && defined(SKUA_ZLIB)

#include "base/assert.h"

enum { SHARE_OCTETS = 262144 }; // inflated by a worker, before other connections have their turn

// The share outlives the sockets: those that come and leave within a turn have one in all.
static void share_look_at_turn(skua_worker *w)
{
    int64_t now = w->loop.now_ns;
    if (w->ws_share.turn_ns == now) return;
    w->ws_share.inflated = 0;
    w->ws_share.turn_ns = now;
}

static bool share_is_used(skua_worker *w)
{
    share_look_at_turn(w);
    return w->ws_share.inflated >= SHARE_OCTETS;
}

void ws_share_use(skua_worker *w, size_t octets)
{
    share_look_at_turn(w);
    w->ws_share.inflated += octets;
}

// Sockets that had to wait come before those that have inflated something since, and before those that are new: else
// some would wait as long as others keep coming.
bool ws_share_is_for_others(skua_worker *w, const ws_waiter *waiter)
{
    return share_is_used(w) || (w->ws_share.first && w->ws_share.served != waiter);
}

// ---- The queue ----

static void share_fired(io_alarm *alarm, void *user);

// For the next turn.
static bool share_arm(skua_worker *w)
{
    w->ws_share.alarm.fired = share_fired;
    return !io_alarm_set(&w->loop.alarms, &w->ws_share.alarm, w->loop.now_ns + 1);
}

static void share_push(skua_worker *w, ws_waiter *waiter)
{
    waiter->next = NULL;
    waiter->previous = w->ws_share.last;
    if (waiter->previous) waiter->previous->next = waiter;
    else w->ws_share.first = waiter;
    w->ws_share.last = waiter;
}

static void share_unlink(skua_worker *w, const ws_waiter *waiter)
{
    if (waiter->next) waiter->next->previous = waiter->previous;
    else w->ws_share.last = waiter->previous;
    if (waiter->previous) waiter->previous->next = waiter->next;
    else w->ws_share.first = waiter->next;
}

bool ws_share_await(skua_worker *w, ws_waiter *waiter, ws_turn_fn *turn, void *user)
{
    if (waiter->turn) return true;
    if (!w->ws_share.alarm.index && !share_arm(w)) return false;
    waiter->turn = turn;
    waiter->user = user;
    share_push(w, waiter);
    return true;
}

void ws_share_leave(skua_worker *w, ws_waiter *waiter)
{
    if (w->ws_share.served == waiter) w->ws_share.served = NULL;
    if (!waiter->turn) return;
    waiter->turn = NULL;
    share_unlink(w, waiter);
    if (!w->ws_share.first) io_alarm_unset(&w->loop.alarms, &w->ws_share.alarm);
}

// ---- The turn ----

static void share_serve(skua_worker *w, ws_waiter *waiter)
{
    ws_turn_fn *turn = waiter->turn;
    w->ws_share.served = waiter;
    share_unlink(w, waiter);
    waiter->turn = NULL;
    turn(waiter->user);
    w->ws_share.served = NULL;
}

// It is set anew first, while the alarm that has fired leaves room for it.
static void share_fired(io_alarm *alarm, void *user)
{
    (void)user;
    skua_worker *w = (skua_worker *)(void *)((char *)alarm - offsetof(skua_worker, ws_share.alarm));
    bool armed = share_arm(w);
    SKUA_ASSERT(armed);
    (void)armed;
    while (w->ws_share.first && !share_is_used(w))
        share_serve(w, w->ws_share.first);
    if (!w->ws_share.first) io_alarm_unset(&w->loop.alarms, &w->ws_share.alarm);
}

#endif
