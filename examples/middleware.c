// SPDX-License-Identifier: MIT
//
// Middleware: every response says how long it took, and paths below /admin/ need a password.
//     curl -i http://127.0.0.1:8080/ ; curl -i -u admin:secret http://127.0.0.1:8080/admin/
#include <skua/skua.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char timing_key;

static long long clock_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static void timing_before(skua_request *request, void *user)
{
    (void)user;
    long long *began = skua_request_alloc(request, sizeof *began);
    if (began) *began = clock_us();
    if (began && skua_request_set(request, &timing_key, began))
        skua_log(skua_request_server(request), SKUA_SLICE("untimed"));
    skua_next(request);
}

static void timing_head(skua_request *request, int status, void *user)
{
    (void)status;
    (void)user;
    const long long *began = skua_request_get(request, &timing_key);
    char text[48];
    if (!began) return;
    int len = snprintf(text, sizeof text, "total;dur=%.3f", (double)(clock_us() - *began) / 1000);
    skua_field_add(request, "Server-Timing", (skua_slice){ text, (size_t)len });
}

static void guard_before(skua_request *request, void *user)
{
    (void)user;
    static const char wanted[] = "Basic YWRtaW46c2VjcmV0"; // admin:secret
    skua_slice given = skua_request_field(request, "Authorization");
    unsigned differs = given.len != sizeof wanted - 1;
    for (size_t i = 0; i < given.len && i < sizeof wanted - 1; i++) // in a time that tells nothing
        differs |= (unsigned)(given.ptr[i] ^ wanted[i]);
    if (differs) {
        skua_field_add(request, "WWW-Authenticate", SKUA_SLICE("Basic realm=\"admin\""));
        skua_respond_error(request, 401);
    } else {
        skua_next(request);
    }
}

static void on_any(skua_request *request, void *user)
{
    skua_respond_text(request, 200, user);
}

int main(int argc, char **argv)
{
    static char home[] = "home\n", admin[] = "admin\n";
    skua_server *server =
        skua_server_new(&(skua_config){ .listen = argc > 1 ? argv[1] : "127.0.0.1:8080" });
    skua_middleware timing = { .before = timing_before, .head = timing_head },
                    guard = { .before = guard_before };
    if (!server || skua_use(server, "/", &timing) || skua_use(server, "/admin/", &guard) ||
        skua_route(server, "GET /{$}", on_any, home) ||
        skua_route(server, "GET /admin/", on_any, admin))
        return 1;
    if (skua_run(server)) return 1; // the log says why
    skua_server_free(server);
}
