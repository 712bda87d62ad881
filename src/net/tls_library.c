// SPDX-License-Identifier: MIT
//
// The TLS library. OpenSSL 3 looks an algorithm up under a lock and counts who uses it, unless it
// has been fetched before. AWS-LC has constant tables.

#include "net/tls_library.h"

#ifdef SKUA_TLS

#include "base/assert.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <string.h>

#ifdef OPENSSL_IS_AWSLC

#include <openssl/hmac.h>

// AWS-LC has ChaCha20-Poly1305 as an EVP_AEAD alone.
EVP_CIPHER *tls_library_cipher(const char *name)
{
    const EVP_CIPHER *cipher = EVP_get_cipherbyname(name);
    EVP_CIPHER *found;
    memcpy(&found, &cipher, sizeof found); // it is constant, and nobody writes to it
    return found;
}

void tls_library_cipher_free(EVP_CIPHER *cipher)
{
    (void)cipher;
}

static HMAC_CTX *library_hmac(tls_library_mac *mac)
{
    return (HMAC_CTX *)(void *)mac;
}

tls_library_mac *tls_library_mac_new(const char *digest)
{
    HMAC_CTX *mac = HMAC_CTX_new();
    if (!mac) return NULL;
    if (HMAC_Init_ex(mac, "", 0, EVP_get_digestbyname(digest), NULL))
        return (tls_library_mac *)(void *)mac;
    HMAC_CTX_free(mac);
    return NULL;
}

void tls_library_mac_free(tls_library_mac *mac)
{
    HMAC_CTX_free(library_hmac(mac));
}

bool tls_library_mac_of(tls_library_mac *mac, skua_slice key, skua_slice octets, uint8_t *out)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned len;
    if (!HMAC_Init_ex(library_hmac(mac), key.ptr, key.len, NULL, NULL)) return false;
    if (!HMAC_Update(library_hmac(mac), (const uint8_t *)octets.ptr, octets.len)) return false;
    if (!HMAC_Final(library_hmac(mac), digest, &len)) return false;
    memcpy(out, digest, len);
    OPENSSL_cleanse(digest, sizeof digest);
    return true;
}

#else

#include <openssl/core_names.h>
#include <openssl/params.h>

EVP_CIPHER *tls_library_cipher(const char *name)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, name, NULL);
    if (!cipher) ERR_clear_error();
    return cipher;
}

void tls_library_cipher_free(EVP_CIPHER *cipher)
{
    EVP_CIPHER_free(cipher);
}

static EVP_MAC_CTX *library_mac(tls_library_mac *mac)
{
    return (EVP_MAC_CTX *)(void *)mac;
}

static bool library_mac_prepare(EVP_MAC_CTX *mac, const char *digest)
{
    char name[16]; // the parameter is not constant in OpenSSL's eyes
    size_t len = strlen(digest);
    SKUA_ASSERT(len < sizeof name);
    memcpy(name, digest, len + 1);
    OSSL_PARAM params[] = { OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0),
                            OSSL_PARAM_construct_end() };
    return EVP_MAC_CTX_set_params(mac, params);
}

tls_library_mac *tls_library_mac_new(const char *digest)
{
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *mac = hmac ? EVP_MAC_CTX_new(hmac) : NULL;
    EVP_MAC_free(hmac); // the context has a reference of its own
    if (mac && library_mac_prepare(mac, digest)) return (tls_library_mac *)(void *)mac;
    EVP_MAC_CTX_free(mac);
    ERR_clear_error();
    return NULL;
}

void tls_library_mac_free(tls_library_mac *mac)
{
    EVP_MAC_CTX_free(library_mac(mac));
}

bool tls_library_mac_of(tls_library_mac *mac, skua_slice key, skua_slice octets, uint8_t *out)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    size_t len;
    EVP_MAC_CTX *hmac = library_mac(mac);
    if (!EVP_MAC_init(hmac, (const uint8_t *)key.ptr, key.len, NULL) ||
        !EVP_MAC_update(hmac, (const uint8_t *)octets.ptr, octets.len) ||
        !EVP_MAC_final(hmac, digest, &len, sizeof digest)) {
        ERR_clear_error();
        return false;
    }
    memcpy(out, digest, len);
    OPENSSL_cleanse(digest, sizeof digest);
    return true;
}

#endif
#endif
