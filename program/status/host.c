// SPDX-License-Identifier: MIT

#include "status/host.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum { STATUS_HOST_OCTETS = 64 }; // longer ones are names

bool status_host_is_plain(skua_slice authority)
{
    char text[STATUS_HOST_OCTETS];
    unsigned char octets[16];
    if (authority.len >= sizeof text) return false;
    if (authority.len) memcpy(text, authority.ptr, authority.len);
    text[authority.len] = '\0';
    char *end = text[0] == '[' ? strchr(text, ']') : strchr(text, ':');
    if (text[0] == '[' && (!end || (end[1] && end[1] != ':'))) return false;
    if (end) *end = '\0';
    if (text[0] == '[') return inet_pton(AF_INET6, text + 1, octets) == 1;
    return strcasecmp(text, "localhost") == 0 || inet_pton(AF_INET, text, octets) == 1;
}
