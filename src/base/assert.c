// SPDX-License-Identifier: MIT
//
// The end of a program that broke a contract.

#include "base/assert.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

typedef void assert_teller(const char *sentence);

static assert_teller *_Atomic assert_told;

void assert_tell(void (*tell)(const char *sentence))
{
    atomic_store(&assert_told, tell);
}

void assert_failed(const char *condition, const char *file, int line)
{
    char sentence[512];
    assert_teller *tell = atomic_load(&assert_told);
    (void)snprintf(sentence, sizeof sentence, "%s:%d: assertion failed: %s", file, line, condition);
    if (tell) tell(sentence);
    else (void)fprintf(stderr, "skua: %s\n", sentence);
    abort();
}
