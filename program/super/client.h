// SPDX-License-Identifier: MIT
//
// Those who ask the supervisor for something by a command, and wait for its outcome.
#ifndef PROGRAM_SUPER_CLIENT_H
#define PROGRAM_SUPER_CLIENT_H

#include "super/state.h"

#include <poll.h>
#include <stdio.h>

enum { SUPER_CLIENTS_MAX = 16 };

// Opens the sockets of the configuration's file and of this process. Returns: false when another process has the
// former.
bool super_client_listen(const char *file);

// Writes all of them for the program that takes this one's place; takes one that was written so. lend: makes a
// descriptor that the program inherits.
void super_client_save(FILE *to, int (*lend)(int fd));
bool super_client_restore(int fd, const char *text);

// Closes it, and those who wait.
void super_client_close(void);

// Adds the descriptors to be polled. Returns: how many.
unsigned super_client_poll(struct pollfd *on, unsigned room);

// Looks at all of them. asked: what somebody wants is set.
void super_client_look(bool asked[SUPER_TASKS]);

// A task begins for all who have asked for it so far, and ends for them.
void super_client_begin(super_task task);
void super_client_answer(super_task task, bool done, const char *text);

// For a command: asks the supervisor of that file, or else that of the number in its pid_file, and waits.
// text: the outcome, or why there is none.
bool super_client_ask(super_task task, const char *file, char *text, size_t room);

#endif
