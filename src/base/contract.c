// SPDX-License-Identifier: MIT
//
// The end of a program that broke the contract of skua.h.

#include "base/contract.h"

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

_Thread_local const char *contract_speaker;

void contract_broken(const char *function, const char *sentence)
{
    if (contract_speaker) function = contract_speaker;
    char whole[ASSERT_SENTENCE_OCTETS];
    (void)snprintf(whole, sizeof whole, "%s: %s", function, sentence);
    assert_say(whole);
#if ASSERT_IS_THE_PROGRAMS
    const bool contract_is_kept = false;
    SKUA_ASSERT(contract_is_kept);
#endif
    abort();
}
