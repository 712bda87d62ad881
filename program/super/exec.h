// SPDX-License-Identifier: MIT
//
// The hand-over from a supervisor to the program that takes its place in the same process: descriptors stay open, and
// a file in memory says in lines of text what they are. Its first line has the number of its format. Lines that a
// program does not know are passed over, so that versions before and behind can read it.
#ifndef PROGRAM_SUPER_EXEC_H
#define PROGRAM_SUPER_EXEC_H

#include "super/state.h"

enum { SUPER_FORMAT = 1 };

// The descriptors that a process was handed by the program before it.
typedef struct super_inherited {
    int state; // -1: nothing
    int trial; // it is to look, and to answer there; -1: it is to go on
} super_inherited;

// How the program is executed.
typedef struct super_exec_desc {
    const char *path;    // of the program; NULL: it is a descriptor
    int program;         // only without path
    int trial;           // -1: it is to go on
    const char *refusal; // why the upgrade is given up; NULL: it is not
} super_exec_desc;

// Takes what was handed over out of the environment. Before there are threads.
super_inherited super_inherit(void);

// Executes the program with the state. Returns only when that fails; errno says why, and nothing has changed.
void super_exec(const super_state *s, const super_exec_desc *how);

// Reads a state into one that is empty. refusal: as above, or "". Returns: false when it cannot be read, and a part of
// it has been taken. why: a sentence then.
bool super_exec_read(super_state *s, int fd, char refusal[CONTROL_OCTETS_MAX / 2],
                     char why[CONTROL_OCTETS_MAX / 2]);

#endif
