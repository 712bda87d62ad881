// SPDX-License-Identifier: MIT
//
// The clients that proxies report: Forwarded (RFC 7239), and X-Forwarded-For with
// X-Forwarded-Proto. Each proxy adds an entry after those it was sent, so entries are read from the
// last to the first, as long as the address found is a trusted proxy's. Entries before that may be
// forged, and are not read.
#ifndef SKUA_HTTP_FORWARDED_H
#define SKUA_HTTP_FORWARDED_H

#include "http/network.h"

// Entries that are walked over all lines, and octets of a name.
enum { FORWARDED_ENTRIES_MAX = 32, FORWARDED_NAME_OCTETS = 64 };

typedef enum forwarded_scheme {
    FORWARDED_SCHEME_UNSAID,
    FORWARDED_SCHEME_HTTP,
    FORWARDED_SCHEME_HTTPS
} forwarded_scheme;

// The client, as far as it has been found.
typedef struct forwarded_client {
    const network_list *trusted;
    unsigned entries;                 // that were walked. 0: nothing was said of the client
    bool found;                       // no entry before these is believed
    uint8_t octets[NETWORK_OCTETS];   // the address, if there is no name
    char name[FORWARDED_NAME_OCTETS]; // "unknown", or a name with "_"; "": there is an address
    forwarded_scheme scheme;
} forwarded_client;

// Begins with a peer that is trusted.
void forwarded_begin(forwarded_client *client, const network_list *trusted);

// Reads the value of a Forwarded; lines from the last to the first. One that is against the grammar
// is not believed, and ends the walk.
void forwarded_read(forwarded_client *client, slice value);

// Reads the value of an X-Forwarded-For; lines from the last to the first.
void forwarded_read_for(forwarded_client *client, slice value);

// Reads the value of the last X-Forwarded-Proto, when all X-Forwarded-For have been read. It has as
// many entries as they have, or fewer, where a proxy has replaced what it was sent.
void forwarded_read_proto(forwarded_client *client, slice value);

#endif
