// SPDX-License-Identifier: MIT
//
// Repeated runs of fields. A client that sends similar requests ends its header blocks with the
// same fields. Once both tables have these, each is one octet, and the octets are the same as long
// as the table is. The result of reading such a run is remembered, so that it need not be read
// field by field.
#ifndef SKUA_HTTP_H2_RUN_H
#define SKUA_HTTP_H2_RUN_H

#ifndef SKUA_NO_HTTP2

#include "http/h2_head.h"

enum {
    H2_RUN_OCTETS_MAX = 32, // and as many fields
    H2_RUN_TEXT_MAX = 768,
    H2_RUN_ROOM_MAX = H2_RUN_OCTETS_MAX * sizeof(head_field) + H2_RUN_TEXT_MAX,
    H2_RUN_LINES_AT_HAND =
        16 // as octets: for the lines and the text of most clients that are not browsers
};

// The last run of indexed fields that ended a block.
typedef struct h2_run {
    uint64_t changes; // of the decoder's table until then
    uint8_t len;      // octets; 0: there was none
    bool is_known;    // it has come twice, and what follows is set
    uint16_t text_octets, count;
    // As request_head and h2_head_reader have them, from the beginning of the run.
    uint16_t start, method_len, target, target_len;
    uint16_t host, cookie, priority; // 0: not in it
    unsigned from_seen;              // as h2_head_reader's, before it
    unsigned seen;                   // and what it adds
    uint32_t head_seen;              // to request_head's
    uint32_t list_octets;
    char octets[H2_RUN_OCTETS_MAX];
    head_field
        *lines; // count of them, and behind these the text: at hand, or in memory of their own
    head_field at_hand[H2_RUN_LINES_AT_HAND];
} h2_run;

// Nothing has come yet.
static inline void h2_run_init(h2_run *run)
{
    run->len = 0;
    run->is_known = false;
    run->lines = run->at_hand;
}

// Frees what it has taken.
static inline void h2_run_deinit(h2_run *run)
{
    if (run->lines != run->at_hand) counted_free(run->lines);
}

// Octets that it has taken.
static inline size_t h2_run_octets(const h2_run *run)
{
    return run->lines != run->at_hand ? H2_RUN_ROOM_MAX : 0;
}

// Reads the fields of a request from a block that the decoder has begun.
// Returns: HPACK_END; HPACK_FIELD: the list is more than twice the size that is taken, and the rest of
// the block was not looked at; else as hpack_decoder_next.
hpack_event h2_run_read(h2_run *run, hpack_decoder *d, h2_head_reader *in);

#endif
#endif
