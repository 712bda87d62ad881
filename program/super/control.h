// SPDX-License-Identifier: MIT
//
// Messages between the supervisor and a server: a line of text, and descriptors. A socket pair carries them, which
// keeps their bounds and tells when the other process is gone.
#ifndef PROGRAM_SUPER_CONTROL_H
#define PROGRAM_SUPER_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

enum { CONTROL_OCTETS_MAX = 2048, CONTROL_FDS_MAX = 32 };

typedef struct control_message {
    char text[CONTROL_OCTETS_MAX]; // ends with NUL
    int fds[CONTROL_FDS_MAX];      // the receiver's; control_close closes those that are not -1
    unsigned fd_count;
} control_message;

// The outcome of a receipt.
typedef enum control_got {
    CONTROL_MESSAGE,
    CONTROL_NOTHING, // there is none now
    CONTROL_GONE     // the other process is
} control_got;

// Two ends of a connection, close-on-exec.
bool control_pair(int ends[2]);

// Sends a message without waiting. fds: stay the caller's. Returns: false when it cannot be sent.
__attribute__((format(printf, 4, 5))) bool control_send(int fd, const int *fds, unsigned count,
                                                        const char *format, ...);

// Receives one. waits: until there is one, or the other process is gone.
control_got control_receive(int fd, bool waits, control_message *m);

// Closes the descriptors that nobody has taken out.
void control_close(control_message *m);

// Takes the descriptor at a place out of the message; -1: there is none.
int control_take(control_message *m, unsigned at);

// Whether the text is a message of that name. rest: what follows the name and a space; may be NULL.
bool control_is(const control_message *m, const char *name, const char **rest);

#endif
