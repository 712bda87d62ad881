// SPDX-License-Identifier: MIT
//
// Addresses on the command line. Their form alone tells which parts are missing: names are not
// looked up.

#include "common/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { ADDRESS_PORT_MAX = 65535 };

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool address_is_port(const char *text, unsigned *port)
{
    size_t len = strlen(text);
    if (len == 0 || len > 5 || strspn(text, "0123456789") != len) return false;
    long number = strtol(text, NULL, 10);
    if (number > ADDRESS_PORT_MAX) return false;
    *port = (unsigned)number;
    return true;
}

bool address_is_fd(const char *address, unsigned *fd)
{
    return begins_with(address, "fd:") && address_is_port(address + 3, fd);
}

static bool has_port(const char *address)
{
    unsigned fd;
    return strrchr(address, ':') && !begins_with(address, "unix:") && !address_is_fd(address, &fd);
}

static bool is_bare_ip6(const char *given)
{
    struct in6_addr octets;
    return inet_pton(AF_INET6, given, &octets) == 1;
}

// A host by itself: "localhost", "0.0.0.0", "[::1]" and "*".
static bool lacks_port(const char *given)
{
    struct in_addr octets;
    size_t len = strlen(given);
    if (given[0] == '[') return given[len - 1] == ']';
    return strcmp(given, "*") == 0 || strcmp(given, "localhost") == 0 ||
           inet_pton(AF_INET, given, &octets) == 1;
}

bool address_complete(const char *given, unsigned port, char whole[ADDRESS_OCTETS])
{
    unsigned number;
    if (strlen(given) > ADDRESS_OCTETS / 2) return false;
    if (address_is_port(given, &number))
        (void)snprintf(whole, ADDRESS_OCTETS, "127.0.0.1:%u", number);
    else if (is_bare_ip6(given)) (void)snprintf(whole, ADDRESS_OCTETS, "[%s]:%u", given, port);
    else if (lacks_port(given)) (void)snprintf(whole, ADDRESS_OCTETS, "%s:%u", given, port);
    else return false;
    return true;
}

bool address_is_every(const char *address)
{
    return begins_with(address, "0.0.0.0:") || begins_with(address, "[::]:");
}

bool address_is_loopback(const char *address)
{
    return begins_with(address, "127.") || begins_with(address, "[::1]:") ||
           begins_with(address, "unix:");
}

unsigned address_port(const char *address)
{
    unsigned port = 0;
    if (!has_port(address) || !address_is_port(strrchr(address, ':') + 1, &port)) return 0;
    return port;
}

bool address_with_port(const char *address, unsigned port, char whole[ADDRESS_OCTETS])
{
    if (!has_port(address)) return false;
    (void)snprintf(whole, ADDRESS_OCTETS, "%.*s:%u", (int)(strrchr(address, ':') - address),
                   address, port);
    return true;
}

void address_write_url(const char *address, bool is_secure, char url[ADDRESS_OCTETS])
{
    const char *port = strrchr(address, ':');
    if (begins_with(address, "unix:") || !port) {
        (void)snprintf(url, ADDRESS_OCTETS, "%s", address);
        return;
    }
    const char *host = address_is_every(address) ? "localhost" : address;
    int host_len = host == address ? (int)(port - address) : (int)strlen(host);
    bool is_usual = strcmp(port, is_secure ? ":443" : ":80") == 0;
    (void)snprintf(url, ADDRESS_OCTETS, "%s://%.*s%s", is_secure ? "https" : "http", host_len, host,
                   is_usual ? "" : port);
}
