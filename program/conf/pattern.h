// SPDX-License-Identifier: MIT
//
// Patterns of redirects and rewrites, judged as the router does.
#ifndef PROGRAM_CONF_PATTERN_H
#define PROGRAM_CONF_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

// Whether a pattern, which begins with "/", has a path.
bool conf_pattern_has(const char *pattern, const char *path, size_t len);

#endif
