// SPDX-License-Identifier: MIT
//
// Contexts. A context that is keyed anew for the same cipher keeps its memory: the key and what was
// derived from it lie in the same places, so that nothing of the old ones is left. With another
// cipher, and when it is freed, the library overwrites it.

#include "net/tls_contexts.h"

#ifdef SKUA_TLS

#include "base/assert.h"

#include <openssl/err.h>

static const char *const cipher_names[TLS_SUITES] = {
    [TLS_SUITE_AES_128_GCM_SHA256] = "AES-128-GCM",
    [TLS_SUITE_AES_256_GCM_SHA384] = "AES-256-GCM",
    [TLS_SUITE_CHACHA20_POLY1305_SHA256] = "ChaCha20-Poly1305",
};

bool tls_contexts_init(tls_contexts *c, lease *memory)
{
    *c = (tls_contexts){ .memory = memory,
                         .pairs_max = TLS_PAIRS_MAX,
                         .records_per_key = TLS_RECORDS_PER_KEY };
    if (!tls_labels_init(&c->labels)) return false;
    for (unsigned i = 0; i < TLS_SUITES; i++)
        c->ciphers[i] = tls_library_cipher(cipher_names[i]);
    return true;
}

void tls_contexts_deinit(tls_contexts *c)
{
    (void)tls_contexts_empty(c);
    for (unsigned i = 0; i < TLS_SUITES; i++)
        tls_library_cipher_free(c->ciphers[i]);
    tls_labels_deinit(&c->labels);
}

bool tls_contexts_have(const tls_contexts *c, tls_suite suite)
{
    return c->ciphers[suite] != NULL;
}

// ---- The order of use ----

// A use only writes its number to the pair: putting the pair behind all others would touch three more, of connections that
// nothing is known of otherwise, for each record. The order is looked after when a pair is needed.

static void contexts_unlink(tls_contexts *c, tls_pair *p)
{
    *(p->older ? &p->older->newer : &c->oldest) = p->newer;
    *(p->newer ? &p->newer->older : &c->newest) = p->older;
    p->older = p->newer = NULL;
}

static void contexts_link(tls_contexts *c, tls_pair *p)
{
    p->placed = p->used;
    p->older = c->newest;
    p->newer = NULL;
    *(c->newest ? &c->newest->newer : &c->oldest) = p;
    c->newest = p;
}

// ---- Pairs ----

static void pair_free_contexts(tls_pair *p)
{
    for (unsigned i = 0; i < TLS_DIRECTIONS; i++)
        EVP_CIPHER_CTX_free(p->contexts[i]);
}

void tls_contexts_drop(tls_contexts *c, tls_pair **pair)
{
    tls_pair *dropped = *pair;
    if (!dropped) return;
    contexts_unlink(c, dropped);
    *pair = NULL;
    pair_free_contexts(dropped);
    counted_free(dropped);
    if (c->memory) lease_drop(c->memory, TLS_PAIR_OCTETS);
    c->pairs--;
}

static tls_pair *pair_new(tls_contexts *c)
{
    tls_pair *p = counted_zeroed(c->memory, sizeof *p);
    if (!p) return NULL;
    p->suite = TLS_SUITES;
    for (unsigned i = 0; i < TLS_DIRECTIONS; i++)
        p->contexts[i] = EVP_CIPHER_CTX_new();
    if (p->contexts[TLS_OPEN] && p->contexts[TLS_SEAL]) {
        if (c->memory) lease_add(c->memory, TLS_PAIR_OCTETS);
        c->pairs++;
        return p;
    }
    ERR_clear_error();
    pair_free_contexts(p);
    counted_free(p);
    return NULL;
}

// Takes the oldest pair. Those that were used since they were put where they are go behind the others first, each once.
// NULL: there is none.
static tls_pair *pair_take_oldest(tls_contexts *c)
{
    tls_pair *p;
    while ((p = c->oldest) && p->placed != p->used) {
        contexts_unlink(c, p);
        contexts_link(c, p);
    }
    if (!p) return NULL;
    contexts_unlink(c, p);
    *p->owner = NULL;
    return p;
}

// A new one while there may be more of them and there is memory.
static tls_pair *pair_take(tls_contexts *c, tls_pair **owner)
{
    tls_pair *p = c->pairs < c->pairs_max ? pair_new(c) : NULL;
    if (!p) p = pair_take_oldest(c);
    if (!p) return NULL;
    p->owner = owner;
    p->used = ++c->uses;
    *owner = p;
    contexts_link(c, p);
    return p;
}

// cipher: NULL if it is the one that the context has.
static bool pair_key(tls_pair *p, tls_direction direction, const EVP_CIPHER *cipher,
                     const tls_keys *keys)
{
    return EVP_CipherInit_ex(p->contexts[direction], cipher, NULL, keys->key, NULL,
                             direction == TLS_SEAL);
}

static bool pair_key_both(tls_contexts *c, tls_pair *p, const tls_keys keys[TLS_DIRECTIONS])
{
    uint8_t suite = keys[TLS_SEAL].suite;
    const EVP_CIPHER *cipher = c->ciphers[suite];
    SKUA_ASSERT(cipher && keys[TLS_OPEN].suite == suite);
    if (p->suite == suite) cipher = NULL;
    p->suite = suite;
    return pair_key(p, TLS_OPEN, cipher, &keys[TLS_OPEN]) &&
           pair_key(p, TLS_SEAL, cipher, &keys[TLS_SEAL]);
}

static void pair_has_failed(tls_contexts *c, tls_pair **pair)
{
    ERR_clear_error();
    tls_contexts_drop(c, pair);
}

static tls_pair *contexts_key(tls_contexts *c, tls_pair **pair, const tls_keys keys[TLS_DIRECTIONS])
{
    tls_pair *p = pair_take(c, pair);
    if (!p) return NULL;
    if (!pair_key_both(c, p, keys)) pair_has_failed(c, pair);
    return *pair;
}

tls_pair *tls_contexts_find(tls_contexts *c, tls_pair **pair, const tls_keys keys[TLS_DIRECTIONS])
{
    tls_pair *p = *pair;
    if (!p) return contexts_key(c, pair, keys);
    p->used = ++c->uses;
    return p;
}

void tls_contexts_rekey(tls_contexts *c, tls_pair **pair, tls_direction direction,
                        const tls_keys *keys)
{
    if (*pair && !pair_key(*pair, direction, NULL, keys)) pair_has_failed(c, pair);
}

size_t tls_contexts_empty(tls_contexts *c)
{
    size_t freed = 0;
    for (; c->oldest; freed += TLS_PAIR_OCTETS + sizeof *c->oldest)
        tls_contexts_drop(c, c->oldest->owner);
    return freed;
}

size_t tls_contexts_sweep(tls_contexts *c)
{
    size_t freed = 0;
    for (tls_pair *next, *p = c->oldest; p; p = next) {
        next = p->newer;
        if (p->used > c->swept) continue;
        tls_contexts_drop(c, p->owner);
        freed += TLS_PAIR_OCTETS + sizeof *p;
    }
    c->swept = c->uses;
    return freed;
}

#endif
