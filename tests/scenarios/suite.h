// SPDX-License-Identifier: MIT
//
// Plays scenarios on every backend, and holds each run's transcript to the one that is kept in
// transcripts/.
#ifndef TESTS_SCENARIOS_SUITE_H
#define TESTS_SCENARIOS_SUITE_H

#include "scenarios/run.h"

// The main program of a group of scenarios. arguments: backends, of all that this build has when
// there are none.
// With SCENARIO_RECORD in the environment the transcripts are written anew, from the first
// backend's runs.
// Returns what main is to return; SUITE_SKIPPED when the kernel refuses every backend that was
// asked for.
int suite_main(const char *group, const scenario *scenarios, size_t count, int argc, char **argv);

enum { SUITE_SKIPPED = 77 };

#endif
