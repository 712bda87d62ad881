// SPDX-License-Identifier: MIT
//
// Configuration: zero means default.
#ifndef SKUA_SERVER_CONFIG_H
#define SKUA_SERVER_CONFIG_H

#include "skua/skua.h"

// Takes a configuration of the caller's, which has those of TLS and HTTP/2 in its middle. given: by structs of sizes;
// what it points to stays the caller's. function: that of skua.h that was called.
void config_take(const char *function, const skua_config *given, const skua_sizes *sizes,
                 skua_config *own);

// Fills in the defaults. Returns the name of a member that is out of range, or NULL.
const char *config_complete(skua_config *config, const skua_config *given);

// Reads skua_config.accept, NULL for none given. Returns false if it is not understood.
bool config_accept(const char *accept, bool *handoff);

// Whether hosts, NULL for none, are names without ports, separated by spaces.
bool config_hosts_are_names(const char *hosts);

#endif
