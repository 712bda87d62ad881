// SPDX-License-Identifier: MIT
//
// A certificate of one's own making, for development: skua_tls_self_signed.

#include "base/contract.h"

#ifdef SKUA_TLS

#include "base/memory.h"
#include "net/tls_certificate.h"
#include "net/tls_names.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

enum {
    SELF_SIGNED_DAYS = 365,      // below the 366 days that some browsers take at most
    SELF_SIGNED_EARLIER_S = 3600 // for a client whose clock is late
};

// ---- What is in it ----

// An IPv4 or IPv6 address as octets. Returns their count, 0 for a name.
static int self_signed_ip(const char *text, unsigned char octets[16])
{
    if (inet_pton(AF_INET, text, octets) == 1) return 4;
    return inet_pton(AF_INET6, text, octets) == 1 ? 16 : 0;
}

static GENERAL_NAME *self_signed_make_name(int type, const void *octets, int len)
{
    GENERAL_NAME *name = GENERAL_NAME_new();
    ASN1_STRING *value =
        ASN1_STRING_type_new(type == GEN_IPADD ? V_ASN1_OCTET_STRING : V_ASN1_IA5STRING);
    if (!name || !value || ASN1_STRING_set(value, octets, len) != 1) {
        ASN1_STRING_free(value);
        GENERAL_NAME_free(name);
        return NULL;
    }
    GENERAL_NAME_set0_value(name, type, value);
    return name;
}

static skua_status self_signed_add_name(slice text, GENERAL_NAMES *names)
{
    char folded[TLS_NAME_OCTETS_MAX + 1], copy[INET6_ADDRSTRLEN] = "";
    unsigned char ip[16];
    if (text.len < sizeof copy) memcpy(copy, text.ptr, text.len);
    int ip_len = self_signed_ip(copy, ip);
    size_t len = tls_name_fold(text, true, folded);
    if (!ip_len && !len) return SKUA_EINVAL;
    GENERAL_NAME *name = ip_len ? self_signed_make_name(GEN_IPADD, ip, ip_len)
                                : self_signed_make_name(GEN_DNS, folded, (int)len);
    if (name && sk_GENERAL_NAME_push(names, name) > 0) return SKUA_OK;
    GENERAL_NAME_free(name);
    return SKUA_ENOMEM;
}

static skua_status self_signed_read_names(const char *text, GENERAL_NAMES *names)
{
    skua_status status = names ? SKUA_OK : SKUA_ENOMEM;
    while (*text && !status) {
        size_t len = strcspn(text, " ");
        if (len) status = self_signed_add_name(slice_make(text, len), names);
        text += len + (text[len] == ' ');
    }
    if (!status && sk_GENERAL_NAME_num(names) == 0) return SKUA_EINVAL;
    return status;
}

static bool self_signed_add_extension(X509 *x, int nid, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_nconf_nid(NULL, NULL, nid, value);
    bool is_added = extension && X509_add_ext(x, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return is_added;
}

// Positive, and random so that two of the same name differ: RFC 5280 §4.1.2.2.
static bool self_signed_set_serial(X509 *x)
{
    unsigned char octets[16];
    if (RAND_bytes(octets, sizeof octets) != 1) return false;
    octets[0] = (octets[0] & 0x7f) | 0x40;
    BIGNUM *number = BN_bin2bn(octets, sizeof octets, NULL);
    bool is_set = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x));
    BN_free(number);
    return is_set;
}

static bool self_signed_set_times(X509 *x, int64_t unix_s)
{
    int64_t from = unix_s - SELF_SIGNED_EARLIER_S, to = from + (int64_t)SELF_SIGNED_DAYS * 86400;
    return ASN1_TIME_set(X509_getm_notBefore(x), (time_t)from) &&
           ASN1_TIME_set(X509_getm_notAfter(x), (time_t)to);
}

static bool self_signed_set_subject(X509 *x)
{
    static const unsigned char name[] = "Skua, for development";
    X509_NAME *subject = X509_NAME_new();
    bool done =
        subject &&
        X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_ASC, name, -1, -1, 0) == 1 &&
        X509_set_subject_name(x, subject) == 1 && X509_set_issuer_name(x, subject) == 1;
    X509_NAME_free(subject);
    return done;
}

static bool self_signed_fill(X509 *x, EVP_PKEY *key, GENERAL_NAMES *names, int64_t unix_s)
{
    return X509_set_version(x, 2) == 1 && self_signed_set_serial(x) &&
           self_signed_set_times(x, unix_s) && self_signed_set_subject(x) &&
           X509_set_pubkey(x, key) == 1 &&
           X509_add1_ext_i2d(x, NID_subject_alt_name, names, 0, 0) == 1 &&
           self_signed_add_extension(x, NID_basic_constraints, "critical,CA:FALSE") &&
           self_signed_add_extension(x, NID_key_usage, "critical,digitalSignature") &&
           self_signed_add_extension(x, NID_ext_key_usage, "serverAuth") &&
           X509_sign(x, key, EVP_sha256()) > 0;
}

static EVP_PKEY *self_signed_make_key(void)
{
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *maker = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, NULL);
    bool is_set = maker && EVP_PKEY_keygen_init(maker) == 1 &&
                  EVP_PKEY_CTX_set_ec_paramgen_curve_nid(maker, NID_X9_62_prime256v1) == 1;
    if (!is_set || EVP_PKEY_keygen(maker, &key) != 1) key = NULL;
    EVP_PKEY_CTX_free(maker);
    return key;
}

// ---- PEM ----

