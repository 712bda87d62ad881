// SPDX-License-Identifier: MIT
//
// The end of requests: whoever is concerned is told, and everything is given back.

#include "exchange/request_end.h"

#include "base/contract.h"
#include "base/inline.h"
#include "exchange/blocking.h"
#include "exchange/carrier.h"
#include "exchange/client.h"
#include "exchange/content.h"
#include "exchange/filter.h"
#include "exchange/identity.h"
#include "exchange/middleware.h"
#include "exchange/sites.h"
#include "exchange/spool.h"
#include "exchange/ticket.h"
#include "exchange/worker.h"

// A response of which no more waits is as good as sent.
enum { REQUEST_SOON_OCTETS = 16384 };

static const char *request_end_text(skua_end how)
{
    switch (how) {
    case SKUA_END_SENT: return "";
    case SKUA_END_CLOSED: return "closed";
    case SKUA_END_TIMEOUT: return "timeout";
    case SKUA_END_ERROR: return "error";
    }
    return "";
}

static skua_tls_info request_log_tls(const skua_request *r)
{
    skua_tls_info info = { 0 };
    const transport *t = r->carrier->session->link.transport;
    if (t && !t->table->info(t, &info)) return (skua_tls_info){ 0 };
    return info;
}

static void request_log(const skua_request *r, skua_end how, int64_t duration_ns)
{
    skua_worker *w = r->worker;
    char peer[64], remote[64];
    (void)client_write(r, peer, sizeof peer);
    (void)client_write_peer(r, remote, sizeof remote);
    bool parsed = r->began_ns != 0;
    skua_tls_info tls = request_log_tls(r);
    log_request(w->lane,
                &(log_access){
                    .unix_ns = w->loop.unix_ns,
                    .duration_ns = duration_ns,
                    .peer = peer,
                    .remote = remote,
                    .method = r->method,
                    .target = r->target_text,
                    .host = parsed ? r->authority : (slice){ 0 },
                    .version = r->head.version,
                    .stream = r->carrier->number,
                    .status = r->status,
                    .octets = r->sent_octets,
                    .referer = parsed ? skua_request_field(r, "referer") : (slice){ 0 },
                    .user_agent = parsed ? skua_request_field(r, "user-agent") : (slice){ 0 },
                    .id = identity_known(r),
                    .trace = parsed ? identity_trace(r) : (slice){ 0 },
                    .route = r->match.route ? r->match.route->name : NULL,
                    .tls_version = tls.version,
                    .tls_cipher = tls.cipher,
                    .server_name = tls.server_name,
                    .end = request_end_text(how),
                    .reason = r->blamed ? r->reason : NULL,
                });
}

// A connection that ended before anything could be read, and got no response, has no line and does not
// count.
__attribute__((noinline)) static void request_account(const skua_request *r, skua_end how)
{
    const skua_worker *w = r->worker;
    if (r->status == 0 && r->method.len == 0 && !r->blamed) return;
    int64_t duration_ns = r->began_ns ? io_loop_clock_ns(&w->loop) - r->began_ns : 0;
    if (w->tells & TELL_FIGURES) figures_count(w->figures, r, how, duration_ns);
    if (w->lane && !r->unlogged) request_log(r, how, duration_ns);
}

// To follow each response until it has left costs as much again as it does to count it; what fits into the
// kernel's buffers will have left before this is looked at. A loop with a clock of its own is none of those.
BASE_INLINE_ALWAYS bool request_is_accounted(const skua_request *r, uint64_t unsent)
{
    const skua_worker *w = r->worker;
    if (__builtin_expect(w->tells != TELL_FIGURES, 0)) return false;
    if (__builtin_expect(((uintptr_t)r->end | r->entered | r->sited) != 0, 0)) return false;
    if (__builtin_expect(unsent > REQUEST_SOON_OCTETS, 0)) return false;
    if (__builtin_expect(r->responding == RESPONSE_FAILED || !r->began_ns, 0)) return false;
    figures_count(w->figures, r, SKUA_END_SENT, io_clock_ns() - r->began_ns);
    return true;
}

void skua_request_skip_log(skua_request *r)
{
    request_expect(r, __func__);
    r->unlogged = true;
}

void request_let_go(skua_request *r)
{
    if (r->spools) spool_let_go(r); // first: the program may take a ticket when it is told
    if (r->tickets) ticket_close_all(r);
    if (r->reads_topics) r->worker->leave_topics(r);
    if (r->call) blocking_let_go(r->call);
    filter_let_go(r);
    work_let_go(&r->asker);
}

