// SPDX-License-Identifier: MIT
//
// An identity: what a server shows to those who come for certain names. One certificate for each
// kind of key, and what is asked of clients. It never changes, and any thread may use it.
#ifndef SKUA_NET_TLS_IDENTITY_H
#define SKUA_NET_TLS_IDENTITY_H

#include "skua/skua.h"

#ifdef SKUA_TLS

#include "net/tls_clients.h"

#include <stdatomic.h>

struct skua_tls_identity {
    _Atomic uint32_t holders;
    tls_certificate certificates[TLS_KEY_KINDS];
    bool inherits; // what is asked of clients is for the context to say
    tls_clients clients;
    unsigned char hash[TLS_HASH_OCTETS]; // of the certificates
};

// Makes one of certificates by their kinds (NULL: none) and clients (NULL: inherits), all shared.
// Returns NULL when memory ran out.
skua_tls_identity *tls_identity_new(const tls_certificate *const certificates[TLS_KEY_KINDS],
                                    const tls_clients *clients);

// The same with certificates that are copied, for a thread of its own; NULL: memory ran out.
skua_tls_identity *tls_identity_copy(const skua_tls_identity *identity);

// Its demands on clients.
const tls_clients *tls_identity_clients(const skua_tls_identity *identity,
                                        const tls_clients *inherited);

// Shows it to the client of a connection whose hello has been read; or to all. The session id
// context that is set says which sessions may be taken up: those that began with the same
// certificates and the same demands on clients. Else a ticket from a name where nothing is asked
// would open one where a certificate is (CVE-2025-23419).
// False: memory ran out, or OpenSSL takes no such certificate, and says why in its error queue.
bool tls_identity_use(const skua_tls_identity *identity, const tls_clients *inherited, SSL *ssl);
bool tls_identity_use_for_all(const skua_tls_identity *identity, const tls_clients *inherited,
                              SSL_CTX *ssl);

// Whether one of its certificates is for a host.
bool tls_identity_covers(const skua_tls_identity *identity, slice host);

#endif
#endif
