// SPDX-License-Identifier: MIT
//
// Decoding chunked content: by the library's decoder, which takes it in any pieces and refuses what
// the grammar does not have, and by a loop that believes everything and needs all of it at once.

#include "http/chunk.h"

#include "micro.h"

#include <stdio.h>

enum { CHUNK_WIRE_OCTETS = 131072 };

static const chunk_limits limits = { .ext_octets_max = 4096,
                                     .trailer_octets_max = 8192,
                                     .trailers_max = 100 };

static uint64_t chunk_ours(const void *input)
{
    slice wire = *(const slice *)input, data;
    uint64_t octets = 0;
    chunk_decoder decoder;
    chunk_decoder_init(&decoder, &limits, NULL);
    for (;;) {
        switch (chunk_next(&decoder, &wire, &data)) {
        case CHUNK_DATA: octets += data.len; break;
        case CHUNK_END: return octets;
        case CHUNK_MORE:
        case CHUNK_FAULT: return 0;
        }
    }
}

static unsigned chunk_value(char c)
{
    if (c >= '0' && c <= '9') return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f') return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') return (unsigned)(c - 'A') + 10;
    return 16;
}

static uint64_t chunk_plain(const void *input)
{
    const slice *wire = input;
    const char *at = wire->ptr, *end = wire->ptr + wire->len;
    uint64_t octets = 0;
    while (at < end) {
        uint64_t size = 0;
        for (unsigned digit; at < end && (digit = chunk_value(*at)) < 16; at++)
            size = size << 4 | digit;
        while (at < end && *at++ != '\n') {
        }
        if (size == 0) return octets;
        octets += size;
        at += size + 2;
    }
    return 0;
}

// total octets of content in chunks of each, with an extension behind every size.
static slice chunk_wire(char *out, size_t total, size_t each, const char *extension)
{
    size_t at = 0;
    for (size_t left = total, size; left; left -= size) {
        size = left < each ? left : each;
        at += (size_t)snprintf(out + at, CHUNK_WIRE_OCTETS - at, "%zx%s\r\n", size, extension);
        memset(out + at, 'a', size);
        at += size;
        memcpy(out + at, "\r\n", 2);
        at += 2;
    }
    memcpy(out + at, "0\r\n\r\n", 5);
    return slice_make(out, at + 5);
}

int main(int argc, char **argv)
{
    static char text[4][CHUNK_WIRE_OCTETS];
    slice wires[] = {
        chunk_wire(text[0], 13, 13, ""),
        chunk_wire(text[1], 1024, 16, ""),
        chunk_wire(text[2], 65536, 4096, ""),
        chunk_wire(text[3], 1024, 64, ";name=\"quoted value\""),
    };
    const micro_case cases[] = {
        { "13 octets", wires[0].len, chunk_ours, chunk_plain, &wires[0] },
        { "64 of 16 octets", wires[1].len, chunk_ours, chunk_plain, &wires[1] },
        { "16 of 4 KiB", wires[2].len, chunk_ours, chunk_plain, &wires[2] },
        { "16, extensions", wires[3].len, chunk_ours, chunk_plain, &wires[3] },
    };
    return micro_run(argc, argv, "chunked", cases, sizeof cases / sizeof *cases);
}
