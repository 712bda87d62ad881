// SPDX-License-Identifier: MIT
//
// HPACK: the library's, and that of nghttp2. Each case can be repeated for ever, since what it does to
// the dynamic table is over when it comes again.

#include "http/hpack_decode.h"
#include "http/hpack_encode.h"
#include "http/huffman.h"
#include "http/octets.h"

#include "micro.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>

enum { HPACK_WIRE_OCTETS = 65536, HPACK_PAIRS = 32 };

typedef struct hpack_pair {
    const char *name, *value;
} hpack_pair;

// A decoder and an encoder of each kind, and what they are to read or to write.
typedef struct hpack_case {
    hpack_decoder ours;
    hpack_encoder writer;
    nghttp2_hd_inflater *plain;
    nghttp2_hd_deflater *plain_writer;
    slice wire;
    const hpack_pair *pairs;
    size_t count;
    nghttp2_nv nv[HPACK_PAIRS];
} hpack_case;

static lease memory;
static budget whole;

// ---- Decoding ----

static uint64_t hpack_decode_ours(const void *input)
{
    hpack_case *c = *(hpack_case *const *)input;
    hpack_field field;
    uint64_t octets = 0;
    hpack_decoder_begin(&c->ours, c->wire);
    for (;;) {
        switch (hpack_decoder_next(&c->ours, &field)) {
        case HPACK_FIELD: octets += field.name.len + field.value.len; break;
        case HPACK_END: return octets;
        case HPACK_FAULT:
        case HPACK_NO_MEMORY: return 0;
        }
    }
}

static uint64_t hpack_decode_plain(const void *input)
{
    hpack_case *c = *(hpack_case *const *)input;
    const uint8_t *at = (const uint8_t *)c->wire.ptr;
    size_t left = c->wire.len;
    uint64_t octets = 0;
    for (;;) {
        nghttp2_nv nv;
        int flags = 0;
        ssize_t n = nghttp2_hd_inflate_hd2(c->plain, &nv, &flags, at, left, 1);
        if (n < 0) return 0;
        at += n;
        left -= (size_t)n;
        if (flags & NGHTTP2_HD_INFLATE_EMIT) octets += nv.namelen + nv.valuelen;
        if (flags & NGHTTP2_HD_INFLATE_FINAL) break;
    }
    nghttp2_hd_inflate_end_headers(c->plain);
    return octets;
}

// ---- Encoding ----

static char encoded[HPACK_WIRE_OCTETS];

// Both ways come to the same when they have written something.
static uint64_t hpack_encode_ours(const void *input)
{
    hpack_case *c = *(hpack_case *const *)input;
    char *at = hpack_encode_begin(&c->writer, encoded);
    at = hpack_encode_status(&c->writer, at, 200);
    for (size_t i = 1; i < c->count; i++) {
        at = hpack_encode_field(
            &c->writer, at, slice_make((const char *)c->nv[i].name, c->nv[i].namelen),
            slice_make((const char *)c->nv[i].value, c->nv[i].valuelen), HPACK_INDEXING_BY_NAME);
    }
    return at > encoded;
}

// The same as the library's own responses are written: the date is encoded once a second.
static uint64_t hpack_encode_own(const void *input)
{
    static char date[64];
    static size_t date_len;
    hpack_case *c = *(hpack_case *const *)input;
    slice value = slice_make((const char *)c->nv[1].value, c->nv[1].valuelen);
    if (!date_len) date_len = (size_t)(hpack_encode_plain(date, SKUA_SLICE("date"), value) - date);
    char *at = hpack_encode_begin(&c->writer, encoded);
    at = hpack_encode_status(&c->writer, at, 200);
    octets_copy(at, slice_make(date, date_len));
    at += date_len;
    value = slice_make((const char *)c->nv[2].value, c->nv[2].valuelen);
    at = hpack_encode_known(&c->writer, at, HPACK_STATIC_CONTENT_TYPE, value);
    return hpack_encode_length(at, 13) > encoded;
}

static uint64_t hpack_encode_plainly(const void *input)
{
    hpack_case *c = *(hpack_case *const *)input;
    return nghttp2_hd_deflate_hd(c->plain_writer, (uint8_t *)encoded, sizeof encoded, c->nv,
                                 c->count) > 0;
}

// ---- Cases ----

static const hpack_pair browser[] = {
    { ":method", "GET" },
    { ":scheme", "https" },
    { ":authority", "www.example.com" },
    { ":path", "/articles/2024/spring/overview?page=2" },
    { "user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:124.0) Gecko/20100101 Firefox/124.0" },
    { "accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" },
    { "accept-language", "en-GB,en;q=0.5" },
    { "accept-encoding", "gzip, deflate, br" },
    { "cookie", "session=3f9a2c77d1e84b0f; theme=dark; seen=1710000000" },
    { "upgrade-insecure-requests", "1" },
    { "sec-fetch-dest", "document" },
    { "if-none-match", "\"1a2b3c-5d6e7f\"" },
};

