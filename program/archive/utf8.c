// SPDX-License-Identifier: MIT

#include "archive/utf8.h"

bool utf8_is_ascii(const char *octets, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)octets[i] > 0x7f) return false;
    return true;
}

// The octets of the character that begins there; 0: there is none. Forms that are longer than need be, surrogates and
// what is beyond U+10FFFF are refused by the least and the most that the second octet may be.
static size_t utf8_character(const unsigned char *at, size_t len)
{
    unsigned char first = at[0], least = 0x80, most = 0xbf;
    size_t octets = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (octets == 0 || octets > len || first > 0xf4) return 0;
    if (first == 0xe0) least = 0xa0;
    if (first == 0xed) most = 0x9f;
    if (first == 0xf0) least = 0x90;
    if (first == 0xf4) most = 0x8f;
    for (size_t i = 1; i < octets; i++) {
        if (at[i] < least || at[i] > most) return 0;
        least = 0x80;
        most = 0xbf;
    }
    return octets;
}

bool utf8_is_right(const char *octets, size_t len)
{
    const unsigned char *at = (const unsigned char *)octets;
    while (len) {
        size_t taken = utf8_character(at, len);
        if (!taken) return false;
        at += taken;
        len -= taken;
    }
    return true;
}
