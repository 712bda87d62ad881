// SPDX-License-Identifier: MIT
//
// A server process, as the supervisor sees it: started, spoken to, and gone.
#ifndef PROGRAM_SUPER_SERVER_H
#define PROGRAM_SUPER_SERVER_H

#include "super/control.h"

#include <stdint.h>
#include <sys/types.h>

typedef enum super_stage {
    SUPER_NONE,     // there is no process
    SUPER_STARTING, // until it says that it is ready
    SUPER_SERVING,
    SUPER_LEAVING // it accepts no more, and ends when its clients have been served
} super_stage;

typedef struct super_server {
    super_stage stage;
    pid_t pid;
    int control;
    int64_t since_ns; // in this stage
    int64_t until_ns; // it is killed then; INT64_MAX: never
} super_server;

int64_t super_now_ns(void);

// Keeps the running program, so that a server can be started from it whatever happens to its file.
// Returns: false when the program cannot be found.
bool super_server_prepare(void);

// Its descriptor, and the path by which it was started.
int super_server_program(void);
const char *super_server_path(void);

// The path is another one: that by which the program before this one was started.
void super_server_name(const char *path);

// Starts a process that waits for messages. Returns: false when there is none.
bool super_server_start(super_server *s, int64_t until_ns);

void super_server_enter(super_server *s, super_stage stage, int64_t until_ns);

// It is gone, or is to be forgotten: the socket is closed.
void super_server_forget(super_server *s);

// Writes how a process ended: "ended with 1", "ended by signal 11 (Segmentation fault)".
void super_server_end_text(int status, char *text, size_t room);

#endif
