// SPDX-License-Identifier: MIT
//
// The access log in a file, which is opened again after SIGUSR1, as log rotation expects.
#ifndef PROGRAM_CONF_LOG_H
#define PROGRAM_CONF_LOG_H

#include <stdbool.h>

// Makes the file standard output, where the library writes its log. Before the server is made. path: copied; NULL:
// standard output is again what the program was started with. Returns whether that is done.
bool conf_log_open(const char *path);

// Standard output as the program was started with it; -1: it still is. For the program that takes this one's place.
int conf_log_output(void);
void conf_log_resume(int output);

// Opens the file again, and says when it cannot. Returns whether standard output is another file now.
bool conf_log_again(void);

// Lets SIGUSR1 do that. Returns whether that is done.
bool conf_log_take_signal(void);

#endif
