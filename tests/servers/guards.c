// SPDX-License-Identifier: MIT
//
// A server with each ready middleware at a path of its own, so that the end-to-end tests can see what
// clients get.
#include "options.h"

#include <skua/middleware/authentication.h>
#include <skua/middleware/cors.h>
#include <skua/middleware/limit.h>
#include <skua/middleware/connection_limit.h>
#include <skua/middleware/request_id.h>
#include <skua/middleware/security.h>
#include <skua/middleware/session.h>
#include <skua/middleware/timeout.h>

#include <stdlib.h>

static void tell_user(skua_request *request, void *user)
{
    skua_slice name = user ? skua_request_user(request, user) : SKUA_SLICE("somebody");
    skua_respond_format(request, 200, "text/plain", "hello, %" SKUA_FMT, SKUA_ARG(name));
}

static void tell_much(skua_request *request, void *user)
{
    static const char much[100000];
    (void)user;
    skua_respond(request, 200, "text/plain", (skua_slice){ much, sizeof much });
}

static void tell_policy(skua_request *request, void *user)
{
    (void)user;
    skua_field_add(request, "Content-Security-Policy", SKUA_SLICE("default-src 'none'"));
    skua_respond_text(request, 200, "own policy");
}

// A request that is under way until its client leaves, who is told that it is.
static void wait_for_ever(skua_request *request, void *user)
{
    (void)user;
    skua_inform(request, 103, NULL, 0);
}

static bool knows(skua_slice name, skua_slice secret, void *arg)
{
    (void)arg;
    return skua_words_equal(name, SKUA_SLICE("admin")) &&
           skua_words_equal(secret, SKUA_SLICE("se:cret"));
}

static bool knows_slowly(skua_slice name, skua_slice secret, void *arg)
{
    (void)nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
    return knows(name, secret, arg);
}

static bool knows_token(skua_slice name, skua_slice secret, void *arg)
{
    (void)arg;
    return name.len == 0 && skua_words_equal(secret, SKUA_SLICE("abc.def-_~+/="));
}

static size_t key_of_field(skua_request *request, char key[128], void *arg)
{
    skua_slice given = skua_request_field(request, "x-key");
    (void)arg;
    if (given.len > 128) given.len = 128;
    if (given.len) memcpy(key, given.ptr, given.len);
    return given.len;
}

// One that waits for what never comes.
static void wait_in_vain(skua_request *request, void *user)
{
    skua_ticket ticket;
    (void)user;
    if (skua_ticket_take(request, &ticket)) skua_respond_error(request, 503);
}

static const skua_timeout short_time = { .timeout_ns = 100000000 };
static skua_signing signing, too_short;
static skua_session_desc sessions = { .lifetime_s = 1000 };

// /cookie?set=TEXT, or the value that the client has.
static void answer_cookie(skua_request *request, void *user)
{
    skua_slice set = skua_request_query_param(request, "set");
    skua_slice name = skua_request_query_param(request, "name");
    skua_slice value = skua_signed_cookie(request, user, "cart");
    const skua_cookie cookie = { .name = name.len ? "other" : "cart",
                                 .value = set,
                                 .max_age_s = 500 };
    skua_status status = set.ptr ? skua_signed_cookie_set(request, user, &cookie) : SKUA_OK;
    if (status) skua_respond_text(request, 409, skua_status_text(status));
    else
        skua_respond_format(request, 200, NULL, "%" SKUA_FMT,
                            SKUA_ARG(value.ptr ? value : SKUA_SLICE("none")));
}

// /session?NAME=VALUE… sets each, "end" ends it; what it has of "a" and "b" is the content.
static void answer_session(skua_request *request, void *user)
{
    skua_field field;
    skua_status status = SKUA_OK;
    for (size_t i = 0; skua_request_query_at(request, i, &field) && !status; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%" SKUA_FMT, SKUA_ARG(field.name));
        if (strcmp(name, "end") == 0) skua_session_end(request, user);
        else if (skua_slice_is(field.value, "remove"))
            status = skua_session_set(request, user, name, (skua_slice){ NULL, 0 });
        else status = skua_session_set(request, user, name, field.value);
    }
    skua_slice a = skua_session_get(request, user, "a"), b = skua_session_get(request, user, "b");
    skua_respond_format(request, status ? 409 : 200, NULL, "%" SKUA_FMT "|%" SKUA_FMT, SKUA_ARG(a),
                        SKUA_ARG(b));
}

