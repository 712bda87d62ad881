// SPDX-License-Identifier: MIT
//
// The end of a program that broke the contract of skua.h.

#include "base/contract.h"

#include "base/assert.h"

#include <stdio.h>

void contract_broken(const char *function, const char *sentence)
{
    char whole[ASSERT_SENTENCE_OCTETS];
    (void)snprintf(whole, sizeof whole, "%s: %s", function, sentence);
    assert_end(whole);
}
