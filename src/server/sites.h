// SPDX-License-Identifier: MIT
//
// Sites of a server: put into it as a whole, also while it runs. Each worker takes the new table of
// sites over by a letter.
#ifndef SKUA_SERVER_SITES_H
#define SKUA_SERVER_SITES_H

#include "server/server.h"

void sites_free(skua_server *server);

// Around what one thread may do at a time.
void sites_lock(skua_server *server);
void sites_unlock(skua_server *server);

// Gives a worker that is being opened the sites there are. Errors: SKUA_ENOMEM.
skua_status sites_open_worker(server_worker *w);
// The same under the lock.
skua_status sites_equip(server_worker *w);
void sites_close_worker(server_worker *w);

// Gives workers the changes of sites that were made after they were opened and before the server runs
// (server->running). Errors: SKUA_ENOMEM.
skua_status sites_catch_up(skua_server *server);

#endif
