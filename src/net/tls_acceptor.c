// SPDX-License-Identifier: MIT
//
// A worker's part in TLS. The certificate is chosen when the client's hello has
// been read and before OpenSSL looks at the ticket in it: decided later, by the servername callback,
// a ticket of one name opens another (CVE-2025-23419).

#include "net/tls_acceptor.h"

#ifdef SKUA_TLS

#include "base/assert.h"
#include "base/memory.h"

#include <openssl/err.h>

// Mozilla's intermediate configuration, https://ssl-config.mozilla.org/guidelines/5.7.json, without
// its three suites with DHE: they would need parameters, and every client has ECDHE. The order is ours,
// the cheapest first, but for clients that put ChaCha20 first: they have no instructions for AES.
static const char acceptor_suites_tls12[] =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
static const char acceptor_suites_tls13[] =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

// The protocols that are spoken, each behind its length: RFC 7301 §3.1.
static const unsigned char acceptor_protocols[] = "\x02h2\x08http/1.1\x08http/1.0";
enum { ACCEPTOR_H2_OCTETS = 3 }; // of it, where HTTP/2 is not spoken

// ---- The questions of a handshake ----

static tls_choice *acceptor_choice(const SSL *ssl)
{
    return SSL_get_app_data(ssl);
}

// The worker's own copy of an identity; the shared one when there is no memory for it.
static const skua_tls_identity *acceptor_own(tls_acceptor *acceptor, uint32_t number)
{
    skua_tls_identity **own = &acceptor->own[number];
    const skua_tls_identity *shared = acceptor->context->roster.identities[number];
    if (!*own) *own = tls_identity_copy(shared);
    return *own ? *own : shared;
}

// Returns an alert.
static int acceptor_show(const skua_tls_identity *identity, tls_acceptor *acceptor, SSL *ssl)
{
    bool is_shown = tls_identity_use(identity, &acceptor->context->clients, ssl);
    if (!is_shown) ERR_clear_error();
    return is_shown ? 0 : SSL_AD_INTERNAL_ERROR;
}

skua_tls_identity *tls_acceptor_identity(const tls_acceptor *acceptor, slice folded,
                                         uint32_t *number)
{
    *number = TLS_ROSTER_NONE;
    skua_tls_identity *named =
        acceptor->named ? acceptor->named(folded, acceptor->named_user) : NULL;
    return named ? named : tls_context_identity(acceptor->context, folded, number);
}

static int acceptor_choose(tls_choice *choice, SSL *ssl)
{
    tls_acceptor *acceptor = choice->acceptor;
    const tls_context *context = acceptor->context;
    uint32_t number;
    skua_tls_identity *identity = tls_acceptor_identity(acceptor, tls_choice_name(choice), &number);
    choice->identity = identity;
    if (!identity) return SSL_AD_UNRECOGNIZED_NAME;
    bool is_default = number == context->roster.fallback && number != TLS_ROSTER_NONE;
    if (is_default && tls_library_replaces()) return 0; // the SSL_CTX has it
    if (number != TLS_ROSTER_NONE)
        return acceptor_show(acceptor_own(acceptor, number), acceptor, ssl);
    choice->chosen = identity;
    return acceptor_show(identity, acceptor, ssl);
}

static int acceptor_hello(SSL *ssl, const unsigned char *server_name, size_t len)
{
    tls_choice *choice = acceptor_choice(ssl);
    char folded[TLS_NAME_OCTETS_MAX];
    slice name = { NULL, 0 };
    if (server_name) name = tls_name_of_extension(server_name, len);
    name = slice_make(folded, tls_name_fold(name, false, folded));
    // After a HelloRetryRequest the hello comes again, with the same name: RFC 8446 §4.1.2.
    if (choice->is_made)
        return slice_equal(name, tls_choice_name(choice)) ? 0 : SSL_AD_ILLEGAL_PARAMETER;
    choice->is_made = true;
    choice->name_len = (uint8_t)name.len;
    memcpy(choice->name, folded, name.len);
    return acceptor_choose(choice, ssl);
}

static const tls_ticket_key *acceptor_ticket_key(SSL *ssl, const unsigned char *name,
                                                 bool *is_first)
{
    // Not by the choice, since AWS-LC makes a ticket when that has ended.
    tls_acceptor *acceptor = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    int64_t now_ns = *acceptor->now_ns;
    if (!name) return tls_ticket_view_first(&acceptor->tickets, now_ns);
    return tls_ticket_view_find(&acceptor->tickets, now_ns, name, is_first);
}

