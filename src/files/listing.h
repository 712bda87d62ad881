// SPDX-License-Identifier: MIT
//
// Listing: the entries of a directory, sorted. listing_page.h makes a page of it.
#ifndef SKUA_FILES_LISTING_H
#define SKUA_FILES_LISTING_H

#include "base/slice.h"

// More entries than that are left out, and the page says so: nobody reads them, and each costs
// memory.
enum { LISTING_ENTRIES_MAX = 10000 };

// A longer text is no part of any name.
enum { LISTING_SEARCH_OCTETS_MAX = 255 };

typedef enum listing_sort { LISTING_BY_NAME, LISTING_BY_SIZE, LISTING_BY_TIME } listing_sort;

typedef struct listing_entry {
    char *name; // its own piece of the heap, NUL-terminated
    uint64_t size;
    int64_t mtime_ns;
    skua_file_kind kind;
} listing_entry;

typedef struct listing {
    listing_entry *entries;
    size_t count, room;
    size_t octets; // of memory that the entries take
    slice search;  // names that have it are taken; the case of ASCII letters is not regarded
    bool dotfiles; // names that begin with "." are taken too
    bool cut;      // there were more
    bool failed;   // memory ran out
} listing;

// Adds an entry; a skua_root_entry_fn whose user is a listing, all zero at first but for search
// and dotfiles.
bool listing_add(const char *name, const skua_file_info *info, void *user);

// Directories first; then by what is said, and by name where that is equal. Names without regard to
// the case of ASCII letters, and numbers in them by value, so that "10" comes after "9".
void listing_order(listing *l, listing_sort sort, bool descending);

// The number of the first entry, of a listing in that order, that comes after last, which need not
// be among them; the listing's count if none does.
size_t listing_after(const listing *l, const listing_entry *last, listing_sort sort,
                     bool descending);

void listing_free(listing *l);

#endif
