// SPDX-License-Identifier: MIT
//
// Structs of a caller whose skua.h may be older or newer than this library: see skua_sizes. They
// differ only at their ends. Members that the caller does not know are zero; those that the library
// does not know must be zero.
#ifndef SKUA_BASE_SIZED_H
#define SKUA_BASE_SIZED_H

#include "base/contract.h"

#include <stddef.h>

#define SIZED_NEWER                                                                                \
    "the program was compiled with a newer skua.h, whose members this library does not know: it "  \
    "needs a newer library"

#define CONTRACT_SIZES(sizes) CONTRACT_SIZES_TO(__func__, sizes)
#define CONTRACT_SIZES_TO(function, sizes)                                                         \
    CONTRACT_OF(function, (sizes) && (sizes)->sizes, "sizes must be those of skua_sizes_here")

// For structs that the caller is told of where they lie: it must not read more than there is.
#define CONTRACT_TOLD(size, own_octets) CONTRACT((size) <= (own_octets), SIZED_NEWER)

// A struct of the caller's, not NULL, as one of this library's: itself where both are alike, else *own.
// To be used in functions of skua.h alone, whose name is told.
#define SIZED_GIVEN(given, octets, own)                                                            \
    ((octets) == sizeof *(own) ? (const void *)(given)                                             \
                               : sized_given(__func__, (given), (octets), (own), sizeof *(own)))

const void *sized_given(const char *function, const void *given, size_t octets, void *own,
                        size_t own_octets);

// Copies a struct of the caller's, or some of its members, to the same of this library's.
void sized_take(const char *function, const void *from, size_t octets, void *own,
                size_t own_octets);

// Copies the other way: what this library does not know is zero in the caller's.
void sized_give(void *to, size_t octets, const void *own, size_t own_octets);

// An array of the caller's as one of this library's: itself where both are alike, else in memory, *made, which is to
// be freed. NULL, but for no elements: memory ran out.
const void *sized_array(const char *function, const void *given, size_t count, size_t octets,
                        size_t own_octets, void **made);

#endif
