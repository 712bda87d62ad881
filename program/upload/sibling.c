// SPDX-License-Identifier: MIT

#include "upload/sibling.h"

#include <stdbool.h>
#include <string.h>

size_t sibling_of(const char *name, size_t len)
{
    static const char *const endings[] = { ".br", ".zst", ".gz" };
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t own = strlen(endings[i]);
        bool ends = len > own && memcmp(name + len - own, endings[i], own) == 0;
        if (ends && name[len - own - 1] != '/') return len - own;
    }
    return 0;
}
