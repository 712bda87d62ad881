// SPDX-License-Identifier: MIT
//
// URL of a store: its address, and the user, password and database for the connection.
#ifndef SKUA_BRIDGE_URL_H
#define SKUA_BRIDGE_URL_H

#include "base/slice.h"

enum { BRIDGE_URL_PART_MAX = 255, BRIDGE_DATABASE_MAX = 99999 };

// Texts end with NUL. An empty one: the URL has none.
typedef struct bridge_url {
    char host[BRIDGE_URL_PART_MAX + 1];
    char path[BRIDGE_URL_PART_MAX + 1]; // of a Unix socket; then there is no host
    char user[BRIDGE_URL_PART_MAX + 1];
    char password[BRIDGE_URL_PART_MAX + 1];
    unsigned port;
    unsigned database;
} bridge_url;

// Reads "redis://[[user]:password@]host[:port][/database]", or "unix://[[user]:password@]/path[?db=database]".
// Users, passwords and paths may be percent-encoded.
// Returns: SKUA_EINVAL another form, SKUA_ELIMIT a part has more than 255 octets.
skua_status bridge_url_read(slice text, bridge_url *url);

#endif
