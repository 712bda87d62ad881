// SPDX-License-Identifier: MIT

#include "conf/pattern.h"

#include <string.h>

// A part of a pattern, and a segment of a path.
static bool pattern_takes(const char *part, size_t len, const char *segment, size_t own)
{
    if (part[0] == '{') return own > 0;
    return own == len && memcmp(part, segment, len) == 0;
}

bool conf_pattern_has(const char *pattern, const char *path, size_t len)
{
    const char *end = path + len;
    while (*pattern == '/' && path < end && *path == '/') {
        const char *part = ++pattern, *segment = ++path;
        size_t octets = strcspn(part, "/");
        while (path < end && *path != '/')
            path++;
        bool is_rest = octets > 4 && memcmp(part + octets - 4, "...}", 4) == 0;
        if (octets == 0 || is_rest) return true; // all that is below
        if (octets == 3 && memcmp(part, "{$}", 3) == 0) return path == segment && path == end;
        if (!pattern_takes(part, octets, segment, (size_t)(path - segment))) return false;
        pattern += octets;
    }
    return !*pattern && path == end;
}
