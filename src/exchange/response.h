// SPDX-License-Identifier: MIT
//
// Response: status, fields and content that a handler has given, before a protocol makes octets of
// it.
#ifndef SKUA_EXCHANGE_RESPONSE_H
#define SKUA_EXCHANGE_RESPONSE_H

#include "base/out.h"
#include "http/head.h"

// Where the content of a response comes from.
typedef enum source_kind {
    SOURCE_NONE,
    SOURCE_COPIED,
    SOURCE_LENT,
    SOURCE_FILE,
    SOURCE_PULL,
    SOURCE_PUSH
} source_kind;

typedef struct response_source {
    source_kind kind;
    slice octets;         // COPIED, LENT
    out_release *release; // LENT, FILE
    void *user;
    uint16_t headroom; // LENT: as of out_lend_behind
    int file;
    uint64_t offset;
    int64_t length; // -1: not known; for SOURCE_NONE: the length that is stated
    bool no_length; // nothing is stated
} response_source;

// A field of a response, or of its trailers.
typedef struct response_field {
    slice name, value;
    field_id id;
} response_field;

typedef struct response_fields {
    response_field *at;
    unsigned count, room;
    size_t octets; // as lines: name, value and 4 more of each
} response_fields;

typedef struct response {
    int status;
    slice type;              // media type; empty: none
    skua_prepared *prepared; // status, fields and stated length are its own; NULL: none
    response_source source;
} response;

// Content up to this many octets is copied, so that it leaves in one piece with its head.
enum { RESPONSE_COPY_MAX = 8192 };

// Room for a head before content that is longer than that, so that both are sent in one piece.
enum { RESPONSE_HEADROOM_OCTETS = 1024 };

// Whether responses of this status are without content, whatever was asked, RFC 9110 §6.4.1.
static inline bool response_is_bare(int status)
{
    return status == 204 || status == 205 || status == 304;
}

#endif
