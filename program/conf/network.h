// SPDX-License-Identifier: MIT
//
// Networks of addresses. Those of IPv4 are kept as IPv6 maps them, so that there is one kind.
#ifndef PROGRAM_CONF_NETWORK_H
#define PROGRAM_CONF_NETWORK_H

#include <stdbool.h>

enum { CONF_NETWORK_OCTETS = 16 };

typedef struct conf_network {
    unsigned char octets[CONF_NETWORK_OCTETS];
    unsigned bits;
    bool is_unix; // clients of a Unix socket
} conf_network;

// Reads one address, and whether it is written as one of IPv4. Returns whether it is one.
bool conf_network_address(const char *text, unsigned char octets[CONF_NETWORK_OCTETS],
                          bool *is_ip4);

// "10.0.0.0/8", "192.0.2.7", "fd00::/8", "unix". Returns whether it is one.
bool conf_network_read(const char *text, conf_network *network);

// peer: an address as skua_request_peer writes it, or "unix".
bool conf_network_has(const conf_network *network, const char *peer);

#endif
