// SPDX-License-Identifier: MIT
//
// The addresses of this machine that other machines can use.
#ifndef PROGRAM_COMMON_NETWORK_H
#define PROGRAM_COMMON_NETWORK_H

#include <stddef.h>
#include <stdbool.h>

enum { NETWORK_ADDRESSES_MAX = 4, NETWORK_ADDRESS_OCTETS = 48 };

// As in a URL: "192.168.1.7", "[2001:db8::5]"; those of IPv4 first.
typedef struct network {
    char addresses[NETWORK_ADDRESSES_MAX][NETWORK_ADDRESS_OCTETS];
    size_t count; // at most NETWORK_ADDRESSES_MAX, although there may be more
} network;

// Finds them. ip6: those of IPv6, too.
void network_find(network *n, bool ip6);

// Finds them now for every later call, for a process that will not be allowed to.
void network_keep(void);

#endif
