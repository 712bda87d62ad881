// SPDX-License-Identifier: MIT
//
// A strict reader of HTTP/1 responses, for tests that look at what a server has written. It shares
// no code with the server, so that no mistake can cancel another.
#ifndef TESTS_ANSWERS_H
#define TESTS_ANSWERS_H

#include "base/slice.h"

typedef enum answer_state {
    ANSWER_IS_NONE, // no octets are left
    ANSWER_IS_PART, // the octets end within an answer; what there is of it is filled in
    ANSWER_IS_WHOLE,
    ANSWER_IS_BROKEN, // against RFC 9110 or 9112
} answer_state;

// One response, interim or final.
typedef struct answer {
    int status;
    bool close; // Connection: close
    bool chunked;
    bool has_length;
    bool delimited;  // by the connection's end
    bool has_head;   // the field section is complete
    uint64_t length; // what Content-Length states
    slice head;      // status line and fields
    slice trailers;
    char *content; // decoded; from the heap, free it by answer_free
    size_t content_len, content_room;
    const char *why; // BROKEN: the rule
} answer;

// Reads the next response from the front of *input and moves that along.
// to_head: the request was HEAD. at_end: the connection has been closed in order behind the input.
answer_state answer_read(slice *input, bool to_head, bool at_end, answer *a);
void answer_free(answer *a);

// The value of a field in a head or trailer section; {NULL, 0} when absent.
slice answer_field(slice section, const char *name);

#endif
