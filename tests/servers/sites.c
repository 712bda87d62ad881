// SPDX-License-Identifier: MIT
//
// A server with as many sites as its first argument says: s000.test, s001.test and so on, each with a route
// and middleware of its own. The budgets count what a request to one of them costs.

#include "options.h"

#include <stdio.h>
#include <stdlib.h>

static void hello(skua_request *request, void *user)
{
    (void)user;
    skua_respond(request, 200, "text/plain", SKUA_SLICE("Hello, World!"));
}

static void pass(skua_request *request, void *user)
{
    (void)user;
    skua_next(request);
}

static bool put_site(skua_server *server, long number)
{
    char host[32];
    (void)snprintf(host, sizeof host, "s%03ld.test", number);
    skua_site *site = skua_site_new(server, &(skua_site_desc){ .hosts = host });
    return site && !skua_site_route(site, "GET /", hello, NULL) &&
           !skua_site_use(site, "/", &(skua_middleware){ .before = pass }) && !skua_site_put(site);
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    skua_server *server = server_from_options(argc - 1, argv + 1);
    for (long i = 0; i < strtol(argv[1], NULL, 10); i++) {
        if (!put_site(server, i)) return 1;
    }
    return server_serve(server, "sites");
}
