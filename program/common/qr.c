// SPDX-License-Identifier: MIT
//
// Versions 1 to 5 at level L have one block of codewords, at most one alignment pattern, and no version information: that
// is enough for any address, and most of what makes an encoder large is left out. The mask is always 0, with
// which such texts have no patterns that mislead readers.

#include "common/qr.h"

#include <stdint.h>
#include <string.h>

enum { QR_VERSIONS = 5, QR_CODEWORDS_MAX = 134, QR_CHECKS_MAX = 26, QR_BORDER = 2 };

// Codewords of data and of correction, by version from 1 on.
static const uint8_t qr_data[QR_VERSIONS + 1] = { 0, 19, 34, 55, 80, 108 };
static const uint8_t qr_checks[QR_VERSIONS + 1] = { 0, 7, 10, 15, 20, 26 };

// ---- Codewords ----

typedef struct qr_words {
    uint8_t octets[QR_CODEWORDS_MAX];
    unsigned bits;
} qr_words;

static void qr_put(qr_words *to, unsigned value, unsigned bits)
{
    while (bits--) {
        if (value >> bits & 1) to->octets[to->bits / 8] |= (uint8_t)(0x80 >> to->bits % 8);
        to->bits++;
    }
}

// In the field of 256 elements by x^8 + x^4 + x^3 + x^2 + 1.
static uint8_t qr_multiply(uint8_t a, uint8_t b)
{
    unsigned product = 0;
    for (unsigned bit = 8; bit--;) {
        product = product << 1 ^ (product >> 7) * 0x11d;
        if (b >> bit & 1) product ^= a;
    }
    return (uint8_t)product;
}

// The remainder of Reed and Solomon, behind the data.
static void qr_correct(uint8_t *words, unsigned data, unsigned checks)
{
    uint8_t divisor[QR_CHECKS_MAX] = { 0 }, *rest = words + data, root = 1;
    divisor[checks - 1] = 1;
    for (unsigned i = 0; i < checks; i++, root = qr_multiply(root, 2)) {
        for (unsigned j = 0; j < checks; j++) {
            divisor[j] = qr_multiply(divisor[j], root);
            if (j + 1 < checks) divisor[j] ^= divisor[j + 1];
        }
    }
    for (unsigned i = 0; i < data; i++) {
        uint8_t factor = words[i] ^ rest[0];
        memmove(rest, rest + 1, checks - 1);
        rest[checks - 1] = 0;
        for (unsigned j = 0; j < checks; j++)
            rest[j] ^= qr_multiply(divisor[j], factor);
    }
}

// Octets as they are, with a header of 12 bits, filled up.
static void qr_fill(qr_words *words, unsigned version, const char *text, size_t len)
{
    unsigned data = qr_data[version];
    qr_put(words, 4, 4);
    qr_put(words, (unsigned)len, 8);
    for (size_t i = 0; i < len; i++)
        qr_put(words, (unsigned char)text[i], 8);
    qr_put(words, 0, 4);
    for (unsigned pad = 0xec; words->bits < 8 * data; pad ^= 0xec ^ 0x11)
        qr_put(words, pad, 8);
    qr_correct(words->octets, data, qr_checks[version]);
}

// ---- Modules ----

typedef struct qr_drawing {
    qr *code;
    bool is_fixed[QR_SIZE_MAX][QR_SIZE_MAX]; // no data is there
} qr_drawing;

static void qr_set(qr_drawing *d, unsigned x, unsigned y, bool is_dark)
{
    d->code->dark[y][x] = is_dark;
    d->is_fixed[y][x] = true;
}

// Squares in squares around a module; radius: of the outermost, which may lie outside.
static void qr_draw_squares(qr_drawing *d, int x, int y, int radius)
{
    int size = (int)d->code->size;
    for (int dy = -radius; dy <= radius; dy++) {
        for (int dx = -radius; dx <= radius; dx++) {
            int far_x = dx < 0 ? -dx : dx, far_y = dy < 0 ? -dy : dy;
            int far = far_x > far_y ? far_x : far_y;
            bool is_inside = x + dx >= 0 && x + dx < size && y + dy >= 0 && y + dy < size;
            bool is_dark = radius == 2 ? far != 1 : far != 2 && far != 4;
            if (is_inside) qr_set(d, (unsigned)(x + dx), (unsigned)(y + dy), is_dark);
        }
    }
}

