// SPDX-License-Identifier: MIT
//
// Serving in one process, on systems where there is no supervisor.
#ifndef PROGRAM_CONF_SERVE_ALONE_H
#define PROGRAM_CONF_SERVE_ALONE_H

#include <stdbool.h>

// As conf_serve.
bool conf_serve_alone(const char *file, bool quiet);

#endif
