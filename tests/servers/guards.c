// SPDX-License-Identifier: MIT
//
// A server with each ready middleware at a path of its own, so that the end-to-end tests can see what
// clients get.
#include "options.h"

#include <skua/middleware/authentication.h>
#include <skua/middleware/cors.h>
#include <skua/middleware/limit.h>
#include <skua/middleware/security.h>

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

int main(int argc, char **argv)
{
    skua_server *server = server_from_options(argc, argv);
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
    return server_serve(server, "guards");
}
