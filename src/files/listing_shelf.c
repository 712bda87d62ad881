// SPDX-License-Identifier: MIT
//
// The shelf is a short list in the order of use, and searched from its newest end. Invariants:
// octets is the sum over the list, and within octets_max unless what is too much is being read.

#include "files/listing_shelf.h"

#include "base/assert.h"
#include "base/memory.h"

shelved *shelved_new(slice path, listing_sort sort, bool descending)
{
    shelved *item = memory_zeroed(sizeof *item + path.len);
    if (!item) return NULL;
    item->sort = sort;
    item->descending = descending;
    item->path_len = path.len;
    memcpy(item->path, path.ptr, path.len);
    return item;
}

void shelved_free(shelved *item)
{
    if (!item) return;
    listing_free(&item->listing);
    memory_free(item);
}

static size_t shelved_octets(const shelved *item)
{
    return sizeof *item + item->path_len + item->listing.octets;
}

static void listing_shelf_link(listing_shelf *shelf, shelved *item)
{
    item->newer = NULL;
    item->older = shelf->newest;
    if (shelf->newest) shelf->newest->newer = item;
    else shelf->oldest = item;
    shelf->newest = item;
}

static void listing_shelf_unlink(listing_shelf *shelf, shelved *item)
{
    if (item->newer) item->newer->older = item->older;
    else shelf->newest = item->older;
    if (item->older) item->older->newer = item->newer;
    else shelf->oldest = item->newer;
}

static void listing_shelf_count(const listing_shelf *shelf, int64_t octets)
{
    if (shelf->worker) skua_memory_count(shelf->worker, octets);
}

static bool listing_shelf_is_full(const listing_shelf *shelf)
{
    return shelf->octets > shelf->octets_max || shelf->count > LISTING_SHELF_COUNT_MAX;
}

// A page that is being read stays: its memory would not be free yet.
static void listing_shelf_shrink(listing_shelf *shelf)
{
    shelved *item = shelf->oldest;
    while (item && listing_shelf_is_full(shelf)) {
        shelved *newer = item->newer;
        if (item->refs == 0) {
            listing_shelf_unlink(shelf, item);
            shelf->count--;
            shelf->octets -= shelved_octets(item);
            listing_shelf_count(shelf, -(int64_t)shelved_octets(item));
            shelved_free(item);
        }
        item = newer;
    }
}

static shelved *listing_shelf_find(const listing_shelf *shelf, slice path, listing_sort sort,
                                   bool descending)
{
    shelved *item = shelf->newest;
    while (item) {
        bool same = item->sort == sort && item->descending == descending &&
                    slice_equal(slice_make(item->path, item->path_len), path);
        if (same && !item->is_stale) return item;
        item = item->older;
    }
    return NULL;
}

void listing_shelf_put(listing_shelf *shelf, shelved **given)
{
    shelved *item = *given;
    *given = NULL;
    SKUA_ASSERT(item->refs == 0);
    shelved *former = listing_shelf_find(shelf, slice_make(item->path, item->path_len), item->sort,
                                         item->descending);
    if (former) former->is_stale = true;
    listing_shelf_link(shelf, item);
    shelf->count++;
    shelf->octets += shelved_octets(item);
    listing_shelf_count(shelf, (int64_t)shelved_octets(item));
    listing_shelf_shrink(shelf);
}

shelved *listing_shelf_take(listing_shelf *shelf, slice path, listing_sort sort, bool descending)
{
    shelved *item = listing_shelf_find(shelf, path, sort, descending);
    if (!item) return NULL;
    item->refs++;
    listing_shelf_unlink(shelf, item);
    listing_shelf_link(shelf, item);
    return item;
}

void listing_shelf_give(listing_shelf *shelf, shelved *item)
{
    SKUA_ASSERT(item->refs > 0);
    item->refs--;
    listing_shelf_shrink(shelf);
}

void listing_shelf_deinit(listing_shelf *shelf)
{
    listing_shelf_count(shelf, -(int64_t)shelf->octets);
    while (shelf->oldest) {
        shelved *item = shelf->oldest;
        SKUA_ASSERT(item->refs == 0);
        listing_shelf_unlink(shelf, item);
        shelved_free(item);
    }
    shelf->count = 0;
    shelf->octets = 0;
}
