// SPDX-License-Identifier: MIT
//
// Notices to a service manager that asks for them by NOTIFY_SOCKET, as sd_notify(3) describes; without it nothing
// is sent.
#ifndef PROGRAM_COMMON_NOTIFY_H
#define PROGRAM_COMMON_NOTIFY_H

#include <stdbool.h>

// Reads the environment. To be called once, before there are threads.
void notify_open(void);

// The server serves; it reads its configuration again, and notify_ready is told behind that; it ends.
void notify_ready(void);
void notify_reloading(void);
void notify_stopping(void); // Thread: any, and signal handlers.

// Whether the manager wants to hear again and again that the server is alive.
bool notify_wants_pulse(void);

// Says so, to a manager that wants to hear it.
void notify_alive(void);

#endif
