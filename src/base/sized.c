// SPDX-License-Identifier: MIT
//
// Structs of other sizes.

#include "base/sized.h"

#include "base/memory.h"

#include <string.h>

static bool sized_is_zero(const char *octets, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (octets[i]) return false;
    }
    return true;
}

void sized_take(const char *function, const void *from, size_t octets, void *own, size_t own_octets)
{
    size_t known = octets < own_octets ? octets : own_octets;
    if (!sized_is_zero((const char *)from + known, octets - known))
        contract_broken(function, SIZED_NEWER);
    memcpy(own, from, known);
    memset((char *)own + known, 0, own_octets - known);
}

const void *sized_given(const char *function, const void *given, size_t octets, void *own,
                        size_t own_octets)
{
    sized_take(function, given, octets, own, own_octets);
    return own;
}

void sized_give(void *to, size_t octets, const void *own, size_t own_octets)
{
    size_t known = octets < own_octets ? octets : own_octets;
    memcpy(to, own, known);
    memset((char *)to + known, 0, octets - known);
}

const void *sized_array(const char *function, const void *given, size_t count, size_t octets,
                        size_t own_octets, void **made)
{
    *made = NULL;
    if (octets == own_octets || !count) return given;
    if (count > SIZE_MAX / own_octets) return NULL;
    char *own = *made = memory_alloc(count * own_octets);
    for (size_t i = 0; own && i < count; i++)
        sized_take(function, (const char *)given + i * octets, octets, own + i * own_octets,
                   own_octets);
    return own;
}
