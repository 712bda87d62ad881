// SPDX-License-Identifier: MIT
//
// The demands on clients. The hash goes into the session id context: a ticket that was given under
// one set of authorities is worth nothing under another.

#include "net/tls_clients.h"

#ifdef SKUA_TLS

#include "base/memory.h"

#include <openssl/err.h>
#include <stdlib.h>

static int clients_compare_hashes(const void *a, const void *b)
{
    return memcmp(a, b, TLS_HASH_OCTETS);
}

// hashes: room for one of each certificate.
static bool clients_hash_into(tls_clients *clients, tls_x509_list *list, unsigned char *hashes)
{
    size_t count = (size_t)sk_X509_num(list);
    for (size_t i = 0; i < count; i++) {
        tls_certificate c = { .leaf = sk_X509_value(list, (int)i) };
        if (!tls_certificate_hash(&c, hashes + i * TLS_HASH_OCTETS)) return false;
    }
    qsort(hashes, count, TLS_HASH_OCTETS, clients_compare_hashes);
    hashes[count * TLS_HASH_OCTETS] = (unsigned char)clients->asking;
    return EVP_Digest(hashes, count * TLS_HASH_OCTETS + 1, clients->hash, NULL, EVP_sha256(),
                      NULL) == 1;
}

static bool clients_hash(tls_clients *clients, tls_x509_list *list)
{
    unsigned char *hashes = memory_alloc((size_t)sk_X509_num(list) * TLS_HASH_OCTETS + 1);
    bool is_done = hashes && clients_hash_into(clients, list, hashes);
    memory_free(hashes);
    return is_done;
}

static bool clients_add_name(tls_clients *clients, X509 *x)
{
    X509_NAME *name = X509_NAME_dup(X509_get_subject_name(x));
    if (name && sk_X509_NAME_push(clients->names, name) > 0) return true;
    X509_NAME_free(name);
    return false;
}

static bool clients_fill(tls_clients *clients, tls_x509_list *list)
{
    clients->store = X509_STORE_new();
    clients->names = sk_X509_NAME_new_null();
    if (!clients->store || !clients->names) return false;
    for (int i = 0; i < (int)sk_X509_num(list); i++) {
        X509 *x = sk_X509_value(list, i);
        if (X509_STORE_add_cert(clients->store, x) != 1 || !clients_add_name(clients, x))
            return false;
    }
    return clients_hash(clients, list);
}

static skua_status clients_read_list(const tls_source *source, tls_load *load, tls_clients *c)
{
    tls_octets pem;
    unsigned mode;
    tls_x509_list *list = NULL;
    skua_status status = tls_load_read(load, source, &pem, &mode);
    if (status) return status;
    status = tls_certificate_list_read(source, &pem, load, &list);
    tls_octets_free(&pem);
    if (!status && !clients_fill(c, list))
        status = tls_load_fail_openssl(load, "use the authorities for clients");
    tls_certificate_list_free(list);
    return status;
}

skua_status tls_clients_read(const skua_tls_clients *from, tls_load *load, tls_clients *clients)
{
    tls_clients c = { .asking = from->asking };
    tls_source source = { "authorities for clients", from->ca_file, from->ca_pem };
    bool is_given = from->ca_file || from->ca_pem.len;
    if (from->asking > SKUA_TLS_REQUIRE)
        return tls_load_fail(load, SKUA_EINVAL, "the asking of clients is out of range");
    if (from->asking && !is_given) {
        return tls_load_fail(load, SKUA_EINVAL,
                             "clients are asked for certificates, and no authority is named that "
                             "they may have them from");
    }
    skua_status status = from->asking ? clients_read_list(&source, load, &c) : SKUA_OK;
    if (status) tls_clients_drop(&c);
    else *clients = c;
    return status;
}

bool tls_clients_share(const tls_clients *from, tls_clients *clients)
{
    tls_clients c = *from;
    if (from->store) {
        c.names = SSL_dup_CA_list(from->names);
        if (!c.names) return false;
        X509_STORE_up_ref(c.store);
    }
    *clients = c;
    return true;
}

bool tls_clients_equal(const tls_clients *a, const tls_clients *b)
{
    return a->asking == b->asking && memcmp(a->hash, b->hash, sizeof a->hash) == 0;
}

void tls_clients_drop(tls_clients *clients)
{
    X509_STORE_free(clients->store);
    sk_X509_NAME_pop_free(clients->names, X509_NAME_free);
    *clients = (tls_clients){ 0 };
}

int tls_clients_verify_mode(const tls_clients *clients)
{
    switch (clients->asking) {
    case SKUA_TLS_ASK_NOT: break;
    case SKUA_TLS_ASK: return SSL_VERIFY_PEER;
    case SKUA_TLS_REQUIRE: return SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    }
    return SSL_VERIFY_NONE;
}

bool tls_clients_use(const tls_clients *clients, SSL *ssl)
{
    SSL_set_verify(ssl, tls_clients_verify_mode(clients), NULL);
    if (!clients->store) return true;
    tls_x509_names *names = SSL_dup_CA_list(clients->names);
    if (!names) return false;
    SSL_set_client_CA_list(ssl, names); // takes them
    return SSL_set1_verify_cert_store(ssl, clients->store) == 1;
}

bool tls_clients_use_for_all(const tls_clients *clients, SSL_CTX *ssl)
{
    SSL_CTX_set_verify(ssl, tls_clients_verify_mode(clients), NULL);
    if (!clients->store) return true;
    tls_x509_names *names = SSL_dup_CA_list(clients->names);
    if (!names) return false;
    SSL_CTX_set_client_CA_list(ssl, names); // takes them
    return SSL_CTX_set1_verify_cert_store(ssl, clients->store) == 1;
}

#endif
