// SPDX-License-Identifier: MIT
//
// Keys of clients made from their addresses, for limit.h and connection_limit.h.
#ifndef SKUA_MIDDLEWARE_LIMIT_NETWORK_H
#define SKUA_MIDDLEWARE_LIMIT_NETWORK_H

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

// Makes an address the key that it is limited by: itself, or of IPv6 its network of 64 bits, since one client has
// that. Returns its length.
static inline size_t skua_limit_network(char key[128], size_t len)
{
    unsigned char octets[16];
    if (inet_pton(AF_INET6, key, octets) != 1) return len;
    memcpy(key, octets, 8);
    return 8;
}

#endif
