// SPDX-License-Identifier: MIT
//
// The reasons for which a request waits.

#include "exchange/waiting.h"

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
    const char *pattern = skua_request_pattern(r);
    char text[WAITING_TEXT_OCTETS];
    int len = snprintf(text, sizeof text,
                       "%.*s %.*s waits in vain: the handler of \"%.*s\" has returned without an "
                       "answer, a ticket, a hold or work under way",
                       waiting_shown(r->method), r->method.ptr, waiting_shown(r->path), r->path.ptr,
                       WAITING_SHOWN_OCTETS, pattern ? pattern : "no route");
    worker_log(r->worker, slice_make(text, (size_t)len));
}
