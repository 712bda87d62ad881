// SPDX-License-Identifier: MIT
//
// A worker's part in TLS: an SSL_CTX of its own, made from the context that all
// workers share, so that no handshake takes a lock that another worker has. Counted by its worker.
#ifndef SKUA_NET_TLS_ACCEPTOR_H
#define SKUA_NET_TLS_ACCEPTOR_H

#include "skua/skua.h"

#ifdef SKUA_TLS

#include "net/tls_context.h"
#include "net/tls_library.h"

enum { TLS_CLIENT_CHAIN_OCTETS_MAX = 32768 };

// An identity for a folded name that comes before those of the context, with a reference; NULL: there is none.
typedef skua_tls_identity *tls_named_fn(slice folded, void *user);

typedef struct tls_acceptor {
    tls_library_hooks hooks; // first: the app data of ssl
    tls_context *context;
    SSL_CTX *ssl;
    uint32_t holders;
    const int64_t *now_ns; // the worker's monotonic clock
    tls_ticket_view tickets;
    tls_named_fn *named; // NULL: there are none but the context's
    void *named_user;
    // Copies of the roster's identities, by their numbers, made when first needed.
    skua_tls_identity **own;
} tls_acceptor;

// context: counted. now_ns: the loop's clock, read at each handshake; outlives the acceptor.
// Errors: SKUA_ENOMEM.
skua_status tls_acceptor_new(tls_context *context, const int64_t *now_ns, tls_acceptor **acceptor);

// The identity for a folded name: by named, or else as tls_context_identity says.
skua_tls_identity *tls_acceptor_identity(const tls_acceptor *acceptor, slice folded,
                                         uint32_t *number);

// Thread: the worker's.
tls_acceptor *tls_acceptor_ref(tls_acceptor *acceptor);
void tls_acceptor_unref(tls_acceptor *acceptor); // NULL is allowed

// The choice that one handshake has made so far. The SSL keeps a pointer to it as its app data, so that a
// struct which begins with it is found from there too.
typedef struct tls_choice {
    tls_acceptor *acceptor;
    const skua_tls_identity *identity; // what the client is shown; NULL before its hello
    skua_tls_identity *chosen;         // the same, when it is from choose
    bool is_made;                      // the hello was read
    uint8_t name_len;
    char name[TLS_NAME_OCTETS_MAX]; // that the client asks for, folded
} tls_choice;

// Makes the SSL for a connection that was accepted, without a BIO. choice: outlives it; ended by
// tls_choice_end when the SSL has been freed, or has opened. NULL: memory ran out, and there is no
// choice to end.
SSL *tls_acceptor_begin(tls_acceptor *acceptor, tls_choice *choice);
void tls_choice_end(tls_choice *choice);

slice tls_choice_name(const tls_choice *choice);

#endif
#endif
