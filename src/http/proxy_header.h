// SPDX-License-Identifier: MIT
//
// The header of the PROXY protocol, by which a proxy reports its client before it passes on the
// first octet of a connection. Version 1 is a line of text, version 2 is binary; each begins with a
// signature. https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt
#ifndef SKUA_HTTP_PROXY_HEADER_H
#define SKUA_HTTP_PROXY_HEADER_H

#include "base/slice.h"

enum {
    PROXY_LINE_OCTETS_MAX = 107,  // of version 1, with CR LF
    PROXY_REST_OCTETS_MAX = 4096, // of version 2, behind its first 16
    PROXY_ADDRESS_OCTETS = 16
};

typedef enum proxy_news {
    PROXY_NEEDS_MORE,
    PROXY_COMPLETE, // the octets behind it have not been taken
    PROXY_WRONG     // why says in what
} proxy_news;

typedef struct proxy_header {
    // The values, when it is complete.
    uint8_t family; // 4, 6, or 0: the address is the connection's own
    bool tls;       // the client has come to the proxy by TLS
    uint16_t port;
    uint8_t octets[PROXY_ADDRESS_OCTETS]; // of IPv4 the first four
    // While it is read.
    uint16_t at;      // octets that were taken
    uint16_t end;     // octets in all, of version 2
    uint16_t plain;   // octets in front of the TLVs, of version 2
    uint16_t tlv_at;  // octets of this TLV that were taken
    uint16_t tlv_len; // octets of its value
    uint8_t tlv_type;
    const char *why;
    uint8_t held[PROXY_LINE_OCTETS_MAX];
} proxy_header;

// Takes octets of the header, which is zeroed before the first. *octets: what is left.
proxy_news proxy_header_read(proxy_header *header, slice *octets);

#endif
