// SPDX-License-Identifier: MIT
//
// Helpers that the tests of TLS share.

#include "support/tls.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

typedef struct memory_block memory_block;

struct memory_block {
    memory_block *next, *before;
    size_t octets;
    _Alignas(16) char content[];
};

static struct {
    memory_block *blocks;
    bool fails;
    unsigned left, failures;
    const void *watched;
    size_t watched_len;
    unsigned leaked;
} library;

static bool block_holds(const memory_block *block, const void *octets, size_t len)
{
    return memmem(block->content, block->octets, octets, len) != NULL;
}

static bool memory_fails(void)
{
    if (!library.fails || library.left-- > 0) return false;
    library.left = 0;
    library.failures++;
    return true;
}

// Not by malloc, whose failures (support/memory.h) are to be the server's own alone.
static void *block_alloc(size_t octets)
{
    size_t unit = _Alignof(memory_block);
    return aligned_alloc(unit, (sizeof(memory_block) + octets + unit - 1) / unit * unit);
}

static void *hook_alloc(size_t octets, const char *file, int line)
{
    (void)file;
    (void)line;
    memory_block *block = memory_fails() ? NULL : block_alloc(octets);
    if (!block) return NULL;
    *block = (memory_block){ .next = library.blocks, .octets = octets };
    if (block->next) block->next->before = block;
    library.blocks = block;
    return block->content;
}

static void hook_free(void *content, const char *file, int line)
{
    (void)file;
    (void)line;
    if (!content) return;
    memory_block *block =
        (memory_block *)(void *)((char *)content - offsetof(memory_block, content));
#ifdef OPENSSL_IS_AWSLC
    memset(block->content, 0, block->octets); // as its own OPENSSL_free does
#endif
    if (library.watched && block_holds(block, library.watched, library.watched_len))
        library.leaked++;
    if (block->next) block->next->before = block->before;
    *(block->before ? &block->before->next : &library.blocks) = block->next;
    free(block);
}

static void *hook_resize(void *content, size_t octets, const char *file, int line)
{
    void *moved = hook_alloc(octets, file, line);
    if (!content || !moved) return moved;
    memory_block *block =
        (memory_block *)(void *)((char *)content - offsetof(memory_block, content));
    memcpy(moved, content, block->octets < octets ? block->octets : octets);
    hook_free(content, file, line);
    return moved;
}

void tls_memory_hook(void)
{
    if (!CRYPTO_set_mem_functions(hook_alloc, hook_resize, hook_free)) abort();
}

void tls_memory_fail_after(unsigned allocations)
{
    library.fails = true;
    library.left = allocations;
    library.failures = 0;
}

void tls_memory_relax(void)
{
    library.fails = false;
}

void tls_memory_go_on(void)
{
    library.fails = true;
}

unsigned tls_memory_failures(void)
{
    return library.failures;
}

unsigned tls_memory_holding(const void *octets, size_t len)
{
    unsigned n = 0;
    for (const memory_block *block = library.blocks; block; block = block->next)
        n += block_holds(block, octets, len);
    return n;
}

void tls_memory_watch(const void *octets, size_t len)
{
    library.watched = octets;
    library.watched_len = len;
    library.leaked = 0;
}

unsigned tls_memory_leaked(void)
{
    return library.leaked;
}

bool tls_ends_init(tls_ends *ends, tls_contexts *client, tls_contexts *server, tls_suite suite,
                   uint8_t seed)
{
    uint8_t from_client[TLS_KEYS_SECRET_OCTETS], from_server[TLS_KEYS_SECRET_OCTETS];
    for (unsigned i = 0; i < TLS_KEYS_SECRET_OCTETS; i++) {
        from_client[i] = (uint8_t)(seed + i * 7);
        from_server[i] = (uint8_t)(seed + i * 11 + 100);
    }
    *ends = (tls_ends){ .client.contexts = client, .server.contexts = server };
    if (tls_protection_init(&ends->client, client, suite, from_server, from_client, 0,
                            TLS_PLAIN_OCTETS_MAX) &&
        tls_protection_init(&ends->server, server, suite, from_client, from_server, 0,
                            TLS_PLAIN_OCTETS_MAX))
        return true;
    tls_ends_wipe(ends);
    return false;
}

void tls_ends_wipe(tls_ends *ends)
{
    tls_protection_wipe(&ends->client);
    tls_protection_wipe(&ends->server);
}
