// SPDX-License-Identifier: MIT
//
// The reasons for which a request waits.

#include "exchange/waiting.h"

#include "base/contract.h"
#include "exchange/carrier.h"
#include "exchange/content.h"
#include "exchange/ticket.h"
#include "exchange/worker.h"

#include <stdio.h>

enum { WAITING_TEXT_OCTETS = 400, WAITING_SHOWN_OCTETS = 100 };

// A handler that pushes waits for room only if it asked to be told of it.
static bool waiting_for_room(const skua_request *r)
{
    switch ((request_responding)r->responding) {
    case RESPONSE_NONE:
    case RESPONSE_HEADING:
    case RESPONSE_PENDING: return false;
    case RESPONSE_PUSHED: return r->wanted && r->drained;
    case RESPONSE_PULLED:
    case RESPONSE_QUEUED:
    case RESPONSE_FAILED: return true;
    }
    return false;
}

waiting_kind waiting_of(const skua_request *r)
{
    if (r->push >= PUSH_TUNNEL) return WAITING_TUNNEL;
    if (r->reading == READING_HEAD) return WAITING_HEAD;
    bool reads = r->reading == READING_CONTENT;
    if (reads && !content_is_blocked(r)) return WAITING_CONTENT;
    if (r->asker.first) return WAITING_WORK;
    if (waiting_for_room(r)) return WAITING_ROOM;
    return reads && r->reader ? WAITING_CREDIT : WAITING_TIME;
}

int64_t waiting_timeout_ns(const skua_request *r)
{
    return r->timed ? r->timeout_ns : worker_config(r->worker)->handler_timeout_ns;
}

void skua_request_timeout(skua_request *r, int64_t timeout_ns)
{
    request_expect(r, __func__);
    CONTRACT(timeout_ns >= -1, "timeout_ns must be -1, 0 or more");
    if (request_is_answered(r) || r->life != LIFE_GOES_ON) return;
    r->timed = timeout_ns != 0;
    r->timeout_ns = timeout_ns > 0 ? timeout_ns : 0;
    if (!r->carrier->running) r->carrier->table->kick(r->carrier); // it may be earlier than before
}

bool waiting_is_forgotten(const skua_request *r)
{
    bool awaited = r->call || r->holds || ticket_is_out(r);
    return r->responding == RESPONSE_NONE && !awaited && waiting_of(r) == WAITING_TIME;
}

static int waiting_shown(slice text)
{
    return text.len < WAITING_SHOWN_OCTETS ? (int)text.len : WAITING_SHOWN_OCTETS;
}

__attribute__((cold)) void waiting_complain(skua_request *r)
{
    if (r->complained) return;
    r->complained = true;
    const char *label = skua_request_route(r);
    char text[WAITING_TEXT_OCTETS];
    int len = snprintf(text, sizeof text,
                       "%.*s %.*s waits in vain: the handler of \"%.*s\" has returned without an "
                       "answer, a ticket, a hold or work under way",
                       waiting_shown(r->method), r->method.ptr, waiting_shown(r->path), r->path.ptr,
                       WAITING_SHOWN_OCTETS, label ? label : "no route");
    worker_log(r->worker, slice_make(text, (size_t)len));
}
