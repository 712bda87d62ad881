// SPDX-License-Identifier: MIT
//
// The access log in a file, which is opened again when SIGUSR1 has come, as tools that put logs aside expect.
#ifndef PROGRAM_CONF_LOG_H
#define PROGRAM_CONF_LOG_H

#include <skua/skua.h>

// path: kept. Returns whether the file is open.
bool conf_log_open(const char *path);

// A skua_log_write, for the server's thread that writes.
void conf_log_write(skua_slice octets, void *nothing);

// After the server has been freed.
void conf_log_close(void);

#endif
