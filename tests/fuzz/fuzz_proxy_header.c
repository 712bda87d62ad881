// SPDX-License-Identifier: MIT
//
// The header of the PROXY protocol. Octets that are taken one by one give what the whole gives, and
// leave the same; a complete header has a family that there is.

#include "http/proxy_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len);

static void require(bool truth)
{
    if (!truth) __builtin_trap();
}

static void require_same(const proxy_header *a, const proxy_header *b)
{
    require(a->family == b->family && a->tls == b->tls && a->port == b->port && a->why == b->why);
    require(memcmp(a->octets, b->octets, sizeof a->octets) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
    proxy_header whole = { 0 }, split = { 0 };
    slice all = slice_make((const char *)octets, len);
    proxy_news news = proxy_header_read(&whole, &all), then = PROXY_NEEDS_MORE;
    size_t taken = 0;
    while (taken < len && then == PROXY_NEEDS_MORE) {
        slice one = slice_make((const char *)octets + taken, 1);
        then = proxy_header_read(&split, &one);
        require(one.len == 0);
        taken++;
    }
    require(news == then && taken == len - all.len);
    require_same(&whole, &split);
    require((news == PROXY_WRONG) == (whole.why != NULL));
    if (news != PROXY_COMPLETE) return 0;
    require(whole.family == 0 || whole.family == 4 || whole.family == 6);
    require(taken <= 16 + PROXY_REST_OCTETS_MAX);
    return 0;
}
