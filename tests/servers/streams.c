// SPDX-License-Identifier: MIT
//
// A server with a handler for each way of answering that goes on for a while or says something before
// the end, for the end-to-end tests: streams --port N [MEMBER=NUMBER]..., where MEMBER is a number of
// skua_config.
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <skua/skua.h>

static skua_slice text_slice(const char *text)
{
    return (skua_slice){ text, strlen(text) };
}

static void must(skua_status status)
{
    if (status == SKUA_OK || status == SKUA_ECLOSED) return;
    fprintf(stderr, "streams: unexpected status: %s\n", skua_status_text(status));
    abort();
}

// Answers with the words for a status, so that a test sees what a function has returned.
static void tell_status(skua_request *request, skua_status status)
{
    must(skua_respond_text(request, 200, status ? skua_status_text(status) : "ok"));
}

static int64_t query_number(skua_request *request, const char *name, int64_t otherwise)
{
    skua_slice text = skua_request_query_param(request, name);
    char digits[24] = "";
    if (!text.ptr || text.len >= sizeof(digits)) return otherwise;
    memcpy(digits, text.ptr, text.len);
    return strtoll(digits, NULL, 10);
}

// A query parameter with a NUL behind it; NULL when absent.
static const char *query_text(skua_request *request, const char *name)
{
    skua_slice value = skua_request_query_param(request, name);
    char *text = value.ptr ? skua_request_alloc(request, value.len + 1) : NULL;
    if (!text) return NULL;
    if (value.len) memcpy(text, value.ptr, value.len);
    text[value.len] = 0;
    return text;
}

// ---- In one piece ----

static void answer_text(skua_request *request, void *user)
{
    (void)user;
    must(skua_respond_text(request, 200, "gr\xc3\xbc\xc3\x9f dich\n"));
}

static void answer_html(skua_request *request, void *user)
{
    (void)user;
    must(skua_respond_html(request, 201, "<!doctype html><title>t</title>"));
}

static void answer_json(skua_request *request, void *user)
{
    (void)user;
    must(skua_respond_json(request, 200, SKUA_SLICE("{\"a\":1}")));
}

// GET /redirect?status=N&to=LOCATION
static void answer_redirect(skua_request *request, void *user)
{
    (void)user;
    const char *to = query_text(request, "to");
    skua_status status = skua_redirect(request, (int)query_number(request, "status", 302), to ? to : "");
    if (status) tell_status(request, status);
}

// GET /cookie?name=N&value=V&path=P&age=S&secure=1
static void answer_cookie(skua_request *request, void *user)
{
    (void)user;
    skua_cookie cookie = {
        .name = query_text(request, "name"),
        .value = skua_request_query_param(request, "value"),
        .path = query_text(request, "path"),
        .max_age_s = query_number(request, "age", 0),
        .secure = query_number(request, "secure", 0) != 0,
        .http_only = true,
        .same_site = SKUA_SAME_SITE_STRICT,
    };
    tell_status(request, skua_cookie_set(request, &cookie));
}

// ---- Before the answer ----

// GET /hints: 103, 102, and the answer.  GET /inform?status=N: what skua_inform makes of it.
static void answer_hints(skua_request *request, void *user)
{
    (void)user;
    skua_field links[] = { { SKUA_SLICE("Link"), SKUA_SLICE("</a.css>; rel=preload") },
                           { SKUA_SLICE("Link"), SKUA_SLICE("</b.js>; rel=preload") } };
    must(skua_inform(request, 103, links, 2));
    must(skua_inform(request, 102, NULL, 0));
    must(skua_respond_text(request, 200, "hinted"));
    if (skua_inform(request, 103, links, 2) != SKUA_ESTATE) abort();
}

static void answer_inform(skua_request *request, void *user)
{
    (void)user;
    const char *value = query_text(request, "value"), *name = query_text(request, "name");
    skua_field field = { text_slice(name ? name : "X-A"), text_slice(value ? value : "b") };
    int64_t times = query_number(request, "times", 1);
    skua_status status = SKUA_OK;
    for (int64_t i = 0; i < times && !status; i++)
        status = skua_inform(request, (int)query_number(request, "status", 103), &field, 1);
    tell_status(request, status);
}

