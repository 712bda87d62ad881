// SPDX-License-Identifier: MIT
//
// Preconditions in the order of RFC 9110 §13.2.2, ranges of §14, and what they make of a response.
#ifndef SKUA_HTTP_PRECONDITIONS_H
#define SKUA_HTTP_PRECONDITIONS_H

#include "base/slice.h"

#include <stdint.h>

// The selected representation, as far as preconditions and ranges need it.
typedef struct representation {
    slice etag;            // with its quotes, and W/ if weak; {NULL, 0}: none
    int64_t last_modified; // seconds since 1970; -1: none
    int64_t now;           // the Date of this response
} representation;

// The fields of the request; {NULL, 0} when absent. If one is repeated, the lines are joined by ",
// " beforehand, or the request has no such field for If-Range, Range and dates.
typedef struct preconditions {
    slice if_match;
    slice if_none_match;
    slice if_modified_since;
    slice if_unmodified_since;
    slice if_range;
    slice range;
} preconditions;

typedef enum precondition_outcome {
    PRECONDITION_PROCEED,      // 200, or 206 if there is a Range
    PRECONDITION_NOT_MODIFIED, // 304
    PRECONDITION_FAILED,       // 412
} precondition_outcome;

// safe: GET or HEAD. Malformed dates are ignored; malformed entity-tag lists match nothing
// ("*" is only "*").
precondition_outcome precondition_evaluate(const preconditions *conditions,
                                           const representation *selected, bool safe);

// Whether Range may be honoured: no If-Range, or one that matches strongly (§13.1.5).
bool precondition_range_applies(const preconditions *conditions, const representation *selected);

typedef struct range {
    uint64_t first, length;
} range;

enum { RANGES_MAX = 16 };

typedef enum range_outcome {
    RANGE_WHOLE,        // not a byte range, malformed, too many or longer than the whole: ignore it
    RANGE_PARTIAL,      // ranges[0..count) are to be sent, in the order asked for
    RANGE_UNSATISFIABLE // 416
} range_outcome;

// Reads a Range value against a representation of size octets. ranges_max: at most RANGES_MAX.
// ranges: room for ranges_max, of no meaning unless PARTIAL. *count: untouched unless PARTIAL.
range_outcome range_read(slice value, uint64_t size, unsigned ranges_max, range *ranges,
                         unsigned *count);

#endif
