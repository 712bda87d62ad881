// SPDX-License-Identifier: MIT
//
// The access log in a file, which is opened again when SIGUSR1 has come, as tools that put logs aside expect.
#ifndef PROGRAM_CONF_LOG_H
#define PROGRAM_CONF_LOG_H

#include <stdbool.h>

// Makes the file standard output, where the library writes its log. Before the server is made.
// path: kept. Returns whether that is done.
bool conf_log_open(const char *path);

#endif
