// SPDX-License-Identifier: MIT
//
// The certificates of a server, and which names they are for. It never changes.
#ifndef SKUA_NET_TLS_ROSTER_H
#define SKUA_NET_TLS_ROSTER_H

#include "skua/skua.h"

#ifdef SKUA_TLS

#include "net/tls_identity.h"
#include "net/tls_names.h"

#define TLS_ROSTER_NONE TLS_NAMES_NONE

typedef struct tls_roster {
    skua_tls_identity **identities;
    uint32_t count;
    uint32_t fallback; // the number of the default; TLS_ROSTER_NONE: there is none
    tls_names names;   // value: the number of an identity
} tls_roster;

// Reads certificates and sorts them by their names. inherited: what is asked of clients where a
// certificate does not say.
// Errors: SKUA_EINVAL and those of tls_load_read, each with a sentence.
skua_status tls_roster_read(const skua_tls_certificate *certificates, unsigned count,
                            const tls_clients *inherited, tls_load *load, tls_roster *roster);

// The number of the identity for a folded name; TLS_ROSTER_NONE: nobody has it.
uint32_t tls_roster_find(const tls_roster *roster, slice folded);

void tls_roster_free(tls_roster *roster);

#endif
#endif
