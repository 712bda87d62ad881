// SPDX-License-Identifier: MIT
//
// Complaints.

#include "exchange/complaint.h"

#include "base/contract.h"
#include "exchange/worker.h"

#include <stdio.h>

enum { COMPLAINT_OCTETS = 480, COMPLAINT_SHOWN_OCTETS = 100, COMPLAINT_PAUSE_NS = 1000000000 };

static int complaint_shown(slice text)
{
    return text.len < COMPLAINT_SHOWN_OCTETS ? (int)text.len : COMPLAINT_SHOWN_OCTETS;
}

// A handler that is wrong is wrong for each request: one line of a kind tells enough.
static bool complaint_is_told(skua_worker *w, const char *what)
{
    bool told = w->complaint == what && w->loop.now_ns - w->complaint_ns < COMPLAINT_PAUSE_NS;
    if (!told) w->complaint_ns = w->loop.now_ns;
    w->complaint = what;
    return told;
}

__attribute__((cold)) void complain(const skua_request *r, const char *what)
{
    if (complaint_is_told(r->worker, what)) return;
    const char *label = skua_request_route(r);
    char text[COMPLAINT_OCTETS];
    int len = snprintf(text, sizeof text, "%.*s %.*s, %s%.*s%s: %s", complaint_shown(r->method),
                       r->method.ptr, complaint_shown(r->path), r->path.ptr,
                       label ? "route \"" : "no route", COMPLAINT_SHOWN_OCTETS, label ? label : "",
                       label ? "\"" : "", what);
    worker_log(r->worker, slice_make(text, (size_t)len));
}

__attribute__((cold)) void complain_of_misuse(const skua_request *r, const char *function,
                                              const char *what)
{
    if (worker_config(r->worker)->strict) contract_broken(function, what);
    complain(r, what);
}

// Another response has been given, or the request has ended. A handler that did not wait for the one
// that the server or a deadline has given has done nothing wrong.
__attribute__((cold)) skua_status complain_of_late(const skua_request *r, const char *function,
                                                   const char *what)
{
    if (r->life != LIFE_GOES_ON) return SKUA_ECLOSED;
    if (!r->faulted && r->responding != RESPONSE_FAILED) complain_of_misuse(r, function, what);
    return SKUA_ESTATE;
}