static void tell_id(skua_request *request, void *user)
{
    (void)user;
    skua_respond(request, 200, NULL, skua_request_id(request));
}

static const skua_cors cors_of_list = { .origins = "https://a.test https://b.test:8443",
                                        .methods = "GET, PUT",
                                        .exposed = "X-Total",
                                        .credentials = true,
                                        .max_age_s = 600 };
static const skua_cors cors_of_all = { .origins = "*", .credentials = true };
static const skua_security strict = { .hsts_max_age_s = 600, .frames = "" };
static const skua_authentication basic = { .realm = "the staff", .check = knows };
static const skua_authentication slow = { .realm = "slow", .check = knows_slowly, .slow = true };
static const skua_authentication bearer = { .realm = "api", .check = knows_token };
static skua_limit by_address = { .requests_per_s = 0.02, .burst = 3 };
static skua_limit by_key = { .requests_per_s = 0.02, .burst = 2, .key = key_of_field };
static skua_limit by_octets = { .octets_per_s = 1000 };
static skua_limit by_running = { .running_max = 2 };

static void guard(skua_server *server, const char *prefix, skua_middleware m, skua_handler *handler,
                  const void *user)
{
    char pattern[64];
    (void)snprintf(pattern, sizeof pattern, "GET %s/", prefix);
    if (skua_use(server, prefix, &m) || skua_route(server, pattern, handler, skua_words_user(user)))
        abort();
}

// The keys come from the tests, which sign cookies too.
static void add_sessions(skua_server *server)
{
    const char *key = getenv("GUARDS_KEY"), *previous = getenv("GUARDS_PREVIOUS");
    signing.key = skua_slice_of(key ? key : "");
    signing.previous = skua_slice_of(previous ? previous : "");
    too_short.key = SKUA_SLICE("0123456789012345678901234567890");
    sessions.signing = signing;
    const skua_middleware m = skua_session_middleware(&sessions);
    if (skua_route(server, "GET /cookie", answer_cookie, &signing) ||
        skua_route(server, "GET /short-key", answer_cookie, &too_short) ||
        skua_use(server, "/session", &m) ||
        skua_route(server, "GET /session", answer_session, &sessions) ||
        skua_route_blocking(server, "GET /session/blocking", answer_session, &sessions))
        abort();
}

static skua_connection_limit by_connection;

static bool on_connect(skua_connection *connection, void *user)
{
    (void)user;
    return skua_connection_limit_take(connection, &by_connection);
}

static void on_close(skua_connection *connection, void *user)
{
    (void)user;
    skua_connection_limit_give(connection, &by_connection);
}

int main(int argc, char **argv)
{
    const char *connections = getenv("GUARDS_CONNECTIONS");
    by_connection.connections_max = connections ? (unsigned)strtoul(connections, NULL, 10) : 0;
    const skua_config config = { .hosts = "*", .on_connect = on_connect, .on_close = on_close };
    skua_server *server = server_with_options(&config, argc, argv);
    guard(server, "/cors", skua_cors_middleware(&cors_of_list), tell_user, NULL);
    guard(server, "/open", skua_cors_middleware(&cors_of_all), tell_user, NULL);
    guard(server, "/strict", skua_security_middleware(&strict), tell_user, NULL);
    guard(server, "/policy", skua_security_middleware(&strict), tell_policy, NULL);
    guard(server, "/basic", skua_basic_middleware(&basic), tell_user, &basic);
    guard(server, "/slow", skua_basic_middleware(&slow), tell_user, &slow);
    guard(server, "/bearer", skua_bearer_middleware(&bearer), tell_user, &bearer);
    guard(server, "/address", skua_limit_middleware(&by_address), tell_user, NULL);
    guard(server, "/key", skua_limit_middleware(&by_key), tell_user, NULL);
    guard(server, "/octets", skua_limit_middleware(&by_octets), tell_much, NULL);
    guard(server, "/running", skua_limit_middleware(&by_running), wait_for_ever, NULL);
    guard(server, "/timed", skua_timeout_middleware(&short_time), wait_in_vain, NULL);
    guard(server, "/id", skua_request_id_middleware(NULL), tell_id, NULL);
    guard(server, "/trace", skua_request_id_middleware("X-Trace"), tell_id, NULL);
    add_sessions(server);
    return server_serve(server, "guards");
}
