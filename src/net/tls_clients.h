// SPDX-License-Identifier: MIT
//
// The demands on clients: whether they show a certificate, and the authorities they may have it
// from.
#ifndef SKUA_NET_TLS_CLIENTS_H
#define SKUA_NET_TLS_CLIENTS_H

#include "skua/skua.h"

#ifdef SKUA_TLS

#include "net/tls_certificate.h"

// STACK_OF(X509_NAME)
typedef struct stack_st_X509_NAME tls_x509_names;

// All zero: nothing is asked.
typedef struct tls_clients {
    skua_tls_asking asking;
    X509_STORE *store;     // the authorities, counted
    tls_x509_names *names; // theirs, told to clients
    // Of asking and the set of authorities, whatever their order.
    unsigned char hash[TLS_HASH_OCTETS];
} tls_clients;

// Errors: SKUA_EINVAL and those of tls_load_read, each with a sentence.
skua_status tls_clients_read(const skua_tls_clients *from, tls_load *load, tls_clients *clients);

// Another with the same store. False: memory ran out.
bool tls_clients_share(const tls_clients *from, tls_clients *clients);

bool tls_clients_equal(const tls_clients *a, const tls_clients *b);
void tls_clients_drop(tls_clients *clients);

// SSL_VERIFY_…
int tls_clients_verify_mode(const tls_clients *clients);

// Asks the client of one connection, instead of what its SSL_CTX says; or of all. False: memory ran
// out.
bool tls_clients_use(const tls_clients *clients, SSL *ssl);
bool tls_clients_use_for_all(const tls_clients *clients, SSL_CTX *ssl);

#endif
#endif
