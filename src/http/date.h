// SPDX-License-Identifier: MIT
//
// HTTP dates, RFC 9110 §5.6.7, without libc's time zones and locales.
#ifndef SKUA_HTTP_DATE_H
#define SKUA_HTTP_DATE_H

#include "base/slice.h"

#include <stdint.h>

enum { DATE_OCTETS = 29 };

// Writes an IMF-fixdate of DATE_OCTETS octets, no NUL. unix_seconds: years 1970 to 9999, clamped.
void date_write(char *out, int64_t unix_seconds);

// Reads an IMF-fixdate, RFC 850 or asctime date, exactly. now: decides the century of RFC 850
// years.
// Returns false for anything else.
bool date_read(slice text, int64_t now, int64_t *unix_seconds);

#endif
