// SPDX-License-Identifier: MIT
//
// Whether a command believes that another user runs the server of a configuration.
#ifndef PROGRAM_SUPER_TRUST_H
#define PROGRAM_SUPER_TRUST_H

#include "conf/pid_file.h"

#include <sys/types.h>

// How a server was found.
typedef enum super_way { SUPER_BY_FILE, SUPER_BY_NUMBER } super_way;

// A configuration, as a command finds it.
typedef struct super_trust {
    uid_t owner; // of its file
    pid_file_found number;
} super_trust;

// Whether the other end of a connection is of this process's user, or root.
bool super_trust_is_own(int fd);

// Looks at a configuration. Returns: false when there is no such file.
bool super_trust_look(super_trust *trust, const char *file);

// Whether a command may believe the other end. who: its user, also when it may not.
bool super_trust_is_server(const super_trust *trust, int fd, super_way way, uid_t *who);

#endif
