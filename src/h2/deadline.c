// SPDX-License-Identifier: MIT
//
// Deadlines. Each stream has its own: one that waits for its client is judged by what moves on it, one
// that waits for its handler by time. A stream that waits for its turn is not to blame, nor is one that waits
// for the connection's window while the client opens that for others.

#include "h2/deadline.h"

#ifndef SKUA_NO_HTTP2

#include "exchange/push.h"
#include "exchange/request_end.h"
#include "exchange/error.h"
#include "exchange/respond.h"
#include "exchange/waiting.h"
#include "h2/admission.h"
#include "h2/backlog.h"
#include "h2/content.h"
#include "h2/ending.h"
#include "h2/schedule.h"
#include "h2/session.h"
#include "h2/signal.h"
#include "h2/tunnel.h"

enum { H2_LOOK_AGAIN = -1 }; // a stream has ended

// The party that a stream waits for.
typedef enum h2_awaited {
    H2_AWAITS_NOBODY, // its turn
    H2_AWAITS_CLIENT, // its content, or its window
    H2_AWAITS_HANDLER
} h2_awaited;

static int64_t h2_deadline_earlier(int64_t a, int64_t b)
{
    if (a <= 0 || b <= 0) return a > 0 ? a : b;
    return a < b ? a : b;
}

// ---- A stream ----

bool h2_deadline_has_content(const h2_stream *stream)
{
    if (stream->self != H2_HALF_OPEN) return false;
    return h2_backlog_octets(stream) > 0 || stream->carrier.current->responding == RESPONSE_PULLED;
}

// Two windows that are shut by turns would otherwise hold a response for ever: it waits for one, then for the
// other, and for neither long.
static bool h2_deadline_is_held(const h2_stream *stream)
{
    const h2_session *s = h2_stream_session(stream);
    const h2_memory *memory = s->memory;
    if (stream->send_window <= 0) return true;
    return s->send_window <= 0 && memory->pays_little &&
           memory->credit < session_owed(s->base.worker, h2_config(s)->rate_window_ns);
}

static h2_awaited h2_deadline_awaits(const h2_stream *stream)
{
    const skua_request *r = stream->carrier.current;
    if (h2_deadline_has_content(stream))
        return h2_deadline_is_held(stream) ? H2_AWAITS_CLIENT : H2_AWAITS_NOBODY;
    bool may_send = stream->recv_window > 0;
    return may_send && waiting_of(r) == WAITING_CONTENT ? H2_AWAITS_CLIENT : H2_AWAITS_HANDLER;
}

// How long it may stay as it is; 0: for ever.
static int64_t h2_deadline_patience(const skua_request *r, h2_awaited whom)
{
    const skua_config *config = worker_config(r->worker);
    if (whom == H2_AWAITS_CLIENT) return config->stall_timeout_ns;
    if (r->is_socket) return 0;
    if (r->push >= PUSH_TUNNEL) return config->stream_idle_timeout_ns;
    int64_t timeout = waiting_timeout_ns(r);
    if (timeout) return timeout;
    return r->responding != RESPONSE_NONE ? config->stream_idle_timeout_ns : 0;
}

static int64_t h2_deadline_still_ns(const h2_stream *stream, int64_t now)
{
    int64_t dropped = stream->carrier.dropped_ns;
    return now - (dropped > stream->moved_ns ? dropped : stream->moved_ns);
}

// Whether a client moves something, but less than the minimum rate.
static bool h2_deadline_is_slow(h2_stream *stream, h2_awaited whom, int64_t now)
{
    const skua_worker *w = stream->carrier.session->worker;
    int64_t window = worker_config(w)->rate_window_ns;
    if (whom != H2_AWAITS_CLIENT) {
        stream->rate_ns = 0;
        return false;
    }
    if (stream->rate_ns && now - stream->rate_ns < window) return false;
    uint32_t moved = stream->rate_octets;
    bool slow = stream->rate_ns && moved > 0 && moved < session_owed(w, window);
    stream->rate_ns = now;
    stream->rate_octets = 0;
    return slow;
}

// Its time is over. Whoever sends content too slowly is told so, and so is who waits for a handler; a
// response that has begun is cut.
static void h2_deadline_end(h2_stream *stream, h2_awaited whom)
{
    skua_request *r = stream->carrier.current;
    if (r->responding != RESPONSE_NONE) {
        h2_ending_reset(stream, H2_CANCEL, SKUA_END_TIMEOUT);
        return;
    }
    bool content = whom == H2_AWAITS_CLIENT;
    request_blame(r, content ? "the content did not come in time" : "no answer in time");
    h2_stream_enter(stream);
    error_respond(r, content ? 408 : 503, false);
    request_let_go(r);
    h2_stream_exit(stream);
    h2_ending_settle(stream);
}

