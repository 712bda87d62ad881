// SPDX-License-Identifier: MIT
//
// Left out is what another machine cannot use: loopback, interfaces without a link (the bridge of
// an idle container engine is one), and addresses that hold on one link only.

#include "common/network.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static bool network_is_up(const struct ifaddrs *interface)
{
    unsigned flags = interface->ifa_flags;
    return interface->ifa_addr && (flags & IFF_UP) && (flags & IFF_RUNNING) &&
           !(flags & IFF_LOOPBACK);
}

static void network_add(network *n, const char *open, const char *text, const char *close)
{
    char *to = n->addresses[n->count];
    int len = snprintf(to, NETWORK_ADDRESS_OCTETS, "%s%s%s", open, text, close);
    if (len <= 0 || len >= NETWORK_ADDRESS_OCTETS) return;
    for (size_t i = 0; i < n->count; i++) {
        if (strcmp(n->addresses[i], to) == 0) return;
    }
    n->count++;
}

static void network_add_ip4(network *n, const struct sockaddr *address)
{
    struct sockaddr_in in;
    char text[INET_ADDRSTRLEN];
    memcpy(&in, address, sizeof in);
    bool one_link = (ntohl(in.sin_addr.s_addr) >> 16) == 0xa9fe; // 169.254/16
    if (!one_link && inet_ntop(AF_INET, &in.sin_addr, text, sizeof text)) {
        network_add(n, "", text, "");
    }
}

static void network_add_ip6(network *n, const struct sockaddr *address)
{
    struct sockaddr_in6 in;
    char text[INET6_ADDRSTRLEN];
    memcpy(&in, address, sizeof in);
    if (!IN6_IS_ADDR_LINKLOCAL(&in.sin6_addr) &&
        inet_ntop(AF_INET6, &in.sin6_addr, text, sizeof text)) {
        network_add(n, "[", text, "]");
    }
}

static void network_add_family(network *n, const struct ifaddrs *all, int family)
{
    for (; all && n->count < NETWORK_ADDRESSES_MAX; all = all->ifa_next) {
        if (!network_is_up(all) || all->ifa_addr->sa_family != family) continue;
        if (family == AF_INET) network_add_ip4(n, all->ifa_addr);
        else network_add_ip6(n, all->ifa_addr);
    }
}

static struct {
    struct ifaddrs *all;
    bool is_kept;
} network_kept;

void network_keep(void)
{
    network_kept.is_kept = getifaddrs(&network_kept.all) == 0;
}

void network_find(network *n, bool ip6)
{
    struct ifaddrs *all = network_kept.all;
    n->count = 0;
    if (!network_kept.is_kept && getifaddrs(&all) != 0) return;
    network_add_family(n, all, AF_INET);
    if (ip6) network_add_family(n, all, AF_INET6);
    if (!network_kept.is_kept) freeifaddrs(all);
}
