// SPDX-License-Identifier: MIT
//
// Explaining: how a configuration answers a request for a URL.
#ifndef PROGRAM_CONF_EXPLAIN_H
#define PROGRAM_CONF_EXPLAIN_H

#include "conf/conf.h"

// The client that asks, and the proxies that are believed about it, while a request is only played.
#define CONF_EXPLAIN_CLIENT "203.0.113.1"
#define CONF_EXPLAIN_TRUSTED "192.0.2.0/24"

// Plays a request by method for url, and prints which parts of the configuration it meets and the head of the response.
// server: built from it, not started, and believing CONF_EXPLAIN_TRUSTED. Returns: false when the
// method or the url is none, which has then been said.
bool conf_explain(const conf *from, skua_server *server, const char *method, const char *url);

#endif
