// SPDX-License-Identifier: MIT
//
// Sites: the hosts that have a site, and the requests under way in each. A table of names never
// changes; a change makes another table. Each worker has a view of the table that it uses, in which
// only it counts its requests. A site is freed when no table names it and none of its requests is
// left.
#ifndef SKUA_EXCHANGE_SITES_H
#define SKUA_EXCHANGE_SITES_H

#include "exchange/request.h"
#include "exchange/worker.h"

#include <stdatomic.h>

// A site as tables know it. The code that makes it sets all members, refs to 1.
typedef struct served_site {
    site_parts parts;
    skua_tls_identity *identity; // that clients are shown over TLS; NULL: the server's
    void (*destroy)(struct served_site *site); // called when the last reference is dropped
    struct {
        atomic_uint refs;
    } shared;
} served_site;

served_site *site_ref(served_site *site);
void site_unref(served_site *site);

// ---- Tables ----

typedef struct site_table site_table;

site_table *site_table_ref(site_table *table);
void site_table_unref(site_table *table); // NULL is allowed

// A table like another one (NULL: one without sites), but that names are those of a site (NULL: of
// none). names: kept by the caller as long as the site is there. *found: whether any of them was a site's before.
// Returns: NULL when memory ran out.
site_table *site_table_with(const site_table *before, slice names, served_site *site, bool *found);

// ---- Views ----

// One site, as one worker sees it.
struct site_seat {
    served_site *site;
    site_view *view;
    unsigned requests;
};

// NULL when memory ran out.
site_view *site_view_new(site_table *table);

// The octets of the longest method that a route of its sites names, or 0.
size_t site_view_method_octets_max(const site_view *view);

// No request begins by it any more. It is freed with the last that is under way.
void site_view_retire(site_view *view); // NULL is allowed

// The seat of the site that an authority belongs to; NULL: of none.
site_seat *site_view_find(site_view *view, slice authority);

// Around a request.
void site_seat_take(site_seat *seat, skua_request *r);
void site_seat_leave(site_seat *seat);

// Those that a request meets: its site's, or the server's own.
static inline const site_parts *request_parts(const skua_request *r)
{
    return r->sited ? &r->seat->site->parts : &r->worker->own;
}

#endif
