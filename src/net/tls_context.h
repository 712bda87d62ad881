// SPDX-License-Identifier: MIT
//
// How a server speaks TLS: a skua_tls_desc that has been read and checked. It never changes: a
// reload makes another. Counted; any thread.
#ifndef SKUA_NET_TLS_CONTEXT_H
#define SKUA_NET_TLS_CONTEXT_H

#include "skua/skua.h"

#ifdef SKUA_TLS

#include "net/tls_roster.h"
#include "net/tls_tickets.h"

#define TLS_HANDSHAKE_TIMEOUT_NS ((int64_t)10 * 1000000000)

typedef struct tls_context {
    _Atomic uint32_t holders;
    tls_roster roster;
    tls_clients clients; // what is asked where an identity does not say
    skua_tls_identity *(*choose)(skua_slice server_name, void *user);
    void *choose_user;
    int version_min;      // TLS1_2_VERSION
    char *groups;         // those that the library knows, separated by colons
    tls_tickets *tickets; // NULL: none
    int keylog;           // a descriptor; -1: none
    bool records_by_openssl;
    bool h2; // is offered by ALPN
    int64_t handshake_timeout_ns;
} tls_context;

// Whether a description says anything; else the server speaks no TLS.
bool tls_desc_is_given(const skua_tls_desc *desc);

// Reads a description. before: the context that this one replaces, whose random ticket keys are
// kept; NULL for none.
// Errors: SKUA_EINVAL, SKUA_ENOENT, SKUA_EACCES, SKUA_EIO, SKUA_ELIMIT, SKUA_ENOFILE, SKUA_ENOMEM;
// load->why is then a sentence.
skua_status tls_context_new(const skua_tls_desc *desc, const tls_context *before, tls_load *load,
                            tls_context **context);

tls_context *tls_context_ref(tls_context *context);
void tls_context_unref(tls_context *context); // NULL is allowed

// The identity for a folded name, or no name: of the certificates, by choose, or the default. NULL:
// there is none.
// *number: in the roster, and the identity is the roster's. TLS_ROSTER_NONE: it is from choose, and
// the caller has a reference to it.
skua_tls_identity *tls_context_identity(const tls_context *context, slice folded, uint32_t *number);

// Appends a line of OpenSSL's keylog callback to the file that was asked for, if any.
void tls_context_log_secret(const tls_context *context, const char *line);

#endif
#endif
