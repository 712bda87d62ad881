// SPDX-License-Identifier: MIT
//
// The start line: what is served, where, and how.
#ifndef PROGRAM_BANNER_H
#define PROGRAM_BANNER_H

#include <skua/skua.h>

// Says it on standard error. dir: as it was given. redirects: addresses of HTTP send to those of HTTPS.
void banner_show(const skua_server *server, const char *dir, bool redirects);

// Warns of the addresses that other machines can reach.
void banner_warn(const skua_server *server);

#endif
