// SPDX-License-Identifier: MIT
//
// Shelf: the listings that pages are being written from, of one worker. A page is written in
// pieces, as its reader takes them, and its listing waits here in between. The shelf is bounded: of
// a page whose reader is slow, the directory is read again.
#ifndef SKUA_FILES_LISTING_SHELF_H
#define SKUA_FILES_LISTING_SHELF_H

#include "files/listing.h"

enum { LISTING_SHELF_COUNT_MAX = 64 };

// A listing in its order, and what it is a listing of. It does not change while it is on the shelf,
// so that other threads may read it.
typedef struct shelved {
    struct shelved *newer, *older;
    unsigned refs; // by those who read it now
    bool is_stale; // the same directory has been read again since
    listing listing;
    listing_sort sort;
    bool descending;
    size_t path_len;
    char path[];
} shelved;

typedef struct listing_shelf {
    shelved *newest, *oldest;
    unsigned count;
    size_t octets, octets_max;
    skua_worker *worker; // whose memory it is; NULL: it is not counted
} listing_shelf;

// An empty one. NULL when memory ran out.
shelved *shelved_new(slice path, listing_sort sort, bool descending);
void shelved_free(shelved *item);

// Puts one there, which nobody reads now. It may be freed at once, if there is no room. *given is
// NULL afterwards.
void listing_shelf_put(listing_shelf *shelf, shelved **given);

// The latest of that path and order, which is read from here on; NULL when there is none.
shelved *listing_shelf_take(listing_shelf *shelf, slice path, listing_sort sort, bool descending);

// Gives back a page that listing_shelf_take gave, when it is not read any more.
void listing_shelf_give(listing_shelf *shelf, shelved *item);

// Frees everything. Nothing may be read.
void listing_shelf_deinit(listing_shelf *shelf);

#endif
