// SPDX-License-Identifier: MIT
//
// The application of the tests: routes that answer at once, or when they go on.

#include "app/app.h"

static void on_hello(skua_request *request, void *user)
{
    app *a = user;
    // A request that nobody watches is ended in another way.
    if (a->manner->chance && a->manner->chance(a, 2)) (void)visit_begin(a, request);
    (void)app_must(a, skua_respond(request, 200, "text/plain", SKUA_SLICE("Hello")));
}

static void on_later(skua_request *request, void *user)
{
    visit_put_off(visit_of(user, request), VISIT_WAITS_ANSWER);
}

static void tell_slice(text *t, const char *what, skua_slice value)
{
    text_addf(t, "%s: %.*s\n", what, (int)value.len, value.len ? value.ptr : "");
}

static void on_tell(skua_request *request, void *user)
{
    text t = { .len = 0 };
    skua_field field;
    tell_slice(&t, "method", skua_request_method(request));
    tell_slice(&t, "path", skua_request_path(request));
    tell_slice(&t, "query", skua_request_query(request));
    tell_slice(&t, "authority", skua_request_authority(request));
    text_addf(&t, "version: %d\n", skua_request_version(request));
    for (size_t i = 0; skua_request_query_at(request, i, &field); i++)
        tell_slice(&t, "parameter", field.value);
    for (size_t i = 0; skua_request_field_at(request, i, &field); i++)
        tell_slice(&t, "field", field.value);
    (void)app_must(user, skua_respond(request, 200, "text/plain", text_slice(&t)));
    text_free(&t);
}

// A number that is no status of a final response is a mistake of the client's.
static int status_of(const visit *v)
{
    return v->len >= 200 && v->len <= 599 ? (int)v->len : 400;
}

static void on_status(skua_request *request, void *user)
{
    visit *v = visit_of(user, request);
    visit_answer(v, status_of(v), SKUA_SLICE("with content"));
}

static void on_error(skua_request *request, void *user)
{
    const visit *v = visit_of(user, request);
    int status = status_of(v) < 400 ? 400 : status_of(v);
    (void)app_must(user, skua_respond_error(request, status));
}

static void on_redirect(skua_request *request, void *user)
{
    (void)app_must(user, skua_redirect(request, 303, "/else where"));
}

static void on_cookie(skua_request *request, void *user)
{
    const skua_cookie cookie = { .name = "a", .value = SKUA_SLICE("1"), .http_only = true };
    (void)app_must(user, skua_cookie_set(request, &cookie));
    (void)app_must(user, skua_respond_json(request, 200, SKUA_SLICE("{}")));
}

static void on_hints(skua_request *request, void *user)
{
    skua_field link = { SKUA_SLICE("Link"), SKUA_SLICE("</a.css>; rel=preload") };
    (void)app_must(user, skua_inform(request, 103, &link, 1));
    (void)app_must(user, skua_respond_text(request, 200, "hinted"));
}

static void on_close(skua_request *request, void *user)
{
    skua_request_close(request);
    (void)app_must(user, skua_respond_text(request, 200, "the last"));
}

void app_add_answers(app *a)
{
    static const app_route routes[] = {
        { "/hello", on_hello },
        { "GET /only", on_hello },
        { "GET /later/{tag}/{len}", on_later },
        { "GET /tell", on_tell },
        { "GET /status/{len}", on_status },
        { "GET /error/{len}", on_error },
        { "POST /refuse/{len}", on_error },
        { "GET /redirect", on_redirect },
        { "GET /cookie", on_cookie },
        { "GET /hints", on_hints },
        { "GET /close", on_close },
    };
    app_add(a, routes, sizeof routes / sizeof *routes);
}
