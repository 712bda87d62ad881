// SPDX-License-Identifier: MIT
//
// The start line: what is served, where, and how.
#ifndef PROGRAM_COMMON_BANNER_H
#define PROGRAM_COMMON_BANNER_H

#include <skua/skua.h>

// Says it on standard error. dir: as it was given. redirects: addresses of HTTP send to those of HTTPS.
void banner_show(const skua_server *server, const char *dir, bool redirects);

// Shows as a QR code the first address that other machines reach, or says that there is none.
void banner_show_code(const skua_server *server);

// Warns of the addresses that other machines can reach.
void banner_warn(const skua_server *server);

#endif
