// SPDX-License-Identifier: MIT
//
// Watches of directories, as a program asks for them: all are in the server's one set.

#include "base/assert.h"
#include "server/server.h"

skua_status skua_watch_open(skua_server *server, skua_root *root, skua_slice path,
                            skua_watch **watch)
{
    SKUA_ASSERT(root);
    SKUA_ASSERT(watch);
    return watch_open(server->watch_set, root, path, watch);
}

bool skua_watch_try(skua_server *server, skua_root *root, skua_slice path, skua_watch **watch,
                    skua_status *status)
{
    SKUA_ASSERT(root);
    SKUA_ASSERT(watch);
    SKUA_ASSERT(status);
    return watch_try(server->watch_set, root, path, watch, status);
}

void skua_watch_close(skua_server *server, skua_watch *watch)
{
    SKUA_ASSERT(watch);
    watch_close(server->watch_set, watch);
}
