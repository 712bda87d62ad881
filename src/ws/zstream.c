// SPDX-License-Identifier: MIT
//
// zlib for single messages: RFC 7692 §7.2. A message ends with an empty block that is not sent. A stream may also
// have a last block, and go on behind it with the same window. Whether a peer may refer further back than to the window
// that was agreed on is zlib's to judge: what is inflated is the same.

#include "ws/zstream.h"

#if !defined(SKUA_NO_WEBSOCKET) && defined(SKUA_ZLIB)

#include "base/assert.h"
#include "http/ws_deflate.h"

#include <stdint.h>
#include <zlib.h>

enum {
    ZSTREAM_LEVEL = 1, // as for gzip: a fifth of the usual one's time, and nearly as much for text
    ZSTREAM_MEMORY_LESS =
        7, // a window of 15 bits has memory of level 8, and so down: 8 octets for one of the window
    ZSTREAM_PIECE_MAX = 1 << 30, // a uInt counts it
    ZSTREAM_STORED_MAX = 65535,  // octets of a block that is not compressed
    ZSTREAM_AT_BLOCK_END = 128,  // in z_stream.data_type, with
    ZSTREAM_UNUSED_BITS = 63
};

static const char zstream_tail[WS_ZSTREAM_TAIL_OCTETS] = { 0, 0, (char)0xff, (char)0xff };

struct ws_deflater {
    z_stream z;
};

struct ws_inflater {
    z_stream z;
    bool has_ended; // its last block is behind; another stream may follow
    bool is_whole;  // no block has begun that has not ended
};

static void *zstream_alloc(void *memory, uInt items, uInt size)
{
    return counted_alloc(memory, (size_t)items * size);
}

static void zstream_free(void *memory, void *address)
{
    (void)memory;
    counted_free(address);
}

static void zstream_init(z_stream *z, lease *memory)
{
    z->zalloc = zstream_alloc;
    z->zfree = zstream_free;
    z->opaque = memory;
}

// ---- Deflating ----

ws_deflater *ws_deflater_open(lease *memory, unsigned bits)
{
    SKUA_ASSERT(bits >= WS_DEFLATE_BITS_MIN && bits <= WS_DEFLATE_BITS_MAX);
    ws_deflater *d = counted_zeroed(memory, sizeof *d);
    if (!d) return NULL;
    zstream_init(&d->z, memory);
    if (deflateInit2(&d->z, ZSTREAM_LEVEL, Z_DEFLATED, -(int)bits, (int)bits - ZSTREAM_MEMORY_LESS,
                     Z_DEFAULT_STRATEGY) == Z_OK)
        return d;
    counted_free(d);
    return NULL;
}

void ws_deflater_close(ws_deflater *d)
{
    if (!d) return;
    (void)deflateEnd(&d->z);
    counted_free(d);
}

void ws_deflater_reset(ws_deflater *d)
{
    int done = deflateReset(&d->z);
    SKUA_ASSERT(done == Z_OK);
    (void)done;
}

// When there is no room left, either the message has not got shorter, or zlib would have more to write. Behind a
// reset nothing refers to what was before, so the peer, which never sees this message's octets, misses nothing.
bool ws_deflater_run(ws_deflater *d, slice message, char *out, size_t *octets)
{
    SKUA_ASSERT(message.len > 0);
    if (message.len > ZSTREAM_PIECE_MAX) return false;
    uInt room = (uInt)message.len + WS_ZSTREAM_TAIL_OCTETS;
    d->z.next_in = (Bytef *)(uintptr_t)message.ptr; // it is only read
    d->z.avail_in = (uInt)message.len;
    d->z.next_out = (Bytef *)out;
    d->z.avail_out = room;
    int done = deflate(&d->z, Z_SYNC_FLUSH);
    if (done != Z_OK || d->z.avail_out == 0) {
        ws_deflater_reset(d);
        return false;
    }
    SKUA_ASSERT(d->z.avail_in == 0);
    *octets = room - d->z.avail_out - WS_ZSTREAM_TAIL_OCTETS;
    return true;
}

