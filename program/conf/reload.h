// SPDX-License-Identifier: MIT
//
// Reloading: another configuration for a server that runs. It is read, checked and built as a whole before the
// first request meets it, and one that has faults changes nothing.
#ifndef PROGRAM_CONF_RELOAD_H
#define PROGRAM_CONF_RELOAD_H

#include "conf/conf.h"

// The server was started with it. file: where it came from. started: the caller's, until conf_reload_end.
void conf_reload_begin(skua_server *server, const char *file, conf *started);

// Reads the file again.  Thread: of the watch, as of the next.
void conf_reload(void);

// The same for a server whose supervisor has found no faults. Returns: false when this process cannot follow, and
// nothing has changed; nothing has been said, and why is a sentence. covers: whether the process may read all that the
// configuration names. fds: as of conf_listeners_add.
typedef bool conf_covers_fn(const conf *c, char *why, size_t room);
bool conf_reload_quietly(conf_covers_fn *covers, int *fds, char *why, size_t room);

// Removes the listeners that the configuration has no more. It is for later than the word that it has been taken.
void conf_reload_remove(void);

// Removes those that conf_listeners_drop has named. left: called behind the last of them.
void conf_reload_leave(void (*left)(void));

// Looks at certificates, and at the files that close sites. Returns: false when certificates have changed and could not
// be read.
bool conf_reload_look(void);

// Looks at the roots. Returns: whether one is another folder, so that the file is to be read again.
bool conf_reload_look_at_roots(void);

// Behind the watch's end. Does nothing before conf_reload_begin.
void conf_reload_end(void);

#endif
