// SPDX-License-Identifier: MIT
//
// zstd. No window is above the 8 MiB that clients must have (RFC 9659). That of content that is streamed is far
// below it, and the tables are small, so that many responses can be under way.

#include "coding/zstd.h"

#ifdef SKUA_ZSTD

#include <zstd.h>

// 0: as the level has it.
typedef struct zstd_level {
    int level, window_log, table_log;
} zstd_level;

static const zstd_level zstd_levels[] = {
    [SKUA_EFFORT_STREAM] = { 3, 17, 15 },
    [SKUA_EFFORT_KEPT] = { 6, 21, 0 },
    [SKUA_EFFORT_BEST] = { 19, 23, 0 },
};

// Its own allocator cannot be had through the stable interface, so its size is asked for.
typedef struct zstd_encoding {
    ZSTD_CCtx *context;
    lease *memory;
    size_t counted;
} zstd_encoding;

static void zstd_count(zstd_encoding *z)
{
    if (!z->memory) return;
    size_t octets = ZSTD_sizeof_CCtx(z->context);
    if (octets > z->counted) lease_add(z->memory, octets - z->counted);
    else lease_drop(z->memory, z->counted - octets);
    z->counted = octets;
}

// The size lets the tables of short content be small; it must be right then.
static bool zstd_set(ZSTD_CCtx *context, const zstd_level *by, size_t octets)
{
    size_t set = ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, by->level);
    if (!ZSTD_isError(set)) set = ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, by->window_log);
    if (!ZSTD_isError(set)) set = ZSTD_CCtx_setParameter(context, ZSTD_c_hashLog, by->table_log);
    if (!ZSTD_isError(set)) set = ZSTD_CCtx_setParameter(context, ZSTD_c_chainLog, by->table_log);
    if (!ZSTD_isError(set) && octets) set = ZSTD_CCtx_setPledgedSrcSize(context, octets);
    return !ZSTD_isError(set);
}

static void *zstd_open(lease *memory, skua_effort effort, size_t octets)
{
    zstd_encoding *z = counted_zeroed(memory, sizeof *z);
    if (!z) return NULL;
    z->memory = memory;
    z->context = ZSTD_createCCtx();
    if (z->context && zstd_set(z->context, &zstd_levels[effort], octets)) {
        zstd_count(z);
        return z;
    }
    (void)ZSTD_freeCCtx(z->context);
    counted_free(z);
    return NULL;
}

static skua_filtered zstd_run(void *encoder, slice *content, skua_flush flush, char *out,
                              size_t room, size_t *octets)
{
    static const ZSTD_EndDirective directives[] = { [SKUA_FLUSH_NONE] = ZSTD_e_continue,
                                                    [SKUA_FLUSH_NOW] = ZSTD_e_flush,
                                                    [SKUA_FLUSH_END] = ZSTD_e_end };
    zstd_encoding *z = encoder;
    ZSTD_inBuffer in = { content->ptr, content->len, 0 };
    ZSTD_outBuffer to = { out, room, 0 };
    bool more = true;
    while (more && to.pos < to.size) {
        size_t left = ZSTD_compressStream2(z->context, &to, &in, directives[flush]);
        if (ZSTD_isError(left)) return SKUA_FILTER_FAILED;
        more = flush ? left != 0 : in.pos < in.size;
    }
    zstd_count(z);
    *content = slice_from(*content, in.pos);
    *octets = to.pos;
    return more ? SKUA_FILTER_MORE : SKUA_FILTER_ALL;
}

static void zstd_close(void *encoder)
{
    zstd_encoding *z = encoder;
    if (z->memory) lease_drop(z->memory, z->counted);
    (void)ZSTD_freeCCtx(z->context);
    counted_free(z);
}

const encoder_table zstd_encoder = { .open = zstd_open, .run = zstd_run, .close = zstd_close };

#endif
