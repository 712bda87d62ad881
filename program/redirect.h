// SPDX-License-Identifier: MIT
//
// Around every request of a server that speaks HTTPS: those in the clear are sent on to it, and
// browsers are told to come by it alone.
#ifndef PROGRAM_REDIRECT_H
#define PROGRAM_REDIRECT_H

#include "common/options.h"

// Adds what the options ask for. server: not started.
skua_status redirect_add(skua_server *server, const options *o);

#endif
