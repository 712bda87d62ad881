// SPDX-License-Identifier: MIT
//
// Tasks of the supervisor: a reload, an upgrade, a stop, and the start of a server. Each is begun, and goes on when
// something is heard from a server.
#ifndef PROGRAM_SUPER_TASK_H
#define PROGRAM_SUPER_TASK_H

#include "super.h"

// The faults of a configuration that is not taken.
typedef struct super_fault {
    unsigned count;                     // 0: it is no fault of the file
    char first[CONTROL_OCTETS_MAX / 2]; // a sentence
} super_fault;

// Reads the configuration, as a whole, and opens its sockets. Returns: false when it has faults, which have been said.
bool super_read(const char *file, super_conf *read, super_fault *fault);
void super_drop(super_conf *c);

// The server that serves was started with c, which is kept for as long; NULL: nobody was.
void super_started(super_state *s, conf *c);

// Starts a server in an empty place, with a configuration. Returns: false when there is none, which has been said.
bool super_begin_server(super_state *s, super_server *place, const super_conf *with);

// Begins what is wanted next, if nothing is under way.
void super_task_next(super_state *s);

// The server at that place is ready, has answered a reload, or has gone.
void super_task_ready(super_state *s, const super_server *which);
void super_task_left(super_state *s); // the former server accepts no more
void super_task_answered(super_state *s, const control_message *m);
void super_task_lost(super_state *s, const char *how);

// A process that is no server has ended: the trial of a new program.
void super_task_tried(super_state *s, pid_t pid, int status);

// Time has passed.
void super_task_look(super_state *s);

// Asks servers to end. Once more: at once.
void super_stop(super_state *s);

// Says to all servers that the log is another file.
void super_log_again(super_state *s);

#endif
