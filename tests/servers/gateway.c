// SPDX-License-Identifier: MIT
//
// A server with hosts and middleware, so that the end-to-end tests can see who is called when:
// gateway --port N. Every middleware says in X-Trace that it was told of the head; GET /ended tells
// which requests have ended, and how.
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(skua_status status)
{
    if (status == SKUA_OK || status == SKUA_ECLOSED) return;
    (void)fprintf(stderr, "gateway: unexpected status: %s\n", skua_status_text(status));
    abort();
}

// ---- What has ended ----

static char ended[65536];
static size_t ended_len;

static void tell_end(skua_request *request, skua_end how, void *user)
{
    static const char *const words[] = { "sent", "closed", "timeout", "error" };
    const char *pattern = skua_request_pattern(request);
    skua_slice path = skua_request_path(request);
    int n = snprintf(ended + ended_len, sizeof ended - ended_len, "%s %.*s %s %d %llu %s\n",
                     (const char *)user, (int)path.len, path.ptr, words[how],
                     skua_request_status(request), (unsigned long long)skua_request_sent(request),
                     pattern ? pattern : "-");
    if (n > 0 && (size_t)n < sizeof ended - ended_len) ended_len += (size_t)n;
}

static void answer_ended(skua_request *request, void *user)
{
    (void)user;
    must(skua_respond(request, 200, "text/plain", (skua_slice){ ended, ended_len }));
}

// ---- Middleware ----

static void trace_head(skua_request *request, int status, void *user)
{
    char text[64];
    int n = snprintf(text, sizeof text, "%s %d", (const char *)user, status);
    must(skua_field_add(request, "X-Trace", (skua_slice){ text, (size_t)n }));
    if (skua_respond(request, 200, NULL, SKUA_SLICE("not now")) != SKUA_ESTATE) abort();
}

static const char visitor_key;

static void pass(skua_request *request, void *user)
{
    (void)user;
    must(skua_request_set(request, &visitor_key, &ended));
    must(skua_request_set(request, &visitor_key, &ended_len));
    skua_next(request);
}

// Answers without an Authorization field.
static void guard(skua_request *request, void *user)
{
    (void)user;
    if (skua_request_field(request, "authorization").len) skua_next(request);
    else must(skua_respond_error(request, 401));
}

// Passes on later, unless the request is gone by then.
typedef struct delay {
    skua_request *request; // NULL: gone
    bool coming;
} delay;

static const char delay_key;

static void delay_work(void *user)
{
    (void)user;
}

static void delay_done(skua_worker *worker, void *user)
{
    (void)worker;
    delay *late = user;
    late->coming = false;
    if (late->request) skua_next(late->request);
    else free(late);
}

static void slow_before(skua_request *request, void *user)
{
    (void)user;
    delay *late = calloc(1, sizeof *late);
    if (!late) abort();
    *late = (delay){ .request = request, .coming = true };
    must(skua_request_set(request, &delay_key, late));
    must(skua_offload(skua_request_worker(request), delay_work, delay_done, late));
}

static void slow_end(skua_request *request, skua_end how, void *user)
{
    delay *late = skua_request_get(request, &delay_key);
    late->request = NULL;
    if (!late->coming) free(late);
    tell_end(request, how, user);
}

// Neither answers nor passes on.
static void never(skua_request *request, void *user)
{
    (void)request;
    (void)user;
}

// ---- Handlers ----

static void answer_ok(skua_request *request, void *user)
{
    (void)user;
    bool passed =
        skua_request_get(request, &visitor_key) == &ended_len && !skua_request_get(request, &ended);
    must(skua_respond(request, 200, "text/plain",
                      passed ? SKUA_SLICE("ok\n") : SKUA_SLICE("nothing set\n")));
}

// Says which pattern matched, and with what.
static void answer_pattern(skua_request *request, void *user)
{
    (void)user;
    char text[1024];
    int n = snprintf(text, sizeof text, "%s\n", skua_request_pattern(request));
    skua_field param;
    for (size_t i = 0; skua_request_param_at(request, i, &param) && n < 512; i++) {
        n += snprintf(text + n, sizeof text - (size_t)n, "%.*s=%.*s\n", (int)param.name.len,
                      param.name.ptr, (int)(param.value.len % 200), param.value.ptr);
    }
    must(skua_respond(request, 200, "text/plain", (skua_slice){ text, (size_t)n }));
}

static void put(skua_server *server, skua_status status)
{
    if (status == SKUA_OK) return;
    (void)fprintf(stderr, "gateway: %s\n", skua_server_error(server));
    abort();
}

static char outer_name[] = "outer", inner_name[] = "inner", guard_name[] = "guard",
            slow_name[] = "slow", never_name[] = "never", host_name[] = "host",
            below_name[] = "below";

static void use_all(skua_server *server)
{
    const struct {
        const char *prefix;
        skua_middleware m;
    } all[] = {
        { "/", { .before = pass, .head = trace_head, .end = tell_end, .user = outer_name } },
        { "/in", { .before = pass, .head = trace_head, .end = tell_end, .user = inner_name } },
        { "/in/guard",
          { .before = guard, .head = trace_head, .end = tell_end, .user = guard_name } },
        { "/slow",
          { .before = slow_before, .head = trace_head, .end = slow_end, .user = slow_name } },
        { "/never", { .before = never, .head = trace_head, .end = tell_end, .user = never_name } },
        { "GET {any}.test/", { .head = trace_head, .user = host_name } },
        { "/below/", { .head = trace_head, .user = below_name } },
        { "/in", { 0 } },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        put(server, skua_use(server, all[i].prefix, &all[i].m));
}

static void route_all(skua_server *server)
{
    static const char *const plain[] = { "/ok",        "/in/ok",       "/in/guard/ok",
                                         "/in/guards", "GET /in/read", "/slow/ok",
                                         "/never/ok",  "/below/",      "/below" };
    static const char *const telling[] = { "GET /p/{x}/{rest...}", "one.test/p/{x}",
                                           "{label}.test/p/{x}", "POST {label}.test/p/{x}/y",
                                           "PUT /p/{x}/y" };
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        put(server, skua_route(server, plain[i], answer_ok, NULL));
    for (size_t i = 0; i < sizeof telling / sizeof *telling; i++) {
        put(server, skua_route(server, telling[i], answer_pattern, NULL));
    }
    put(server, skua_route(server, "GET /ended", answer_ended, NULL));
}

static void refuse_some(skua_server *server)
{
    static const char *const bad[] = { "", "in", "/{x}", "/a/{$}", "GET", "a..b/" };
    skua_middleware m = { .before = pass };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (skua_use(server, bad[i], &m) != SKUA_EINVAL ||
            !strstr(skua_server_error(server), bad[i]))
            abort();
    }
    if (skua_route(server, "/{y}/x/b", answer_ok, NULL) != SKUA_EEXIST) abort();
    if (!strstr(skua_server_error(server), "GET /p/{x}/{rest...}") ||
        !strstr(skua_server_error(server), "/{y}/x/b")) {
        abort();
    }
}

int main(int argc, char **argv)
{
    skua_server *server = server_from_options(argc, argv);
    use_all(server);
    route_all(server);
    refuse_some(server);
    return server_serve(server, "gateway");
}