work_asker *request_asker_of(const void *served)
{
    const carrier *c = served;
    return c->current ? &c->current->asker : NULL;
}

// A client that has left is only noticed when its request waits for nothing of the library's.
void request_work_is_over(work_asker *asker)
{
    skua_request *r = (skua_request *)(void *)((char *)asker - offsetof(skua_request, asker));
    carrier *c = r->carrier;
    if (c->table->peer_is_done(c)) c->table->kick(c);
}

static inline void request_put_free(skua_worker *w, skua_request *r)
{
    r->next = w->free_requests;
    w->free_requests = r;
}

#if CONTRACT_IS_SEARCHED
// A program that still uses the request is found out: its memory is used again only after so many
// others have gone.
static void request_put(skua_worker *w, skua_request *r)
{
    skua_request **place = &w->gone_requests[w->gone_count++ % WORKER_GONE_KEPT];
    if (*place) request_put_free(w, *place);
    *place = r;
}
#else
// The next one has its memory, which is still in the processor's cache.
static inline void request_put(skua_worker *w, skua_request *r)
{
    request_put_free(w, r);
}
#endif

__attribute__((noinline)) static void request_free_kept(skua_request *r)
{
    if (r->collects) content_free(r);
    if (r->spools) spool_free_all(r);
    if (r->sited) site_seat_leave(r->seat);
}

static inline void request_give_back(skua_request *r)
{
    skua_worker *w = r->worker;
    if (r->holds) {
        if (r->occupies) r->carrier->table->occupy(r);
        request_set_life(r, LIFE_IS_OVER);
        return;
    }
    if (r->keeps) request_free_kept(r);
    arena_reset(&r->memory);
    r->home = NULL;
    request_put(w, r);
}

// The content is the last of a response's octets, so what has not left of the response is content,
// as far as there is any. The framing of chunks that have not left counts as content, too: what is
// stated has left for sure.
static void request_count_sent(skua_request *r)
{
    uint64_t unsent = r->carrier->table->unsent(r);
    r->sent_octets -= unsent < r->sent_octets ? unsent : r->sent_octets;
}

// Nobody else is told of its end, and those who wait for its content find that it has come.
__attribute__((noinline)) static void request_dismiss_followed(skua_request *r)
{
    if (r->spools) {
        request_close_response(r);
        spool_let_go(r);
    }
    request_let_go(r);
}

BASE_INLINE void request_dismiss(skua_request *r)
{
    if (r->is_followed || r->asker.first) request_dismiss_followed(r);
    request_give_back(r);
}

void request_forget(skua_request *r)
{
    SKUA_ASSERT(!r->holds && !r->spools && !r->tickets);
    request_give_back(r);
}

void request_tell_end(skua_request *r, skua_end how)
{
    if (r->entered) middleware_end(r, how);
    if (r->end) r->end(r, how, r->end_user);
}

// Those who follow a request are told last. While its blocking handler runs, nobody who could free what
// the handler uses is told at all.
__attribute__((noinline)) static void request_end_followed(skua_request *r, skua_end how)
{
    if (r->spools) spool_let_go(r);
    if (!r->call || !blocking_end_later(r->call, how)) request_tell_end(r, how);
    if (r->worker->tells) request_account(r, how);
    request_let_go(r);
    request_give_back(r);
}

void request_end(skua_request *r, skua_end how)
{
    request_close_response(r);
    if (how != SKUA_END_SENT) request_count_sent(r);
    if (r->is_followed) {
        request_end_followed(r, how);
        return;
    }
    if (r->entered) middleware_end(r, how);
    if (r->end) r->end(r, how, r->end_user);
    if (r->worker->tells) request_account(r, how);
    request_dismiss(r);
}

void skua_request_hold(skua_request *r)
{
    request_expect(r, __func__);
    r->holds++;
    r->worker->held++;
}

void skua_request_drop(skua_request *r)
{
    request_expect(r, __func__);
    CONTRACT(r->holds > 0, "called more often than skua_request_hold");
    r->holds--;
    r->worker->held--;
    if (r->life != LIFE_IS_OVER || r->holds) return;
    if (r->occupies) r->carrier->table->vacate(r->carrier);
    request_give_back(r);
}
