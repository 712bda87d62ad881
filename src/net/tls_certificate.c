// SPDX-License-Identifier: MIT
//
// Certificates. OpenSSL would take a chain in any order, one that has expired and any first
// certificate that fits the key, and clients would fail later: so each of these is refused at the
// start, in a sentence.

#include "net/tls_certificate.h"

#ifdef SKUA_TLS

#include "base/assert.h"
#include "net/tls_library.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

const char *tls_key_kind_name(tls_key_kind kind)
{
    switch (kind) {
    case TLS_KEY_RSA: return "RSA";
    case TLS_KEY_EC: return "ECDSA";
    case TLS_KEY_ED25519: return "Ed25519";
    case TLS_KEY_KINDS: break;
    }
    return "unknown";
}

// ---- PEM ----

static BIO *pem_reader(const tls_octets *pem)
{
    SKUA_ASSERT(pem->len <= INT_MAX);
    return BIO_new_mem_buf(pem->ptr, (int)pem->len);
}

static bool pem_is_at_end(void)
{
    unsigned long error = ERR_peek_last_error();
    bool is_end = ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
    if (is_end) ERR_clear_error();
    return is_end;
}

// Returns false for a certificate that cannot be read, or no memory.
static bool pem_take_all(BIO *bio, tls_x509_list *list)
{
    X509 *one;
    while ((one = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
        if (sk_X509_push(list, one) > 0) continue;
        X509_free(one);
        return false;
    }
    return pem_is_at_end();
}

static skua_status pem_fail(const tls_source *source, tls_load *load)
{
    char what[TLS_WHY_OCTETS / 2];
    (void)snprintf(what, sizeof what, "read the %s %.200s", source->what, tls_source_name(source));
    return tls_load_fail_openssl(load, what);
}

skua_status tls_certificate_list_read(const tls_source *source, const tls_octets *pem,
                                      tls_load *load, tls_x509_list **list)
{
    ERR_clear_error();
    tls_x509_list *all = sk_X509_new_null();
    BIO *bio = pem_reader(pem);
    bool is_read = all && bio && pem_take_all(bio, all);
    skua_status status = SKUA_OK;
    if (!is_read) status = pem_fail(source, load);
    else if (sk_X509_num(all) == 0)
        status = tls_load_fail(load, SKUA_EINVAL, "the %s %s has no certificate in PEM",
                               source->what, tls_source_name(source));
    BIO_free(bio);
    if (status) tls_certificate_list_free(all);
    else *list = all;
    return status;
}

void tls_certificate_list_free(tls_x509_list *list)
{
    sk_X509_pop_free(list, X509_free);
}

// Asked when a key is encrypted.
static int pem_no_passphrase(char *text, int room, int writing, void *user)
{
    bool *is_encrypted = user;
    (void)text;
    (void)room;
    (void)writing;
    *is_encrypted = true;
    return -1;
}

static skua_status key_parse(const tls_source *source, const tls_octets *pem, tls_load *load,
                             EVP_PKEY **key)
{
    bool is_encrypted = false;
    ERR_clear_error();
    BIO *bio = pem_reader(pem);
    *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, pem_no_passphrase, &is_encrypted) : NULL;
    BIO_free(bio);
    if (*key) return SKUA_OK;
    if (is_encrypted) {
        ERR_clear_error();
        return tls_load_fail(load, SKUA_EINVAL,
                             "the key %s is encrypted, and nobody could be asked for its "
                             "passphrase; write it without one",
                             tls_source_name(source));
    }
    // A decoder that finds nothing in the PEM of OpenSSL 3 leaves "unsupported", not only this.
    if (!memmem(pem->ptr, pem->len, "PRIVATE KEY-----", strlen("PRIVATE KEY-----"))) {
        ERR_clear_error();
        return tls_load_fail(load, SKUA_EINVAL, "the key %s has no private key in PEM",
                             tls_source_name(source));
    }
    return pem_fail(source, load);
}

// ---- Checks ----

static skua_status certificate_set_kind(tls_certificate *c, const tls_source *source,
                                        tls_load *load)
{
    switch (EVP_PKEY_base_id(c->key)) {
    case EVP_PKEY_RSA: c->kind = TLS_KEY_RSA; return SKUA_OK;
    case EVP_PKEY_EC: c->kind = TLS_KEY_EC; return SKUA_OK;
    case EVP_PKEY_ED25519: c->kind = TLS_KEY_ED25519; return SKUA_OK;
    default: // OpenSSL's numbers
        return tls_load_fail(load, SKUA_EINVAL, "the key %s is neither RSA, ECDSA nor Ed25519",
                             tls_source_name(source));
    }
}

