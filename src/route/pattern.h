// SPDX-License-Identifier: MIT
//
// Pattern: "[METHOD ][HOST]/PATH", read and checked; see skua_route.
#ifndef SKUA_ROUTE_PATTERN_H
#define SKUA_ROUTE_PATTERN_H

#include "base/slice.h"

enum { PATTERN_PARAMS_MAX = 16, PATTERN_OCTETS_MAX = 4096, PATTERN_DEPTH_MAX = 64 };

enum { PATTERN_FAULT_OCTETS = 240 };

typedef struct route_pattern {
    slice text;
    slice method;    // empty: every method
    slice host;      // empty: every host; with host_param what follows the first label's dot
    bool host_param; // the first label is a parameter, the first of params
    slice path;      // from its "/"
    unsigned param_count;
    slice params[PATTERN_PARAMS_MAX]; // names, in order
} route_pattern;

// Reads text, which must outlive the pattern. False if it is no pattern; *p is then of no use, and fault
// holds what is wrong and how it is written right, or nothing if the text does not look like one at all.
bool pattern_read(slice text, route_pattern *p, char fault[PATTERN_FAULT_OCTETS]);

typedef enum pattern_piece {
    PIECE_LITERAL,
    PIECE_PARAM, // {name}
    PIECE_TAIL,  // {name...}, or nothing after the last slash
    PIECE_SLASH, // {$}
    PIECE_WRONG
} pattern_piece;

// Cuts the next segment off a path, which begins with "/". *last: it was the last.
slice pattern_segment(slice *rest, bool *last);

// Takes the next segment of a pattern's path: tells what it is, and what is in it.
pattern_piece pattern_next(slice *rest, bool *last, slice *inside);

#endif
