// SPDX-License-Identifier: MIT
//
// Names of precompressed files, and which of them a client takes.

#include "files/siblings.h"

// A client that sends more lines than that gets files as they are.
enum { SIBLINGS_LINES_MAX = 8 };

const content_coding siblings_order[CODING_COUNT - 1] = { CODING_BROTLI, CODING_ZSTD, CODING_GZIP };

slice siblings_suffix(content_coding coding)
{
    static const char *const suffixes[CODING_COUNT] = { "", ".gz", ".br", ".zst" };
    return slice_of(suffixes[coding]);
}

content_coding siblings_choose(skua_request *request, unsigned set)
{
    slice lines[SIBLINGS_LINES_MAX];
    content_coding order[CODING_COUNT - 1];
    size_t count = 0, kinds = 0;
    skua_field field;
    for (size_t i = 0; set && skua_request_field_at(request, i, &field); i++) {
        if (!slice_equal_nocase(field.name, SKUA_SLICE("Accept-Encoding"))) continue;
        if (count == SIBLINGS_LINES_MAX) return CODING_IDENTITY;
        lines[count++] = field.value;
    }
    if (!count) return CODING_IDENTITY;
    for (unsigned i = 0; i < CODING_COUNT - 1; i++) {
        if (set & 1U << siblings_order[i]) order[kinds++] = siblings_order[i];
    }
    coding_wishes wishes = coding_read(lines, count);
    return coding_choose(&wishes, order, kinds);
}
