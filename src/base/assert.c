// SPDX-License-Identifier: MIT
//
// The end of a program that broke a contract.

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

void assert_failed(const char *condition, const char *file, int line)
{
    (void)fprintf(stderr, "skua: %s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}