// Looks at one stream, which may be gone afterwards. Returns: when to look again, from now; 0: never.
static int64_t h2_deadline_look_at(h2_stream *stream)
{
    skua_request *r = stream->carrier.current;
    if (h2_tunnel_is_parked(stream) || (r && r->rests && h2_tunnel_park(stream)))
        return h2_tunnel_look(stream);
    if (!r) return 0;
    if (stream->text) return 0; // it has not begun
    const skua_worker *w = r->worker;
    bool slowed = h2_content_trickle(stream); // by this side, so that its rate is not judged
    int64_t now = w->loop.now_ns, still = h2_deadline_still_ns(stream, now);
    h2_awaited whom = h2_deadline_awaits(stream);
    bool slow = h2_deadline_is_slow(stream, slowed ? H2_AWAITS_HANDLER : whom, now);
    if (whom == H2_AWAITS_NOBODY) return session_look_ns(w);
    int64_t patience = h2_deadline_patience(r, whom);
    if (slow || (patience && still >= patience)) {
        h2_deadline_end(stream, whom);
        return H2_LOOK_AGAIN;
    }
    int64_t look = worker_config(w)->unanswered_log_ns;
    if (still >= look && waiting_is_forgotten(r)) waiting_complain(r);
    int64_t left = patience ? patience - still : 0;
    if (whom == H2_AWAITS_CLIENT) return h2_deadline_earlier(left, session_look_ns(w));
    return r->responding == RESPONSE_NONE ? h2_deadline_earlier(left, look) : left;
}

// ---- The connection ----

// Whether the client opens the connection's window, for which streams wait, by less than the minimum
// rate. One that is not opened at all has a time of its own.
static bool h2_deadline_opens_slowly(h2_session *s, int64_t now)
{
    int64_t window = h2_config(s)->rate_window_ns;
    h2_memory *memory = s->memory;
    if (memory->opening_ns && now - memory->opening_ns < window) return false;
    bool slow = memory->opening_ns && memory->opened > 0 &&
                memory->opened < session_owed(s->base.worker, window);
    memory->opening_ns = now;
    memory->opened = 0;
    return slow;
}

static void h2_deadline_weigh(h2_session *s)
{
    h2_memory *memory = s->memory;
    int64_t now = s->base.worker->loop.now_ns, window = h2_config(s)->rate_window_ns;
    if (memory->weighed_ns && now - memory->weighed_ns < window) return;
    memory->pays_little =
        memory->weighed_ns && memory->credit < session_owed(s->base.worker, window);
    memory->weighed_ns = now;
    memory->credit = 0;
}

// Why the connection ends, for whose window streams wait, and have for too long; NULL: it goes on. That
// the client is heard does not count, as nothing but credit helps them.
static const char *h2_deadline_of_window(h2_session *s)
{
    int64_t now = s->base.worker->loop.now_ns;
    if (s->send_window > 0 || !s->ready_mask) {
        s->shut_ns = s->memory->opening_ns = 0;
        return NULL;
    }
    if (!s->shut_ns) s->shut_ns = now;
    if (now - s->shut_ns >= h2_config(s)->stall_timeout_ns)
        return "the connection's window stays shut";
    return h2_deadline_opens_slowly(s, now) ? "the connection's window opens too slowly" : NULL;
}

// Nothing may be heard of a client for long while handlers work: a PING tells whether it is there.
static bool h2_deadline_is_gone(h2_session *s)
{
    int64_t silent = s->base.worker->loop.now_ns - s->heard_ns;
    int64_t most = h2_config(s)->stall_timeout_ns;
    if (s->pinged) return silent >= 2 * most;
    if (silent < most) return false;
    s->pinged = true;
    h2_signal_ping(s);
    return false;
}

static const char *h2_deadline_of_connection(h2_session *s)
{
    int64_t now = s->base.worker->loop.now_ns;
    if (s->settings_ns && now - s->settings_ns >= h2_config(s)->head_timeout_ns)
        return "SETTINGS were not acknowledged in time";
    return h2_deadline_of_window(s);
}

// When a stream has ended, the program may have let go of others: its bucket is begun again.
static int64_t h2_deadline_look_at_all(h2_session *s)
{
    int64_t next = session_look_ns(s->base.worker);
    for (size_t i = 0; i < H2_BUCKETS; i++) {
        h2_stream *at = s->work->buckets[i];
        while (at) {
            int64_t look = h2_deadline_look_at(at);
            next = h2_deadline_earlier(next, look);
            at = look == H2_LOOK_AGAIN ? s->work->buckets[i] : at->by_number;
        }
    }
    return next;
}

int64_t h2_deadline_look(session *base)
{
    h2_session *s = h2_session_of(base);
    if (!s->work) return 0;
    h2_deadline_weigh(s);
    const char *late = h2_deadline_of_connection(s);
    if (late) {
        h2_code code = s->settings_ns ? H2_SETTINGS_TIMEOUT : H2_ENHANCE_YOUR_CALM;
        h2_ending_fail(s, h2_fault(code, late));
    } else if (h2_deadline_is_gone(s)) {
        return -1;
    }
    h2_admission_run(s);
    int64_t next = h2_deadline_earlier(h2_deadline_look_at_all(s), h2_admission_look_ns(s));
    h2_schedule_fill(s);
    if (s->base.out->octets || s->stage == H2_FAILED)
        io_kick(&s->base.worker->loop, s->base.link.stream);
    return next;
}

bool h2_deadline_look_on(session *base)
{
    (void)h2_deadline_look(base);
    return false;
}

#endif
