// SPDX-License-Identifier: MIT
//
// Testbed: a server over the simulated kernel, for programs that test their handlers.
#ifndef SKUA_SERVER_TESTBED_H
#define SKUA_SERVER_TESTBED_H

#include "skua/skua.h"

typedef struct testbed testbed;

// After the server has ended. NULL is allowed.
void testbed_free(testbed *bed);

#endif
