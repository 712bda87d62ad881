// SPDX-License-Identifier: MIT
//
// The table and the order of use. Invariants: every entry is in exactly one bucket and in the list;
// count, files and octets are sums over the list.

#include "files/cache.h"

#include "base/assert.h"
#include "base/memory.h"

static size_t cache_buckets_for(unsigned entries)
{
    size_t buckets = 16;
    while (buckets < entries)
        buckets *= 2;
    return buckets;
}

cache *cache_new(site *s, unsigned files_max)
{
    cache *c = memory_zeroed(sizeof *c);
    if (!c) return NULL;
    size_t buckets = cache_buckets_for(s->cache_entries_max);
    c->buckets = memory_array(buckets, sizeof *c->buckets);
    if (!c->buckets) {
        memory_free(c);
        return NULL;
    }
    c->site = s;
    c->refs = 1;
    c->mask = buckets - 1;
    c->count_max = s->cache_entries_max;
    c->files_max = files_max;
    c->listings.octets_max = s->listings_octets_max;
    siphash_key_random(&c->key);
    return c;
}

// ---- Order of use ------------------------------------------------------------------------------

static void cache_unlink(cache *c, cached *entry)
{
    if (entry->newer) entry->newer->older = entry->older;
    else c->newest = entry->older;
    if (entry->older) entry->older->newer = entry->newer;
    else c->oldest = entry->newer;
}

static void cache_link_newest(cache *c, cached *entry)
{
    entry->newer = NULL;
    entry->older = c->newest;
    if (c->newest) c->newest->newer = entry;
    else c->oldest = entry;
    c->newest = entry;
}

// ---- Table -------------------------------------------------------------------------------------

static bool cache_is_key(const cached *entry, uint64_t hash, slice key, cached_variant variant)
{
    return entry->hash == hash && entry->variant == variant &&
           slice_equal(slice_make(entry->key, entry->key_len), key);
}

cached *cache_find(cache *c, uint64_t hash, slice key, cached_variant variant)
{
    cached *entry = c->buckets[hash & c->mask];
    while (entry && !cache_is_key(entry, hash, key, variant))
        entry = entry->chain;
    if (entry && entry != c->newest) {
        cache_unlink(c, entry);
        cache_link_newest(c, entry);
    }
    return entry;
}

// Counts an entry that was added (sign 1) or is removed (sign -1).
static void cache_count(const cache *c, const cached *entry, int sign)
{
    if (!c->worker) return;
    cache_figures *of = entry->is_made ? c->made_figures : c->figures;
    figure_add(&of->entries, (uint64_t)sign);
    figure_add(&of->octets, (uint64_t)sign * entry->octets);
    if (entry->is_made) skua_memory_count(c->worker, sign * (int64_t)entry->octets);
}

static void cache_drop(cache *c, cached *entry)
{
    cached **link = &c->buckets[entry->hash & c->mask];
    while (*link != entry)
        link = &(*link)->chain;
    *link = entry->chain;
    cache_unlink(c, entry);
    SKUA_ASSERT(c->count > 0);
    SKUA_ASSERT(c->octets >= entry->octets);
    c->count--;
    c->octets -= entry->octets;
    if (entry->file) c->files--;
    cache_count(c, entry, -1);
    cached_free(entry, c->site);
}

static void cache_evict_one(cache *c, cached *entry)
{
    if (c->worker)
        figure_add(entry->is_made ? &c->made_figures->evictions : &c->figures->evictions, 1);
    cache_drop(c, entry);
}

void cache_shrink_counted(cache *c)
{
    for (cached *entry = c->oldest, *newer; entry; entry = newer) {
        newer = entry->newer;
        if (entry->is_made || entry->is_kept) cache_evict_one(c, entry);
    }
}

// ---- Bounds ------------------------------------------------------------------------------------

static void cache_drop_oldest_file(cache *c)
{
    cached *entry = c->oldest;
    while (entry && !entry->file)
        entry = entry->newer;
    SKUA_ASSERT(entry);
    cache_evict_one(c, entry);
}

static void cache_shrink(cache *c)
{
    while (c->files > c->files_max)
        cache_drop_oldest_file(c);
    while (c->count > c->count_max || c->octets > c->site->cache_octets_max)
        cache_evict_one(c, c->oldest);
}

void cache_put(cache *c, cached **given)
{
    cached *entry = *given;
    *given = NULL;
    if (c->worker) figure_add(entry->is_made ? &c->made_figures->misses : &c->figures->misses, 1);
    if (entry->octets > c->site->cache_octets_max) { // it would only drive out all others
        cached_free(entry, c->site);
        return;
    }
    slice key = slice_make(entry->key, entry->key_len);
    entry->hash = cache_hash(c, key);
    cached *former = cache_find(c, entry->hash, key, (cached_variant)entry->variant);
    if (former) cache_drop(c, former);
    cached **bucket = &c->buckets[entry->hash & c->mask];
    entry->chain = *bucket;
    *bucket = entry;
    cache_link_newest(c, entry);
    c->count++;
    c->octets += entry->octets;
    if (entry->file) c->files++;
    cache_count(c, entry, 1);
    cache_shrink(c);
}

void cache_forget(cache *c, slice key, cached_variant variant)
{
    cached *entry = cache_find(c, cache_hash(c, key), key, variant);
    if (entry) cache_drop(c, entry);
}

bool cache_evict(cache *c)
{
    if (c->files == 0) return false;
    for (unsigned left = (c->files + 1) / 2; left; left--)
        cache_drop_oldest_file(c);
    return true;
}

cache *cache_hold(cache *c)
{
    c->refs++;
    return c;
}

void cache_let_go(cache *c)
{
    SKUA_ASSERT(c->refs > 0);
    if (--c->refs) return;
    while (c->oldest)
        cache_drop(c, c->oldest);
    listing_shelf_deinit(&c->listings);
    site_let_go(c->site);
    memory_free(c->buckets);
    memory_free(c);
}

uint64_t cache_draw(cache *c)
{
    c->drawn++;
    return siphash(&c->key, slice_make((const char *)&c->drawn, sizeof c->drawn));
}
