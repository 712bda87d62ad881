// SPDX-License-Identifier: MIT
//
// Tops: what the page of the status listener shows of single requests. Only a server with such a listener counts.
#ifndef PROGRAM_STATUS_TOPS_H
#define PROGRAM_STATUS_TOPS_H

#include "status/top.h"

typedef enum tops_kind {
    TOPS_ASKED,   // paths, by requests
    TOPS_MISSED,  // paths, by responses of 404
    TOPS_LIMITED, // clients, by responses of 429
    TOPS_SLOW,    // paths, by the longest time of one request, in nanoseconds
    TOPS_BIG,     // paths, by the greatest content of one response, in octets
    TOPS_KINDS
} tops_kind;

// Middleware around the requests of a site. hosts: its names, separated by spaces; they outlive it.
skua_middleware tops_middleware(const char *hosts);

// How many responses were 429.
uint64_t tops_limited(void);

// The minute of a time of the monotonic clock; never 0.
int64_t tops_minute(int64_t now_ns);

// Fills in what all workers have counted, in order. minute: the present one.
void tops_get(tops_kind kind, int64_t minute, top *sum);

#endif
