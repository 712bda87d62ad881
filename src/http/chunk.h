// SPDX-License-Identifier: MIT
//
// Chunked transfer coding, RFC 9112 §7.1, both ways.
#ifndef SKUA_HTTP_CHUNK_H
#define SKUA_HTTP_CHUNK_H

#include "base/arena.h"
#include "http/fault.h"

typedef enum chunk_event {
    CHUNK_MORE, // all input is used up
    CHUNK_DATA, // *data is a piece of content, inside the input
    CHUNK_END,  // the last chunk and the trailer section are complete; input is what follows
    CHUNK_FAULT // fault says why; input begins with the octet that did it
} chunk_event;

typedef struct chunk_limits {
    size_t ext_octets_max;     // chunk extensions of the whole message [400]
    size_t trailer_octets_max; // trailer section: field lines with their CRLF [431]
    unsigned trailers_max;     // trailer field lines [431]
} chunk_limits;

typedef struct chunk_decoder {
    const chunk_limits *limits;
    arena *memory; // trailers are kept there
    uint64_t left; // of the chunk's content, or the size so far
    size_t ext_octets;
    size_t trailer_octets;
    char *trailer_text;   // allocated when the first trailer octet comes
    skua_field *trailers; // and the fields in it
    unsigned trailer_count;
    size_t mark;     // where the trailer being read begins in the text
    size_t name_len; // of its name
    uint8_t state;
    uint8_t digits;
    fault fault;
} chunk_decoder;

void chunk_decoder_init(chunk_decoder *decoder, const chunk_limits *limits, arena *memory);

// The next event from *input, which is moved past what was used. The same events, but for where
// DATA is cut, at every split of the input. After END or FAULT: the same again, and no input is
// used.
// Sizes: one or more HEXDIG, no more than 15 after leading zeros, and 16 in all; CRLF exact;
// extensions follow the grammar of RFC 9112 §7.1.1, with quoted strings and bad white space.
// Trailers: the field grammar; names that frame, route or authenticate are refused (400), others
// that may not be there are left out.
// Memory running out is a fault of status 503.
chunk_event chunk_next(chunk_decoder *decoder, slice *input, slice *data);

// Whether a name may stand in a trailer section, RFC 9110 §6.5.1.
bool chunk_trailer_allowed(slice name);

// Writes the line before a chunk of size octets: hex digits and CRLF; at most 18 octets.
size_t chunk_write_size(char *out, uint64_t size);

#endif
