// SPDX-License-Identifier: MIT
//
// The pulse of a server: whether all of its workers make progress.
#ifndef PROGRAM_COMMON_PULSE_H
#define PROGRAM_COMMON_PULSE_H

#include <skua/skua.h>

// Whether every worker has come round since the last call, or it is the first one. To be called every few seconds by
// one thread, until the server is freed.
bool pulse_look(skua_server *server);

#endif
