// SPDX-License-Identifier: MIT
//
// View: which listing is shown, and how. A page and a JSON text are made of it in the same three steps.
#ifndef SKUA_FILES_LISTING_VIEW_H
#define SKUA_FILES_LISTING_VIEW_H

#include "files/listing.h"
#include "files/markup.h"

// The contents of what is written.
typedef struct listing_view {
    slice path;        // the request's, normalised: begins and ends with "/"
    size_t prefix_len; // octets of it that name the root of the site; at least 1
    slice search;      // that names have; empty: all of them
    listing_sort sort;
    bool descending;
    bool follows;                // entries have been written already
    const char *markup, *script; // the program's, of a page; NULL: none
} listing_view;

// A form that a listing is written in: all that stands before its entries, which sums them up; then the entries; then
// its end.
typedef struct listing_form {
    const char *type;
    void (*begin)(const listing *l, const listing_view *view, markup *m);
    // Writes the entry of number first and those behind it, until m holds octets or more. Returns the number of the next.
    size_t (*write)(const listing *l, const listing_view *view, size_t first, size_t octets,
                    markup *m);
    void (*end)(const listing_view *view, markup *m);
} listing_form;

#endif
