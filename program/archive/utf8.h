// SPDX-License-Identifier: MIT
//
// Whether a file name, which may be any octets, is UTF-8 text, for archives and fields.
#ifndef PROGRAM_ARCHIVE_UTF8_H
#define PROGRAM_ARCHIVE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

// Whether octets are UTF-8, RFC 3629.
bool utf8_is_right(const char *octets, size_t len);

bool utf8_is_ascii(const char *octets, size_t len);

#endif