static void certificate_write_time(const ASN1_TIME *time, char text[32])
{
    struct tm tm;
    if (!ASN1_TIME_to_tm(time, &tm) || !strftime(text, 32, "%Y-%m-%d %H:%M:%S UTC", &tm))
        (void)snprintf(text, 32, "a time nobody can read");
}

// number: from 1, of the certificates in the source.
static skua_status certificate_check_time(const X509 *x, const tls_source *source, int number,
                                          tls_load *load)
{
    time_t now = (time_t)load->unix_s;
    char text[32], which[48] = "";
    if (number > 1) (void)snprintf(which, sizeof which, "number %d in ", number);
    if (tls_library_compare_time(X509_get0_notAfter(x), now) < 0) {
        certificate_write_time(X509_get0_notAfter(x), text);
        return tls_load_fail(load, SKUA_EINVAL, "the certificate %s%s expired on %s", which,
                             tls_source_name(source), text);
    }
    if (tls_library_compare_time(X509_get0_notBefore(x), now) > 0) {
        certificate_write_time(X509_get0_notBefore(x), text);
        return tls_load_fail(load, SKUA_EINVAL, "the certificate %s%s is not valid before %s",
                             which, tls_source_name(source), text);
    }
    return SKUA_OK;
}

static skua_status certificate_check_times(const tls_certificate *c, const tls_source *source,
                                           tls_load *load)
{
    skua_status status = certificate_check_time(c->leaf, source, 1, load);
    for (int i = 0; i < (int)sk_X509_num(c->chain) && !status; i++)
        status = certificate_check_time(sk_X509_value(c->chain, i), source, i + 2, load);
    return status;
}

static skua_status certificate_check_order(const tls_certificate *c, const tls_source *source,
                                           tls_load *load)
{
    X509 *before = c->leaf;
    for (int i = 0; i < (int)sk_X509_num(c->chain); i++) {
        X509 *x = sk_X509_value(c->chain, i);
        if (X509_check_issued(x, before) != X509_V_OK) {
            return tls_load_fail(load, SKUA_EINVAL,
                                 "the certificates in %s are in the wrong order: number %d did not "
                                 "sign number %d",
                                 tls_source_name(source), i + 2, i + 1);
        }
        before = x;
    }
    return SKUA_OK;
}

static bool certificate_has_key(X509 *x, EVP_PKEY *key)
{
    bool is_its = X509_check_private_key(x, key) == 1;
    ERR_clear_error();
    return is_its;
}

static skua_status certificate_check_key(const tls_certificate *c, const tls_source *source,
                                         const tls_source *key_source, tls_load *load)
{
    if (certificate_has_key(c->leaf, c->key)) return SKUA_OK;
    for (int i = 0; i < (int)sk_X509_num(c->chain); i++) {
        if (!certificate_has_key(sk_X509_value(c->chain, i), c->key)) continue;
        return tls_load_fail(load, SKUA_EINVAL,
                             "the certificates in %s are in the wrong order: the server's own is "
                             "number %d and must be the first",
                             tls_source_name(source), i + 2);
    }
    return tls_load_fail(load, SKUA_EINVAL, "the key %s does not belong to the certificate %s",
                         tls_source_name(key_source), tls_source_name(source));
}

// OpenSSL refuses keys that are too short, and curves that TLS does not have.
static skua_status certificate_check_accepted(const tls_certificate *c, const tls_source *source,
                                              tls_load *load)
{
    char what[TLS_WHY_OCTETS / 2];
    ERR_clear_error();
    SSL_CTX *scratch = SSL_CTX_new(TLS_server_method());
    bool is_accepted = scratch && SSL_CTX_use_certificate(scratch, c->leaf) == 1 &&
                       SSL_CTX_use_PrivateKey(scratch, c->key) == 1 &&
                       SSL_CTX_set1_chain(scratch, c->chain) == 1;
    SSL_CTX_free(scratch);
    if (is_accepted) return SKUA_OK;
    (void)snprintf(what, sizeof what, "use the certificate %.200s", tls_source_name(source));
    return tls_load_fail_openssl(load, what);
}

// ---- Reading ----

static skua_status certificate_read_chain(const tls_source *source, tls_load *load,
                                          tls_certificate *c)
{
    tls_octets pem;
    unsigned mode;
    skua_status status = tls_load_read(load, source, &pem, &mode);
    if (status) return status;
    status = tls_certificate_list_read(source, &pem, load, &c->chain);
    tls_octets_free(&pem); // the key may be in it
    if (!status) c->leaf = sk_X509_shift(c->chain);
    return status;
}

static skua_status certificate_read_key(const tls_source *source, tls_load *load,
                                        tls_certificate *c)
{
    tls_octets pem;
    unsigned mode;
    skua_status status = tls_load_read(load, source, &pem, &mode);
    if (status) return status;
    status = key_parse(source, &pem, load, &c->key);
    tls_octets_free(&pem);
    if (!status && (mode & (S_IROTH | S_IWOTH)))
        tls_load_warn(load, "the key %s can be read by every user of this machine; chmod 600 it",
                      source->file);
    return status;
}

