// SPDX-License-Identifier: MIT
//
// The TLS library. OpenSSL 3 looks an algorithm up under a lock and counts who uses it, unless it
// has been fetched before. AWS-LC has constant tables.

#include "net/tls_library.h"

#ifdef SKUA_TLS

#include "base/assert.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <string.h>

enum { TAG_OCTETS = 16 };

static const tls_library_hooks *library_hooks(const SSL *ssl)
{
    return SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
}

// Makes OpenSSL answer the extension. The name was looked at before, in the hello.
static int library_take_name(SSL *ssl, int *alert, void *user)
{
    (void)ssl;
    (void)alert;
    (void)user;
    return SSL_TLSEXT_ERR_OK;
}

// Answers about a ticket. The numbers are those of both libraries.
enum {
    LIBRARY_TICKET_FAILED = -1,
    LIBRARY_TICKET_UNKNOWN,
    LIBRARY_TICKET_OPENS,
    LIBRARY_TICKET_RENEW
};

// The key for a ticket, made or opened. *result: what to answer when that went well.
static const tls_ticket_key *library_ticket_key(SSL *ssl, unsigned char *name, unsigned char *iv,
                                                bool makes, int *result)
{
    bool is_first = true;
    const tls_ticket_key *key = library_hooks(ssl)->ticket_key(ssl, makes ? NULL : name, &is_first);
    *result = makes ? LIBRARY_TICKET_FAILED : LIBRARY_TICKET_UNKNOWN;
    if (!key) return NULL;
    if (makes) {
        memcpy(name, key->name, sizeof key->name);
        if (RAND_bytes(iv, 16) != 1) return NULL;
    }
    *result = is_first ? LIBRARY_TICKET_OPENS : LIBRARY_TICKET_RENEW;
    return key;
}

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

bool tls_library_begin(EVP_CIPHER_CTX *context, bool is_gcm, uint8_t *nonce, char *tag)
{
    (void)is_gcm;
    return EVP_CipherInit_ex(context, NULL, NULL, NULL, nonce, -1) &&
           (!tag || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, TAG_OCTETS, tag));
}

bool tls_library_tag(EVP_CIPHER_CTX *context, char *tag)
{
    return EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, TAG_OCTETS, tag);
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

bool tls_library_replaces(void)
{
    return false;
}

static enum ssl_select_cert_result_t library_hello(const SSL_CLIENT_HELLO *hello)
{
    const uint8_t *name = NULL;
    size_t len = 0;
    (void)SSL_early_callback_ctx_extension_get(hello, TLSEXT_TYPE_server_name, &name, &len);
    int alert = library_hooks(hello->ssl)->hello(hello->ssl, name, len);
    return alert ? ssl_select_cert_error : ssl_select_cert_success; // the alert is the library's
}

static int library_ticket(SSL *ssl, uint8_t *name, uint8_t *iv, EVP_CIPHER_CTX *cipher,
                          HMAC_CTX *mac, int makes)
{
    int result;
    const tls_ticket_key *key = library_ticket_key(ssl, name, iv, makes, &result);
    if (!key) return result;
    bool is_set = HMAC_Init_ex(mac, key->mac, sizeof key->mac, EVP_sha256(), NULL) == 1 &&
                  EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), NULL, key->cipher, iv, makes) == 1;
    return is_set ? result : LIBRARY_TICKET_FAILED;
}

void tls_library_hook(SSL_CTX *ssl, tls_library_hooks *hooks)
{
    SSL_CTX_set_app_data(ssl, hooks);
    SSL_CTX_set_select_certificate_cb(ssl, library_hello);
    SSL_CTX_set_tlsext_servername_callback(ssl, library_take_name);
    SSL_CTX_set_tlsext_ticket_key_cb(ssl, library_ticket);
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

// OpenSSL compares these names with its own for each record, and libc is slower at that where the offset of
// either, or of both together, is near the end of a page: up to 55 instructions a record by the linker's
// whim. At the beginning of a page they add nothing to OpenSSL's own.
static const _Alignas(4096) struct {
    char iv[64], tag[64];
} library_names = { OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED, OSSL_CIPHER_PARAM_AEAD_TAG };

// Parameters whose names are looked up as seldom as OpenSSL allows.
#define LIBRARY_OCTETS(name, octets, len)                                                          \
    { name, OSSL_PARAM_OCTET_STRING, octets, len, OSSL_PARAM_UNMODIFIED }

// Each EVP_CipherInit with a nonce has OpenSSL 3.0 ask its provider how long nonces are, and the tag
// is one more call: 1,400 instructions for each record. GCM takes both at once, its nonce by the
// parameter that EVP_CTRL_AEAD_SET_IV_FIXED stands for, in which -1 means the whole of it.
static bool library_begin_gcm(EVP_CIPHER_CTX *context, uint8_t *nonce, char *tag)
{
    const OSSL_PARAM params[] = {
        LIBRARY_OCTETS(library_names.iv, nonce, SIZE_MAX),
        LIBRARY_OCTETS(tag ? library_names.tag : NULL, tag, TAG_OCTETS),
        OSSL_PARAM_END,
    };
    return EVP_CIPHER_CTX_set_params(context, params);
}

bool tls_library_begin(EVP_CIPHER_CTX *context, bool is_gcm, uint8_t *nonce, char *tag)
{
    if (is_gcm) return library_begin_gcm(context, nonce, tag);
    return EVP_CipherInit_ex(context, NULL, NULL, NULL, nonce, -1) &&
           (!tag || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, TAG_OCTETS, tag));
}

