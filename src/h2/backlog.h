// SPDX-License-Identifier: MIT
//
// Backlog: content of a response that is not framed yet, since a window is shut or other streams
// have their turn.
#ifndef SKUA_H2_BACKLOG_H
#define SKUA_H2_BACKLOG_H

#ifndef SKUA_NO_HTTP2

#include "base/out.h"
#include "h2/stream.h"

enum { H2_BACKLOG_SEGMENTS = 48 };

struct h2_backlog {
    h2_backlog *next; // free
    out_queue out;
    out_segment segments[H2_BACKLOG_SEGMENTS];
};

// The backlog of a stream, which is taken if there is none; NULL when memory ran out.
h2_backlog *h2_backlog_of(h2_stream *stream);

static inline uint64_t h2_backlog_octets(const h2_stream *stream)
{
    return stream->backlog ? stream->backlog->out.octets : 0;
}

// Makes the first segment one of which so many octets can be moved. Returns: false when memory ran out.
bool h2_backlog_split(h2_stream *stream, size_t octets);

// Moves octets of content, at least one and at most as many as there are, to the end of a queue,
// which has room for some more segments.
// Returns: how many were moved, at least one; 0 when memory ran out.
size_t h2_backlog_move(h2_stream *stream, out_queue *to, size_t octets_max);

// Gives back what it holds, and itself.
void h2_backlog_give(h2_stream *stream);

// Frees the backlogs that are kept for the next streams.
void h2_backlog_free_all(skua_worker *w);
size_t h2_backlog_sweep(skua_worker *w);

#endif
#endif
