// SPDX-License-Identifier: MIT
//
// Those who ask the supervisor for something by a command, and wait for its outcome.
#ifndef PROGRAM_SUPER_CLIENT_H
#define PROGRAM_SUPER_CLIENT_H

#include "super.h"

#include <poll.h>
#include <stdio.h>

enum { SUPER_CLIENTS_MAX = 16 };

// Opens the socket beside the pid file, and writes that; NULL: there is none. The former ones are removed when the
// name is another. Returns: false when they cannot be made, which has been said.
bool super_client_listen(const char *pid_file);

// Removes both.
void super_client_close(void);

// Adds the descriptors to be polled. Returns: how many.
unsigned super_client_poll(struct pollfd *on, unsigned room);

// Looks at all of them. asked: what somebody wants is set.
void super_client_look(bool asked[SUPER_TASKS]);

// A task begins for all who have asked for it so far, and ends for them.
void super_client_begin(super_task task);
void super_client_answer(super_task task, bool done, const char *text);

// For the program that takes this one's place, as super_sockets_save.
void super_client_save(FILE *to);
bool super_client_restore(int fd, const char *rest);

#endif
