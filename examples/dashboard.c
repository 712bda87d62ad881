// SPDX-License-Identifier: MIT
//
// A dashboard with figures from a topic: open http://127.0.0.1:8080/ and send a figure of your own:
// curl -d 17 http://127.0.0.1:8080/figures/orders. The server publishes its own figures every second.
#include <skua/skua.h>

#include <inttypes.h>
#include <stdio.h>

// A tile for each name that has been heard, with its last sixty values.
static const char page[] =
    "<!doctype html><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\n"
    "<title>Dashboard</title>\n"
    "<style>body { font: 16px system-ui; background: #f4f5f7; margin: 2em }\n"
    "main { display: grid; gap: 1em; grid-template-columns: repeat(auto-fill, minmax(14em, 1fr)) }\n"
    "section { background: #fff; border-radius: 8px; padding: 1em; box-shadow: 0 1px 3px #0002 }\n"
    "b { display: block; font-size: 2em } svg { width: 100%; height: 3em } rect { fill: #2a6df4 }\n"
    "</style><h1>Dashboard</h1><main></main><script>\n"
    "const tiles = {}, bar = (v, i, all) => `<rect x=\"${i}\" width=\".8\" y=\"${1 - v / Math.max(1, ...all)}\" height=\"1\"/>`\n"
    "new EventSource('/live').addEventListener('figure', e => {\n"
    "  const [, value, name] = e.data.match(/(\\S+) (.*)/), tile = tiles[name] ||= { values: [], at: document.createElement('section') }\n"
    "  document.querySelector('main').append(tile.at)\n"
    "  tile.values = [...tile.values, +value].slice(-60)\n"
    "  tile.at.innerHTML = '<span></span><b></b>' +\n"
    "    `<svg viewBox=\"0 0 60 1\" preserveAspectRatio=\"none\">${tile.values.map(bar).join('')}</svg>`\n"
    "  tile.at.children[0].textContent = name, tile.at.children[1].textContent = value\n"
    "})\n"
    "</script>\n";

static skua_server *server;

static void on_page(skua_request *request, void *user)
{
    (void)user;
    skua_respond_html(request, 200, page);
}

static void on_live(skua_request *request, void *user)
{
    (void)user;
    skua_events_open(request, NULL, NULL);
    if (skua_topic_join(request, SKUA_SLICE("figures"))) skua_request_abort(request);
}

static skua_status feed(skua_slice name, int64_t value)
{
    char text[100];
    if (name.len > 60) return SKUA_EINVAL;
    int n = snprintf(text, sizeof text, "%" PRId64 " %" SKUA_FMT, value, SKUA_ARG(name));
    skua_publication figure = { .octets = { text, (size_t)n }, .event = SKUA_SLICE("figure") };
    return skua_topic_publish(server, SKUA_SLICE("figures"), &figure);
}

static void on_content(skua_request *request, skua_status status, skua_slice content, void *user)
{
    (void)user;
    int64_t value;
    if (status) return; // it has been refused, or the client has left
    bool fed = skua_slice_i64(content, &value) && !feed(skua_request_param(request, "name"), value);
    skua_respond_text(request, fed ? 200 : 400, fed ? "fed\n" : "a number, and a short name\n");
}

static void on_figure(skua_request *request, void *user)
{
    if (skua_content_collect(request, 100, on_content, user)) skua_respond_error(request, 500);
}

static void on_second(skua_worker *worker, void *user)
{
    static uint64_t before;
    (void)worker, (void)user;
    skua_stats now;
    skua_server_stats(server, &now);
    uint64_t answered = now.responses[2] + now.responses[3] + now.responses[4] + now.responses[5];
    (void)!feed(SKUA_SLICE("responses in a second"), (int64_t)(answered - before));
    (void)!feed(SKUA_SLICE("connections"), (int64_t)now.connections_open);
    (void)!feed(SKUA_SLICE("p99 in µs"), skua_stats_quantile_ns(&now, 0.99) / 1000);
    before = answered;
}

static void on_worker_start(skua_worker *worker, void *user)
{
    skua_timer timer;
    if (skua_worker_index(worker) == 0)
        (void)!skua_timer_start(worker, 1000000000, 1000000000, on_second, user, &timer);
}

int main(int argc, char **argv)
{
    skua_config config = { .listen = argc > 1 ? argv[1] : "127.0.0.1:8080", .stats = true };
    config.on_worker_start = on_worker_start;
    server = skua_server_new(&config);
    if (!server || skua_route(server, "GET /{$}", on_page, NULL) ||
        skua_route(server, "GET /live", on_live, NULL) ||
        skua_route(server, "POST /figures/{name}", on_figure, NULL) || skua_run(server))
        return 1; // the log says why
    skua_server_free(server);
}
