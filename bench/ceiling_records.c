// SPDX-License-Identifier: MIT
//
// Records of the ceiling over TLS, by EVP.
#include "ceiling_tls.h"

#include <string.h>

enum { TYPE_ALERT = 21, TYPE_APPLICATION = 23 };

static struct {
    bool are_ready;
    EVP_CIPHER *cipher;
    EVP_CIPHER_CTX *shared[DIRECTIONS]; // of "keyed"
} records;

static EVP_CIPHER_CTX *context_new(const uint8_t *key, int direction)
{
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    if (!context ||
        !EVP_CipherInit_ex(context, records.cipher, NULL, key, NULL, direction == SEALS))
        ceiling_die("EVP_CipherInit_ex");
    return context;
}

void tls_records_prepare(bool are_ready)
{
    records.are_ready = are_ready;
    records.cipher = tls_library_cipher("AES-128-GCM");
    if (!records.cipher) ceiling_die("AES-128-GCM");
    for (int direction = 0; direction < DIRECTIONS; direction++)
        records.shared[direction] = context_new(NULL, direction);
}

void tls_records_begin(tls_conn *t)
{
    for (int direction = 0; records.are_ready && direction < DIRECTIONS; direction++)
        t->contexts[direction] = context_new(t->keys[direction].key, direction);
}

void tls_records_end(tls_conn *t)
{
    for (int direction = 0; direction < DIRECTIONS; direction++)
        EVP_CIPHER_CTX_free(t->contexts[direction]);
}

// tag: of a record to be opened, or NULL.
static EVP_CIPHER_CTX *context_begin(tls_conn *t, int direction, char *tag)
{
    uint8_t nonce[TLS_KEYS_NONCE_OCTETS];
    tls_keys *keys = &t->keys[direction];
    EVP_CIPHER_CTX *context = t->contexts[direction];
    if (!context) {
        context = records.shared[direction];
        if (!EVP_CipherInit_ex(context, NULL, NULL, keys->key, NULL, -1))
            ceiling_die("EVP_CipherInit_ex");
    }
    tls_keys_nonce(keys, nonce);
    keys->sequence++;
    if (!tls_library_begin(context, true, nonce, tag)) ceiling_die("a nonce");
    return context;
}

static bool context_seal(EVP_CIPHER_CTX *context, char *record, size_t len)
{
    int n;
    uint8_t *header = (uint8_t *)record, *content = header + TLS_HEADER_OCTETS;
    return EVP_EncryptUpdate(context, NULL, &n, header, TLS_HEADER_OCTETS) &&
           EVP_EncryptUpdate(context, content, &n, content, (int)len) &&
           EVP_EncryptFinal_ex(context, content + len, &n);
}

static bool context_open(EVP_CIPHER_CTX *context, char *record, size_t len)
{
    int n;
    uint8_t *header = (uint8_t *)record, *content = header + TLS_HEADER_OCTETS;
    return EVP_DecryptUpdate(context, NULL, &n, header, TLS_HEADER_OCTETS) &&
           EVP_DecryptUpdate(context, content, &n, content, (int)len) &&
           EVP_DecryptFinal_ex(context, content + len, &n);
}

static size_t record_seal(tls_conn *t, char type, char *record, size_t len)
{
    size_t body = len + 1 + TLS_TAG_OCTETS;
    char header[] = { TYPE_APPLICATION, 3, 3, (char)(body >> 8), (char)body };
    char *tag = record + TLS_HEADER_OCTETS + len + 1;
    memcpy(record, header, sizeof header);
    tag[-1] = type;
    EVP_CIPHER_CTX *context = context_begin(t, SEALS, NULL);
    if (!context_seal(context, record, len + 1) || !tls_library_tag(context, tag))
        ceiling_die("sealing");
    return len + TLS_AROUND_OCTETS;
}

size_t tls_record_seal(tls_conn *t, char *record, size_t len)
{
    return record_seal(t, TYPE_APPLICATION, record, len);
}

size_t tls_record_seal_end(tls_conn *t, char *record)
{
    static const char close_notify[] = { 1, 0 };
    memcpy(record + TLS_HEADER_OCTETS, close_notify, sizeof close_notify);
    return record_seal(t, TYPE_ALERT, record, sizeof close_notify);
}

ssize_t tls_record_open(tls_conn *t, char *record, size_t len)
{
    if (len < TLS_AROUND_OCTETS || record[0] != TYPE_APPLICATION) return -1;
    size_t inner = len - TLS_HEADER_OCTETS - TLS_TAG_OCTETS;
    char *content = record + TLS_HEADER_OCTETS;
    EVP_CIPHER_CTX *context = context_begin(t, OPENS, content + inner);
    if (!context_open(context, record, inner)) return -1;
    while (inner > 0 && content[inner - 1] == 0) // padding
        inner--;
    return inner > 0 && content[inner - 1] == TYPE_APPLICATION ? (ssize_t)inner - 1 : -1;
}
