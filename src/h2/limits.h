// SPDX-License-Identifier: MIT
//
// Limits of HTTP/2: budgets for what costs a server more than its client. Each refills, so that
// clients that cancel often are not punished.
#ifndef SKUA_H2_LIMITS_H
#define SKUA_H2_LIMITS_H

#ifndef SKUA_NO_HTTP2

#include "skua/skua.h"

enum {
    H2_REMEMBERED = 256,   // streams of which is known who has reset them
    H2_RESETS_FACTOR = 10, // so many times the budget may be overdrawn
    H2_PAID_MAX = 65536,   // small frames beyond the budget that content has paid for
};

// The time by which requests are put off once the budget of resets is spent.
#define H2_DELAY_NS ((int64_t)100 * 1000000)

typedef struct h2_budget {
    int32_t left, most; // in front, like those of h2_limits: every request needs them
    int64_t parts;      // of a unit that has been refilled, in nanoseconds times units a second
    uint32_t per_second;
} h2_budget;

typedef struct h2_limits {
    uint32_t replies; // that are queued and not sent
    uint16_t empty;   // frames in a row
    h2_budget resets;
    h2_budget small;
    int64_t refilled_ns;
} h2_limits;

// All budgets are full.
void h2_limits_init(h2_limits *limits, const skua_http2_desc *config, int64_t now_ns);

// The peer has provoked a reset, or has had a good end.
// Returns: false if the budget is overdrawn: the connection is to end.
bool h2_limits_reset(h2_limits *limits, int64_t now_ns);
void h2_limits_good_end(h2_limits *limits);

// Whether new requests are to be put off.
bool h2_limits_delays(h2_limits *limits, int64_t now_ns);

// A frame came that costs more than it brings. paid: as many have been paid for since the last one.
// Returns: false if the budget is spent.
bool h2_limits_small(h2_limits *limits, uint32_t paid, int64_t now_ns);

#endif
#endif
