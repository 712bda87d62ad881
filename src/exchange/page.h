// SPDX-License-Identifier: MIT
//
// Error pages and reason phrases: what a status code is called, and a page that says what it means.
#ifndef SKUA_EXCHANGE_PAGE_H
#define SKUA_EXCHANGE_PAGE_H

#include "base/slice.h"

enum {
    PAGE_SENTENCE_OCTETS_MAX = 500, // of a sentence that is not ours
    PAGE_OCTETS_MAX = 4096,
    PAGE_TEXT_OCTETS_MAX = 600
};

// The value of Content-Security-Policy that goes with page_write: nothing but the page's own style.
extern const char *const page_policy;

// The reason phrase registered for a status code, "" for a code that has none.
const char *page_reason(int status);

// Writes a small HTML page in UTF-8 that says what status means. method: the request's, untrusted,
// may be empty. sentence: untrusted, cut and escaped, said in place of what the status means in
// general; empty for that. room: at least PAGE_OCTETS_MAX. Returns: how many octets were written;
// there is no NUL.
size_t page_write(int status, slice method, slice sentence, char *out, size_t room);

// Writes the page as a line of text/plain. room: at least PAGE_TEXT_OCTETS_MAX.
size_t page_write_text(int status, slice method, slice sentence, char *out, size_t room);

#endif
