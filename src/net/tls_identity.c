// SPDX-License-Identifier: MIT
//
// Identities.

#include "net/tls_identity.h"

#include "base/contract.h"
#include "base/sized.h"

#include <stdio.h>

#ifdef SKUA_TLS

#include "base/assert.h"
#include "base/memory.h"
#include "net/tls_library.h"
#include "net/tls_sized.h"

#include <openssl/err.h>
#include <time.h>

// ---- Making ----

static bool identity_set_hash(skua_tls_identity *identity)
{
    unsigned char all[TLS_KEY_KINDS * TLS_HASH_OCTETS] = { 0 };
    for (size_t i = 0; i < TLS_KEY_KINDS; i++) {
        const tls_certificate *c = &identity->certificates[i];
        if (c->leaf && !tls_certificate_hash(c, all + i * TLS_HASH_OCTETS)) return false;
    }
    return EVP_Digest(all, sizeof all, identity->hash, NULL, EVP_sha256(), NULL) == 1;
}

typedef bool identity_take_fn(const tls_certificate *from, tls_certificate *certificate);

static skua_tls_identity *identity_make(const tls_certificate *const certificates[TLS_KEY_KINDS],
                                        const tls_clients *clients, identity_take_fn *take)
{
    skua_tls_identity *identity = memory_zeroed(sizeof *identity);
    bool is_whole = identity != NULL;
    if (is_whole && clients) is_whole = tls_clients_share(clients, &identity->clients);
    for (size_t i = 0; i < TLS_KEY_KINDS && is_whole; i++) {
        if (certificates[i]) is_whole = take(certificates[i], &identity->certificates[i]);
    }
    if (!identity) return NULL;
    identity->inherits = !clients;
    atomic_init(&identity->holders, 1);
    if (is_whole && identity_set_hash(identity)) return identity;
    skua_tls_identity_unref(identity);
    return NULL;
}

skua_tls_identity *tls_identity_new(const tls_certificate *const certificates[TLS_KEY_KINDS],
                                    const tls_clients *clients)
{
    return identity_make(certificates, clients, tls_certificate_share);
}

skua_tls_identity *tls_identity_copy(const skua_tls_identity *identity)
{
    const tls_certificate *certificates[TLS_KEY_KINDS];
    for (size_t i = 0; i < TLS_KEY_KINDS; i++) {
        const tls_certificate *c = &identity->certificates[i];
        certificates[i] = c->leaf ? c : NULL;
    }
    return identity_make(certificates, identity->inherits ? NULL : &identity->clients,
                         tls_certificate_copy);
}

skua_tls_identity *skua_tls_identity_ref(skua_tls_identity *identity)
{
    CONTRACT_GIVEN(identity);
    atomic_fetch_add_explicit(&identity->holders, 1, memory_order_relaxed);
    return identity;
}

void skua_tls_identity_unref(skua_tls_identity *identity)
{
    if (!identity) return;
    uint32_t before = atomic_fetch_sub_explicit(&identity->holders, 1, memory_order_acq_rel);
    SKUA_ASSERT(before > 0);
    if (before > 1) return;
    for (size_t i = 0; i < TLS_KEY_KINDS; i++)
        tls_certificate_drop(&identity->certificates[i]);
    tls_clients_drop(&identity->clients);
    memory_free(identity);
}

// ---- Using ----

const tls_clients *tls_identity_clients(const skua_tls_identity *identity,
                                        const tls_clients *inherited)
{
    return identity->inherits ? inherited : &identity->clients;
}

static bool identity_session_context(const skua_tls_identity *identity, const tls_clients *clients,
                                     unsigned char context[TLS_HASH_OCTETS])
{
    unsigned char all[2 * TLS_HASH_OCTETS];
    memcpy(all, identity->hash, TLS_HASH_OCTETS);
    memcpy(all + TLS_HASH_OCTETS, clients->hash, TLS_HASH_OCTETS);
    return EVP_Digest(all, sizeof all, context, NULL, EVP_sha256(), NULL) == 1;
}

static bool identity_show(const tls_certificate *c, SSL *ssl)
{
    return SSL_use_certificate(ssl, c->leaf) == 1 && SSL_use_PrivateKey(ssl, c->key) == 1 &&
           SSL_set1_chain(ssl, c->chain) == 1;
}

bool tls_identity_use(const skua_tls_identity *identity, const tls_clients *inherited, SSL *ssl)
{
    unsigned char context[TLS_HASH_OCTETS];
    const tls_clients *clients = tls_identity_clients(identity, inherited);
    ERR_clear_error();
    if (tls_library_replaces()) SSL_certs_clear(ssl); // those of the default
    for (size_t i = 0; i < TLS_KEY_KINDS; i++) {
        const tls_certificate *c = &identity->certificates[i];
        if (c->leaf && !identity_show(c, ssl)) return false;
    }
    return tls_clients_use(clients, ssl) && identity_session_context(identity, clients, context) &&
           SSL_set_session_id_context(ssl, context, sizeof context) == 1;
}