static skua_request *waiting; // for another request to act on it

static void waiting_ended(skua_request *request, skua_end how, void *user)
{
    (void)how;
    (void)user;
    if (waiting == request) waiting = NULL;
}

// GET /wait is answered by GET /go, which informs it before that.
static void answer_wait(skua_request *request, void *user)
{
    (void)user;
    waiting = request;
    skua_on_end(request, waiting_ended, NULL);
}

static void answer_go(skua_request *request, void *user)
{
    (void)user;
    if (waiting) {
        must(skua_inform(waiting, 102, NULL, 0));
        if (query_number(request, "end", 0)) must(skua_respond_text(waiting, 200, "gone"));
    }
    must(skua_respond_text(request, 200, waiting ? "went" : "nobody"));
}

// POST /continue: says 100 three times, then collects and answers with the content.
static void echo_collected(skua_request *request, skua_status status, skua_slice content, void *user)
{
    (void)user;
    if (status == SKUA_OK) must(skua_respond(request, 200, "text/plain", content));
}

static void answer_continue(skua_request *request, void *user)
{
    (void)user;
    for (int i = 0; i < 3; i++) must(skua_inform(request, 100, NULL, 0));
    must(skua_content_collect(request, 0, echo_collected, NULL));
}

// ---- The program ----

static const struct {
    const char *pattern;
    skua_handler *handler;
} routes[] = {
    { "GET /text", answer_text },
    { "GET /html", answer_html },
    { "GET /json", answer_json },
    { "GET /redirect", answer_redirect },
    { "GET /cookie", answer_cookie },
    { "GET /hints", answer_hints },
    { "GET /inform", answer_inform },
    { "GET /wait", answer_wait },
    { "GET /go", answer_go },
    { "POST /continue", answer_continue },
};

// Sets the member of config that "name=number" speaks of.
static bool config_set(skua_config *config, const char *word)
{
    const struct {
        const char *name;
        int64_t *time;
        uint64_t *count;
    } members[] = {
        { "content_octets_max", NULL, &config->content_octets_max },
        { "out_octets_max", NULL, &config->out_octets_max },
        { "keep_alive_timeout_ns", &config->keep_alive_timeout_ns, NULL },
        { "stall_timeout_ns", &config->stall_timeout_ns, NULL },
        { "rate_window_ns", &config->rate_window_ns, NULL },
        { "linger_timeout_ns", &config->linger_timeout_ns, NULL },
    };
    const char *equals = strchr(word, '=');
    for (size_t i = 0; equals && i < sizeof(members) / sizeof(members[0]); i++) {
        size_t len = (size_t)(equals - word);
        if (strlen(members[i].name) != len || memcmp(members[i].name, word, len) != 0) continue;
        if (members[i].time) *members[i].time = strtoll(equals + 1, NULL, 10);
        if (members[i].count) *members[i].count = strtoull(equals + 1, NULL, 10);
        return true;
    }
    return false;
}

static skua_server *running;

static void stop(int signal_number)
{
    (void)signal_number;
    skua_stop(running, 0);
}

static int serve(const skua_config *config)
{
    running = skua_server_new(config);
    if (!running) return 1;
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
        must(skua_route(running, routes[i].pattern, routes[i].handler, NULL));
    struct sigaction action = { .sa_handler = stop };
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    skua_status status = skua_run(running);
    if (status) fprintf(stderr, "streams: %s\n", skua_server_error(running));
    skua_server_free(running);
    return status ? 1 : 0;
}

int main(int argc, char **argv)
{
    char listen[64] = "127.0.0.1:0";
    skua_config config = { .hosts = "*", .workers = 1 };
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--port") == 0 && i + 1 < argc) {
            snprintf(listen, sizeof(listen), "127.0.0.1:%s", argv[++i]);
        } else if (!config_set(&config, argv[i])) {
            fprintf(stderr, "streams: not understood: %s\n", argv[i]);
            return 2;
        }
    }
    config.listen = listen;
    return serve(&config);
}
