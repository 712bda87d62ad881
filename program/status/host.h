// SPDX-License-Identifier: MIT
//
// Hosts by which the page may be asked for.
#ifndef PROGRAM_STATUS_HOST_H
#define PROGRAM_STATUS_HOST_H

#include <skua/skua.h>

// Whether a request's authority is an address or "localhost", with or without a port: what a browser shows no page of
// another owner under.
bool status_host_is_plain(skua_slice authority);

#endif
