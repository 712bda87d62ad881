// SPDX-License-Identifier: MIT
//
// The ceilings over HTTP/2: they read frame headers, pass over what the frames hold, and answer each
// HEADERS frame by canned HEADERS and DATA frames. They know neither field blocks nor windows.
//
// The first answer on a connection puts the fields into the client's table (--first), the others
// refer to them (--head), as servers do. Before it leave SETTINGS and the acknowledgement of the
// client's.
//
// Invariant: clients number their streams 1, 3, 5 and so on, and answers leave in that order. So the
// stream of the next octet follows from how many were asked for and how much is owed.
#ifndef BENCH_CEILING_FRAMES_H
#define BENCH_CEILING_FRAMES_H

#include "ceiling.h"

#include <sys/uio.h>

// Loads the answers. first and head: files with field blocks. content: a file, or NULL.
void ceiling_frames_load(const char *first, const char *head, const char *content);

// Makes a connection that was just accepted wait for the preface.
void ceiling_frames_begin(ceiling_conn *c);

// Adds to what is owed for each frame whose header these octets end.
void ceiling_frames_count(ceiling_conn *c, const char *octets, size_t len);

// How many octets of what is owed can be put somewhere at once: of what is canned alike, and to the
// end of one answer where content is read from its file.
size_t ceiling_frames_run(const ceiling_conn *c);

// Puts the next octets where they leave from: count pieces, together at most as long as a run.
void ceiling_frames_put(const ceiling_conn *c, const struct iovec *pieces, int count);

// Puts them where they stay until they were sent.
const char *ceiling_frames_stage(ceiling_conn *c, size_t *len);

// Octets of what is owed are on their way.
void ceiling_frames_sent(ceiling_conn *c, size_t octets);

#endif
