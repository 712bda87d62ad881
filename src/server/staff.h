// SPDX-License-Identifier: MIT
//
// Staff: the workers of a server, made for its start and while it runs.
#ifndef SKUA_SERVER_STAFF_H
#define SKUA_SERVER_STAFF_H

#include "server/server.h"

// Makes the workers from number first on, up to end and without it, which nobody looks at before they are counted.
// Those below threaded are ready on this thread, which is to turn them; the others each on one of their own, which
// waits for the start barrier. All of them, or none.
skua_status staff_make(skua_server *server, unsigned first, unsigned threaded, unsigned end);

// Closes and frees them. They have no threads any more.
void staff_drop(skua_server *server, unsigned first, unsigned end);

// Lets them see changes of directories.
void staff_watch(skua_server *server, unsigned first, unsigned end);

#endif
