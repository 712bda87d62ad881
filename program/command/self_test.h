// SPDX-License-Identifier: MIT
//
// Self-test (--self-test): measures, on this machine, the settings that may be chosen.
#ifndef PROGRAM_COMMAND_SELF_TEST_H
#define PROGRAM_COMMAND_SELF_TEST_H

#include <stdbool.h>

// Prints a table of CPU times, and what they speak for, to standard output; in under three seconds.
// Returns whether it could; if not, it has said why.
bool self_test_run(void);

#endif
