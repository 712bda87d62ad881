// SPDX-License-Identifier: MIT
//
// Foreign loops: one worker, turned by the caller.
#ifndef SKUA_SERVER_FOREIGN_H
#define SKUA_SERVER_FOREIGN_H

#include "skua/skua.h"

// Turns a server that has been opened until it has ended.
void foreign_wait(skua_server *server);

#endif
