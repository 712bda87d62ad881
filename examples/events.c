// SPDX-License-Identifier: MIT
//
// Server-Sent Events, and a page that shows them as they arrive: open http://127.0.0.1:8080/ in a browser.
#include <skua/skua.h>

#include <stdio.h>

static const char page[] = "<!doctype html><meta charset=\"utf-8\"><title>Ticks</title>\n"
                           "<h1>Ticks</h1><p id=\"n\">waiting\n"
                           "<script>\n"
                           "new EventSource('/ticks').addEventListener('tick', e => {\n"
                           "  document.getElementById('n').textContent = e.data\n"
                           "})\n"
                           "</script>\n";

typedef struct ticker {
    skua_request *request;
    skua_timer timer;
    unsigned n;
} ticker;

static void on_page(skua_request *request, void *user)
{
    (void)user;
    skua_respond_html(request, 200, page);
}

static void on_second(skua_worker *worker, void *user)
{
    (void)worker;
    ticker *t = user;
    char text[32];
    int len = snprintf(text, sizeof text, "%u", ++t->n);
    skua_event event = { .name = SKUA_SLICE("tick"), .data = { text, (size_t)len } };
    skua_status status = skua_event_send(t->request, &event);
    // ELIMIT: a slow reader misses a tick
    if (status && status != SKUA_ELIMIT) skua_request_abort(t->request);
}

static void on_end(skua_request *request, skua_end how, void *user)
{
    (void)request;
    (void)how;
    ticker *t = user;
    skua_timer_stop(t->timer);
}

static void on_ticks(skua_request *request, void *user)
{
    (void)user;
    ticker *t = skua_request_alloc(request, sizeof *t);
    if (!t || skua_events_open(request, NULL, NULL)) {
        skua_request_abort(request);
        return;
    }
    *t = (ticker){ .request = request };
    skua_on_end(request, on_end, t);
    if (skua_timer_start(skua_request_worker(request), 0, 1000000000, on_second, t, &t->timer))
        skua_request_abort(request);
}

int main(int argc, char **argv)
{
    skua_server *server =
        skua_server_new(&(skua_config){ .listen = argc > 1 ? argv[1] : "127.0.0.1:8080" });
    if (!server || skua_route(server, "GET /{$}", on_page, NULL) ||
        skua_route(server, "GET /ticks", on_ticks, NULL))
        return 1;
    if (skua_run(server)) return 1; // the log says why
    skua_server_free(server);
}