// Level L and mask 0 with their correction, twice; and the module that is always dark.
static void qr_draw_format(qr_drawing *d)
{
    const unsigned format = 0x77c4, last = d->code->size - 1;
    for (unsigned i = 0; i < 15; i++) {
        bool is_dark = format >> i & 1;
        if (i < 6) qr_set(d, 8, i, is_dark);
        else if (i < 8) qr_set(d, 8, i + 1, is_dark);
        else if (i == 8) qr_set(d, 7, 8, is_dark);
        else qr_set(d, 14 - i, 8, is_dark);
        if (i < 8) qr_set(d, last - i, 8, is_dark);
        else qr_set(d, 8, last - 14 + i, is_dark);
    }
    qr_set(d, 8, last - 7, true);
}

static void qr_draw_patterns(qr_drawing *d)
{
    int last = (int)d->code->size - 1;
    for (unsigned i = 0; i < d->code->size; i++) {
        qr_set(d, 6, i, i % 2 == 0);
        qr_set(d, i, 6, i % 2 == 0);
    }
    qr_draw_squares(d, 3, 3, 4);
    qr_draw_squares(d, last - 3, 3, 4);
    qr_draw_squares(d, 3, last - 3, 4);
    if (d->code->size > 21) qr_draw_squares(d, last - 6, last - 6, 2);
    qr_draw_format(d);
}

// Two columns at a time from the right, up and down by turns. The column of the timing pattern is passed over.
static void qr_draw_data(qr_drawing *d, const qr_words *words, unsigned bits)
{
    unsigned size = d->code->size, bit = 0;
    for (unsigned right = size - 1, turn = 0; right < size; right -= right == 8 ? 3 : 2, turn++) {
        for (unsigned i = 0; i < 2 * size; i++) {
            unsigned x = right - i % 2, y = turn % 2 ? i / 2 : size - 1 - i / 2;
            if (d->is_fixed[y][x]) continue;
            bool is_dark = bit < bits && words->octets[bit / 8] >> (7 - bit % 8) & 1;
            d->code->dark[y][x] = is_dark != ((x + y) % 2 == 0);
            bit++;
        }
    }
}

bool qr_make(qr *code, const char *text)
{
    size_t len = strlen(text);
    qr_words words = { { 0 }, 0 };
    unsigned version = 1;
    while (version <= QR_VERSIONS && len + 2 > qr_data[version])
        version++;
    if (version > QR_VERSIONS) return false;
    *code = (qr){ .size = 17 + 4 * version };
    qr_drawing drawing = { .code = code };
    qr_fill(&words, version, text, len);
    qr_draw_patterns(&drawing);
    qr_draw_data(&drawing, &words, 8u * (qr_data[version] + qr_checks[version]));
    return true;
}

// ---- Lines ----

// Coordinates begin with the border, which is light as all that lies outside.
static bool qr_is_light(const qr *code, unsigned x, unsigned y)
{
    x -= QR_BORDER;
    y -= QR_BORDER;
    return x >= code->size || y >= code->size || !code->dark[y][x];
}

// Terminals are taller than wide, so a character stands for two modules. Light modules are drawn: on a dark terminal
// they shine, and dark ones are its background.
size_t qr_write(const qr *code, char *text, size_t room)
{
    static const char *const halves[] = { " ", "\xe2\x96\x84", "\xe2\x96\x80", "\xe2\x96\x88" };
    unsigned all = code->size + 2 * QR_BORDER;
    size_t len = 0;
    for (unsigned y = 0; y < all; y += 2) {
        for (unsigned x = 0; x <= all; x++) {
            unsigned half = 2u * qr_is_light(code, x, y) + qr_is_light(code, x, y + 1);
            for (const char *at = x == all ? "\n" : halves[half]; *at; at++, len++)
                if (len + 1 < room) text[len] = *at;
        }
    }
    if (room) text[len < room ? len : room - 1] = '\0';
    return len;
}
