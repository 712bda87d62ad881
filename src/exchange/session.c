// SPDX-License-Identifier: MIT
//
// Session: what is the same for all protocols. The progress of a connection is judged by octets
// that have reached the peer, and by time in which the worker could have served it.

#include "exchange/session.h"

#include "exchange/worker.h"

const io_address *session_peer(const session *s)
{
    io_peer(&s->worker->loop, s->link.stream, s->link.peer);
    return s->link.peer;
}

// ---- Progress ----

// The kernel is not asked yet: this is on the path of requests.
void session_watch(session *s)
{
    session_progress *p = &s->progress;
    p->looked = false;
    p->watched_moved = s->moved;
    p->still_ns = p->window_ns = s->worker->loop.now_ns;
}

// The kernel takes megabytes at once, and then nothing until a third of them is gone: for a slow
// peer that is longer than any deadline. So what counts is what has reached it.
static uint64_t session_gone(const session *s)
{
    return s->moved - io_unsent(&s->worker->loop, s->link.stream);
}

int64_t session_look_ns(const skua_worker *w)
{
    const skua_config *config = worker_config(w);
    int64_t least = config->stall_timeout_ns < config->rate_window_ns ? config->stall_timeout_ns
                                                                      : config->rate_window_ns;
    return least / 4 + 1;
}

// It is not known what moved before this look, so at most the time of one look counts as
// standstill.
static void session_look_first(session *s, uint64_t gone)
{
    session_progress *p = &s->progress;
    int64_t now = s->worker->loop.now_ns, earliest = now - session_look_ns(s->worker);
    p->looked = true;
    p->stood = false;
    p->credit = 0;
    p->looked_gone = p->window_gone = gone;
    p->looked_ns = p->window_ns = now;
    if (s->moved != p->watched_moved) p->still_ns = now;
    else if (p->still_ns < earliest) p->still_ns = earliest;
}

static int64_t session_earlier_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// A look that comes late is the worker's fault, which was busy or stopped, and not the peer's.
// Returns how long the peer has had since the last one.
static int64_t session_excuse(session *s)
{
    session_progress *p = &s->progress;
    int64_t now = s->worker->loop.now_ns, look = session_look_ns(s->worker);
    int64_t passed = now - p->looked_ns, late = passed - look;
    p->looked_ns = now;
    if (late <= 0) return passed;
    p->still_ns = session_earlier_ns(p->still_ns + late, now);
    p->window_ns = session_earlier_ns(p->window_ns + late, now);
    return look;
}

uint64_t session_owed(const skua_worker *w, int64_t ns)
{
    return worker_config(w)->rate_octets_min * (uint64_t)(ns / 1000000) / 1000;
}

// The kernel of a slow reader makes room in steps, and each may take it longer than a standstill
// may last. Who has read on after one is known not to have stopped: what it has taken counts in
// advance, and is used up at the minimum rate.
static void session_count_credit(session *s, uint64_t octets, int64_t passed_ns)
{
    session_progress *p = &s->progress;
    uint64_t owed = session_owed(s->worker, passed_ns);
    p->credit = p->credit > owed ? p->credit - (uint32_t)owed : 0;
    if (!(p->stood || p->credit) || s->out->octets == 0) return;
    octets += p->credit;
    p->credit = octets < SESSION_CREDIT_MAX ? (uint32_t)octets : SESSION_CREDIT_MAX;
}

static bool session_judge_still(session *s, uint64_t gone, int64_t passed_ns)
{
    session_progress *p = &s->progress;
    int64_t now = s->worker->loop.now_ns;
    session_count_credit(s, gone - p->looked_gone, passed_ns);
    p->stood = gone == p->looked_gone;
    p->looked_gone = gone;
    if (!p->stood) p->still_ns = now;
    return p->credit == 0 && now - p->still_ns >= worker_config(s->worker)->stall_timeout_ns;
}

// A window in which nothing moved is left to the judgement of standstills, which have a time of
// their own.
bool session_look(session *s)
{
    session_progress *p = &s->progress;
    int64_t now = s->worker->loop.now_ns;
    int64_t window = worker_config(s->worker)->rate_window_ns;
    uint64_t gone = session_gone(s);
    if (!p->looked) {
        session_look_first(s, gone);
        return false;
    }
    int64_t passed = session_excuse(s);
    if (session_judge_still(s, gone, passed)) return true;
    bool paced = s->protocol->is_paced(s);
    if (now - p->window_ns < window && !paced) return false;
    uint64_t moved = gone - p->window_gone;
    if (!paced && moved > 0 && moved < session_owed(s->worker, window)) return true;
    p->window_gone = gone;
    p->window_ns = now;
    return false;
}
