// SPDX-License-Identifier: MIT
//
// Hosts: names are compared without case and without a port.

#include "exchange/hosts.h"

#include "http/syntax.h"
#include "io/socket.h"

#include <stdio.h>

static bool hosts_is_loopback(slice name)
{
    if (slice_equal_nocase(name, SKUA_SLICE("localhost")) || slice_equal(name, SKUA_SLICE("[::1]")))
        return true;
    if (name.len > 10 &&
        slice_equal_nocase(slice_from(name, name.len - 10), SKUA_SLICE(".localhost")))
        return true;
    char text[64];
    socket_address address;
    if (name.len < 7 || name.len > 40 || memcmp(name.ptr, "127.", 4) != 0) return false;
    (void)snprintf(text, sizeof text, "%.*s:1", (int)name.len, name.ptr);
    return socket_address_read(slice_of(text), &address) == SKUA_OK && address.is_loopback;
}

static bool hosts_name(const char *names, slice name)
{
    for (const char *at = names; *at;) {
        size_t len = strcspn(at, " ");
        if (slice_equal_nocase(name, slice_make(at, len))) return true;
        at += len;
        at += strspn(at, " ");
    }
    return false;
}

bool hosts_take(const host_rule *rule, slice authority)
{
    slice name = syntax_host_name(authority);
    switch (rule->kind) {
    case HOSTS_ANY: return true;
    case HOSTS_ANY_BY_TRANSPORT: return true;
    case HOSTS_LOOPBACK: return hosts_is_loopback(name);
    case HOSTS_NAMED: return hosts_name(rule->names, name);
    }
    return false;
}

// Whether a name can be put behind --host as it is, in any shell.
static bool hosts_is_simple(slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = octet_lower(name.ptr[i]);
        bool simple = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
        if (!simple) return false;
    }
    return name.len > 0 && name.ptr[0] != '-';
}

size_t hosts_explain(slice authority, char sentence[HOSTS_SENTENCE_OCTETS])
{
    enum { SHOWN_MAX = 100 };
    slice name = syntax_host_name(authority);
    bool whole = name.len <= SHOWN_MAX;
    slice remedy = whole && hosts_is_simple(name) ? name : SKUA_SLICE("NAME");
    int len =
        snprintf(sentence, HOSTS_SENTENCE_OCTETS,
                 "This server does not answer for the host name \"%.*s%s\". To have it do so, "
                 "start it with --host %.*s, or name it in skua_config.hosts.",
                 whole ? (int)name.len : SHOWN_MAX, name.len ? name.ptr : "", whole ? "" : "...",
                 (int)remedy.len, remedy.ptr);
    return len < HOSTS_SENTENCE_OCTETS ? (size_t)len : HOSTS_SENTENCE_OCTETS - 1;
}

host_rule hosts_of(const char *names, host_kind otherwise)
{
    if (!names) return (host_rule){ .kind = otherwise };
    if (hosts_name(names, SKUA_SLICE("*"))) return (host_rule){ .kind = HOSTS_ANY };
    return (host_rule){ .kind = HOSTS_NAMED, .names = names };
}
