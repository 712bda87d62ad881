// SPDX-License-Identifier: MIT
//
// Reserve: descriptors that are held for files while connections take all the others, so that those
// who are connected get their files. They are duplicates of one, and the process's: every server
// that runs adds to how many there are, and there are none until a root is open, or a server runs
// whose connections may use them too.
// Opening spends one when there is no other; closing what was opened puts it back first, and so
// does accepting, which waits until the reserve is whole. Thread: any.
#ifndef SKUA_IO_RESERVE_H
#define SKUA_IO_RESERVE_H

#include <stdbool.h>

enum {
    RESERVE_MAX = 256,      // that are held at a time, whatever was asked for
    RESERVE_TRIES_MAX = 16, // that one opening spends
    RESERVE_FILES_SHARE = 2 // one part of so many is not for connections
};

// A server begins to run. asked: how many it wants; 0: an eighth of what the process may open. At
// most half of that, and RESERVE_MAX.  Returns: what reserve_drop_server is to be given at its end.
unsigned reserve_add_server(unsigned asked);
void reserve_drop_server(unsigned added);

// A root, or a server whose connections may use it: without any, nothing is held.
void reserve_add_user(void);
void reserve_drop_user(void);

// An opening has failed with that error of the system's. Returns whether it is to be tried again,
// because one of the reserve was closed for it. times: how often this opening was told so before.
// For EMFILE alone: what is full by ENFILE is the system's table, in which all duplicates of a
// descriptor are one entry.
bool reserve_spend(int error, unsigned times);

// The same for accepting, by a server that may: half of the reserve stays for files.
bool reserve_spend_on_connection(int error, unsigned times);

// Puts back as many as there are descriptors for. Returns whether the reserve is whole.
bool reserve_mend(void);

bool reserve_is_short(void);

// Closes a descriptor that may have come from the reserve, and mends it.
void reserve_close(int fd);

#endif
