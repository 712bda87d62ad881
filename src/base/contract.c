// SPDX-License-Identifier: MIT
//
// The end of a program that broke the contract of skua.h.

#include "base/contract.h"

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Programs call an inline function of skua.h, over one whose name has this ending.
int contract_name_octets(const char *function)
{
    static const char ending[] = "_sized";
    size_t len = strlen(function), cut = sizeof ending - 1;
    bool is_sized = len > cut && strcmp(function + len - cut, ending) == 0;
    return (int)(is_sized ? len - cut : len);
}

_Thread_local const char *contract_speaker;

void contract_broken(const char *function, const char *sentence)
{
    if (contract_speaker) function = contract_speaker;
    char whole[ASSERT_SENTENCE_OCTETS];
    (void)snprintf(whole, sizeof whole, "%.*s: %s", contract_name_octets(function), function,
                   sentence);
    assert_say(whole);
#if ASSERT_IS_THE_PROGRAMS
    const bool contract_is_kept = false;
    SKUA_ASSERT(contract_is_kept);
#endif
    abort();
}
