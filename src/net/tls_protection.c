// SPDX-License-Identifier: MIT
//
// Protection of a TLS 1.3 connection.

#include "net/tls_protection.h"

#ifdef SKUA_TLS

#include "base/assert.h"

#include <openssl/crypto.h>
#include <openssl/err.h>

// AES-GCM would tell something about its key after 2^24.5 records (RFC 8446 §5.5).
enum { SEALED_PER_KEY_MAX = 1 << 24 };

// Content of at most so many octets is copied to where it is sealed.
enum { SEALED_COPY_MAX = 4096 };

bool tls_protection_init(tls_protection *p, tls_contexts *contexts, tls_suite suite,
                         const uint8_t *open_secret, const uint8_t *seal_secret, uint64_t sealed,
                         uint16_t plain_max)
{
    SKUA_ASSERT(plain_max > 0 && plain_max <= TLS_PLAIN_OCTETS_MAX);
    *p = (tls_protection){ .contexts = contexts, .plain_max = plain_max };
    if (tls_keys_init(&p->keys[TLS_OPEN], &contexts->labels, suite, open_secret, 0) &&
        tls_keys_init(&p->keys[TLS_SEAL], &contexts->labels, suite, seal_secret, sealed))
        return true;
    tls_protection_wipe(p);
    return false;
}

void tls_protection_wipe(tls_protection *p)
{
    tls_contexts_drop(p->contexts, &p->pair);
    tls_keys_wipe(&p->keys[TLS_OPEN]);
    tls_keys_wipe(&p->keys[TLS_SEAL]);
}

// The context of a direction, which knows the next record's nonce; NULL when memory ran out.
// tag: of a record to be opened, or NULL.
static EVP_CIPHER_CTX *protection_context(tls_protection *p, tls_direction direction, char *tag)
{
    uint8_t nonce[TLS_KEYS_NONCE_OCTETS];
    const tls_pair *pair = tls_contexts_find(p->contexts, &p->pair, p->keys);
    if (!pair) return NULL;
    tls_keys_nonce(&p->keys[direction], nonce);
    EVP_CIPHER_CTX *context = pair->contexts[direction];
    bool is_gcm = tls_keys_are_gcm(&p->keys[direction]);
    return tls_library_begin(context, is_gcm, nonce, tag) ? context : NULL;
}

// ---- Sealing ----

// to: NULL for what is authenticated and not sealed. len: less than INT_MAX, as all of a record is.
static bool seal_add(EVP_CIPHER_CTX *context, char *to, const char *from, size_t len)
{
    int n;
    return EVP_EncryptUpdate(context, (uint8_t *)to, &n, (const uint8_t *)from, (int)len);
}

static void header_write(char *record, size_t len)
{
    record[0] = TLS_CONTENT_APPLICATION;
    record[1] = record[2] = 3;
    record[3] = (char)(uint8_t)(len >> 8);
    record[4] = (char)(uint8_t)len;
}

// Puts the pieces behind each other, unless they are there.
static void pieces_copy(const slice *pieces, size_t count, char *to)
{
    for (; count > 0; to += pieces->len, pieces++, count--) {
        if (pieces->len && pieces->ptr != to) memcpy(to, pieces->ptr, pieces->len);
    }
}

// The type of the content stands behind it and is sealed with it. In place that is one run of octets, which for short
// content is worth a copy: each run costs the library some 300 instructions.
static bool seal_content(EVP_CIPHER_CTX *context, tls_content type, const slice *pieces,
                         size_t count, char *to, size_t len)
{
    char last = (char)type;
    if (len <= SEALED_COPY_MAX || (count == 1 && pieces->ptr == to)) {
        pieces_copy(pieces, count, to);
        to[len] = last;
        return seal_add(context, to, to, len + 1);
    }
    for (; count > 0; to += pieces->len, pieces++, count--) {
        if (pieces->len && !seal_add(context, to, pieces->ptr, pieces->len)) return false;
    }
    return seal_add(context, to, &last, 1);
}

static size_t pieces_octets(const slice *pieces, size_t count)
{
    size_t octets = 0;
    while (count-- > 0)
        octets += pieces++->len;
    return octets;
}

