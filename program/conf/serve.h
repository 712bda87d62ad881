// SPDX-License-Identifier: MIT
//
// Building a server from what a skua.conf says, checking it, and explaining it.
#ifndef PROGRAM_CONF_SERVE_H
#define PROGRAM_CONF_SERVE_H

#include "conf/conf.h"

#include <stdbool.h>

// Reads the file into a configuration that is new, and makes sure that a server can be built from it. Returns: false
// when there are faults, which have been said.
bool conf_serve_check(conf *c, const char *file);

// The configuration of the file, with a server of it that is not started. NULL: it has faults, which have been said.
conf *conf_serve_read(const char *file, skua_server **server);

// Says what is wrong in the file, or that nothing is.
bool conf_is_right(const char *file);

// Says what a request for the URL would meet, and what its response would be.
bool conf_explain_url(const char *file, const char *method, const char *url);

#endif
