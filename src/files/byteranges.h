// SPDX-License-Identifier: MIT
//
// Byte ranges of a file, or of octets, as a response: one as 206 with Content-Range, several as
// multipart/byteranges, none that fit as 416. RFC 9110 §14 and §15.3.7.
#ifndef SKUA_FILES_BYTERANGES_H
#define SKUA_FILES_BYTERANGES_H

#include "http/preconditions.h"

// "bytes 18446744073709551615-18446744073709551615/18446744073709551615"
enum { BYTERANGES_FIELD_OCTETS = 72, BYTERANGES_TYPE_OCTETS = 80 };

// Part heads of a whole response, and the closing delimiter.
enum { BYTERANGES_PART_OCTETS = 256 };

// Several ranges of a file on their way.
typedef struct byteranges {
    uint64_t boundary;
    uint64_t size;    // of the whole file
    const char *type; // of the file
    unsigned count;
    range list[RANGES_MAX];

    unsigned part; // that is being sent; count: the closing delimiter
    bool in_head;  // of that part, else in its content
    uint64_t at;   // octets of the head or the content already given
} byteranges;

// The next piece: octets of a head, to be sent as they are, or content at an offset of the file.
typedef struct byteranges_piece {
    const char *head; // NULL: content
    uint64_t offset;
    uint64_t length; // 0: the end
} byteranges_piece;

// type: of the file; must outlive b.
void byteranges_init(byteranges *b, uint64_t boundary, const char *type, uint64_t size,
                     const range *list, unsigned count);

// Octets of the whole multipart content.
uint64_t byteranges_length(const byteranges *b);

// The piece that comes next. head: room for BYTERANGES_PART_OCTETS, where a head is written.
byteranges_piece byteranges_next(const byteranges *b, char *head);

// n octets of that piece have been given.
void byteranges_advance(byteranges *b, uint64_t n, const byteranges_piece *piece);

// Writes the media type "multipart/byteranges; boundary=…" and a NUL.
void byteranges_type(const byteranges *b, char text[BYTERANGES_TYPE_OCTETS]);

// The thing that ranges are of.
typedef struct byteranges_from {
    skua_file *file;    // NULL: octets
    const char *octets; // that stay as they are
    uint64_t size;      // of all of it
    const char *type;   // to stay until the request has ended
} byteranges_from;

// Responds with 206. boundary: unguessable, so that no file can contain it on purpose. The fields
// of the representation must have been added; Content-Range is added here.
void byteranges_respond(skua_request *request, const byteranges_from *from, const range *list,
                        unsigned count, uint64_t boundary);

// Responds with 416.
void byteranges_refuse(skua_request *request, uint64_t size);

#endif
