// SPDX-License-Identifier: MIT
//
// Hosts: the host names that a server accepts. A page in a browser must not reach a server on this
// machine under a name of the page's choosing (DNS rebinding).
#ifndef SKUA_EXCHANGE_HOSTS_H
#define SKUA_EXCHANGE_HOSTS_H

#include "base/slice.h"

typedef enum host_kind {
    HOSTS_ANY,
    HOSTS_ANY_BY_TRANSPORT, // that the connection's transport serves
    HOSTS_LOOPBACK,
    HOSTS_NAMED
} host_kind;

typedef struct host_rule {
    host_kind kind;
    const char *names; // HOSTS_NAMED: with spaces between them
} host_rule;

// The rule that names make; "*" among them, or NULL and otherwise HOSTS_ANY, takes every name.
// otherwise: the kind where there are no names.
host_rule hosts_of(const char *names, host_kind otherwise);

// Whether authority, checked for its form, may be served.
bool hosts_take(const host_rule *rule, slice authority);

enum { HOSTS_SENTENCE_OCTETS = 400 };

// Writes a sentence that names a host that is not served, and what would have it served. Returns:
// its length.
size_t hosts_explain(slice authority, char sentence[HOSTS_SENTENCE_OCTETS]);

#endif
