// SPDX-License-Identifier: MIT
//
// Names of fields that the engine looks at itself, by number.
#ifndef SKUA_HTTP_FIELD_H
#define SKUA_HTTP_FIELD_H

#include "base/slice.h"

// Fields the engine looks at itself. FIELD_OTHER must be 0.
typedef enum field_id {
    FIELD_OTHER,
    FIELD_HOST,
    FIELD_CONNECTION,
    FIELD_CONTENT_LENGTH,
    FIELD_TRANSFER_ENCODING,
    FIELD_EXPECT,
    FIELD_UPGRADE,
    FIELD_TE,
    FIELD_TRAILER,
    FIELD_COOKIE,
    FIELD_ACCEPT,
    FIELD_ACCEPT_ENCODING,
    FIELD_RANGE,
    FIELD_IF_RANGE,
    FIELD_IF_MATCH,
    FIELD_IF_NONE_MATCH,
    FIELD_IF_MODIFIED_SINCE,
    FIELD_IF_UNMODIFIED_SINCE,
    FIELD_CONTENT_TYPE,
    FIELD_AUTHORIZATION,
    FIELD_COUNT
} field_id;

// The id of a field name, whatever its case.
field_id field_identify(slice name);

static inline uint32_t fold4(const char *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof(word));
    return word | 0x20202020u;
}

static inline uint64_t fold8(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof(word));
    return word | 0x2020202020202020u;
}

// Whether p[0..len) is lower, letters in any case. len: a constant from 4 to 24. CR would pass for
// "-", and other controls for digits, so p must have been checked to hold none.
static inline bool field_folds_to(const char *p, const char *lower, size_t len)
{
    if (len < 8) return fold4(p) == fold4(lower) && fold4(p + len - 4) == fold4(lower + len - 4);
    return fold8(p) == fold8(lower) && fold8(p + len - 8) == fold8(lower + len - 8) &&
           (len <= 16 || fold8(p + 8) == fold8(lower + 8));
}

static inline field_id field_match_6(const char *p)
{
    if (field_folds_to(p, "accept", 6)) return FIELD_ACCEPT;
    if (field_folds_to(p, "cookie", 6)) return FIELD_COOKIE;
    return field_folds_to(p, "expect", 6) ? FIELD_EXPECT : FIELD_OTHER;
}

// Names are told apart by their length first: few share one.
static inline field_id field_match(const char *p, size_t len)
{
    switch (len) {
    case 2: return (p[0] | 0x20) == 't' && (p[1] | 0x20) == 'e' ? FIELD_TE : FIELD_OTHER;
    case 4: return field_folds_to(p, "host", 4) ? FIELD_HOST : FIELD_OTHER;
    case 5: return field_folds_to(p, "range", 5) ? FIELD_RANGE : FIELD_OTHER;
    case 6: return field_match_6(p);
    case 7:
        if (field_folds_to(p, "upgrade", 7)) return FIELD_UPGRADE;
        return field_folds_to(p, "trailer", 7) ? FIELD_TRAILER : FIELD_OTHER;
    case 8:
        if (field_folds_to(p, "if-range", 8)) return FIELD_IF_RANGE;
        return field_folds_to(p, "if-match", 8) ? FIELD_IF_MATCH : FIELD_OTHER;
    case 10: return field_folds_to(p, "connection", 10) ? FIELD_CONNECTION : FIELD_OTHER;
    case 12: return field_folds_to(p, "content-type", 12) ? FIELD_CONTENT_TYPE : FIELD_OTHER;
    case 13:
        if (field_folds_to(p, "if-none-match", 13)) return FIELD_IF_NONE_MATCH;
        return field_folds_to(p, "authorization", 13) ? FIELD_AUTHORIZATION : FIELD_OTHER;
    case 14: return field_folds_to(p, "content-length", 14) ? FIELD_CONTENT_LENGTH : FIELD_OTHER;
    case 15: return field_folds_to(p, "accept-encoding", 15) ? FIELD_ACCEPT_ENCODING : FIELD_OTHER;
    case 17:
        if (field_folds_to(p, "transfer-encoding", 17)) return FIELD_TRANSFER_ENCODING;
        return field_folds_to(p, "if-modified-since", 17) ? FIELD_IF_MODIFIED_SINCE : FIELD_OTHER;
    case 19:
        return field_folds_to(p, "if-unmodified-since", 19) ? FIELD_IF_UNMODIFIED_SINCE
                                                            : FIELD_OTHER;
    default: return FIELD_OTHER;
    }
}

#endif
