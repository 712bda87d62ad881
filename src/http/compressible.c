// SPDX-License-Identifier: MIT

#include "http/compressible.h"

// Types whose content gets shorter. Pictures, sound and archives are compressed already.
static const char compressible_types[] =
    "text/* +json +xml application/json application/javascript application/xml application/wasm "
    "application/x-ndjson application/graphql application/x-javascript font/ttf font/otf "
    "application/vnd.ms-fontobject image/bmp image/vnd.microsoft.icon image/x-icon";

// pattern: "text/html", "text/*", or "+json", which are all types that end so.
static bool compressible_is(slice type, slice pattern)
{
    if (pattern.ptr[0] == '+') {
        if (type.len <= pattern.len) return false;
        return slice_equal_nocase(slice_from(type, type.len - pattern.len), pattern);
    }
    bool any = pattern.len > 1 && pattern.ptr[pattern.len - 1] == '*';
    if (!any) return slice_equal_nocase(type, pattern);
    pattern.len--;
    return type.len > pattern.len && slice_equal_nocase(slice_make(type.ptr, pattern.len), pattern);
}

bool compressible_type(slice type, const char *types)
{
    const char *end = type.len ? memchr(type.ptr, ';', type.len) : NULL;
    if (end) type.len = (size_t)(end - type.ptr);
    type = slice_trim(type);
    const char *at = types ? types : compressible_types;
    while (*at) {
        size_t len = strcspn(at, " ");
        if (len && compressible_is(type, slice_make(at, len))) return true;
        at += len + (at[len] == ' ');
    }
    return false;
}
