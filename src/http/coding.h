// SPDX-License-Identifier: MIT
//
// Content codings, and which of them a client takes: Accept-Encoding, RFC 9110 §8.4.1 and §12.5.3.
#ifndef SKUA_HTTP_CODING_H
#define SKUA_HTTP_CODING_H

#include "base/slice.h"

typedef enum content_coding {
    CODING_IDENTITY, // as it is
    CODING_GZIP,
    CODING_BROTLI,
    CODING_ZSTD,
    CODING_COUNT
} content_coding;

// How much a client wants each coding, in thousandths; 0: it takes none of that.
typedef struct coding_wishes {
    uint16_t quality[CODING_COUNT];
} coding_wishes;

// The name of a coding in Content-Encoding. "identity" stands in no Content-Encoding.
slice coding_name(content_coding coding);

// Reads the values of all Accept-Encoding lines of a request, in any order. Without one the client gets
// content as it is. A member that breaks the grammar is passed over.
coding_wishes coding_read(const slice *lines, size_t count);

// The coding that the client wants most; of those that it wants alike the first in order. identity need
// not stand there: it is chosen when it is wanted more than each of them.
// Returns CODING_COUNT if the client takes none of them and refuses identity too: "identity;q=0" or "*;q=0".
content_coding coding_choose(const coding_wishes *wishes, const content_coding *order,
                             size_t count);

// Reads a qvalue, in thousandths, RFC 9110 §12.4.2. Returns false, and *weight means nothing, when it is none.
bool coding_read_qvalue(slice text, unsigned *weight);

#endif
