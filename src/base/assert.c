// SPDX-License-Identifier: MIT
//
// The end of a program in which something is not as it must be.

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

void assert_say(const char *sentence)
{
    assert_teller *tell = atomic_load(&assert_told);
    if (tell) tell(sentence);
    else (void)fprintf(stderr, "skua: %s\n", sentence);
}

void assert_failed(const char *condition, const char *file, int line)
{
    char sentence[ASSERT_SENTENCE_OCTETS];
    (void)snprintf(sentence, sizeof sentence, "%s:%d: assertion failed: %s", file, line, condition);
    assert_say(sentence);
    abort();
}
