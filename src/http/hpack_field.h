// SPDX-License-Identifier: MIT
//
// A field as HPACK decodes it, and what is known about it without looking at it again.
#ifndef SKUA_HTTP_HPACK_FIELD_H
#define SKUA_HTTP_HPACK_FIELD_H

#ifndef SKUA_NO_HTTP2

#include "http/field.h"

// RFC 7541 §4.1: what an entry counts besides its octets.
enum { HPACK_ENTRY_OVERHEAD = 32 };

// Which of the names that begin with ":" it is. HPACK_TOKEN_FIELD: none.
typedef enum hpack_token {
    HPACK_TOKEN_FIELD,
    HPACK_TOKEN_METHOD,
    HPACK_TOKEN_SCHEME,
    HPACK_TOKEN_AUTHORITY,
    HPACK_TOKEN_PATH,
    HPACK_TOKEN_PROTOCOL,
    HPACK_TOKEN_STATUS,
    HPACK_TOKEN_PSEUDO_OTHER
} hpack_token;

// A table's entry keeps all but the third and the fourth, so that nobody looks again at what it holds.
typedef enum hpack_flag {
    HPACK_NAME_IS_VALID = 1,  // a token without upper case (RFC 9113 §8.2.1), or a known token
    HPACK_VALUE_IS_VALID = 2, // the grammar of RFC 9110 §5.5, without white space around it
    HPACK_IS_NEVER_INDEXED = 4,
    // A string is longer than the decoder's limit: name and value are empty, octets is right.
    HPACK_IS_TOO_LONG = 8,
    // Of pseudo-fields of requests and of Host: the value is of their own grammar, too.
    HPACK_VALUE_IS_SOUND = 16
} hpack_flag;

typedef struct hpack_field {
    slice name, value;
    uint32_t octets; // as a list of fields is counted (RFC 9113 §6.5.2): with HPACK_ENTRY_OVERHEAD
    uint8_t token;   // hpack_token
    uint8_t id;      // field_id
    uint8_t flags;   // hpack_flag
} hpack_field;

// Sets token, id and the flag of a field by its name.
void hpack_field_judge_name(hpack_field *field);

// Sets how many octets the field counts, and whether its value is valid and sound. Its name has been
// judged.
void hpack_field_judge_value(hpack_field *field);

#endif
#endif
