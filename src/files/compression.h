// SPDX-License-Identifier: MIT
//
// Compression: makes a compressed file on a helper thread, while the requests for it wait.
#ifndef SKUA_FILES_COMPRESSION_H
#define SKUA_FILES_COMPRESSION_H

#include "files/cache.h"
#include "files/waiter.h"

// A library without encoders leaves all of this out.
#if defined SKUA_ZSTD || defined SKUA_BROTLI || defined SKUA_ZLIB
enum { COMPRESSION_IS_BUILT = 1 };
#else
enum { COMPRESSION_IS_BUILT = 0 };
#endif

enum {
    // Larger files are sent as they are: nobody shall wait longer than a quarter of a second for his own.
    COMPRESSION_FILE_OCTETS_MAX = 8 << 20,
    // In this process, under way or waiting for a turn.
    COMPRESSIONS_MAX = 8,
    // Under way for a server: it has one helper thread more, which is left to disks.
    COMPRESSIONS_RUNNING_MAX = 3
};

// Those of a set of codings that this library can make: a sibling may be of any.
unsigned compression_codings(unsigned set);

typedef enum compression_outcome {
    COMPRESSION_IS_READY, // it is in the cache
    COMPRESSION_WAITS,    // done will be called
    COMPRESSION_NONE      // there is none for this request
} compression_outcome;

// Makes or finds an entry's file in a coding that it offers. entry: of a file as it is, not yet in the cache or
// there; file: the same one, open.
compression_outcome compression_want(cache *c, cached *entry, skua_file *file,
                                     content_coding coding, file_waiter *waiter);

#endif
