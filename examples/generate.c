// SPDX-License-Identifier: MIT
//
// A download that is generated while it is sent: curl http://127.0.0.1:8080/squares/1000000.csv
// The source is called when the connection can take more, so a slow reader costs no memory.
#include <skua/skua.h>

#include <stdio.h>
#include <stdlib.h>

enum { LINE_OCTETS_MAX = 48 };

typedef struct squares {
    unsigned long long next, last;
} squares;

static skua_pulled pull(skua_request *request, char *buffer, size_t room, size_t *octets,
                        void *user)
{
    (void)request;
    squares *s = user;
    size_t len = 0;
    while (s->next <= s->last && room - len >= LINE_OCTETS_MAX) {
        len +=
            (size_t)snprintf(buffer + len, room - len, "%llu,%llu\n", s->next, s->next * s->next);
        s->next++;
    }
    *octets = len;
    return s->next > s->last ? SKUA_PULL_END : SKUA_PULL_OCTETS;
}

static void on_squares(skua_request *request, void *user)
{
    (void)user;
    skua_slice name = skua_request_param(request, "name");
    char *end = NULL, text[32] = { 0 };
    squares *s = skua_request_alloc(request, sizeof *s);
    for (size_t i = 0; i < name.len && i < sizeof text - 1; i++)
        text[i] = name.ptr[i];
    unsigned long long last = strtoull(text, &end, 10);
    skua_status status;
    if (!s) {
        status = skua_respond_error(request, 503);
    } else if (end == text || last > 4000000000 || *end != '.') {
        status = skua_respond_error(request, 404);
    } else {
        *s = (squares){ .next = 1, .last = last };
        status = skua_respond_pull(request, 200, "text/csv", -1, pull, s);
    }
    if (status) skua_request_abort(request);
}

int main(int argc, char **argv)
{
    skua_server *server =
        skua_server_new(&(skua_config){ .listen = argc > 1 ? argv[1] : "127.0.0.1:8080" });
    if (!server || skua_route(server, "GET /squares/{name}", on_squares, NULL)) return 1;
    if (skua_run(server)) return 1; // the log says why
    skua_server_free(server);
}
