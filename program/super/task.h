// SPDX-License-Identifier: MIT
//
// Tasks of the supervisor: a reload, an upgrade, a stop, and the start of a server. Each is begun, and goes on when
// something is heard from a server.
#ifndef PROGRAM_SUPER_TASK_H
#define PROGRAM_SUPER_TASK_H

#include "super/state.h"

// Starts a server in an empty place, with a configuration. Returns: false when there is none, which has been said.
bool super_begin_server(super_state *s, super_server *place, const super_conf *with);

// Begins what is wanted next, if nothing is under way.
void super_task_next(super_state *s);

// The server at that place is ready, has answered a reload, or has gone.
void super_task_ready(super_state *s, const super_server *which);
void super_task_left(super_state *s); // the former server accepts no more
void super_task_answered(super_state *s, const control_message *m);
void super_task_lost(super_state *s, const char *how);
// The server that serves has ended. If it was asked to take a configuration, that is refused.
void super_task_unanswered(super_state *s, long pid, const char *how);

// Ends the task without a change. why: a sentence.
void super_task_refuse(super_state *s, const char *why);

// Starts a server with the coming configuration, beside the one that serves.
void super_task_replace(super_state *s);

// Time has passed.
void super_task_look(super_state *s);

// Asks servers to end. Once more: at once.
void super_stop(super_state *s);

// Says to all servers that the log is another file.
void super_log_again(super_state *s);

#endif
