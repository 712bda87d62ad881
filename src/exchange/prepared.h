// SPDX-License-Identifier: MIT
//
// Responses made in advance, and files, as the response path sees them.
#ifndef SKUA_EXCHANGE_PREPARED_H
#define SKUA_EXCHANGE_PREPARED_H

#include "base/slice.h"
#include "disk/file.h"
#include "disk/home.h"
#include "exchange/response.h"

struct skua_prepared {
    skua_worker *worker;
    unsigned refs;
    uint16_t status;
    bool typed;      // it has a Content-Type
    skua_file *file; // NULL: content in memory
    uint64_t number; // from 1: no other of the worker's has ever had it
    uint64_t offset;
    uint64_t length;          // of the content
    int64_t stated_length;    // what Content-Length says; -1: there is none
    const char *content;      // in memory
    uint16_t headroom;        // octets before it that may be written to
    skua_release_fn *release; // of content that was not copied; NULL: it is behind the fields
    void *release_user;
    struct h1_prepared *h1; // its head as HTTP/1 writes it, made at the first use; NULL: not yet
    size_t fields_octets;   // as lines: name, value and 4 more of each
    unsigned fields_count;
    response_field fields[];
};

// Stops the process unless it is a response of this thread's worker. function: that of skua.h.
static inline void prepared_expect(const skua_prepared *prepared, const char *function)
{
    if (!prepared) contract_broken(function, "prepared must not be NULL");
    if (!home_is_here(prepared->worker))
        contract_broken(function,
                        "the prepared response is another worker's; make one on each, as by "
                        "skua_local");
}

#endif
