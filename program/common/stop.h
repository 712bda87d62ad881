// SPDX-License-Identifier: MIT
//
// How the program ends: the first SIGINT or SIGTERM lets running requests finish, the second does
// not, the third ends the process whatever it does. SIGHUP is like the first when the terminal that
// the program was started on has gone, and otherwise has certificates read again.
#ifndef PROGRAM_COMMON_STOP_H
#define PROGRAM_COMMON_STOP_H

#include <skua/skua.h>

// Holds the signals back until stop_on_signals: a server answers before its start has returned, and
// a client that got that answer may send a signal.
void stop_hold_signals(void);

// Takes the signals from now on. server: until stop_forget. quiet: says nothing when one comes.
// reload: called in the handler of SIGHUP.
void stop_on_signals(skua_server *server, int64_t grace_ns, bool quiet, void (*reload)(void));

// Whether one has come that lets running requests finish.  Thread: any.
bool stop_is_asked(void);

// Says that the end has begun, for programs that do not take the signals.  Thread: any.
void stop_note(void);

// Gives the signals back, before the server is freed.
void stop_forget(void);

#endif
