// SPDX-License-Identifier: MIT
//
// The head of a request of HTTP/2, RFC 9113 §8.3: decoded field lines become a request_head, held to
// the same rules as one of HTTP/1.
#ifndef SKUA_HTTP_H2_HEAD_H
#define SKUA_HTTP_H2_HEAD_H

#ifndef SKUA_NO_HTTP2

#include "http/h2_frame.h"
#include "http/head.h"
#include "http/hpack_decode.h"

typedef struct h2_head_reader {
    request_head *head;
    char *text; // where the head's octets go
    size_t room, used;
    char *large;          // room for any head, which they move to when text is full
    uint64_t list_octets; // of all field lines so far, as they are counted
    uint64_t list_octets_max;
    uint64_t list_fits; // so many fit into text for sure, and are not more than the maximum
    uint16_t cookie;    // number of the line of cookies plus one; 0: none
    unsigned seen;  // bit 1 << hpack_token: that of HPACK_TOKEN_FIELD for all that have no other
    bool host_seen; // a Host line has
    bool tunnels;   // extended CONNECT is allowed, RFC 8441
    // Of extended CONNECT; no octets: it is none.
    uint16_t protocol, protocol_len;
    uint16_t priority; // number of that line plus one, RFC 9218 §4; 0: none
    fault fault;       // the first; what comes behind it is only counted
} h2_head_reader;

// The list of field lines that is taken at these limits, and is answered by 431 above: what passes in
// HTTP/1 passes here.
static inline uint64_t h2_list_octets_max(const head_limits *limits)
{
    return (uint64_t)limits->head_octets_max + (uint64_t)limits->fields_max * HPACK_ENTRY_OVERHEAD;
}

// Room for the octets of any head at these limits.
size_t h2_head_room(const head_limits *limits);

// Begins a head. large: room for h2_head_room octets. text: room that is tried first, which most
// heads fit into. The head's offsets will be from in->text, which is one of them.
// in->tunnels may be set behind it.
void h2_head_begin(h2_head_reader *in, request_head *head, char *text, size_t room, char *large);

// Takes a field line as HPACK has decoded it.
void h2_head_take(h2_head_reader *in, const hpack_field *field);

// Whether a field speaks of a connection, and so has no place in a stream, RFC 9113 §8.2.2.
bool h2_head_is_of_connection(const hpack_field *field);

// The list is complete; ends: so is the message.
// Returns: the fault, of the stream where the request is malformed (RFC 9113 §8.1.1), of the request
// where a response can say what is wrong. The head is complete if there is none; after one of the
// request, its method, target and fields are what had been read.
fault h2_head_end(h2_head_reader *in, bool ends);

#endif
#endif
