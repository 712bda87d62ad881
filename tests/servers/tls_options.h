// SPDX-License-Identifier: MIT
//
// The options by which every small server speaks TLS: --tls-port N --cert FILE --key FILE, and
// --records NAME --tickets FILE --handshake-ms N as skua_tls_desc has them.
#ifndef TESTS_SERVERS_TLS_OPTIONS_H
#define TESTS_SERVERS_TLS_OPTIONS_H

#include <skua/skua.h>

// Reads one option into config->tls. Ends the process with 2 when its value is not understood.
// Returns: false, it is not one of these.
bool tls_option(const char *name, const char *value, skua_config *config);

#endif
