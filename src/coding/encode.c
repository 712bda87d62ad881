// SPDX-License-Identifier: MIT
//
// Content that is compressed in one go.

#include "coding/encoder.h"

#include "base/contract.h"

_Static_assert((int)SKUA_CODING_GZIP == (int)CODING_GZIP &&
                   (int)SKUA_CODING_BROTLI == (int)CODING_BROTLI &&
                   (int)SKUA_CODING_ZSTD == (int)CODING_ZSTD,
               "the public names have the same numbers");

static const encoder_table *encode_table(skua_coding coding, const char *function)
{
    if (coding < SKUA_CODING_GZIP || coding > SKUA_CODING_ZSTD)
        contract_broken(function, "coding is none of skua_coding");
    return encoder_of((content_coding)coding);
}

bool skua_coding_is_built(skua_coding coding)
{
    return encode_table(coding, __func__) != NULL;
}

// Only memory can be what is missing, since the content is all there.
static skua_status encode_all(const encoder_table *table, void *encoder, slice content, slice out,
                              size_t *octets)
{
    char *to = (char *)(uintptr_t)out.ptr;
    skua_filtered done = SKUA_FILTER_MORE;
    size_t used = 0;
    while (done == SKUA_FILTER_MORE) {
        size_t written = 0;
        if (used == out.len) return SKUA_ELIMIT;
        done = table->run(encoder, &content, SKUA_FLUSH_END, to + used, out.len - used, &written);
        used += written;
    }
    *octets = used;
    return done == SKUA_FILTER_ALL ? SKUA_OK : SKUA_ENOMEM;
}

skua_status skua_encode(skua_coding coding, skua_effort effort, skua_slice content, char *out,
                        size_t room, size_t *octets)
{
    const encoder_table *table = encode_table(coding, __func__);
    CONTRACT((unsigned)effort <= SKUA_EFFORT_BEST, "effort is none of skua_effort");
    CONTRACT_SLICE(content);
    CONTRACT(out || !room, "out must not be NULL");
    CONTRACT_GIVEN(octets);
    if (!table) return SKUA_EUNSUPPORTED;
    void *encoder = table->open(NULL, effort, content.len);
    if (!encoder) return SKUA_ENOMEM;
    size_t used = 0;
    skua_status status = encode_all(table, encoder, content, slice_make(out, room), &used);
    table->close(encoder);
    if (!status) *octets = used;
    return status;
}
