// SPDX-License-Identifier: MIT
//
// How the program speaks HTTPS: with the certificates that were given, or one of its own. While the
// server runs they are read again after SIGHUP, when a file has changed, and when its own is to be
// renewed.
#ifndef PROGRAM_TLS_HTTPS_H
#define PROGRAM_TLS_HTTPS_H

#include "common/options.h"

// Describes it for a configuration. *desc: all zero when it is not asked for; valid until
// https_reload. o: kept.
// Returns: false when it cannot be had, which has been said.
bool https_describe(const options *o, skua_tls_desc *desc);

// Shows the fingerprint of a certificate of the program's own, and where it is.
void https_show(void);

// The server has started. What follows is for one thread.
void https_begin(skua_server *server);

// Reads certificates again, and logs the outcome. Returns: false when the former ones stay.
bool https_reload(void);

// Reads them again if a file has changed and has settled, or if one of its own is to be renewed. To be called
// every few seconds. Returns: false when files have changed and the former certificates stay.
bool https_look(void);

// Takes other options, with TLS, in the place of those that https_describe was given, and reads certificates
// again. o: kept.
void https_use(const options *o);

#endif
