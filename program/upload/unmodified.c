// SPDX-License-Identifier: MIT

#include "upload/unmodified.h"

#include <string.h>
#include <time.h>

enum { UNMODIFIED_OCTETS = 40 }; // the longest date has 33

// The three forms of a date, RFC 9110 §5.6.7. The program never sets a locale, so that names of days and months are those
// of the RFC.
static bool unmodified_read(const char *text, int64_t *unix_s)
{
    static const char *const forms[] = { "%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT",
                                         "%a %b %e %H:%M:%S %Y" };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct tm t = { 0 };
        const char *end = strptime(text, forms[i], &t);
        if (!end || *end) continue;
        *unix_s = timegm(&t);
        return true;
    }
    return false;
}

bool upload_is_modified(const skua_request *request, int64_t mtime_s)
{
    char text[UNMODIFIED_OCTETS];
    int64_t since_s;
    skua_slice value = skua_request_field(request, "If-Unmodified-Since");
    if (!value.len || value.len >= sizeof text) return false;
    if (skua_request_field(request, "If-Match").ptr) return false;
    memcpy(text, value.ptr, value.len);
    text[value.len] = '\0';
    return unmodified_read(text, &since_s) && mtime_s > since_s;
}
