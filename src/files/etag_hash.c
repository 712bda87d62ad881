// SPDX-License-Identifier: MIT
//
// The hash takes whole words, so that octets that make none yet wait for the next ones.

#include "base/contract.h"
#include "http/etag.h"
#include "skua/skua.h"

_Static_assert(sizeof(siphash_stream) == sizeof(((skua_etag_hash *)0)->state), "state holds it");

// One that is { 0 } begins.
static siphash_stream etag_hash_load(const skua_etag_hash *hash)
{
    siphash_stream stream;
    memcpy(&stream, hash->state, sizeof stream);
    if (!stream.octets && !hash->rest_len) etag_begin(&stream);
    return stream;
}

// Adds octets to what is not a word yet. Returns those behind that word.
static slice etag_hash_fill(skua_etag_hash *hash, siphash_stream *stream, slice octets)
{
    size_t taken = sizeof hash->rest - hash->rest_len;
    if (octets.len < taken) taken = octets.len;
    memcpy(hash->rest + hash->rest_len, octets.ptr, taken);
    hash->rest_len = (unsigned char)(hash->rest_len + taken);
    if (hash->rest_len == sizeof hash->rest) {
        siphash_stream_add(stream, slice_make(hash->rest, sizeof hash->rest));
        hash->rest_len = 0;
    }
    return slice_from(octets, taken);
}

void skua_etag_hash_add(skua_etag_hash *hash, skua_slice octets)
{
    CONTRACT_GIVEN(hash);
    CONTRACT_SLICE(octets);
    siphash_stream stream = etag_hash_load(hash);
    while (octets.len) {
        size_t words = octets.len & ~(sizeof hash->rest - 1);
        if (hash->rest_len || !words) {
            octets = etag_hash_fill(hash, &stream, octets);
            continue;
        }
        siphash_stream_add(&stream, slice_make(octets.ptr, words));
        octets = slice_from(octets, words);
    }
    memcpy(hash->state, &stream, sizeof stream);
}

size_t skua_etag_hash_end(skua_etag_hash *hash, char etag[SKUA_FILE_ETAG_OCTETS])
{
    CONTRACT_GIVEN(hash);
    CONTRACT_GIVEN(etag);
    siphash_stream stream = etag_hash_load(hash);
    return etag_write_hash(siphash_stream_end(&stream, slice_make(hash->rest, hash->rest_len)),
                           etag);
}
