// SPDX-License-Identifier: MIT
//
// Middleware. Which of them concern a request is found once and kept as bits; those that have been
// entered too, so that head and end are told to exactly those. Passing on is a loop: one that
// passes on at once only says so.

#include "exchange/middleware.h"

#include "base/assert.h"
#include "base/memory.h"
#include "exchange/carrier.h"
#include "exchange/request.h"
#include "exchange/request_begin.h"
#include "exchange/worker.h"
#include "http/syntax.h"
#include "route/pattern.h"

#include <stdio.h>

typedef struct middleware {
    skua_middleware hooks;
    route_pattern prefix;
    bool open; // the prefix's path ends in "/": nothing less than that is at or below it
    char *text;
} middleware;

struct middleware_set {
    unsigned count;
    middleware items[MIDDLEWARE_MAX];
};

// ---- Adding ----

static skua_status middleware_refuse(skua_status status, char *why, size_t room, const char *prefix,
                                     const char *reason)
{
    (void)snprintf(why, room, "middleware \"%.200s\": %s", prefix, reason);
    return status;
}

static skua_status middleware_read(middleware *item, const char *prefix)
{
    item->text = memory_text(prefix);
    if (!item->text) return SKUA_ENOMEM;
    if (!pattern_read(slice_of(item->text), &item->prefix)) return SKUA_EINVAL;
    slice path = item->prefix.path;
    item->open = path.ptr[path.len - 1] == '/';
    return memchr(path.ptr, '{', path.len) ? SKUA_EINVAL : SKUA_OK;
}

skua_status middleware_add(middleware_set **set, const char *prefix, const skua_middleware *m,
                           char *why, size_t room)
{
    if (!*set) *set = memory_zeroed(sizeof **set);
    if (!*set) return middleware_refuse(SKUA_ENOMEM, why, room, prefix, "memory ran out");
    if ((*set)->count == MIDDLEWARE_MAX) {
        return middleware_refuse(SKUA_ELIMIT, why, room, prefix, "there are 64 already");
    }
    middleware *item = &(*set)->items[(*set)->count];
    skua_status status = middleware_read(item, prefix);
    if (status) {
        memory_free(item->text);
        return middleware_refuse(status, why, room, prefix,
                                 status == SKUA_ENOMEM ? "memory ran out"
                                                       : "is not \"[METHOD ][HOST]/PREFIX\"");
    }
    item->hooks = *m;
    (*set)->count++;
    return SKUA_OK;
}

void middleware_free(middleware_set *set)
{
    if (!set) return;
    for (unsigned i = 0; i < set->count; i++)
        memory_free(set->items[i].text);
    memory_free(set);
}

// ---- Whom a request concerns ----

static bool middleware_takes_method(const route_pattern *p, slice method)
{
    if (p->method.len == 0 || slice_equal(p->method, method)) return true;
    return slice_equal(p->method, SKUA_SLICE("GET")) && slice_equal(method, SKUA_SLICE("HEAD"));
}

static bool middleware_takes_host(const route_pattern *p, slice name)
{
    if (p->host.len == 0) return true;
    if (!p->host_param) return slice_equal_nocase(p->host, name);
    const char *dot = name.len ? memchr(name.ptr, '.', name.len) : NULL;
    return dot && dot > name.ptr &&
           slice_equal_nocase(p->host, slice_from(name, (size_t)(dot - name.ptr) + 1));
}

// "*" and the empty path of CONNECT are below "/" too: they concern the server as a whole.
static bool middleware_takes_path(const middleware *item, slice path)
{
    slice prefix = item->prefix.path;
    if (prefix.len == 1) return true;
    if (path.len < prefix.len || memcmp(path.ptr, prefix.ptr, prefix.len) != 0) return false;
    return item->open || path.len == prefix.len || path.ptr[prefix.len] == '/';
}

static uint64_t middleware_concerned(const middleware_set *set, const skua_request *r)
{
    slice host = syntax_host_name(r->authority);
    uint64_t concerned = 0;
    for (unsigned i = 0; i < set->count; i++) {
        const middleware *item = &set->items[i];
        bool takes = middleware_takes_method(&item->prefix, r->method) &&
                     middleware_takes_host(&item->prefix, host) &&
                     middleware_takes_path(item, r->path);
        if (takes) concerned |= (uint64_t)1 << i;
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
    const skua_middleware *m = &r->worker->middleware->items[i].hooks;
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
    r->concerned = middleware_concerned(r->worker->middleware, r);
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
    return &r->worker->middleware->items[i].hooks;
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

void middleware_end(skua_request *r, skua_end how)
{
    for (uint64_t left = r->entered; left;) {
        const skua_middleware *m = middleware_last(r, &left);
        if (m->end) m->end(r, how, m->user);
    }
}
