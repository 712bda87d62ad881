// SPDX-License-Identifier: MIT

#include "conf/network.h"

#include "conf/value.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

enum { NETWORK_TEXT_OCTETS = 64, NETWORK_MAPPED_BITS = 96 };

bool conf_network_address(const char *text, unsigned char octets[CONF_NETWORK_OCTETS], bool *is_ip4)
{
    static const unsigned char mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
    *is_ip4 = !strchr(text, ':');
    if (!*is_ip4) return inet_pton(AF_INET6, text, octets) == 1;
    memcpy(octets, mapped, sizeof mapped);
    return inet_pton(AF_INET, text, octets + sizeof mapped) == 1;
}

bool conf_network_read(const char *text, conf_network *network)
{
    char address[NETWORK_TEXT_OCTETS];
    size_t len = strcspn(text, "/");
    bool is_ip4;
    uint64_t bits;
    conf_why why;
    memset(network, 0, sizeof *network);
    network->is_unix = strcmp(text, "unix") == 0;
    if (network->is_unix) return true;
    if (len >= sizeof address) return false;
    memcpy(address, text, len);
    address[len] = '\0';
    if (!conf_network_address(address, network->octets, &is_ip4)) return false;
    bits = is_ip4 ? 32 : 128;
    if (text[len] && !conf_read_number(text + len + 1, 0, bits, &bits, why)) return false;
    network->bits = (unsigned)bits + (is_ip4 ? NETWORK_MAPPED_BITS : 0);
    return true;
}

bool conf_network_has(const conf_network *network, const char *peer)
{
    unsigned char octets[CONF_NETWORK_OCTETS];
    bool is_ip4;
    if (network->is_unix || strcmp(peer, "unix") == 0)
        return network->is_unix && strcmp(peer, "unix") == 0;
    if (!conf_network_address(peer, octets, &is_ip4)) return false;
    unsigned whole = network->bits / 8, rest = network->bits % 8;
    if (memcmp(octets, network->octets, whole) != 0) return false;
    unsigned differs = rest ? (unsigned)(octets[whole] ^ network->octets[whole]) >> (8 - rest) : 0;
    return differs == 0;
}
