// SPDX-License-Identifier: MIT
//
// A strict reader of HTTP/1 responses, for tests that look at what a server has written. It shares
// no code with the server, so that no mistake can cancel another.
#ifndef TESTS_RESPONSES_H
#define TESTS_RESPONSES_H

#include "base/slice.h"

typedef enum responses_state {
    RESPONSE_IS_NONE, // no octets are left
    RESPONSE_IS_PART, // the octets end within an answer; what there is of it is filled in
    RESPONSE_IS_WHOLE,
    RESPONSE_IS_BROKEN, // against RFC 9110 or 9112
} responses_state;

// One response, interim or final.
typedef struct read_response {
    int status;
    bool close; // Connection: close
    bool chunked;
    bool has_length;
    bool delimited;  // by the connection's end
    bool has_head;   // the field section is complete
    uint64_t length; // what Content-Length states
    slice head;      // status line and fields
    slice trailers;
    char *content; // decoded; from the heap, free it by responses_free
    size_t content_len, content_room;
    const char *why; // BROKEN: the rule
} read_response;

// Reads the next response from the front of *input and moves that along.
// to_head: the request was HEAD. at_end: the connection has been closed in order behind the input.
responses_state responses_read(slice *input, bool to_head, bool at_end, read_response *a);
void responses_free(read_response *a);

// The value of a field in a head or trailer section; {NULL, 0} when absent.
slice responses_field(slice section, const char *name);

#endif