skua_status tls_certificate_read(const skua_tls_certificate *from, tls_load *load,
                                 tls_certificate *certificate)
{
    tls_certificate c = { 0 };
    bool is_together = !from->key_file && from->key_pem.len == 0;
    tls_source source = { "certificate", from->file, from->pem };
    tls_source key = { "key", is_together ? from->file : from->key_file,
                       is_together ? from->pem : from->key_pem };
    skua_status status = certificate_read_chain(&source, load, &c);
    if (!status) status = certificate_read_key(&key, load, &c);
    if (!status) status = certificate_set_kind(&c, &key, load);
    if (!status) status = certificate_check_key(&c, &source, &key, load);
    if (!status) status = certificate_check_order(&c, &source, load);
    if (!status) status = certificate_check_times(&c, &source, load);
    if (!status) status = certificate_check_accepted(&c, &source, load);
    if (status) tls_certificate_drop(&c);
    else *certificate = c;
    return status;
}

// ---- Sharing ----

bool tls_certificate_share(const tls_certificate *from, tls_certificate *certificate)
{
    tls_x509_list *chain = X509_chain_up_ref(from->chain);
    if (!chain) return false;
    X509_up_ref(from->leaf);
    EVP_PKEY_up_ref(from->key);
    *certificate = *from;
    certificate->chain = chain;
    return true;
}

static tls_x509_list *certificate_copy_chain(tls_x509_list *from)
{
    tls_x509_list *chain = sk_X509_new_null();
    for (int i = 0; chain && i < (int)sk_X509_num(from); i++) {
        X509 *x = X509_dup(sk_X509_value(from, i));
        if (x && sk_X509_push(chain, x) > 0) continue;
        X509_free(x);
        tls_certificate_list_free(chain);
        chain = NULL;
    }
    return chain;
}

// By its octets: AWS-LC has no EVP_PKEY_dup.
static EVP_PKEY *certificate_copy_key(EVP_PKEY *from)
{
    unsigned char *octets = NULL;
    int len = i2d_PrivateKey(from, &octets);
    if (len <= 0) return NULL;
    const unsigned char *at = octets;
    EVP_PKEY *key = d2i_AutoPrivateKey(NULL, &at, len);
    OPENSSL_cleanse(octets, (size_t)len);
    OPENSSL_free(octets);
    return key;
}

bool tls_certificate_copy(const tls_certificate *from, tls_certificate *certificate)
{
    ERR_clear_error();
    tls_certificate c = { .leaf = X509_dup(from->leaf),
                          .chain = certificate_copy_chain(from->chain),
                          .key = certificate_copy_key(from->key),
                          .kind = from->kind };
    bool is_whole = c.leaf && c.chain && c.key;
    if (is_whole) *certificate = c;
    else tls_certificate_drop(&c);
    ERR_clear_error();
    return is_whole;
}

void tls_certificate_drop(tls_certificate *certificate)
{
    X509_free(certificate->leaf);
    tls_certificate_list_free(certificate->chain);
    EVP_PKEY_free(certificate->key);
    *certificate = (tls_certificate){ 0 };
}

// ---- What it says ----

bool tls_certificate_hash(const tls_certificate *certificate, unsigned char hash[TLS_HASH_OCTETS])
{
    unsigned len = 0;
    return X509_digest(certificate->leaf, EVP_sha256(), hash, &len) == 1 && len == TLS_HASH_OCTETS;
}

bool tls_certificate_names(const tls_certificate *certificate, tls_certificate_name_fn *each,
                           void *user)
{
    bool goes_on = true;
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate->leaf, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; goes_on && i < (int)sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        if (name->type != GEN_DNS) continue;
        const ASN1_STRING *text = name->d.dNSName;
        goes_on = each(
            slice_make((const char *)ASN1_STRING_get0_data(text), (size_t)ASN1_STRING_length(text)),
            user);
    }
    GENERAL_NAMES_free(names);
    return goes_on;
}

// As clients look: at the names, not at the subject, and at a wildcard for a whole label only.
static const unsigned certificate_host_rules =
    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;

bool tls_certificate_covers(const tls_certificate *certificate, slice host)
{
    char text[256];
    if (host.len == 0 || host.len >= sizeof text) return false;
    memcpy(text, host.ptr, host.len);
    text[host.len] = '\0';
    ERR_clear_error();
    bool covers =
        X509_check_ip_asc(certificate->leaf, text, 0) == 1 ||
        X509_check_host(certificate->leaf, text, host.len, certificate_host_rules, NULL) == 1;
    ERR_clear_error();
    return covers;
}

#endif
