// SPDX-License-Identifier: MIT
//
// Memos. The head is kept as it came, so that the log's line says what it would have said.

#include "exchange/memo.h"

#include "exchange/carrier.h"
#include "exchange/middleware.h"
#include "exchange/request_end.h"
#include "exchange/sites.h"
#include "exchange/worker.h"

bool memo_suffices(const skua_request *r)
{
    if (r->holds || r->objects || r->tickets || r->call || r->spools || r->end || r->asker.first)
        return false;
    if (r->collects || r->occupies || r->filtering == FILTERING_RUNS) return false;
    return !middleware_awaits_end(r);
}

static bool memo_is_logged(const skua_request *r)
{
    return r->worker->lane && !r->unlogged;
}

static size_t memo_fields_octets(const request_head *head)
{
    return head->count * sizeof *head->fields;
}

static void memo_take_head(const skua_request *r, memo_more *more)
{
    more->head = r->head;
    memcpy(more->octets, r->base, r->head.octets);
    memcpy(more->octets + r->head.octets, r->head_fields, memo_fields_octets(&r->head));
    if (!r->authority.len) return;
    more->authority_at = (uint32_t)(r->authority.ptr - r->base);
    more->authority_len = (uint32_t)r->authority.len;
}

// Returns: false when memory ran out.
static bool memo_take_more(const skua_request *r, request_memo *memo)
{
    bool is_logged = memo_is_logged(r);
    size_t len = is_logged ? r->head.octets + memo_fields_octets(&r->head) : 0;
    memo->more = NULL;
    if (!is_logged && !r->sited) return true;
    memo_more *more = counted_zeroed(&r->worker->memory, sizeof *more + len);
    if (!more) return false;
    more->route = r->match.route;
    more->seat = r->sited ? r->seat : NULL;
    if (is_logged) memo_take_head(r, more);
    memo->more = more;
    return true;
}

skua_status memo_take(skua_request *r, request_memo *memo)
{
    SKUA_ASSERT(memo_suffices(r));
    if (!memo_take_more(r, memo)) return SKUA_ENOMEM;
    memo->began_ns = r->began_ns;
    memo->sent_octets = r->sent_octets;
    request_close_response(r);
    r->keeps = false; // the site's seat is the memo's
    request_forget(r);
    return SKUA_OK;
}

static void memo_use_head(skua_request *r, const memo_more *more, char *base)
{
    const request_head *head = &more->head;
    memcpy(base, more->octets, head->octets);
    r->head = *head;
    r->head.fields = r->head_fields;
    memcpy(r->head_fields, more->octets + head->octets, memo_fields_octets(head));
    r->base = base;
    r->method = head_method(head, base);
    r->target_text = head_target(head, base);
    r->authority = slice_make(base + more->authority_at, more->authority_len);
    r->unlogged = false;
}

static void memo_use_more(skua_request *r, const memo_more *more, char *base)
{
    r->match.route = more->route;
    r->seat = more->seat;
    r->sited = r->keeps = more->seat != NULL;
    if (base) memo_use_head(r, more, base);
}

// A tunnel after its 101, or, where it is one stream of several, 200.
static void memo_set_states(skua_request *r, const request_memo *memo)
{
    bool is_stream = r->carrier->number;
    r->base = "";
    r->unlogged = true;
    r->status = is_stream ? 200 : 101;
    r->head.version = is_stream ? 20 : 11;
    r->close = true;
    r->pull_left = -1;
    r->wanted = 0;
    r->began_ns = memo->began_ns;
    r->sent_octets = memo->sent_octets;
    request_set_responding(r, RESPONSE_PUSHED);
    request_set_push(r, PUSH_TUNNEL);
    request_set_reading(r, READING_DONE);
    request_set_reading(r, READING_TUNNEL);
}

skua_request *memo_recall(request_memo *memo, skua_worker *w, carrier *c)
{
    skua_request *r = request_take(w, c);
    if (!r) return NULL;
    size_t len = memo->more ? memo->more->head.octets : 0;
    char *base = len ? arena_alloc(&r->memory, len) : NULL;
    if (len && !base) {
        request_close_response(r);
        request_forget(r);
        return NULL;
    }
    memo_set_states(r, memo);
    if (memo->more) memo_use_more(r, memo->more, base);
    counted_free(memo->more);
    memo->more = NULL;
    return r;
}

void memo_drop(request_memo *memo)
{
    if (!memo->more) return;
    if (memo->more->seat) site_seat_leave(memo->more->seat);
    counted_free(memo->more);
    memo->more = NULL;
}
