// SPDX-License-Identifier: MIT
//
// A program with embedded pages, those of examples/site: curl http://127.0.0.1:8080/
// CMake's skua_assets has made assets.h; skua embed examples/site > assets.h makes the same.
#include <skua/skua.h>

#include "assets.h"

int main(int argc, char **argv)
{
    const char *address = argc > 1 ? argv[1] : "127.0.0.1:8080";
    skua_server *server =
        skua_server_new(&(skua_config){ .listen = address, .log = SKUA_LOG_SHORT });
    if (!server || skua_route_assets(server, "/", &assets, NULL)) return 1;
    if (skua_run(server)) return 1; // the log says why
    skua_server_free(server);
}
