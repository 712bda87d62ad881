// SPDX-License-Identifier: MIT
//
// Networks: addresses of IP as people write them, and sets of them. An address of IPv4 is kept as the
// address of IPv6 that it is mapped to, so that it is the same whichever socket it came by.
#ifndef SKUA_HTTP_NETWORK_H
#define SKUA_HTTP_NETWORK_H

#include "base/slice.h"

enum { NETWORKS_MAX = 64, NETWORK_OCTETS = 16 };

typedef struct network {
    uint8_t octets[NETWORK_OCTETS];
    uint8_t bits; // that count, from the first
} network;

typedef struct network_list {
    network at[NETWORKS_MAX];
    unsigned count;
    bool has_unix; // peers by a Unix socket
} network_list;

// Reads "192.0.2.1" or "2001:db8::1", by the grammars of RFC 3986 §3.2.2: no zone, no leading zeros in
// IPv4. Returns: whether it is one; octets are written only then.
bool network_read_address(slice text, uint8_t octets[NETWORK_OCTETS]);

// Writes the octets of an address of IPv4 as mapped.
void network_map(const uint8_t quad[4], uint8_t octets[NETWORK_OCTETS]);

// Reads addresses, networks ("10.0.0.0/8", without bits behind the prefix), and "unix", separated by
// spaces. Returns: whether all of it is understood, and there are no more than NETWORKS_MAX.
bool network_list_read(slice text, network_list *list);

bool network_list_has(const network_list *list, const uint8_t octets[NETWORK_OCTETS]);

#endif
