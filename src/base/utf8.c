// SPDX-License-Identifier: MIT
//
// Reading UTF-8. What is accepted here is shown, logged or routed by, so nothing is guessed: a text
// that two readers could take for different ones is none.

#include "base/utf8.h"

// The length of the character that an octet begins; 0 when it begins none.
static size_t utf8_len(unsigned first)
{
    if (first < 0x80) return 1;
    if (first < 0xc2) return 0;
    if (first < 0xe0) return 2;
    if (first < 0xf0) return 3;
    return first < 0xf5 ? 4 : 0;
}

size_t utf8_read(slice text, uint32_t *point)
{
    static const uint32_t shortest[5] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char *octets = (const unsigned char *)text.ptr;
    size_t len = utf8_len(octets[0]);
    if (len == 0 || len > text.len) return 0;
    uint32_t value = len == 1 ? octets[0] : octets[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((octets[i] & 0xc0) != 0x80) return 0;
        value = value << 6 | (octets[i] & 0x3fu);
    }
    if (value < shortest[len] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return 0;
    *point = value;
    return len;
}

bool utf8_is_valid(slice text)
{
    uint32_t point;
    while (text.len) {
        size_t len = (unsigned char)text.ptr[0] < 0x80 ? 1 : utf8_read(text, &point);
        if (len == 0) return false;
        text = slice_from(text, len);
    }
    return true;
}
