// SPDX-License-Identifier: MIT
//
// The smallest server there is, which the bench measures: 13 octets for any path.

#include "options.h"

static void hello(skua_request *request, void *user)
{
    (void)user;
    // On an error, which can only be a lack of memory, the connection is closed.
    if (skua_respond(request, 200, "text/plain", SKUA_SLICE("Hello, World!"))) return;
}

int main(int argc, char **argv)
{
    skua_server *server = server_from_options(argc, argv);
    if (skua_route(server, "GET /", hello, NULL)) return 1;
    return server_serve(server, "hello");
}
