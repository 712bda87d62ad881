// SPDX-License-Identifier: MIT
//
// Serving in one process, on systems where there is no supervisor.
#ifndef PROGRAM_CONF_SERVE_ALONE_H
#define PROGRAM_CONF_SERVE_ALONE_H

#include <stdbool.h>

// Serves until it is stopped. quiet: nothing is said but faults. Returns whether it was stopped, and did not
// fail; why has then been said.
bool conf_serve_alone(const char *file, bool quiet);

#endif
