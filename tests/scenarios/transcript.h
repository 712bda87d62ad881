// SPDX-License-Identifier: MIT
//
// How a transcript is written: text as lines, much of it as a sum, and what differs from run to run
// as "…".
#ifndef TESTS_SCENARIOS_TRANSCRIPT_H
#define TESTS_SCENARIOS_TRANSCRIPT_H

#include "base/slice.h"
#include "app/text.h"

#include <stdbool.h>

// Writes octets, each line with indent before it; what is no text, or long, as its length and a
// sum.
void transcript_octets(text *t, const char *indent, slice octets);

// Writes a status line and fields, or trailers, without values that depend on the time or the
// machine.
void transcript_fields(text *t, const char *indent, slice fields);

// Writes a line of the JSON log to the one of the two it belongs to, without times and the peer.
void transcript_log_line(text *access, text *messages, slice line);

// Puts the lines of a text in order.
void transcript_sort(text *t);

// Takes what depends on the version of HTTP out of a transcript: Connection, which HTTP/2 says
// otherwise, the version and the stream in the log, and the order of its lines, since requests that
// are sent at once end in any.
void transcript_without_version(text *t);

// Whether both are equal; else says on standard error where they part.
bool transcript_equals(slice got, slice wanted);

#endif
