// SPDX-License-Identifier: MIT
//
// Log lines: one request or one message as a line of text that nothing in it can break out of.
#ifndef SKUA_LOG_LOG_LINE_H
#define SKUA_LOG_LOG_LINE_H

#include "log/log.h"

enum { LOG_LINE_OCTETS_MAX = 16384 };

// The texts of a second, made once in it. Zero is a clock that has not been read.
typedef struct log_clock {
    int64_t second;  // since 1970, plus one
    char of_day[9];  // local: 12:04:09
    char common[27]; // local: 10/Oct/2000:13:55:36 -0700
} log_clock;

// How the lines of a log look.
typedef struct log_style {
    skua_log_format format;
    bool coloured;       // SHORT only, for a terminal
    const char *secrets; // names of query parameters whose values are masked
} log_style;

// Writes access in a format other than NONE, ended by LF.
// room: at least LOG_LINE_OCTETS_MAX.  Returns: the line's length.
size_t log_line_request(const log_style *style, log_clock *clock, const log_access *access,
                        char *out, size_t room);

// Writes "skua: MESSAGE" and LF, cut to what fits; as a JSON object when json. room: the same.
size_t log_line_message(bool json, int64_t unix_ns, slice message, char *out, size_t room);

#endif