static int acceptor_select_protocol(SSL *ssl, const unsigned char **selected, unsigned char *len,
                                    const unsigned char *offered, unsigned offered_len, void *user)
{
    const tls_context *context = user;
    unsigned char *found = NULL;
    (void)ssl;
    unsigned skipped = context->h2 ? 0 : ACCEPTOR_H2_OCTETS;
    unsigned spoken = (unsigned)sizeof acceptor_protocols - 1 - skipped;
    int result = SSL_select_next_proto(&found, len, acceptor_protocols + skipped, spoken, offered,
                                       offered_len);
    *selected = found;
    // no_application_protocol, RFC 7301 §3.2
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// ---- Making ----

static bool acceptor_set_tickets(tls_acceptor *acceptor)
{
    SSL_CTX *ssl = acceptor->ssl;
    if (!acceptor->context->tickets) {
        SSL_CTX_set_options(ssl, SSL_OP_NO_TICKET);
        return SSL_CTX_set_num_tickets(ssl, 0) == 1;
    }
    tls_ticket_view_init(&acceptor->tickets, acceptor->context->tickets);
    (void)SSL_CTX_set_timeout(ssl, TLS_TICKET_SECONDS);
    // One: a browser opens several connections and comes back with few, and each costs an encryption
    // and 200 octets.
    return SSL_CTX_set_num_tickets(ssl, 1) == 1;
}

static bool acceptor_set_algorithms(const tls_context *context, SSL_CTX *ssl)
{
    return SSL_CTX_set_min_proto_version(ssl, context->version_min) == 1 &&
           SSL_CTX_set_cipher_list(ssl, acceptor_suites_tls12) == 1 &&
           SSL_CTX_set_ciphersuites(ssl, acceptor_suites_tls13) == 1 &&
           SSL_CTX_set1_groups_list(ssl, context->groups) == 1;
}

// A session cache would be one that all connections lock; tickets need none.
static bool acceptor_set(tls_acceptor *acceptor)
{
    const tls_context *context = acceptor->context;
    SSL_CTX *ssl = acceptor->ssl;
    tls_library_hook(ssl, &acceptor->hooks);
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE | TLS_LIBRARY_PREFERS_CHACHA |
                                 TLS_LIBRARY_REFUSES_COMPRESSED);
    SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_max_cert_list(ssl, TLS_CLIENT_CHAIN_OCTETS_MAX);
    SSL_CTX_set_alpn_select_cb(ssl, acceptor_select_protocol, acceptor->context);
    if (!acceptor_set_algorithms(context, ssl) || !acceptor_set_tickets(acceptor)) return false;
    if (context->roster.fallback == TLS_ROSTER_NONE || !tls_library_replaces()) return true;
    return tls_identity_use_for_all(acceptor_own(acceptor, context->roster.fallback),
                                    &context->clients, ssl);
}

skua_status tls_acceptor_new(tls_context *context, const int64_t *now_ns, tls_acceptor **acceptor)
{
    ERR_clear_error();
    tls_acceptor *a = memory_zeroed(sizeof *a);
    if (!a) return SKUA_ENOMEM;
    a->context = tls_context_ref(context);
    a->holders = 1;
    a->now_ns = now_ns;
    a->hooks = (tls_library_hooks){ .hello = acceptor_hello,
                                    .ticket_key = acceptor_ticket_key,
                                    .ticket_cipher = tls_library_cipher("AES-256-CBC") };
    a->own = memory_array(context->roster.count + (size_t)1, sizeof *a->own);
    a->ssl = SSL_CTX_new(TLS_server_method());
    bool is_whole = a->hooks.ticket_cipher && a->own && a->ssl && acceptor_set(a);
    ERR_clear_error();
    if (!is_whole) tls_acceptor_unref(a);
    else *acceptor = a;
    return is_whole ? SKUA_OK : SKUA_ENOMEM;
}

tls_acceptor *tls_acceptor_ref(tls_acceptor *acceptor)
{
    acceptor->holders++;
    return acceptor;
}

void tls_acceptor_unref(tls_acceptor *acceptor)
{
    if (!acceptor) return;
    SKUA_ASSERT(acceptor->holders > 0);
    if (--acceptor->holders > 0) return;
    SSL_CTX_free(acceptor->ssl);
    tls_library_cipher_free(acceptor->hooks.ticket_cipher);
    for (uint32_t i = 0; acceptor->own && i < acceptor->context->roster.count; i++)
        skua_tls_identity_unref(acceptor->own[i]);
    memory_free(acceptor->own);
    if (acceptor->tickets.tickets) tls_ticket_view_deinit(&acceptor->tickets);
    tls_context_unref(acceptor->context);
    memory_free(acceptor);
}

// ---- A connection ----

SSL *tls_acceptor_begin(tls_acceptor *acceptor, tls_choice *choice)
{
    ERR_clear_error();
    SSL *ssl = SSL_new(acceptor->ssl);
    if (!ssl || SSL_set_app_data(ssl, choice) != 1) {
        SSL_free(ssl);
        ERR_clear_error();
        return NULL;
    }
    SSL_set_accept_state(ssl);
    choice->acceptor = tls_acceptor_ref(acceptor);
    choice->identity = NULL;
    choice->chosen = NULL;
    choice->is_made = false;
    choice->name_len = 0;
    return ssl;
}

void tls_choice_end(tls_choice *choice)
{
    skua_tls_identity_unref(choice->chosen);
    tls_acceptor_unref(choice->acceptor);
    choice->identity = choice->chosen = NULL;
    choice->acceptor = NULL;
}

slice tls_choice_name(const tls_choice *choice)
{
    return slice_make(choice->name, choice->name_len);
}

#endif
