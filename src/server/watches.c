// SPDX-License-Identifier: MIT
//
// Watches of directories, as a program asks for them: all are in the server's one set.

#include "base/contract.h"
#include "server/server.h"

skua_status skua_watch_open(skua_server *server, skua_root *root, skua_slice path,
                            skua_watch **watch)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(root);
    CONTRACT_SLICE(path);
    CONTRACT_GIVEN(watch);
    return watch_open(server->watch_set, root, path, watch);
}

bool skua_watch_try(skua_server *server, skua_root *root, skua_slice path, skua_watch **watch,
                    skua_status *status)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(root);
    CONTRACT_SLICE(path);
    CONTRACT_GIVEN(watch);
    CONTRACT_GIVEN(status);
    return watch_try(server->watch_set, root, path, watch, status);
}

void skua_watch_close(skua_server *server, skua_watch *watch)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(watch);
    watch_close(server->watch_set, watch);
}
