// SPDX-License-Identifier: MIT
//
// Seccomp: which system calls a process may make from now on. Others fail with EPERM, and those that the kernel has
// and this program does not know with ENOSYS, as on an older kernel.
#ifndef PROGRAM_SANDBOX_SECCOMP_H
#define PROGRAM_SANDBOX_SECCOMP_H

#include <stdbool.h>

// Rights beyond those that every server needs.
typedef struct seccomp_rights {
    bool uring;   // rings of io_uring, whose operations the kernel does not show to a filter
    bool connect; // Unix sockets, for the system's log
    bool writes;  // files are named and removed, where Landlock lets them
} seccomp_rights;

// Whether this architecture has a filter.
bool seccomp_is_known(void);

// Puts the filter in force for the process. no_new_privs must be set. Returns whether it is done.
bool seccomp_enter(const seccomp_rights *rights);

#endif
