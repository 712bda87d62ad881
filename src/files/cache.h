// SPDX-License-Identifier: MIT
//
// Cache: files that a worker has prepared for responses, found by path and variant. It is bounded
// in number, octets and descriptors; the least recently used file goes first. A peer chooses the
// paths, so the hash is keyed.
#ifndef SKUA_FILES_CACHE_H
#define SKUA_FILES_CACHE_H

#include "base/figure.h"
#include "base/siphash.h"
#include "files/cached.h"
#include "files/listing_shelf.h"

enum { CACHE_WISHED_OCTETS = 48 };

typedef struct cache {
    site *site;                            // held
    skua_worker *worker;                   // NULL: its memory is not counted
    cache_figures *figures, *made_figures; // the worker's; with worker
    unsigned refs;                         // the worker's, and those of what it is about to respond
    siphash_key key;
    cached **buckets;
    size_t mask; // buckets minus one; a power of two minus one
    cached *newest, *oldest;
    unsigned count; // entries
    unsigned files; // of them, those with a descriptor
    unsigned count_max, files_max;
    size_t octets;
    uint64_t drawn;                   // boundaries of multipart responses so far
    int64_t pageless_ns;              // until when the site is known to have no page for a 404
    listing_shelf listings;           // that pages are being written from
    struct compression *compressions; // under way
    struct content_tag_job *hashes;   // and these
    size_t wished_len;
    char wished
        [CACHE_WISHED_OCTETS]; // the Accept-Encoding that was read last: most clients send the same
    coding_wishes wishes;      // of that
} cache;

// files_max: descriptors it may hold. s: given, unless memory ran out and NULL is returned.
cache *cache_new(site *s, unsigned files_max);

// Of one worker: one more who uses it, or one fewer; the last one frees it.
cache *cache_hold(cache *c);
void cache_let_go(cache *c);

// The cache's own hash of a path.
static inline uint64_t cache_hash(const cache *c, slice key)
{
    return siphash(&c->key, key);
}

// The one of that key, which becomes the newest; NULL when there is none. Valid until the next
// cache_put or cache_evict.
cached *cache_find(cache *c, uint64_t hash, slice key, cached_variant variant);

// Takes one, in place of another of the same key. It may be freed at once, if it is too large for
// the bounds. *given is NULL afterwards.
void cache_put(cache *c, cached **given);

// Drops the one of that key, if there is one.
void cache_forget(cache *c, slice key, cached_variant variant);

// Drops the older half of those that hold a descriptor, at least one; returns whether there was
// one.
bool cache_evict(cache *c);

// Drops all that was compressed here, and files that are kept in memory: both can be had again.
void cache_shrink_counted(cache *c);

// Counts a response by an entry that was there. is_made: as the entry's.
static inline void cache_count_hit(const cache *c, bool is_made)
{
    figure_add(is_made ? &c->made_figures->hits : &c->figures->hits, 1);
}

// A number that nobody can guess, another one each time.
uint64_t cache_draw(cache *c);

#endif
