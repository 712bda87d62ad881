// SPDX-License-Identifier: MIT
//
// Batch of records.

#include "net/tls_batch.h"

#ifdef SKUA_TLS

#include "base/assert.h"

void tls_batch_init(tls_batch *b, block_store *store, unsigned segments)
{
    b->store = store;
    b->blocks_max = segments < TLS_BATCH_BLOCKS ? segments : TLS_BATCH_BLOCKS;
    b->block_count = b->count = 0;
    b->at = b->end = NULL;
}

void tls_batch_deinit(tls_batch *b)
{
    for (unsigned i = 0; i < b->block_count; i++) {
        if (b->blocks[i]) block_give(b->store, &b->blocks[i]);
    }
}

static bool batch_take_block(tls_batch *b)
{
    block *taken = b->block_count < b->blocks_max ? block_take(b->store) : NULL;
    if (!taken) return false;
    b->blocks[b->block_count++] = taken;
    b->at = taken->data;
    b->end = taken->data + taken->room;
    return true;
}

bool tls_batch_add(tls_batch *b, size_t octets)
{
    size_t record = octets + TLS_AROUND_OCTETS;
    SKUA_ASSERT(octets > 0 && record <= BLOCK_OCTETS);
    if (b->count == TLS_BATCH_RECORDS) return false;
    if ((size_t)(b->end - b->at) < record && !batch_take_block(b)) return false;
    b->contents[b->count++] =
        (struct iovec){ .iov_base = b->at + TLS_HEADER_OCTETS, .iov_len = octets };
    b->at += record;
    return true;
}

static bool batch_seal_record(const struct iovec *content, size_t len, tls_protection *p)
{
    char *at = content->iov_base;
    slice piece = slice_make(at, len);
    return tls_seal(p, TLS_CONTENT_APPLICATION, &piece, 1, at - TLS_HEADER_OCTETS) > 0;
}

bool tls_batch_seal(tls_batch *b, tls_protection *p, size_t octets, out_queue *wire)
{
    unsigned in = 0; // the block that the record is in
    size_t used = 0; // octets of it that are records
    for (unsigned i = 0; octets; i++) {
        SKUA_ASSERT(i < b->count);
        const struct iovec *content = &b->contents[i];
        size_t len = content->iov_len < octets ? content->iov_len : octets;
        if (used && (char *)content->iov_base != b->blocks[in]->data + used + TLS_HEADER_OCTETS) {
            out_give(wire, &b->blocks[in++], used);
            used = 0;
        }
        if (!batch_seal_record(content, len, p)) return false;
        used += len + TLS_AROUND_OCTETS;
        octets -= len;
    }
    out_give(wire, &b->blocks[in], used);
    return true;
}

#endif
