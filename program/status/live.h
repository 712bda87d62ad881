// SPDX-License-Identifier: MIT
//
// Live status: each second a sample for the page of the status listener, as an event.
#ifndef PROGRAM_STATUS_LIVE_H
#define PROGRAM_STATUS_LIVE_H

#include "status/report.h"
#include "tls/expiry.h"
#include "status/tops.h"

#include <skua/skua.h>

enum {
    LIVE_MEASURES = 7, // requests, 4xx and 5xx a second; three quantiles of durations; fullness
    LIVE_SPAN = 10,    // seconds that quantiles are of
    LIVE_MINUTES = 60, // that peaks are of
    LIVE_TOP = 8,      // names of each list
    LIVE_CERTIFICATES = 16,
    LIVE_OCTETS = 65536 // of an event; an octet of a name may take six
};

// Of one worker.
typedef struct status_live {
    skua_stats past[LIVE_SPAN];
    int64_t past_ns[LIVE_SPAN];
    unsigned samples; // so far
    double now[LIVE_MEASURES];
    double peaks[LIVE_MINUTES][LIVE_MEASURES]; // of each minute
    int64_t minute;                            // of the last sample
    top sum;                                   // of a list that is being written
    size_t len;
    char event[LIVE_OCTETS]; // the last one; empty before the second sample
} status_live;

// Times that a sample is taken at.
typedef struct live_clock {
    int64_t now_ns; // of the monotonic clock
    int64_t unix_s, began_unix_s;
} live_clock;

// Takes a sample.
void status_live_take(status_live *live, const skua_stats *stats, const conf_report *report,
                      live_clock clock);

#endif
