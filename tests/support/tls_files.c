// SPDX-License-Identifier: MIT
//
// Certificates for tests.

#include "support/tls_files.h"

#ifdef SKUA_TLS

#include "base/assert.h"

#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { MADE_RSA_BITS = 2048 };

static EVP_PKEY *made_key(const char *name)
{
    bool is_rsa = name && strcmp(name, "RSA") == 0;
    bool is_ed = name && strcmp(name, "ED25519") == 0;
    int id = is_rsa ? EVP_PKEY_RSA : is_ed ? EVP_PKEY_ED25519 : EVP_PKEY_EC;
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *maker = EVP_PKEY_CTX_new_id(id, NULL);
    SKUA_ASSERT(maker && EVP_PKEY_keygen_init(maker) == 1);
    if (is_rsa) SKUA_ASSERT(EVP_PKEY_CTX_set_rsa_keygen_bits(maker, MADE_RSA_BITS) == 1);
    if (id == EVP_PKEY_EC)
        SKUA_ASSERT(EVP_PKEY_CTX_set_ec_paramgen_curve_nid(maker, NID_X9_62_prime256v1) == 1);
    SKUA_ASSERT(EVP_PKEY_keygen(maker, &key) == 1);
    EVP_PKEY_CTX_free(maker);
    return key;
}

static void made_extend(X509 *x, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, x, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_nconf_nid(NULL, &context, nid, value);
    SKUA_ASSERT(extension && X509_add_ext(x, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

static void made_describe(X509 *x, const tls_want *want)
{
    unsigned char serial[8];
    const unsigned char *name = (const unsigned char *)want->name;
    bool is_default = want->from_s == 0 && want->to_s == 0;
    SKUA_ASSERT(RAND_bytes(serial, sizeof serial) == 1);
    serial[0] = 1;
    BIGNUM *number = BN_bin2bn(serial, sizeof serial, NULL);
    SKUA_ASSERT(number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x)));
    BN_free(number);
    X509_set_version(x, 2);
    X509_gmtime_adj(X509_getm_notBefore(x), is_default ? -3600 : (long)want->from_s);
    X509_gmtime_adj(X509_getm_notAfter(x), is_default ? 86400 : (long)want->to_s);
    SKUA_ASSERT(X509_NAME_add_entry_by_NID(X509_get_subject_name(x), NID_commonName, MBSTRING_UTF8,
                                           name, -1, -1, 0) == 1);
}

tls_made tls_make(tls_want want)
{
    tls_made made = { .x = X509_new(), .key = made_key(want.key) };
    const tls_made *issuer = want.issuer ? want.issuer : &made;
    SKUA_ASSERT(made.x);
    made_describe(made.x, &want);
    SKUA_ASSERT(X509_set_issuer_name(made.x, X509_get_subject_name(issuer->x)) == 1);
    SKUA_ASSERT(X509_set_pubkey(made.x, made.key) == 1);
    made_extend(made.x, issuer->x, NID_basic_constraints,
                want.is_authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
    made_extend(made.x, issuer->x, NID_subject_key_identifier, "hash");
    if (want.issuer) made_extend(made.x, issuer->x, NID_authority_key_identifier, "keyid");
    if (want.alternates) made_extend(made.x, issuer->x, NID_subject_alt_name, want.alternates);
    bool is_ed = EVP_PKEY_base_id(issuer->key) == EVP_PKEY_ED25519;
    SKUA_ASSERT(X509_sign(made.x, issuer->key, is_ed ? NULL : EVP_sha256()) > 0);
    return made;
}

void tls_made_free(tls_made *made)
{
    X509_free(made->x);
    EVP_PKEY_free(made->key);
    *made = (tls_made){ 0 };
}

// ---- PEM ----

static char *made_text(BIO *bio)
{
    char *octets = NULL;
    long len = BIO_get_mem_data(bio, &octets);
    SKUA_ASSERT(len >= 0);
    char *text = malloc((size_t)len + 1);
    SKUA_ASSERT(text);
    if (len) memcpy(text, octets, (size_t)len);
    text[len] = '\0';
    BIO_free(bio);
    return text;
}

char *tls_pem_chain(const tls_made *const chain[])
{
    BIO *bio = BIO_new(BIO_s_mem());
    SKUA_ASSERT(bio);
    for (size_t i = 0; chain[i]; i++)
        SKUA_ASSERT(PEM_write_bio_X509(bio, chain[i]->x) == 1);
    return made_text(bio);
}

char *tls_pem_key(const tls_made *made, const char *passphrase)
{
    BIO *bio = BIO_new(BIO_s_mem());
    const unsigned char *octets = (const unsigned char *)passphrase;
    SKUA_ASSERT(bio);
    SKUA_ASSERT(PEM_write_bio_PrivateKey(bio, made->key, passphrase ? EVP_aes_128_cbc() : NULL,
                                         octets, passphrase ? (int)strlen(passphrase) : 0, NULL,
                                         NULL) == 1);
    return made_text(bio);
}

void tls_write(const char *path, char *text)
{
    FILE *file = fopen(path, "w");
    SKUA_ASSERT(file && fputs(text, file) >= 0);
    SKUA_ASSERT(fclose(file) == 0 && chmod(path, 0600) == 0);
    free(text);
}

#endif
