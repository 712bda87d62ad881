// SPDX-License-Identifier: MIT
//
// multipart/form-data, RFC 7578 and RFC 2046 §5.1: octets in, parts out, at whatever places the
// input is cut.
#ifndef SKUA_HTTP_MULTIPART_H
#define SKUA_HTTP_MULTIPART_H

#include "base/slice.h"
#include "http/fault.h"

enum { MULTIPART_BOUNDARY_MAX = 70, MULTIPART_FIELDS_MAX = 32 };

typedef enum multipart_event {
    MULTIPART_MORE,  // all input is used up
    MULTIPART_BEGIN, // a part's head is complete: part tells
    MULTIPART_DATA,  // *data is a piece of its content, in the input or in the parser
    MULTIPART_END,   // the part is complete
    MULTIPART_FAULT  // fault says why
} multipart_event;

typedef struct multipart_limits {
    unsigned parts_max; // [413]
    // of a part's fields with their CRLF, and of what surrounds the parts [413]
    size_t head_octets_max;
} multipart_limits;

typedef struct multipart {
    const multipart_limits *limits;
    char delimiter[MULTIPART_BOUNDARY_MAX + 4]; // CRLF "--" boundary
    uint8_t delimiter_len;
    uint8_t matched; // how much of it has been seen
    uint8_t held;    // of that, how much would be content if the rest does not follow
    uint8_t state;
    unsigned parts;
    // octets of what is before the first part, or of the padding behind a delimiter
    size_t around;
    char *head;            // given: room for limits->head_octets_max octets
    size_t head_len, line; // of the head so far; where its line begins
    skua_field fields[MULTIPART_FIELDS_MAX];
    skua_part part; // BEGIN until the next: slices of head
    fault fault;
} multipart;

// Reads the boundary from a Content-Type field's value. False if that is not multipart/form-data,
// has no boundary or more than one, or one that RFC 2046 §5.1.1 does not allow.
bool multipart_boundary(slice content_type, char boundary[MULTIPART_BOUNDARY_MAX], size_t *len);

// head: room for limits->head_octets_max octets, the parser's while it lives.
void multipart_init(multipart *m, const multipart_limits *limits, slice boundary, char *head);

// The next event from *input, which is moved past what was used. The same events, but for where
// DATA is cut, at every split of the input. After FAULT: the same again.
// A part's head follows the grammar of fields, without folding. It must say "Content-Disposition:
// form-data" with one name and at most one filename; filename* is not looked at (RFC 7578 §4.2). An
// encoding of the content that would have to be undone is refused.
multipart_event multipart_next(multipart *m, slice *input, slice *data);

// The input has ended. Returns whether it was complete; fault says why not.
bool multipart_finish(multipart *m);

#endif
