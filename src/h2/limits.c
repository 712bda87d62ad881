// SPDX-License-Identifier: MIT
//
// Limits: budgets that refill with time, and with good use.

#include "h2/limits.h"

#ifndef SKUA_NO_HTTP2

static h2_budget h2_budget_full(unsigned most, unsigned per_second)
{
    return (h2_budget){ .left = (int32_t)most, .most = (int32_t)most, .per_second = per_second };
}

void h2_limits_init(h2_limits *limits, const skua_http2_desc *config, int64_t now_ns)
{
    *limits = (h2_limits){
        .refilled_ns = now_ns,
        .resets = h2_budget_full(config->resets_max, config->resets_per_second),
        .small = h2_budget_full(config->small_frames_max, config->small_frames_per_second),
    };
}

// Less than a unit is kept for the next time. More than a minute refills any budget that is
// worth its name, and keeps the product small. What was paid for beyond the budget is kept.
static void h2_budget_refill(h2_budget *budget, int64_t passed_ns)
{
    const int64_t second = 1000000000;
    if (passed_ns > 60 * second) passed_ns = 60 * second;
    budget->parts += passed_ns * budget->per_second;
    int64_t units = budget->parts / second;
    budget->parts -= units * second;
    if (budget->left >= budget->most) return;
    int64_t left = budget->left + units;
    budget->left = left < budget->most ? (int32_t)left : budget->most;
}

static void h2_limits_refill(h2_limits *limits, int64_t now_ns)
{
    int64_t passed = now_ns - limits->refilled_ns;
    if (passed <= 0) return;
    limits->refilled_ns = now_ns;
    h2_budget_refill(&limits->resets, passed);
    h2_budget_refill(&limits->small, passed);
}

bool h2_limits_reset(h2_limits *limits, int64_t now_ns)
{
    h2_limits_refill(limits, now_ns);
    return --limits->resets.left > -H2_RESETS_FACTOR * limits->resets.most;
}

void h2_limits_good_end(h2_limits *limits)
{
    if (limits->resets.left < limits->resets.most) limits->resets.left++;
}

bool h2_limits_delays(h2_limits *limits, int64_t now_ns)
{
    if (limits->resets.left > 0) return false;
    h2_limits_refill(limits, now_ns);
    return limits->resets.left <= 0;
}

bool h2_limits_small(h2_limits *limits, uint32_t paid, int64_t now_ns)
{
    h2_limits_refill(limits, now_ns);
    h2_budget *small = &limits->small;
    int64_t left = (int64_t)small->left + paid, most = (int64_t)small->most + H2_PAID_MAX;
    small->left = (int32_t)(left < most ? left : most);
    return --small->left >= 0;
}

#endif
