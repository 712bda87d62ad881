// SPDX-License-Identifier: MIT
//
// UTF-8, RFC 3629: shortest forms only, no surrogates, nothing past U+10FFFF.
#ifndef SKUA_BASE_UTF8_H
#define SKUA_BASE_UTF8_H

#include "base/slice.h"

// How many octets the character at the start of text has, and its code point in *point; 0 when
// text does not begin with a character, and then *point is untouched. text: not empty.
size_t utf8_read(slice text, uint32_t *point);

// Whether all of a text is UTF-8.
bool utf8_is_valid(slice text);

#endif
