// SPDX-License-Identifier: MIT
//
// A client of OpenSSL's and a worker's acceptor, which shake hands in memory. Only with SKUA_TLS.
#ifndef TESTS_TLS_PAIR_H
#define TESTS_TLS_PAIR_H

#include "skua/skua.h"

#ifdef SKUA_TLS

#include "net/tls_facts.h"
#include "support/tls_files.h"

// How the client behaves. Zero: as OpenSSL does, without a server name.
typedef struct tls_client {
    const char *name;
    const char *second_name; // in its second hello; NULL: the same
    const char *signatures;  // as "RSA-PSS+SHA256"
    const char *groups;
    skua_slice protocols; // for ALPN, each behind its length
    int version_min, version_max;
    const tls_made *certificate;      // and what signed it, by itself, is known to the server
    SSL_SESSION *session;             // to take up
    void (*server_turn)(bool begins); // called around each step of the server's; may be NULL
} tls_client;

typedef struct tls_pair {
    SSL *server, *client;
    SSL_CTX *client_context;
    SSL_SESSION *session; // the newest that the client has
    tls_choice choice;
    tls_facts *facts; // of the server, when it is done
    int alert;        // that the client got; -1: none
} tls_pair;

// Shakes hands. Returns whether both sides came to their end, and no alert was sent.
bool tls_pair_shake(tls_pair *pair, tls_acceptor *acceptor, const tls_client *how);

// The session that the client would take up; freed by SSL_SESSION_free.
SSL_SESSION *tls_pair_session(const tls_pair *pair);

void tls_pair_free(tls_pair *pair);

#endif
#endif
