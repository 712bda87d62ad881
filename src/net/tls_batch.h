// SPDX-License-Identifier: MIT
//
// Batch: records of one connection whose content is read at once, from a file, to where they are
// sealed. Only with SKUA_TLS.
#ifndef SKUA_NET_TLS_BATCH_H
#define SKUA_NET_TLS_BATCH_H

#include "net/tls_cursor.h"
#include "net/tls_protection.h"

#ifdef SKUA_TLS

// A flight's records: small ones, many in a block, and then one in each block.
enum { TLS_BATCH_RECORDS = TLS_PLACES_MAX, TLS_BATCH_BLOCKS = 20 };

typedef struct tls_batch {
    block_store *store;
    block *blocks[TLS_BATCH_BLOCKS];
    struct iovec contents[TLS_BATCH_RECORDS]; // of the records, which lie as close as they fit
    unsigned blocks_max, block_count, count;
    char *at, *end; // the last block's free room
} tls_batch;

// segments: room in the queue that the records are for.
void tls_batch_init(tls_batch *b, block_store *store, unsigned segments);

// Gives the blocks back that were not queued.
void tls_batch_deinit(tls_batch *b);

// Adds a record with room for so many octets of content, which are less than a block's.
// Returns: false when there is no room for it, or memory ran out.
bool tls_batch_add(tls_batch *b, size_t octets);

// Seals the records that hold the first octets of the content, at least one, and queues them.
// Returns: false when they cannot be protected, and then nothing can be sent any more.
bool tls_batch_seal(tls_batch *b, tls_protection *p, size_t octets, out_queue *wire);

#endif
#endif
