// SPDX-License-Identifier: MIT
//
// Lines of the log for the system's log, by its local socket.
#ifndef PROGRAM_CONF_SYSLOG_H
#define PROGRAM_CONF_SYSLOG_H

#include <skua/skua.h>

// path: of the socket; kept. It is connected to when there is a line, and again when that fails.
void conf_syslog_open(const char *path);

// A skua_log_write.
void conf_syslog_write(skua_slice lines, void *nothing);

#endif
