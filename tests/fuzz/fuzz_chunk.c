// SPDX-License-Identifier: MIT
//
// The chunk decoder. However the wire is cut, it comes to the same content, trailers, end or fault;
// and content that it gave, written as chunks again, comes back.
// Input: two octets that choose the split, then the wire.

#include "http/chunk.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len);

typedef struct decoding {
    arena memory;
    chunk_decoder decoder;
    chunk_event last;
    char *content; // room for as many octets as the wire has
    size_t content_len;
    size_t used;
} decoding;

static const chunk_limits limits = { .ext_octets_max = 64,
                                     .trailer_octets_max = 128,
                                     .trailers_max = 4 };

static block_store store;

static void require(bool truth)
{
    if (!truth) __builtin_trap();
}

static void decoding_begin(decoding *d, size_t room)
{
    arena_init(&d->memory, &store);
    chunk_decoder_init(&d->decoder, &limits, &d->memory);
    d->last = CHUNK_MORE;
    d->content = malloc(room + 1);
    d->content_len = d->used = 0;
    require(d->content != NULL);
}

static void decoding_end(decoding *d)
{
    free(d->content);
    arena_reset(&d->memory);
}

static void decode(decoding *d, slice wire)
{
    slice input = wire, data;
    if (d->last != CHUNK_MORE) return;
    while ((d->last = chunk_next(&d->decoder, &input, &data)) == CHUNK_DATA) {
        require(data.len > 0 && data.ptr >= wire.ptr && data.ptr + data.len == input.ptr);
        memcpy(d->content + d->content_len, data.ptr, data.len);
        d->content_len += data.len;
    }
    d->used += wire.len - input.len;
    require(d->last != CHUNK_MORE || input.len == 0);
    require((d->last == CHUNK_FAULT) == (d->decoder.fault.status != 0));
}

static void require_same_trailers(const chunk_decoder *a, const chunk_decoder *b)
{
    require(a->trailer_count == b->trailer_count);
    for (unsigned i = 0; i < a->trailer_count; i++) {
        require(slice_equal(a->trailers[i].name, b->trailers[i].name));
        require(slice_equal(a->trailers[i].value, b->trailers[i].value));
        require(a->trailers[i].name.len > 0 && chunk_trailer_allowed(a->trailers[i].name));
    }
}

static void require_same(const decoding *a, const decoding *b)
{
    require(a->last == b->last);
    require(a->used == b->used);
    require(a->decoder.fault.status == b->decoder.fault.status);
    require(strcmp(a->decoder.fault.reason, b->decoder.fault.reason) == 0);
    require(slice_equal(slice_make(a->content, a->content_len),
                        slice_make(b->content, b->content_len)));
    require_same_trailers(&a->decoder, &b->decoder);
}

// Writes content as chunks of at most piece octets, and the last chunk.
static slice encode(slice content, size_t piece)
{
    char *wire = malloc(content.len + (content.len / piece + 2) * 20 + 4);
    size_t n = 0;
    require(wire != NULL);
    while (content.len) {
        size_t take = content.len < piece ? content.len : piece;
        n += chunk_write_size(wire + n, take);
        memcpy(wire + n, content.ptr, take);
        memcpy(wire + n + take, "\r\n", 2);
        n += take + 2;
        content = slice_from(content, take);
    }
    n += chunk_write_size(wire + n, 0);
    memcpy(wire + n, "\r\n", 2);
    return slice_make(wire, n + 2);
}

static void require_round_trip(slice content, size_t piece)
{
    decoding again;
    slice wire = encode(content, piece);
    decoding_begin(&again, wire.len);
    decode(&again, wire);
    require(again.last == CHUNK_END && again.used == wire.len);
    require(slice_equal(slice_make(again.content, again.content_len), content));
    decoding_end(&again);
    free((void *)(uintptr_t)wire.ptr);
}

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
    if (len < 2) return 0;
    slice wire = slice_make((const char *)octets + 2, len - 2);
    size_t number = (size_t)octets[0] << 8 | octets[1];
    size_t split = number % (wire.len + 1);
    decoding whole, halves, single;
    block_store_init(&store, 4);
    decoding_begin(&whole, wire.len);
    decode(&whole, wire);
    decoding_begin(&halves, wire.len);
    decode(&halves, slice_make(wire.ptr, split));
    decode(&halves, slice_from(wire, split));
    decoding_begin(&single, wire.len);
    for (size_t i = 0; i < wire.len; i++)
        decode(&single, slice_make(wire.ptr + i, 1));
    require_same(&whole, &halves);
    require_same(&whole, &single);
    require_round_trip(slice_make(whole.content, whole.content_len), number % 37 + 1);
    decoding_end(&single);
    decoding_end(&halves);
    decoding_end(&whole);
    block_store_deinit(&store);
    return 0;
}
