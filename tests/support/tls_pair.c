// SPDX-License-Identifier: MIT
//
// A client of OpenSSL's and a worker's acceptor.

#include "support/tls_pair.h"

#ifdef SKUA_TLS

#include "base/assert.h"

#include <openssl/err.h>

enum { PAIR_STEPS_MAX = 20 };

static void pair_told(const SSL *ssl, int where, int what)
{
    tls_pair *pair = SSL_get_app_data(ssl);
    if ((where & SSL_CB_READ_ALERT) == SSL_CB_READ_ALERT) pair->alert = what & 0xff;
}

// In TLS 1.3 sessions come after the handshake, and AWS-LC gives them to this function alone.
static int pair_take_session(SSL *ssl, SSL_SESSION *session)
{
    tls_pair *pair = SSL_get_app_data(ssl);
    SSL_SESSION_free(pair->session);
    pair->session = session;
    return 1;
}

// The client is to leave it to the server what is refused.
static void pair_allow_all(SSL_CTX *context)
{
#ifdef OPENSSL_IS_AWSLC
    static const uint16_t checked[] = { SSL_SIGN_ECDSA_SECP256R1_SHA256,
                                        SSL_SIGN_RSA_PSS_RSAE_SHA256, SSL_SIGN_ED25519 };
    SKUA_ASSERT(SSL_CTX_set_verify_algorithm_prefs(context, checked, 3) == 1);
#else
    SSL_CTX_set_security_level(context, 0); // so that it may offer TLS 1.1
#endif
}

static void pair_set_client(tls_pair *pair, const tls_client *how)
{
    SSL *ssl = pair->client;
    if (how->name) SKUA_ASSERT(SSL_set_tlsext_host_name(ssl, how->name) == 1);
    if (how->signatures) SKUA_ASSERT(SSL_set1_sigalgs_list(ssl, how->signatures) == 1);
    if (how->groups) SKUA_ASSERT(SSL_set1_groups_list(ssl, how->groups) == 1);
    if (how->protocols.len) {
        SKUA_ASSERT(SSL_set_alpn_protos(ssl, (const unsigned char *)how->protocols.ptr,
                                        (unsigned)how->protocols.len) == 0);
    }
    if (how->certificate) {
        SKUA_ASSERT(SSL_use_certificate(ssl, how->certificate->x) == 1);
        SKUA_ASSERT(SSL_use_PrivateKey(ssl, how->certificate->key) == 1);
    }
    if (how->session) SKUA_ASSERT(SSL_set_session(ssl, how->session) == 1);
}

static void pair_make_client(tls_pair *pair, const tls_client *how)
{
    pair->client_context = SSL_CTX_new(TLS_client_method());
    SKUA_ASSERT(pair->client_context);
    SSL_CTX_set_info_callback(pair->client_context, pair_told);
    SSL_CTX_set_session_cache_mode(pair->client_context,
                                   SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(pair->client_context, pair_take_session);
    pair_allow_all(pair->client_context);
    SSL_CTX_set_min_proto_version(pair->client_context, how->version_min);
    SSL_CTX_set_max_proto_version(pair->client_context, how->version_max);
    pair->client = SSL_new(pair->client_context);
    SKUA_ASSERT(pair->client);
    SSL_set_app_data(pair->client, pair);
    SSL_set_connect_state(pair->client);
    pair_set_client(pair, how);
}

static void pair_connect(tls_pair *pair)
{
    BIO *up = BIO_new(BIO_s_mem()), *down = BIO_new(BIO_s_mem());
    SKUA_ASSERT(up && down);
    BIO_up_ref(up);
    BIO_up_ref(down);
    SSL_set_bio(pair->client, down, up);
    SSL_set_bio(pair->server, up, down);
}

static bool pair_step(SSL *ssl)
{
    ERR_clear_error();
    return SSL_do_handshake(ssl) == 1;
}

static void pair_turn(const tls_client *how, bool begins)
{
    if (how->server_turn) how->server_turn(begins);
}

static bool pair_step_server(tls_pair *pair, const tls_client *how)
{
    pair_turn(how, true);
    bool is_done = pair_step(pair->server);
    if (is_done) pair->facts = tls_facts_new(NULL, pair->server, &pair->choice);
    pair_turn(how, false);
    return is_done;
}

static bool pair_begin(tls_pair *pair, tls_acceptor *acceptor, const tls_client *how)
{
    pair_make_client(pair, how);
    pair_turn(how, true);
    pair->server = tls_acceptor_begin(acceptor, &pair->choice);
    pair_turn(how, false);
    if (pair->server) pair_connect(pair);
    return pair->server != NULL;
}

bool tls_pair_shake(tls_pair *pair, tls_acceptor *acceptor, const tls_client *how)
{
    char octets[16];
    bool client_is_done = false, server_is_done = false;
    *pair = (tls_pair){ .alert = -1 };
    if (!pair_begin(pair, acceptor, how)) return false;
    for (int i = 0; i < PAIR_STEPS_MAX && !(client_is_done && server_is_done); i++) {
        if (!client_is_done) client_is_done = pair_step(pair->client);
        if (how->second_name) SSL_set_tlsext_host_name(pair->client, how->second_name);
        if (!server_is_done) server_is_done = pair_step_server(pair, how);
    }
#ifdef OPENSSL_IS_AWSLC
    if (server_is_done) (void)SSL_write(pair->server, "", 0); // it gives tickets only then
#endif
    (void)SSL_read(pair->client, octets, sizeof octets); // tickets, or an alert
    ERR_clear_error();
    return client_is_done && server_is_done && pair->alert < 0;
}

SSL_SESSION *tls_pair_session(const tls_pair *pair)
{
    if (!pair->session) return SSL_get1_session(pair->client); // TLS 1.2 goes on with the old one
    SSL_SESSION_up_ref(pair->session);
    return pair->session;
}

void tls_pair_free(tls_pair *pair)
{
    tls_facts_unref(pair->facts);
    SSL_set_shutdown(pair->client, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    if (pair->server) SSL_set_shutdown(pair->server, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(pair->client);
    SSL_free(pair->server);
    SSL_SESSION_free(pair->session);
    SSL_CTX_free(pair->client_context);
    tls_choice_end(&pair->choice);
    *pair = (tls_pair){ 0 };
}

#endif
