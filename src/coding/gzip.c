// SPDX-License-Identifier: MIT
//
// gzip, by zlib. For content that is streamed the lowest level costs a fifth of the usual one and gives nearly as
// much for text.

#include "coding/gzip.h"

#ifdef SKUA_ZLIB

#include <stdint.h>
#include <zlib.h>

static const int gzip_levels[] = {
    [SKUA_EFFORT_STREAM] = 1, [SKUA_EFFORT_KEPT] = 6, [SKUA_EFFORT_BEST] = 9
};

enum {
    GZIP_WINDOW_BITS = 15 + 16, // the head and trailer of gzip, and not of zlib
    GZIP_MEMORY_LEVEL = 8,
    GZIP_INPUT_MAX = 1 << 30 // a uInt counts it
};

static void *gzip_alloc(void *memory, uInt items, uInt size)
{
    return counted_alloc(memory, (size_t)items * size);
}

static void gzip_free(void *memory, void *address)
{
    (void)memory;
    counted_free(address);
}

static void *gzip_open(lease *memory, skua_effort effort, size_t octets)
{
    (void)octets;
    z_stream *z = counted_zeroed(memory, sizeof *z);
    if (!z) return NULL;
    z->zalloc = gzip_alloc;
    z->zfree = gzip_free;
    z->opaque = memory;
    if (deflateInit2(z, gzip_levels[effort], Z_DEFLATED, GZIP_WINDOW_BITS, GZIP_MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) == Z_OK)
        return z;
    counted_free(z);
    return NULL;
}

static skua_filtered gzip_run(void *encoder, slice *content, skua_flush flush, char *out,
                              size_t room, size_t *octets)
{
    static const int modes[] = {
        [SKUA_FLUSH_NONE] = Z_NO_FLUSH, [SKUA_FLUSH_NOW] = Z_SYNC_FLUSH, [SKUA_FLUSH_END] = Z_FINISH
    };
    z_stream *z = encoder;
    uInt least = room < GZIP_INPUT_MAX ? (uInt)room : GZIP_INPUT_MAX;
    uInt given = content->len < GZIP_INPUT_MAX ? (uInt)content->len : GZIP_INPUT_MAX;
    z->next_in = (Bytef *)(uintptr_t)content->ptr; // it is only read
    z->avail_in = given;
    z->next_out = (Bytef *)out;
    z->avail_out = least;
    int done = deflate(z, modes[flush]);
    if (done == Z_STREAM_ERROR) return SKUA_FILTER_FAILED;
    *content = slice_from(*content, given - z->avail_in);
    *octets = least - z->avail_out;
    bool more = flush == SKUA_FLUSH_END ? done != Z_STREAM_END : z->avail_out == 0;
    return more || content->len ? SKUA_FILTER_MORE : SKUA_FILTER_ALL;
}

static void gzip_close(void *encoder)
{
    z_stream *z = encoder;
    (void)deflateEnd(z);
    counted_free(z);
}

const encoder_table gzip_encoder = { .open = gzip_open, .run = gzip_run, .close = gzip_close };

#endif
