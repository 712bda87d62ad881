// SPDX-License-Identifier: MIT
//
// br, by Google's brotli. The window of content that is streamed is small, so that many responses can be under
// way; for content that is compressed once it is the usual one of 4 MiB.

#include "coding/brotli.h"

#ifdef SKUA_BROTLI

#include <brotli/encode.h>

typedef struct brotli_level {
    uint32_t quality, window_bits;
} brotli_level;

static const brotli_level brotli_levels[] = {
    [SKUA_EFFORT_STREAM] = { 1, 18 },
    [SKUA_EFFORT_KEPT] = { 5, 22 },
    [SKUA_EFFORT_BEST] = { 11, 24 },
};

static void *brotli_alloc(void *memory, size_t octets)
{
    return counted_alloc(memory, octets);
}

static void brotli_free(void *memory, void *address)
{
    (void)memory;
    counted_free(address);
}

static void *brotli_open(lease *memory, skua_effort effort, size_t octets)
{
    const brotli_level *level = &brotli_levels[effort];
    BrotliEncoderState *b = BrotliEncoderCreateInstance(brotli_alloc, brotli_free, memory);
    if (!b) return NULL;
    (void)BrotliEncoderSetParameter(b, BROTLI_PARAM_QUALITY, level->quality);
    (void)BrotliEncoderSetParameter(b, BROTLI_PARAM_LGWIN, level->window_bits);
    uint32_t hint = octets < UINT32_MAX ? (uint32_t)octets : UINT32_MAX;
    (void)BrotliEncoderSetParameter(b, BROTLI_PARAM_SIZE_HINT, hint);
    return b;
}

// It may return with room to spare and more to be written.
static skua_filtered brotli_run(void *encoder, slice *content, skua_flush flush, char *out,
                                size_t room, size_t *octets)
{
    static const BrotliEncoderOperation operations[] = {
        [SKUA_FLUSH_NONE] = BROTLI_OPERATION_PROCESS,
        [SKUA_FLUSH_NOW] = BROTLI_OPERATION_FLUSH,
        [SKUA_FLUSH_END] = BROTLI_OPERATION_FINISH,
    };
    BrotliEncoderState *b = encoder;
    const uint8_t *in = (const uint8_t *)content->ptr;
    uint8_t *to = (uint8_t *)out;
    size_t left = content->len, spare = room;
    bool more = true;
    while (more && spare) {
        if (!BrotliEncoderCompressStream(b, operations[flush], &left, &in, &spare, &to, NULL))
            return SKUA_FILTER_FAILED;
        more = left || BrotliEncoderHasMoreOutput(b);
    }
    *content = slice_from(*content, content->len - left);
    *octets = room - spare;
    return more ? SKUA_FILTER_MORE : SKUA_FILTER_ALL;
}

static void brotli_close(void *encoder)
{
    BrotliEncoderDestroyInstance(encoder);
}

const encoder_table brotli_encoder = { .open = brotli_open,
                                       .run = brotli_run,
                                       .close = brotli_close };

#endif
