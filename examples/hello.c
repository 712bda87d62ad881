// SPDX-License-Identifier: MIT
//
// The shortest server: curl http://127.0.0.1:8080/hello/you
#include <skua/skua.h>

static void hello(skua_request *request, void *user)
{
    (void)user;
    skua_slice name = skua_request_param(request, "name");
    skua_respond_format(request, 200, NULL, "Hello, %" SKUA_FMT "!\n", SKUA_ARG(name));
}

int main(int argc, char **argv)
{
    const char *address = argc > 1 ? argv[1] : "127.0.0.1:8080";
    skua_server *server =
        skua_server_new(&(skua_config){ .listen = address, .log = SKUA_LOG_SHORT });
    if (!server || skua_route(server, "GET /hello/{name}", hello, NULL)) return 1;
    if (skua_run(server)) return 1; // the log says why
    skua_server_free(server);
}