static bool identity_show_all(const tls_certificate *c, SSL_CTX *ssl)
{
    return SSL_CTX_use_certificate(ssl, c->leaf) == 1 && SSL_CTX_use_PrivateKey(ssl, c->key) == 1 &&
           SSL_CTX_set1_chain(ssl, c->chain) == 1;
}

bool tls_identity_use_for_all(const skua_tls_identity *identity, const tls_clients *inherited,
                              SSL_CTX *ssl)
{
    unsigned char context[TLS_HASH_OCTETS];
    const tls_clients *clients = tls_identity_clients(identity, inherited);
    ERR_clear_error();
    for (size_t i = 0; i < TLS_KEY_KINDS; i++) {
        const tls_certificate *c = &identity->certificates[i];
        if (c->leaf && !identity_show_all(c, ssl)) return false;
    }
    return tls_clients_use_for_all(clients, ssl) &&
           identity_session_context(identity, clients, context) &&
           SSL_CTX_set_session_id_context(ssl, context, sizeof context) == 1;
}

bool tls_identity_covers(const skua_tls_identity *identity, slice host)
{
    for (size_t i = 0; i < TLS_KEY_KINDS; i++) {
        const tls_certificate *c = &identity->certificates[i];
        if (c->leaf && tls_certificate_covers(c, host)) return true;
    }
    return false;
}

// ---- For the program ----

// Reads into the place of its kind.
static skua_status identity_read_one(const skua_tls_certificate *from, tls_load *load,
                                     tls_certificate certificates[TLS_KEY_KINDS])
{
    tls_certificate c;
    skua_status status = tls_certificate_read(from, load, &c);
    if (status) return status;
    if (certificates[c.kind].leaf) {
        tls_key_kind kind = c.kind;
        tls_certificate_drop(&c);
        return tls_load_fail(load, SKUA_EINVAL, "two certificates have a key of the same kind, %s",
                             tls_key_kind_name(kind));
    }
    certificates[c.kind] = c;
    return SKUA_OK;
}

static skua_status identity_read(const skua_tls_certificate *from, unsigned count, tls_load *load,
                                 skua_tls_identity **identity)
{
    tls_certificate certificates[TLS_KEY_KINDS] = { 0 };
    const tls_certificate *given[TLS_KEY_KINDS] = { 0 };
    tls_clients clients = { 0 };
    skua_status status = SKUA_OK;
    for (unsigned i = 0; i < count && !status; i++)
        status = identity_read_one(&from[i], load, certificates);
    const skua_tls_clients *asked = from[0].clients;
    if (!status && asked) status = tls_clients_read(asked, load, &clients);
    for (size_t i = 0; i < TLS_KEY_KINDS; i++)
        given[i] = certificates[i].leaf ? &certificates[i] : NULL;
    skua_tls_identity *made = status ? NULL : tls_identity_new(given, asked ? &clients : NULL);
    if (!status && !made) status = tls_load_fail(load, SKUA_ENOMEM, "memory ran out");
    for (size_t i = 0; i < TLS_KEY_KINDS; i++)
        tls_certificate_drop(&certificates[i]);
    tls_clients_drop(&clients);
    if (!status) *identity = made;
    return status;
}

skua_status skua_tls_identity_new_sized(const skua_tls_certificate *certificates, unsigned count,
                                        skua_tls_identity **identity, char *why, size_t why_room,
                                        const skua_sizes *sizes)
{
    CONTRACT_GIVEN(certificates);
    CONTRACT_GIVEN(identity);
    CONTRACT_SIZES(sizes);
    CONTRACT(count > 0, "count must not be 0");
    tls_load load = { .unix_s = (int64_t)time(NULL) };
    void *made;
    const skua_tls_certificate *own =
        tls_certificates_take(__func__, certificates, count, sizes, &made);
    skua_status status = own ? identity_read(own, count, &load, identity)
                             : tls_load_fail(&load, SKUA_ENOMEM, "memory ran out");
    memory_free(made);
    if (status && why && why_room) (void)snprintf(why, why_room, "%s", load.why);
    return status;
}

#else

skua_status skua_tls_identity_new_sized(const skua_tls_certificate *certificates, unsigned count,
                                        skua_tls_identity **identity, char *why, size_t why_room,
                                        const skua_sizes *sizes)
{
    CONTRACT_GIVEN(certificates);
    CONTRACT_GIVEN(identity);
    CONTRACT_SIZES(sizes);
    CONTRACT(count > 0, "count must not be 0");
    if (why && why_room) (void)snprintf(why, why_room, "this library was built without TLS");
    return SKUA_EUNSUPPORTED;
}

skua_tls_identity *skua_tls_identity_ref(skua_tls_identity *identity)
{
    CONTRACT_GIVEN(identity);
    return identity;
}

void skua_tls_identity_unref(skua_tls_identity *identity)
{
    (void)identity;
}

#endif
