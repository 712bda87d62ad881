// SPDX-License-Identifier: MIT
//
// The facts that a handshake has found out.

#include "net/tls_facts.h"

#ifdef SKUA_TLS

#include "base/assert.h"

#include <openssl/err.h>

// ---- Making ----

// The client's certificate, and its subject as a text.
typedef struct facts_client {
    X509 *x;
    BIO *text;
    slice subject;
} facts_client;

static bool facts_read_subject(facts_client *client)
{
    char *octets = NULL;
    client->text = BIO_new(BIO_s_mem());
    if (!client->text) return false;
    if (X509_NAME_print_ex(client->text, X509_get_subject_name(client->x), 0, XN_FLAG_RFC2253) < 0)
        return false;
    long len = BIO_get_mem_data(client->text, &octets);
    size_t kept = len > 0 ? (size_t)len : 0;
    if (kept > TLS_SUBJECT_OCTETS_MAX) kept = TLS_SUBJECT_OCTETS_MAX;
    client->subject = slice_make(octets, kept);
    return true;
}

// One that was not verified would have ended the handshake.
static bool facts_read_client(SSL *ssl, facts_client *client)
{
    *client = (facts_client){ .x = SSL_get_peer_certificate(ssl) };
    if (!client->x) return true;
    return SSL_get_verify_result(ssl) == X509_V_OK && facts_read_subject(client);
}

static slice facts_put(char **at, slice text)
{
    slice copy = slice_make(*at, text.len);
    if (text.len) memcpy(*at, text.ptr, text.len);
    *at += text.len;
    return copy;
}

static bool facts_set_client(tls_facts *facts, const facts_client *client)
{
    tls_certificate c = { .leaf = client->x };
    if (!client->x) return true;
    facts->has_client = true;
    return tls_certificate_hash(&c, facts->fingerprint);
}

static tls_facts *facts_make(lease *l, SSL *ssl, const tls_choice *choice,
                             const facts_client *client)
{
    const unsigned char *alpn = NULL;
    unsigned alpn_len = 0;
    SSL_get0_alpn_selected(ssl, &alpn, &alpn_len);
    slice protocol = slice_make((const char *)alpn, alpn_len), name = tls_choice_name(choice);
    tls_facts *facts =
        counted_zeroed(l, sizeof *facts + name.len + protocol.len + client->subject.len);
    if (!facts || !facts_set_client(facts, client)) {
        counted_free(facts);
        return NULL;
    }
    char *at = (char *)(facts + 1);
    facts->holders = 1;
    facts->is_resumed = SSL_session_reused(ssl) == 1;
    facts->version = SSL_get_version(ssl);
    facts->cipher = SSL_CIPHER_standard_name(SSL_get_current_cipher(ssl));
    facts->server_name = facts_put(&at, name);
    facts->protocol = facts_put(&at, protocol);
    facts->client = facts_put(&at, client->subject);
    facts->acceptor = tls_acceptor_ref(choice->acceptor);
    facts->identity = choice->identity;
    facts->chosen = choice->chosen ? skua_tls_identity_ref(choice->chosen) : NULL;
    return facts;
}

tls_facts *tls_facts_new(lease *l, SSL *ssl, const tls_choice *choice)
{
    facts_client client;
    ERR_clear_error();
    SKUA_ASSERT(choice->identity);
    bool is_read = facts_read_client(ssl, &client);
    tls_facts *facts = is_read ? facts_make(l, ssl, choice, &client) : NULL;
    BIO_free(client.text);
    X509_free(client.x);
    ERR_clear_error();
    return facts;
}

// A client's certificate makes facts its own.
static bool facts_are_equal(const tls_facts *a, const tls_facts *b)
{
    return !a->has_client && !b->has_client && a->is_resumed == b->is_resumed &&
           a->version == b->version && a->cipher == b->cipher && a->acceptor == b->acceptor &&
           a->identity == b->identity && slice_equal(a->server_name, b->server_name) &&
           slice_equal(a->protocol, b->protocol);
}

tls_facts *tls_facts_share(tls_facts *facts, tls_facts **recent)
{
    if (*recent && facts_are_equal(facts, *recent)) {
        tls_facts_unref(facts);
        return tls_facts_ref(*recent);
    }
    tls_facts_unref(*recent);
    *recent = facts->has_client ? NULL : tls_facts_ref(facts);
    return facts;
}

skua_tls_info tls_facts_info(const tls_facts *facts)
{
    return (skua_tls_info){ .version = facts->version,
                            .cipher = facts->cipher,
                            .server_name = facts->server_name,
                            .protocol = facts->protocol,
                            .client = facts->client,
                            .client_fingerprint = facts->has_client ? facts->fingerprint : NULL,
                            .is_resumed = facts->is_resumed };
}

tls_facts *tls_facts_ref(tls_facts *facts)
{
    facts->holders++;
    return facts;
}

void tls_facts_unref(tls_facts *facts)
{
    if (!facts) return;
    SKUA_ASSERT(facts->holders > 0);
    if (--facts->holders > 0) return;
    skua_tls_identity_unref(facts->chosen);
    tls_acceptor_unref(facts->acceptor);
    counted_free(facts);
}

// ---- Misdirected requests ----

static bool facts_ask_the_same(const tls_facts *facts, slice folded)
{
    const tls_context *context = facts->acceptor->context;
    uint32_t number;
    skua_tls_identity *other = tls_acceptor_identity(facts->acceptor, folded, &number);
    if (!other) return false;
    bool same = tls_clients_equal(tls_identity_clients(facts->identity, &context->clients),
                                  tls_identity_clients(other, &context->clients));
    if (number == TLS_ROSTER_NONE) skua_tls_identity_unref(other);
    return same;
}

bool tls_facts_misdirect(const tls_facts *facts, slice host)
{
    char folded[TLS_NAME_OCTETS_MAX];
    if (facts->server_name.len == 0 || slice_equal(host, facts->server_name)) return false;
    bool is_bracketed = host.len > 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']';
    if (is_bracketed) host = slice_make(host.ptr + 1, host.len - 2);
    slice name = slice_make(folded, tls_name_fold(host, false, folded));
    if (slice_equal(name, facts->server_name)) return false;
    if (!tls_identity_covers(facts->identity, name.len ? name : host)) return true;
    return !facts_ask_the_same(facts, name);
}

#endif