static const hpack_pair response[] = {
    { ":status", "200" },
    { "date", "Mon, 21 Oct 2013 20:13:21 GMT" },
    { "content-type", "text/plain" },
    { "content-length", "13" },
};

enum { BROWSER = sizeof browser / sizeof *browser, RESPONSE = sizeof response / sizeof *response };

static hpack_case *case_new(const hpack_pair *pairs, size_t count)
{
    hpack_case *c = calloc(1, sizeof *c);
    if (!c) abort();
    hpack_decoder_init(&c->ours, &memory, 4096, HPACK_WIRE_OCTETS);
    hpack_encoder_init(&c->writer, &memory, 4096);
    if (nghttp2_hd_inflate_new(&c->plain) || nghttp2_hd_deflate_new(&c->plain_writer, 4096))
        abort();
    c->count = count;
    for (size_t i = 0; i < count; i++) {
        uint8_t *name = (uint8_t *)(uintptr_t)pairs[i].name;
        uint8_t *value = (uint8_t *)(uintptr_t)pairs[i].value;
        c->nv[i] = (nghttp2_nv){ name, value, strlen(pairs[i].name), strlen(pairs[i].value), 0 };
    }
    return c;
}

// The second of two equal blocks, when all is in the table.
static hpack_case *case_indexed(const hpack_pair *pairs, size_t count)
{
    static uint8_t wire[HPACK_WIRE_OCTETS];
    hpack_case *c = case_new(pairs, count);
    for (int round = 0; round < 2; round++) {
        ssize_t n = nghttp2_hd_deflate_hd(c->plain_writer, wire, sizeof wire, c->nv, count);
        if (n < 0) abort();
        c->wire = slice_make((const char *)wire, (size_t)n);
        const hpack_case *input = c;
        if (round == 0 && (!hpack_decode_ours(&input) || !hpack_decode_plain(&input))) abort();
    }
    return c;
}

// kind: 0x40 for fields that are added, 0 for those that are not. All strings in Huffman's code.
static hpack_case *case_literal(const hpack_pair *pairs, size_t count, unsigned kind)
{
    hpack_case *c = case_new(pairs, count);
    char *wire = malloc(HPACK_WIRE_OCTETS), *at = wire;
    if (!wire) abort();
    for (size_t i = 0; i < count; i++) {
        *at++ = (char)kind;
        slice both[] = { slice_of(pairs[i].name), slice_of(pairs[i].value) };
        for (int s = 0; s < 2; s++) {
            size_t len = huffman_encoded_len(both[s]);
            *at++ = (char)(len < 0x7f ? 0x80 | len : 0xff);
            if (len >= 0x7f) {
                for (len -= 0x7f; len >= 0x80; len >>= 7)
                    *at++ = (char)(0x80 | (len & 0x7f));
                *at++ = (char)len;
            }
            at = huffman_encode(at, both[s]);
        }
    }
    c->wire = slice_make(wire, (size_t)(at - wire));
    return c;
}

int main(int argc, char **argv)
{
    static char path[8193] = "/";
    for (size_t i = 1; i < sizeof path - 1; i++)
        path[i] = "eiasnt-/.=%20ABC_pzqxlrdo?&"[i * 7919 % 27];
    const hpack_pair paths = { ":path", path };
    budget_init(&whole, 1 << 26, 1);
    lease_init(&memory, &whole, 0, NULL);
    hpack_case *all[] = {
        case_indexed(browser, BROWSER),       case_literal(browser, BROWSER, 0),
        case_literal(browser, BROWSER, 0x40), case_literal(&paths, 1, 0),
        case_new(response, RESPONSE),
    };
    const micro_case cases[] = {
        { "decode, 2nd block", all[0]->wire.len, hpack_decode_ours, hpack_decode_plain, &all[0] },
        { "decode, not indexed", all[1]->wire.len, hpack_decode_ours, hpack_decode_plain, &all[1] },
        { "decode, added", all[2]->wire.len, hpack_decode_ours, hpack_decode_plain, &all[2] },
        { "decode, 8 KiB", sizeof path - 1, hpack_decode_ours, hpack_decode_plain, &all[3] },
        { "encode, 4 fields", 0, hpack_encode_ours, hpack_encode_plainly, &all[4] },
        { "encode, 4 of our own", 0, hpack_encode_own, hpack_encode_plainly, &all[4] },
    };
    return micro_run(argc, argv, "hpack", cases, sizeof cases / sizeof *cases);
}