// RFC 1951 §3.2.4: a head of five octets, as each block begins at one.
size_t ws_zstream_store(slice octets, char *out)
{
    char *at = out;
    while (octets.len) {
        size_t len = octets.len < ZSTREAM_STORED_MAX ? octets.len : ZSTREAM_STORED_MAX;
        at[0] = 0;
        at[1] = (char)(len & 255);
        at[2] = (char)(len >> 8);
        at[3] = (char)~at[1];
        at[4] = (char)~at[2];
        memcpy(at + 5, octets.ptr, len);
        at += 5 + len;
        octets = slice_from(octets, len);
    }
    return (size_t)(at - out);
}

// ---- Inflating ----

ws_inflater *ws_inflater_open(lease *memory, unsigned bits)
{
    ws_inflater *i = counted_zeroed(memory, sizeof *i);
    if (!i) return NULL;
    zstream_init(&i->z, memory);
    if (bits < WS_DEFLATE_BITS_MIN)
        bits = WS_DEFLATE_BITS_MIN; // some versions of zlib take 9 where they were told 8
    if (inflateInit2(&i->z, -(int)bits) == Z_OK) return i;
    counted_free(i);
    return NULL;
}

void ws_inflater_close(ws_inflater *i)
{
    if (!i) return;
    (void)inflateEnd(&i->z);
    counted_free(i);
}

void ws_inflater_reset(ws_inflater *i)
{
    int done = inflateReset(&i->z);
    SKUA_ASSERT(done == Z_OK);
    (void)done;
    i->has_ended = i->is_whole = false;
}

// A client that ends its stream many times in a message must not make the window be copied each time, so it is kept
// where it is.
static void inflater_go_on_behind_end(ws_inflater *i)
{
    int done = inflateResetKeep(&i->z);
    SKUA_ASSERT(done == Z_OK);
    (void)done;
    i->has_ended = false;
}

// A call that finds nothing to do leaves data_type as in the middle of a block, so that only one that has done something
// is asked.
static void inflater_judge(ws_inflater *i, bool has_moved)
{
    unsigned unused = (unsigned)i->z.data_type & ZSTREAM_UNUSED_BITS;
    if (has_moved) i->is_whole = (i->z.data_type & ZSTREAM_AT_BLOCK_END) && !unused;
}

static ws_inflated inflater_result(ws_inflater *i, int done, slice input)
{
    switch (done) {
    case Z_STREAM_END: i->has_ended = true; return input.len ? WS_INFLATED_MORE : WS_INFLATED_ALL;
    case Z_OK:
    case Z_BUF_ERROR: return i->z.avail_out == 0 || input.len ? WS_INFLATED_MORE : WS_INFLATED_ALL;
    case Z_MEM_ERROR: return WS_INFLATED_LACKS;
    default: return WS_INFLATED_BAD;
    }
}

ws_inflated ws_inflater_run(ws_inflater *i, slice *input, char *out, size_t room, size_t *octets)
{
    SKUA_ASSERT(room > 0);
    *octets = 0;
    if (i->has_ended && input->len == 0) return WS_INFLATED_ALL;
    if (i->has_ended) inflater_go_on_behind_end(i);
    uInt given = input->len < ZSTREAM_PIECE_MAX ? (uInt)input->len : ZSTREAM_PIECE_MAX;
    uInt most = room < ZSTREAM_PIECE_MAX ? (uInt)room : ZSTREAM_PIECE_MAX;
    i->z.next_in = (Bytef *)(uintptr_t)input->ptr; // it is only read
    i->z.avail_in = given;
    i->z.next_out = (Bytef *)out;
    i->z.avail_out = most;
    int done = inflate(&i->z, Z_SYNC_FLUSH);
    *input = slice_from(*input, given - i->z.avail_in);
    *octets = most - i->z.avail_out;
    inflater_judge(i, i->z.avail_in < given || *octets > 0);
    return inflater_result(i, done, *input);
}

slice ws_inflater_tail(const ws_inflater *i)
{
    return slice_make(zstream_tail, i->has_ended ? 0 : sizeof zstream_tail);
}

bool ws_inflater_is_whole(const ws_inflater *i)
{
    return i->has_ended || i->is_whole;
}

#endif