static bool seal_record(tls_protection *p, tls_content type, const slice *pieces, size_t count,
                        char *record, size_t len)
{
    char *content = record + TLS_HEADER_OCTETS, *tag = content + len + 1;
    EVP_CIPHER_CTX *context = protection_context(p, TLS_SEAL, NULL);
    int n;
    header_write(record, len + 1 + TLS_TAG_OCTETS);
    return context && seal_add(context, NULL, record, TLS_HEADER_OCTETS) &&
           seal_content(context, type, pieces, count, content, len) &&
           EVP_EncryptFinal_ex(context, (uint8_t *)tag, &n) && tls_library_tag(context, tag);
}

static size_t seal_has_failed(tls_protection *p)
{
    ERR_clear_error();
    p->has_failed = true;
    return 0;
}

// After a failure the peer would miss a record. A second attempt could also use a nonce again.
size_t tls_seal(tls_protection *p, tls_content type, const slice *pieces, size_t count,
                char *record)
{
    size_t len = pieces_octets(pieces, count);
    SKUA_ASSERT(len <= p->plain_max && p->keys[TLS_SEAL].sequence < SEALED_PER_KEY_MAX);
    if (p->has_failed || !seal_record(p, type, pieces, count, record, len))
        return seal_has_failed(p);
    p->keys[TLS_SEAL].sequence++;
    return len + TLS_AROUND_OCTETS;
}

size_t tls_seal_alert(tls_protection *p, tls_alert alert, char *record)
{
    enum { WARNING = 1, FATAL = 2 };
    bool is_closure = alert == TLS_ALERT_CLOSE_NOTIFY;
    char *message = record + TLS_HEADER_OCTETS;
    message[0] = is_closure ? WARNING : FATAL;
    message[1] = (char)alert;
    slice piece = slice_make(message, 2);
    return tls_seal(p, TLS_CONTENT_ALERT, &piece, 1, record);
}

size_t tls_seal_update(tls_protection *p, char *record)
{
    static const char start[] = { TLS_KEY_UPDATE, 0, 0, 1 };
    bool is_asked = p->keys[TLS_OPEN].sequence >= p->contexts->records_per_key && !p->has_asked;
    char *message = record + TLS_HEADER_OCTETS;
    memcpy(message, start, sizeof start);
    message[sizeof start] = is_asked;
    slice piece = slice_make(message, TLS_KEY_UPDATE_OCTETS);
    size_t octets = tls_seal(p, TLS_CONTENT_HANDSHAKE, &piece, 1, record);
    tls_keys *keys = &p->keys[TLS_SEAL];
    if (octets == 0 || !tls_keys_next(keys, &p->contexts->labels)) return seal_has_failed(p);
    tls_contexts_rekey(p->contexts, &p->pair, TLS_SEAL, keys);
    p->owes_update = false;
    p->has_asked |= is_asked;
    return octets;
}

// ---- Opening ----

// In place. len: of the content with its type.
static bool open_record(EVP_CIPHER_CTX *context, char *record, size_t len)
{
    int n;
    uint8_t *header = (uint8_t *)record, *content = header + TLS_HEADER_OCTETS;
    return EVP_DecryptUpdate(context, NULL, &n, header, TLS_HEADER_OCTETS) &&
           EVP_DecryptUpdate(context, content, &n, content, (int)len) &&
           EVP_DecryptFinal_ex(context, content + len, &n);
}

tls_opened tls_open(tls_protection *p, char *record, size_t len, slice *inner)
{
    SKUA_ASSERT(len >= TLS_AROUND_OCTETS);
    char *content = record + TLS_HEADER_OCTETS, *tag = record + len - TLS_TAG_OCTETS;
    size_t octets = (size_t)(tag - content);
    EVP_CIPHER_CTX *context = protection_context(p, TLS_OPEN, tag);
    if (!context) {
        ERR_clear_error();
        return TLS_OPENED_NO_MEMORY;
    }
    if (!open_record(context, record, octets)) {
        ERR_clear_error();
        return TLS_OPENED_FORGED;
    }
    p->keys[TLS_OPEN].sequence++;
    *inner = slice_make(content, octets);
    return TLS_OPENED;
}

bool tls_protection_updated(tls_protection *p, bool is_asked)
{
    tls_keys *keys = &p->keys[TLS_OPEN];
    if (!tls_keys_next(keys, &p->contexts->labels)) return false;
    tls_contexts_rekey(p->contexts, &p->pair, TLS_OPEN, keys);
    p->owes_update |= is_asked;
    p->has_asked = false;
    return true;
}

#endif
