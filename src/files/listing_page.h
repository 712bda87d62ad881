// SPDX-License-Identifier: MIT
//
// The page that shows a listing: HTML with its own style and script, and no request. Without the script it sorts and
// searches as well, by links and a form; with it, times are those of the reader and names are found as they are typed.
#ifndef SKUA_FILES_LISTING_PAGE_H
#define SKUA_FILES_LISTING_PAGE_H

#include "files/listing_view.h"
#include "files/markup.h"

// The value of Content-Security-Policy that goes with the page; its style and its script are
// allowed by hash. script-src is
// its last directive, so that another script can be allowed behind it.
extern const char *const listing_page_policy;

// The style as it stands between <style> and </style>.
extern const char *const listing_page_style;

// The script as it stands between <script> and </script>.
extern const char *const listing_page_script;

extern const listing_form listing_page;

#endif
