// SPDX-License-Identifier: MIT
//
// The facts that a handshake has found out, for requests: they outlive the SSL. Counted by its worker.
#ifndef SKUA_NET_TLS_FACTS_H
#define SKUA_NET_TLS_FACTS_H

#include "skua/skua.h"

#ifdef SKUA_TLS

#include "net/tls_acceptor.h"

#include "base/budget.h"

enum { TLS_SUBJECT_OCTETS_MAX = 1024 };

typedef struct tls_facts {
    slice server_name; // first; folded; empty: the client sent none
    uint32_t holders;
    bool is_resumed;
    bool has_client; // the client has shown a certificate, and it was verified
    unsigned char fingerprint[TLS_HASH_OCTETS]; // SHA-256 of that
    const char *version;                        // "TLSv1.3"
    const char *cipher;                         // "TLS_AES_128_GCM_SHA256"
    slice protocol;                             // by ALPN; empty: none
    slice client; // subject of its certificate, RFC 4514, at most TLS_SUBJECT_OCTETS_MAX
    tls_acceptor *acceptor;
    const skua_tls_identity *identity;
    skua_tls_identity *chosen;
} tls_facts;

_Static_assert(offsetof(tls_facts, server_name) == 0, "a transport's host is where they begin");

// Copies them when the handshake is done. l: the worker's lease. NULL: memory ran out.
tls_facts *tls_facts_new(lease *l, SSL *ssl, const tls_choice *choice);

// Gives facts up for those of another connection that are the same, as most are: *recent, which
// becomes the newer ones where they differ. *recent: counted; NULL for none.
// Returns: those to be kept.
tls_facts *tls_facts_share(tls_facts *facts, tls_facts **recent);

// The same as a request is told of them.
skua_tls_info tls_facts_info(const tls_facts *facts);

tls_facts *tls_facts_ref(tls_facts *facts);
void tls_facts_unref(tls_facts *facts); // NULL is allowed

// Whether a request for host, without its port, is answered 421 on this connection, RFC 9110
// §15.5.20: the client sent another server name, and the certificate in use is not for host, or
// something else is asked of clients that come for host.
bool tls_facts_misdirect(const tls_facts *facts, slice host);

#endif
#endif
