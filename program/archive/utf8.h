// SPDX-License-Identifier: MIT
//
// Names of files are octets; archives and fields want to know which of them are text.
#ifndef PROGRAM_ARCHIVE_UTF8_H
#define PROGRAM_ARCHIVE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

// Whether octets are UTF-8, RFC 3629.
bool utf8_is_right(const char *octets, size_t len);

bool utf8_is_ascii(const char *octets, size_t len);

#endif
