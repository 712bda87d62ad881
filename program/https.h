// SPDX-License-Identifier: MIT
//
// How the program speaks HTTPS: with the certificates that were given, or one of its own. While the
// server runs they are read again after SIGHUP, when a file has changed, and when its own is to be
// renewed.
#ifndef PROGRAM_HTTPS_H
#define PROGRAM_HTTPS_H

#include "options.h"

// Describes it for a configuration. *desc: all zero when it is not asked for; valid until
// https_forget. o: kept.
// Returns: false when it cannot be had, which has been said.
bool https_describe(const options *o, skua_tls_desc *desc);

// Shows the fingerprint of a certificate of the program's own, and where it is.
void https_show(void);

// Reads certificates again from now on, in a thread of its own, if HTTPS is spoken. Signals are held
// back meanwhile. server: until https_forget.
void https_watch(skua_server *server);

// Asks for them to be read again soon.  Thread: any, and signal handlers.
void https_reload_soon(void);

// Ends that, when no signal is taken any more and before the server is freed.
void https_forget(void);

#endif
