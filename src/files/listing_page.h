// SPDX-License-Identifier: MIT
//
// The page that shows a listing: HTML with its own style and nothing else, no script, no request.
#ifndef SKUA_FILES_LISTING_PAGE_H
#define SKUA_FILES_LISTING_PAGE_H

#include "files/listing.h"
#include "files/markup.h"

// The value of Content-Security-Policy that goes with the page; its style is allowed by hash.
extern const char *const listing_page_policy;

// The style as it stands between <style> and </style>.
extern const char *const listing_page_style;

// The contents of the page.
typedef struct listing_view {
    slice path;        // the request's, normalised: begins and ends with "/"
    size_t prefix_len; // octets of it that name the root of the site; at least 1
    listing_sort sort;
    bool descending;
} listing_view;

// The page in three steps: all that stands before its entries, which sums them up; then the
// entries; then its end.
void listing_page_begin(const listing *l, const listing_view *view, markup *m);

// Writes the entry of number first and those behind it, until m holds octets or more. Returns the
// number of the next.
size_t listing_page_write(const listing *l, const listing_view *view, size_t first, size_t octets,
                          markup *m);

void listing_page_end(markup *m);

#endif
