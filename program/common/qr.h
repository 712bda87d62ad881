// SPDX-License-Identifier: MIT
//
// QR code, ISO/IEC 18004, of an address. Texts of at most 106 octets, with the lowest of the four
// levels of error correction, which is enough for a screen.
#ifndef PROGRAM_COMMON_QR_H
#define PROGRAM_COMMON_QR_H

#include <stdbool.h>
#include <stddef.h>

enum { QR_TEXT_OCTETS_MAX = 106, QR_SIZE_MAX = 37 };

typedef struct qr {
    unsigned size; // modules in a row
    bool dark[QR_SIZE_MAX][QR_SIZE_MAX];
} qr;

// Returns: false, and code means nothing, when the text is too long.
bool qr_make(qr *code, const char *text);

// Writes it as lines of half blocks with the light border that it needs. text: ended by NUL, cut to room.
// Returns: the length of the whole.
size_t qr_write(const qr *code, char *text, size_t room);

#endif