bool tls_library_tag(EVP_CIPHER_CTX *context, char *tag)
{
    OSSL_PARAM params[] = { LIBRARY_OCTETS(library_names.tag, tag, TAG_OCTETS), OSSL_PARAM_END };
    return EVP_CIPHER_CTX_get_params(context, params);
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

bool tls_library_replaces(void)
{
    return true;
}

static int library_hello(SSL *ssl, int *alert, void *user)
{
    const unsigned char *name = NULL;
    size_t len = 0;
    (void)user;
    if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &name, &len) != 1) name = NULL;
    *alert = library_hooks(ssl)->hello(ssl, name, len);
    return *alert ? SSL_CLIENT_HELLO_ERROR : SSL_CLIENT_HELLO_SUCCESS;
}

static bool library_set_mac(EVP_MAC_CTX *mac, const tls_ticket_key *key)
{
    char digest[] = "SHA256";
    unsigned char octets[sizeof key->mac];
    memcpy(octets, key->mac, sizeof octets);
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, octets, sizeof octets),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    bool is_set = EVP_MAC_CTX_set_params(mac, params) == 1;
    OPENSSL_cleanse(octets, sizeof octets);
    return is_set;
}

static int library_ticket(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
                          EVP_MAC_CTX *mac, int makes)
{
    int result;
    const EVP_CIPHER *kind = library_hooks(ssl)->ticket_cipher;
    const tls_ticket_key *key = library_ticket_key(ssl, name, iv, makes, &result);
    if (!key) return result;
    bool is_set = library_set_mac(mac, key) &&
                  EVP_CipherInit_ex(cipher, kind, NULL, key->cipher, iv, makes) == 1;
    return is_set ? result : LIBRARY_TICKET_FAILED;
}

void tls_library_hook(SSL_CTX *ssl, tls_library_hooks *hooks)
{
    SSL_CTX_set_app_data(ssl, hooks);
    SSL_CTX_set_client_hello_cb(ssl, library_hello, NULL);
    SSL_CTX_set_tlsext_servername_callback(ssl, library_take_name);
    SSL_CTX_set_tlsext_ticket_key_evp_cb(ssl, library_ticket);
}

#endif

// ---- The end of a handshake ----

#ifdef OPENSSL_IS_AWSLC

// Its ticket waits for the first octets that are written, and none is enough.
bool tls_library_finish(SSL *ssl, uint64_t *records)
{
    ERR_clear_error();
    bool sent = SSL_write(ssl, "", 0) >= 0;
    ERR_clear_error();
    *records = SSL_get_write_sequence(ssl);
    return sent;
}

int tls_library_compare_time(const ASN1_TIME *time, time_t unix_s)
{
    return X509_cmp_time(time, &unix_s);
}

// It knows no max_fragment_length, and refuses no client for asking.
uint16_t tls_library_plain_max(const SSL *ssl)
{
    (void)ssl;
    return SSL3_RT_MAX_PLAIN_LENGTH;
}

#else

bool tls_library_finish(SSL *ssl, uint64_t *records)
{
    (void)ssl;
    (void)records; // everything has been sent, and counted
    return true;
}

int tls_library_compare_time(const ASN1_TIME *time, time_t unix_s)
{
    return ASN1_TIME_cmp_time_t(time, unix_s);
}

uint16_t tls_library_plain_max(const SSL *ssl)
{
    uint8_t code = SSL_SESSION_get_max_fragment_length(SSL_get0_session(ssl));
    if (code < TLSEXT_max_fragment_length_512 || code > TLSEXT_max_fragment_length_4096)
        return SSL3_RT_MAX_PLAIN_LENGTH;
    return (uint16_t)(512u << (code - TLSEXT_max_fragment_length_512));
}

#endif

#endif
