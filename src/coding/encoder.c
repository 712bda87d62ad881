// SPDX-License-Identifier: MIT
//
// The encoders that are built in.

#include "coding/encoder.h"

#include "coding/brotli.h"
#include "coding/gzip.h"
#include "coding/zstd.h"

const encoder_table *encoder_of(content_coding coding)
{
    static const encoder_table *const tables[CODING_COUNT] = {
#ifdef SKUA_ZSTD
        [CODING_ZSTD] = &zstd_encoder,
#endif
#ifdef SKUA_BROTLI
        [CODING_BROTLI] = &brotli_encoder,
#endif
#ifdef SKUA_ZLIB
        [CODING_GZIP] = &gzip_encoder,
#endif
        [CODING_IDENTITY] = NULL
    };
    return tables[coding];
}