// Octets of a BIO, with a NUL behind them that is not counted.
static bool self_signed_copy(BIO *bio, skua_slice *pem)
{
    char *octets = NULL;
    long len = BIO_get_mem_data(bio, &octets);
    char *copy = len > 0 ? memory_alloc((size_t)len + 1) : NULL;
    if (!copy) return false;
    memcpy(copy, octets, (size_t)len);
    copy[len] = '\0';
    *pem = slice_make(copy, (size_t)len);
    return true;
}

// OpenSSL wipes what a BIO for secrets had.
static bool self_signed_write(X509 *x, EVP_PKEY *key, skua_slice *certificate_pem,
                              skua_slice *key_pem)
{
    skua_slice made = { NULL, 0 };
    BIO *one = BIO_new(BIO_s_mem()), *other = BIO_new(BIO_s_secmem());
    bool is_done = one && other && PEM_write_bio_X509(one, x) == 1 &&
                   PEM_write_bio_PrivateKey(other, key, NULL, NULL, 0, NULL, NULL) == 1 &&
                   self_signed_copy(one, &made) && self_signed_copy(other, key_pem);
    if (is_done) *certificate_pem = made;
    else skua_tls_free(made);
    BIO_free(one);
    BIO_free(other);
    return is_done;
}

// ---- For the program ----

static skua_status self_signed_make(GENERAL_NAMES *names, int64_t unix_s,
                                    skua_slice *certificate_pem, skua_slice *key_pem)
{
    EVP_PKEY *key = self_signed_make_key();
    X509 *x = X509_new();
    bool is_done = key && x && self_signed_fill(x, key, names, unix_s) &&
                   self_signed_write(x, key, certificate_pem, key_pem);
    X509_free(x);
    EVP_PKEY_free(key);
    return is_done ? SKUA_OK : SKUA_ENOMEM;
}

skua_status skua_tls_self_signed(const char *names, int64_t unix_s, skua_slice *certificate_pem,
                                 skua_slice *key_pem)
{
    CONTRACT_GIVEN(names);
    CONTRACT_GIVEN(certificate_pem);
    CONTRACT_GIVEN(key_pem);
    ERR_clear_error();
    GENERAL_NAMES *list = sk_GENERAL_NAME_new_null();
    skua_status status = self_signed_read_names(names, list);
    if (!status) status = self_signed_make(list, unix_s, certificate_pem, key_pem);
    GENERAL_NAMES_free(list);
    ERR_clear_error();
    return status;
}

static void self_signed_write_hash(const unsigned char hash[TLS_HASH_OCTETS], char text[96])
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < TLS_HASH_OCTETS; i++) {
        text[3 * i] = digits[hash[i] >> 4];
        text[3 * i + 1] = digits[hash[i] & 15];
        text[3 * i + 2] = i + 1 < TLS_HASH_OCTETS ? ':' : '\0';
    }
}

// The seconds from 1970 to a time.
static bool self_signed_seconds(const ASN1_TIME *time, int64_t *unix_s)
{
    int days, seconds;
    ASN1_TIME *start = ASN1_TIME_set(NULL, 0);
    bool is_read = start && ASN1_TIME_diff(&days, &seconds, start, time) == 1;
    ASN1_TIME_free(start);
    if (is_read) *unix_s = (int64_t)days * 86400 + seconds;
    return is_read;
}

skua_status skua_tls_fingerprint(skua_slice certificate_pem, char text[96],
                                 int64_t *not_after_unix_s)
{
    CONTRACT_SLICE(certificate_pem);
    CONTRACT_GIVEN(text);
    tls_load load = { .unix_s = 0 };
    tls_source source = { .what = "certificate", .pem = certificate_pem };
    tls_octets octets;
    unsigned mode;
    tls_x509_list *list = NULL;
    unsigned char hash[TLS_HASH_OCTETS];
    int64_t seconds = 0;
    skua_status status = tls_load_read(&load, &source, &octets, &mode);
    if (status) return status;
    status = tls_certificate_list_read(&source, &octets, &load, &list);
    tls_octets_free(&octets);
    if (status) return status;
    tls_certificate first = { .leaf = sk_X509_value(list, 0) };
    bool is_read = tls_certificate_hash(&first, hash) &&
                   self_signed_seconds(X509_get0_notAfter(first.leaf), &seconds);
    tls_certificate_list_free(list);
    if (!is_read) return SKUA_ENOMEM;
    self_signed_write_hash(hash, text);
    if (not_after_unix_s) *not_after_unix_s = seconds;
    return SKUA_OK;
}

void skua_tls_free(skua_slice octets)
{
    CONTRACT_SLICE(octets);
    char *memory;
    memcpy(&memory, &octets.ptr, sizeof memory); // it was the library's
    if (memory) OPENSSL_cleanse(memory, octets.len);
    memory_free(memory);
}

#else

skua_status skua_tls_self_signed(const char *names, int64_t unix_s, skua_slice *certificate_pem,
                                 skua_slice *key_pem)
{
    CONTRACT_GIVEN(names);
    CONTRACT_GIVEN(certificate_pem);
    CONTRACT_GIVEN(key_pem);
    (void)unix_s;
    return SKUA_EUNSUPPORTED;
}

skua_status skua_tls_fingerprint(skua_slice certificate_pem, char text[96],
                                 int64_t *not_after_unix_s)
{
    CONTRACT_SLICE(certificate_pem);
    CONTRACT_GIVEN(text);
    (void)not_after_unix_s;
    return SKUA_EUNSUPPORTED;
}

void skua_tls_free(skua_slice octets)
{
    CONTRACT_SLICE(octets);
}

#endif
