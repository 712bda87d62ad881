// SPDX-License-Identifier: MIT
//
// Ranges. Those that are granted lie inside the representation, are not empty, come to no more than
// it together and are no more than was allowed; written out plainly they are read as the same.
// Input: eight octets of size, one of ranges_max, then the value of Range.

#include "http/preconditions.h"

#include <inttypes.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len);

enum { HEAD_OCTETS = 9 };

static void require(bool truth)
{
    if (!truth) __builtin_trap();
}

static void require_sound(const range *ranges, unsigned count, uint64_t size)
{
    uint64_t left = size;
    for (unsigned i = 0; i < count; i++) {
        require(ranges[i].length > 0);
        require(ranges[i].first < size);
        require(ranges[i].length <= size - ranges[i].first);
        require(ranges[i].length <= left);
        left -= ranges[i].length;
    }
}

static void require_same_written(const range *ranges, unsigned count, uint64_t size)
{
    char text[RANGES_MAX * 48] = "bytes=";
    size_t n = strlen(text);
    for (unsigned i = 0; i < count; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "%" PRIu64 "-%" PRIu64 " , ",
                              ranges[i].first, ranges[i].first + ranges[i].length - 1);
    }
    range again[RANGES_MAX];
    unsigned again_count = 0;
    require(range_read(slice_make(text, n), size, count, again, &again_count) == RANGE_PARTIAL);
    require(again_count == count);
    for (unsigned i = 0; i < count; i++) {
        require(again[i].first == ranges[i].first && again[i].length == ranges[i].length);
    }
}

// Beyond every first position there is nothing: then only a suffix can be satisfied.
static void require_nothing_of_nothing(slice value)
{
    range ranges[RANGES_MAX];
    unsigned count = 0;
    require(range_read(value, 0, RANGES_MAX, ranges, &count) != RANGE_PARTIAL);
}

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
    if (len < HEAD_OCTETS) return 0;
    uint64_t size = 0;
    for (unsigned i = 0; i < 8; i++)
        size = size << 8 | octets[i];
    unsigned max = octets[8] % (RANGES_MAX + 1), count = 77;
    slice value = slice_make((const char *)octets + HEAD_OCTETS, len - HEAD_OCTETS);
    range ranges[RANGES_MAX];
    range_outcome outcome = range_read(value, size, max, ranges, &count);
    require_nothing_of_nothing(value);
    if (outcome != RANGE_PARTIAL) {
        require(count == 77);
        return 0;
    }
    require(count >= 1 && count <= max);
    require_sound(ranges, count, size);
    require_same_written(ranges, count, size);
    return 0;
}
