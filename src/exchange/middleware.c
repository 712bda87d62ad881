// SPDX-License-Identifier: MIT
//
// Middleware. Which of them concern a request is found once and kept as bits; those that have been
// entered too, so that head and end are told to exactly those. Passing on is a loop: one that
// passes on at once only says so.

#include "exchange/middleware.h"

#include "base/assert.h"
#include "base/memory.h"
#include "exchange/carrier.h"
#include "exchange/prefix.h"
#include "exchange/request.h"
#include "exchange/request_begin.h"
#include "exchange/sites.h"

typedef struct middleware {
    skua_middleware hooks;
    prefix prefix;
} middleware;

struct middleware_set {
    unsigned count;
    middleware items[MIDDLEWARE_MAX];
};

// ---- Adding ----

skua_status middleware_add(middleware_set **set, const char *text, const skua_middleware *m,
                           char *why, size_t room)
{
    if (!*set) *set = memory_zeroed(sizeof **set);
    if (!*set) return prefix_refuse(SKUA_ENOMEM, why, room, "middleware", text, "memory ran out");
    if ((*set)->count == MIDDLEWARE_MAX)
        return prefix_refuse(SKUA_ELIMIT, why, room, "middleware", text, "there are 64 already");
    middleware *item = &(*set)->items[(*set)->count];
    skua_status status = prefix_read(&item->prefix, text, "middleware", why, room);
    if (status) return status;
    item->hooks = *m;
    (*set)->count++;
    return SKUA_OK;
}

void middleware_free(middleware_set *set)
{
    if (!set) return;
    for (unsigned i = 0; i < set->count; i++)
        prefix_free(&set->items[i].prefix);
    memory_free(set);
}

// ---- Whom a request concerns ----

static uint64_t middleware_concerned(const middleware_set *set, const skua_request *r)
{
    uint64_t concerned = 0;
    for (unsigned i = 0; i < set->count; i++) {
        if (prefix_takes(&set->items[i].prefix, r)) concerned |= (uint64_t)1 << i;
    }
    return concerned;
}

// ---- Before ----

// Enters the next one. Returns whether it has passed the request on.
static bool middleware_enter(skua_request *r)
{
    SKUA_ASSERT(r->passing != MIDDLEWARE_INSIDE && r->passing != MIDDLEWARE_DONE);
    SKUA_ASSERT(!(r->entered & r->concerned));
    unsigned i = (unsigned)__builtin_ctzll(r->concerned);
    const skua_middleware *m = &request_parts(r)->middleware->items[i].hooks;
    r->concerned &= r->concerned - 1;
    r->entered |= (uint64_t)1 << i;
    if (!m->before) return true;
    r->passing = MIDDLEWARE_INSIDE;
    m->before(r, m->user);
    bool passed = r->passing == MIDDLEWARE_PASSED;
    if (!passed) r->passing = r->responding == RESPONSE_NONE ? MIDDLEWARE_WAITING : MIDDLEWARE_DONE;
    return passed && r->responding == RESPONSE_NONE && !r->carrier->broken;
}

static void middleware_run(skua_request *r)
{
    while (r->concerned) {
        if (!middleware_enter(r)) return;
    }
    r->passing = MIDDLEWARE_DONE;
    request_handle(r);
}

void middleware_begin(skua_request *r)
{
    r->concerned = middleware_concerned(request_parts(r)->middleware, r);
    middleware_run(r);
}

void skua_next(skua_request *r)
{
    request_expect(r, __func__);
    if (r->responding != RESPONSE_NONE || r->carrier->broken) return;
    CONTRACT(r->passing == MIDDLEWARE_INSIDE || r->passing == MIDDLEWARE_WAITING,
             "called twice for one before, or for none");
    if (r->passing == MIDDLEWARE_INSIDE) r->passing = MIDDLEWARE_PASSED;
    else middleware_run(r);
}

// ---- After ----

// The last that is left, which is taken out.
static const skua_middleware *middleware_last(const skua_request *r, uint64_t *left)
{
    unsigned i = 63u - (unsigned)__builtin_clzll(*left);
    *left &= ~((uint64_t)1 << i);
    return &request_parts(r)->middleware->items[i].hooks;
}

void middleware_head(skua_request *r, int status)
{
    SKUA_ASSERT(r->entered);
    request_set_responding(r, RESPONSE_HEADING);
    for (uint64_t left = r->entered; left;) {
        const skua_middleware *m = middleware_last(r, &left);
        if (m->head) m->head(r, status, m->user);
    }
    if (r->responding == RESPONSE_HEADING) request_set_responding(r, RESPONSE_NONE);
}

bool middleware_awaits_end(const skua_request *r)
{
    for (uint64_t left = r->entered; left;) {
        if (middleware_last(r, &left)->end) return true;
    }
    return false;
}

void middleware_end(skua_request *r, skua_end how)
{
    for (uint64_t left = r->entered; left;) {
        const skua_middleware *m = middleware_last(r, &left);
        if (m->end) m->end(r, how, m->user);
    }
    r->entered = 0; // none is to be told any more: see skua_request_follow
}
