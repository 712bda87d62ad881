// SPDX-License-Identifier: MIT
//
// A server that says which of its workers answers, so that the end-to-end tests can see how
// connections are spread.

#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(skua_status status)
{
    if (status == SKUA_OK || status == SKUA_ECLOSED) return;
    (void)fprintf(stderr, "workers: unexpected status: %s\n", skua_status_text(status));
    abort();
}

// GET /: the number of the worker.
static void answer(skua_request *request, void *user)
{
    (void)user;
    char text[16];
    int len = snprintf(text, sizeof text, "%u", skua_worker_index(skua_request_worker(request)));
    must(skua_respond(request, 200, "text/plain", (skua_slice){ text, (size_t)len }));
}

int main(int argc, char **argv)
{
    skua_server *server = server_from_options(argc, argv);
    if (skua_route(server, "GET /{$}", answer, NULL)) return 1;
    return server_serve(server, "workers");
}
