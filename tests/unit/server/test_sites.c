// SPDX-License-Identifier: MIT
//
// Sites: which host meets which of them, and what becomes of requests and of what a site was given when
// another one is put in its place, also while threads ask.

#include "support/memory.h"
#include "support/socket.h"

#include <skua/skua.h>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void discard(skua_slice octets, void *user)
{
    (void)octets, (void)user;
}

static void tell_name(skua_request *request, void *user)
{
    (void)skua_respond_text(request, 200, user);
}

static void count_release(void *user)
{
    atomic_fetch_add((atomic_uint *)user, 1);
}

// ---- Which site a host meets ----

typedef struct host_case {
    const char *host;
    const char *site; // of which the response is
} host_case;

static const host_case hosts[] = {
    { "a.test", "first" },       { "A.Test", "first" },  { "a.test.", "first" },
    { "a.test:8080", "first" },  { "b.test", "first" },  { "x.c.test", "labels" },
    { "x.y.c.test", "own" },     { "c.test", "own" },    { ".c.test", "421" },
    { "exact.c.test", "exact" }, { "[::1]", "address" }, { "[::1]:80", "address" },
    { "127.0.0.1", "own" },      { "localhost", "own" }, { "other.test", "421" },
};

enum { HOSTS = sizeof hosts / sizeof *hosts };

static const char *site_names[][2] = {
    { "first", "a.test b.test" },
    { "labels", "*.c.test" },
    { "exact", "  exact.c.test " },
    { "address", "[::1]" },
};

static void put_site(skua_server *server, const char *hosts_of_it, const char *name,
                     atomic_uint *released)
{
    skua_site *site =
        skua_site_new(server, &(skua_site_desc){ .hosts = hosts_of_it,
                                                 .release = released ? count_release : NULL,
                                                 .user = released });
    assert_non_null(site);
    assert_int_equal(skua_site_route(site, "/", tell_name, (void *)(uintptr_t)name), SKUA_OK);
    assert_int_equal(skua_site_put(site), SKUA_OK);
}

static bool asks(skua_server *server, const char *host, const char *target, const char *expected)
{
    char wire[200];
    skua_slice received;
    int len = snprintf(wire, sizeof wire, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, host);
    assert_int_equal(skua_test_request(server, (skua_slice){ wire, (size_t)len }, &received),
                     SKUA_OK);
    bool right = strstr(received.ptr, expected) != NULL;
    if (!right) print_error("%s%s: not %s but\n%s\n", host, target, expected, received.ptr);
    skua_test_free(received);
    return right;
}

static skua_server *open_server(const char *names)
{
    skua_server *server = skua_server_new(&(skua_config){ .hosts = names, .log_write = discard });
    assert_non_null(server);
    assert_int_equal(skua_route(server, "/", tell_name, (void *)(uintptr_t) "own"), SKUA_OK);
    return server;
}

static void test_sites_are_found_by_host(void **state)
{
    (void)state;
    skua_server *server = open_server("localhost 127.0.0.1 c.test x.y.c.test");
    for (size_t i = 0; i < sizeof site_names / sizeof *site_names; i++)
        put_site(server, site_names[i][1], site_names[i][0], NULL);
    for (size_t i = 0; i < HOSTS; i++)
        assert_true(asks(server, hosts[i].host, "/", hosts[i].site));
    // a site for every other host; the server's own names are among them
    put_site(server, "*", "rest", NULL);
    assert_true(asks(server, "other.test", "/", "rest"));
    assert_true(asks(server, "localhost", "/", "rest"));
    assert_true(asks(server, "", "/", "rest"));
    assert_true(asks(server, "a.test", "/", "first"));
    skua_server_free(server);
}

// ---- What belongs to a site ----

static void stamp(skua_request *request, int status, void *user)
{
    (void)status;
    (void)skua_field_add(request, "X-Site", (skua_slice){ user, strlen(user) });
}

static void tell_error(skua_request *request, int status, skua_slice sentence, void *user)
{
    (void)sentence;
    (void)skua_respond_text(request, status, user);
}

static void tell_content(skua_request *request, void *user)
{
    (void)user;
    (void)skua_respond(request, 200, NULL, skua_request_content(request));
}

static void test_sites_have_all_that_servers_have(void **state)
{
    (void)state;
    skua_server *server = open_server("*");
    skua_site *site = skua_site_new(server, &(skua_site_desc){ .hosts = "a.test" });
    const skua_middleware middleware = { .head = stamp, .user = (void *)(uintptr_t) "mine" };
    const skua_route_desc blocking = { .pattern = "PATCHED /echo",
                                       .blocking = tell_content,
                                       .content_octets_max = 5 };
    assert_int_equal(skua_site_route_add(site, &blocking), SKUA_OK);
    assert_int_equal(skua_site_route(site, "GET /there", tell_name, (void *)(uintptr_t) "there"),
                     SKUA_OK);
    assert_int_equal(skua_site_use(site, "/", &middleware), SKUA_OK);
    assert_int_equal(skua_site_on_error(site, "/", tell_error, (void *)(uintptr_t) "our error"),
                     SKUA_OK);
    assert_int_equal(skua_site_put(site), SKUA_OK);
    assert_true(asks(server, "a.test", "/there", "X-Site: mine"));
    assert_true(asks(server, "a.test", "/none", "our error"));
    assert_true(asks(server, "a.test", "/echo", "405"));
    assert_true(asks(server, "a.test", "/echo", "our error"));
    assert_true(asks(server, "a.test", "/echo", "Allow: PATCHED"));
    skua_slice received;
    assert_int_equal(skua_test_request(server,
                                       SKUA_SLICE("PATCHED /echo HTTP/1.1\r\nHost: a.test\r\n"
                                                  "Content-Length: 5\r\n\r\nhello"
                                                  "PATCHED /echo HTTP/1.1\r\nHost: a.test\r\n"
                                                  "Content-Length: 6\r\n\r\nhello!"),
                                       &received),
                     SKUA_OK);
    assert_non_null(strstr(received.ptr, "\r\n\r\nhello"));
    assert_non_null(strstr(received.ptr, "HTTP/1.1 413"));
    assert_non_null(strstr(received.ptr, "our error"));
    skua_test_free(received);
    assert_true(asks(server, "b.test", "/", "own"));
    skua_server_free(server);
}

// A group is the same on a server and on a site.
static void test_groups_of_routes(void **state)
{
    (void)state;
    const skua_middleware middleware[] = { { .head = stamp,
                                             .user = (void *)(uintptr_t) "grouped" } };
    const skua_route_desc routes[] = {
        { .pattern = "GET /users/{id}",
          .handler = tell_name,
          .user = (void *)(uintptr_t) "a user" },
        { .pattern = "/{$}", .handler = tell_name, .user = (void *)(uintptr_t) "the slash" },
        { .pattern = "PUT /content", .blocking = tell_content, .content_octets_max = 3 },
    };
    const skua_group group = { "/api/v1", middleware, 1, routes, 3 };
    skua_server *server = open_server("*");
    skua_site *site = skua_site_new(server, &(skua_site_desc){ .hosts = "a.test" });
    skua_group with_host = group;
    with_host.prefix = "b.test/other";
    assert_int_equal(skua_route_group(server, &group), SKUA_OK);
    assert_int_equal(skua_route_group(server, &with_host), SKUA_OK);
    assert_int_equal(skua_site_group(site, &group), SKUA_OK);
    assert_int_equal(skua_site_put(site), SKUA_OK);
    static const char *const names[] = { "a.test", "other.test" };
    for (int i = 0; i < 2; i++) {
        assert_true(asks(server, names[i], "/api/v1/users/1", "a user"));
        assert_true(asks(server, names[i], "/api/v1/users/1", "X-Site: grouped"));
        assert_true(asks(server, names[i], "/api/v1/", "the slash"));
        assert_true(asks(server, names[i], "/api/v1/content", "HTTP/1.1 405"));
        assert_true(asks(server, names[i], "/api/v1/content", "X-Site: grouped"));
    }
    assert_true(asks(server, "b.test", "/other/users/1", "a user"));
    assert_true(asks(server, "a.test", "/users/1", "404"));
    skua_server_free(server);
}

static void test_groups_that_are_refused(void **state)
{
    (void)state;
    static const char *const prefixes[] = { "", "/", "api", "/api/", "GET /api", "a.test" };
    static const char *const patterns[] = { "", "GET", "GET x", "a.test/x", "x/y" };
    skua_server *server = open_server("*");
    skua_route_desc desc = { .pattern = "GET /x", .handler = tell_name };
    skua_group group = { .prefix = "/api", .routes = &desc, .route_count = 1 };
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        group.prefix = prefixes[i];
        assert_int_equal(skua_route_group(server, &group), SKUA_EINVAL);
        assert_non_null(strstr(skua_server_error(server), "a prefix is \"[HOST]/PATH\""));
    }
    group.prefix = "/api";
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        desc.pattern = patterns[i];
        assert_int_equal(skua_route_group(server, &group), SKUA_EINVAL);
        assert_non_null(strstr(skua_server_error(server), "a pattern in a group"));
    }
    desc.pattern = "GET /:id";
    assert_int_equal(skua_route_group(server, &group), SKUA_EINVAL);
    assert_non_null(strstr(skua_server_error(server), "GET /api/:id"));
    skua_server_free(server);
}

static void test_sites_that_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",        "a:80", "a/b",    "a,b",  " ",  "a.test.", "*.a.test.", "www.*",
        "*.*.org", "[::1", "[::1]x", "a\tb", "*.", ".a",      "a b:1",     "\xc3\xa4.test",
    };
    atomic_uint released = 0;
    skua_server *server = open_server("*");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const skua_site_desc desc = { .hosts = wrong[i],
                                      .release = count_release,
                                      .user = &released };
        skua_site *site = skua_site_new(server, &desc);
        assert_int_equal(skua_site_put(site), SKUA_EINVAL);
        assert_non_null(strstr(skua_site_error(site), "names without ports"));
        skua_site_free(site);
        assert_int_equal(released, i + 1);
    }
    skua_site *site = skua_site_new(server, &(skua_site_desc){ .hosts = "a" });
    assert_int_equal(skua_site_route(site, "no pattern", tell_name, NULL), SKUA_EINVAL);
    assert_non_null(strstr(skua_site_error(site), "no pattern"));
    assert_int_equal(skua_site_use(site, "x", &(skua_middleware){ 0 }), SKUA_EINVAL);
    assert_int_equal(skua_site_on_error(site, "x", tell_error, NULL), SKUA_EINVAL);
    skua_site_free(site);
    skua_site_free(NULL);
    assert_int_equal(skua_site_withdraw(server, "a"), SKUA_ENOENT);
    skua_server_free(server);
}

// ---- One in the place of another ----

static void test_sites_are_replaced_host_by_host(void **state)
{
    (void)state;
    atomic_uint released[3] = { 0 };
    skua_server *server = open_server("*");
    put_site(server, "a.test b.test", "first", &released[0]);
    assert_true(asks(server, "a.test", "/", "first"));
    put_site(server, "b.test c.test", "second", &released[1]);
    assert_true(asks(server, "a.test", "/", "first"));
    assert_true(asks(server, "b.test", "/", "second"));
    put_site(server, "a.test", "third", &released[2]);
    assert_true(asks(server, "a.test", "/", "third"));
    assert_int_equal(released[0], 1); // it has no host left
    assert_int_equal(skua_site_withdraw(server, "none.test c.test"), SKUA_OK);
    assert_true(asks(server, "c.test", "/", "own"));
    assert_true(asks(server, "b.test", "/", "second"));
    assert_int_equal(released[1], 0);
    assert_int_equal(skua_site_withdraw(server, "b.test"), SKUA_OK);
    assert_true(asks(server, "b.test", "/", "own"));
    assert_int_equal(released[1], 1);
    skua_server_free(server);
    assert_int_equal(released[2], 1);
}

// The release of one site may put another, but not while the server is freed.
static void put_next(void *user)
{
    put_site(user, "b.test", "next", NULL);
}

static void put_in_vain(void *user)
{
    skua_site *site = skua_site_new(user, &(skua_site_desc){ .hosts = "b.test" });
    assert_int_equal(skua_site_put(site), SKUA_ECLOSED);
    skua_site_free(site);
}

static void test_sites_may_be_put_in_a_release(void **state)
{
    (void)state;
    for (int served = 0; served < 2; served++) {
        skua_server *server = open_server("*");
        const skua_site_desc desc = { .hosts = "a.test", .release = put_next, .user = server };
        if (served) assert_true(asks(server, "a.test", "/", "own")); // there is a worker
        assert_int_equal(skua_site_put(skua_site_new(server, &desc)), SKUA_OK);
        put_site(server, "a.test", "second", NULL);
        assert_true(asks(server, "a.test", "/", "second"));
        assert_true(asks(server, "b.test", "/", "next"));
        const skua_site_desc last = { .hosts = "c.test", .release = put_in_vain, .user = server };
        assert_int_equal(skua_site_put(skua_site_new(server, &last)), SKUA_OK);
        skua_server_free(server);
    }
}

// A request that began with a site meets its functions to its end, and is met by no later one's.
typedef struct change {
    skua_server *server;
    skua_request *held;
    atomic_uint released;
    unsigned ends, released_at_end;
    char pattern[32];
} change;

static void note_end(skua_request *request, skua_end how, void *user)
{
    change *c = user;
    (void)how;
    c->ends++;
    c->released_at_end = atomic_load(&c->released);
    (void)snprintf(c->pattern, sizeof c->pattern, "%s", skua_request_pattern(request));
}

static void replace_itself(skua_request *request, void *user)
{
    change *c = user;
    put_site(c->server, "a.test", "after", NULL);
    assert_int_equal(skua_site_withdraw(c->server, "a.test"), SKUA_OK);
    skua_request_hold(c->held = request);
    (void)skua_respond_error(request, 404);
}

static void drop_held(skua_request *request, void *user)
{
    change *c = user;
    char text[64];
    unsigned before = atomic_load(&c->released);
    const char *pattern = skua_request_pattern(c->held);
    (void)snprintf(text, sizeof text, "%s %u", pattern, before);
    skua_request_drop(c->held);
    (void)skua_respond_text(request, 200, text);
}

static void test_sites_are_kept_by_their_requests(void **state)
{
    (void)state;
    change c = { .server = open_server("*") };
    skua_site *site = skua_site_new(
        c.server,
        &(skua_site_desc){ .hosts = "a.test", .release = count_release, .user = &c.released });
    const skua_middleware middleware = { .end = note_end, .user = &c };
    assert_int_equal(skua_site_route(site, "GET /change", replace_itself, &c), SKUA_OK);
    assert_int_equal(skua_site_use(site, "/", &middleware), SKUA_OK);
    assert_int_equal(
        skua_site_on_error(site, "/", tell_error, (void *)(uintptr_t) "the former's error"),
        SKUA_OK);
    assert_int_equal(skua_site_put(site), SKUA_OK);
    assert_int_equal(skua_route(c.server, "/drop", drop_held, &c), SKUA_OK);
    assert_true(asks(c.server, "a.test", "/change", "the former's error"));
    assert_int_equal(c.ends, 1);
    assert_int_equal(c.released_at_end, 0);
    assert_string_equal(c.pattern, "GET /change");
    assert_true(asks(c.server, "a.test", "/drop", "GET /change 0"));
    assert_int_equal(atomic_load(&c.released), 1);
    skua_server_free(c.server);
}

// ---- While a response leaves ----

enum { LENT_OCTETS = 8000000 };

typedef struct lender {
    char *content;
    atomic_uint released;
} lender;

static void spoil(void *user)
{
    lender *l = user;
    memset(l->content, 'X', LENT_OCTETS);
    atomic_fetch_add(&l->released, 1);
}

static void lend_content(skua_request *request, void *user)
{
    const lender *l = user;
    skua_respond_borrowed(request, 200, "text/plain", (skua_slice){ l->content, LENT_OCTETS }, NULL,
                          NULL);
}

// Nothing watches the request: no log, no middleware, no on_end.
static void test_sites_are_kept_by_what_they_lend(void **state)
{
    (void)state;
    static const char wire[] = "GET /lent HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n";
    static char part[65536];
    lender l = { .content = malloc(LENT_OCTETS) };
    assert_non_null(l.content);
    memset(l.content, 'a', LENT_OCTETS);
    skua_server *server = skua_server_new(
        &(skua_config){ .listen = "127.0.0.1:0", .hosts = "localhost", .workers = 1 });
    skua_site *site =
        skua_site_new(server, &(skua_site_desc){ .hosts = "a.test", .release = spoil, .user = &l });
    assert_int_equal(skua_site_route(site, "GET /lent", lend_content, &l), SKUA_OK);
    assert_int_equal(skua_site_put(site), SKUA_OK);
    assert_int_equal(skua_start(server), SKUA_OK);
    int fd = socket_connect_to(skua_server_address(server, 0));
    assert_int_equal(send(fd, wire, sizeof wire - 1, MSG_NOSIGNAL), sizeof wire - 1);
    assert_true(recv(fd, part, 100, 0) > 0);
    put_site(server, "a.test", "after", NULL);
    nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL); // to be heard of
    size_t spoiled = 0;
    for (ssize_t n; (n = recv(fd, part, sizeof part, 0)) > 0;) {
        for (ssize_t i = 0; i < n; i++)
            spoiled += part[i] == 'X';
    }
    assert_int_equal(spoiled, 0);
    close(fd);
    while (!atomic_load(&l.released))
        sched_yield();
    skua_stop(server, 0);
    assert_int_equal(skua_wait(server), SKUA_OK);
    skua_server_free(server);
    assert_int_equal(atomic_load(&l.released), 1);
    free(l.content);
}

// ---- On a worker without memory ----

typedef struct famine {
    atomic_bool begun, put;
    uint64_t state;
} famine;

static void starve(skua_request *request, void *user)
{
    famine *f = user;
    memory_starve(&f->state, 1000);
    atomic_store(&f->begun, true);
    while (!atomic_load(&f->put))
        sched_yield();
    skua_respond_text(request, 200, "");
}

static void relax(skua_worker *worker, void *user)
{
    (void)worker, (void)user;
    memory_relax();
}

static void test_sites_need_no_memory_of_workers(void **state)
{
    (void)state;
    static const char wire[] =
        "GET /starve HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    static const char asked[] = "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n";
    char part[1024] = "";
    famine f = { .state = 1 };
    skua_server *server = skua_server_new(&(skua_config){
        .listen = "127.0.0.1:0", .hosts = "localhost", .workers = 1, .log_write = discard });
    assert_int_equal(skua_route(server, "/starve", starve, &f), SKUA_OK);
    put_site(server, "a.test", "before", NULL);
    assert_int_equal(skua_start(server), SKUA_OK);
    int fd = socket_connect_to(skua_server_address(server, 0));
    assert_int_equal(send(fd, wire, sizeof wire - 1, MSG_NOSIGNAL), sizeof wire - 1);
    while (!atomic_load(&f.begun))
        sched_yield();
    put_site(server, "a.test", "after", NULL);
    assert_int_equal(skua_post(server, 0, relax, NULL), SKUA_OK);
    atomic_store(&f.put, true);
    while (recv(fd, part, sizeof part, 0) > 0)
        continue;
    close(fd);
    fd = socket_connect_to(skua_server_address(server, 0));
    assert_int_equal(send(fd, asked, sizeof asked - 1, MSG_NOSIGNAL), sizeof asked - 1);
    size_t len = 0;
    for (ssize_t n; (n = recv(fd, part + len, sizeof part - 1 - len, 0)) > 0;)
        len += (size_t)n;
    part[len] = 0;
    assert_non_null(strstr(part, "after"));
    close(fd);
    skua_stop(server, 0);
    assert_int_equal(skua_wait(server), SKUA_OK);
    skua_server_free(server);
}

// ---- While threads ask ----

enum { ASKERS = 3, PUTS = 300, SITES = 100 };

typedef struct crowd {
    skua_server *server;
    atomic_bool over;
    atomic_uint asked, wrong, released;
} crowd;

static void tell_live(skua_request *request, void *user)
{
    (void)user;
    (void)skua_respond_text(request, 200, "there is one");
}

static void put_live(crowd *c, const char *names)
{
    skua_site *site = skua_site_new(
        c->server,
        &(skua_site_desc){ .hosts = names, .release = count_release, .user = &c->released });
    assert_non_null(site);
    assert_int_equal(skua_site_route(site, "/", tell_live, NULL), SKUA_OK);
    assert_int_equal(skua_site_put(site), SKUA_OK);
}

static void *ask_on(void *user)
{
    crowd *c = user;
    int fd = socket_connect_to(skua_server_address(c->server, 0));
    char part[1024];
    while (!atomic_load(&c->over)) {
        static const char wire[] = "GET / HTTP/1.1\r\nHost: live.test\r\n\r\n";
        bool sent = send(fd, wire, sizeof wire - 1, MSG_NOSIGNAL) == (ssize_t)sizeof wire - 1;
        if (!sent || !socket_read_response(fd, part, sizeof part) ||
            !strstr(part, "there is one")) {
            atomic_fetch_add(&c->wrong, 1);
            break;
        }
        atomic_fetch_add(&c->asked, 1);
    }
    close(fd);
    return NULL;
}

// Until the threads have been answered.
static void await_answers(crowd *c)
{
    while (atomic_load(&c->asked) <= ASKERS && !atomic_load(&c->wrong))
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static void test_sites_are_replaced_while_threads_ask(void **state)
{
    (void)state;
    crowd c = { 0 };
    pthread_t threads[ASKERS];
    c.server = skua_server_new(
        &(skua_config){ .listen = "127.0.0.1:0", .workers = 2, .log_write = discard });
    put_live(&c, "live.test");
    assert_int_equal(skua_start(c.server), SKUA_OK);
    for (int i = 0; i < ASKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_on, &c), 0);
    for (int i = 0; i < PUTS; i++) {
        put_live(&c, i % 3 ? "live.test" : "live.test other.test");
        if (i % 7 == 0) assert_true(skua_site_withdraw(c.server, "other.test") != SKUA_ENOMEM);
        nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
    }
    await_answers(&c);
    atomic_store(&c.over, true);
    for (int i = 0; i < ASKERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(c.wrong, 0);
    skua_server_free(c.server);
    assert_int_equal(c.released, PUTS + 1); // each once
}

// ---- Directories ----

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void put_directory(skua_server *server, const char *host, const char *pattern,
                          const char *folder)
{
    skua_site *site = skua_site_new(server, &(skua_site_desc){ .hosts = host });
    assert_int_equal(skua_site_directory(site, pattern, folder, NULL), SKUA_OK);
    assert_int_equal(skua_site_put(site), SKUA_OK);
}

// Each site has a cache of its own: the same name in two of them is two files.
static void test_directories_of_sites(void **state)
{
    (void)state;
    char folders[2][32] = { "/tmp/skua-sites-XXXXXX", "/tmp/skua-sites-XXXXXX" };
    skua_server *server = open_server("localhost");
    for (int i = 0; i < 2; i++) {
        assert_non_null(mkdtemp(folders[i]));
        write_file(folders[i], "a.txt", i ? "content of b" : "content of a");
    }
    put_directory(server, "a.test", "/", folders[0]);
    put_directory(server, "b.test", "GET /deep/", folders[1]);
    for (int i = 0; i < 2; i++) {
        assert_true(asks(server, "a.test", "/a.txt", "content of a"));
        assert_true(asks(server, "b.test", "/deep/a.txt", "content of b"));
    }
    assert_true(asks(server, "b.test", "/a.txt", "404"));
    assert_true(asks(server, "b.test", "/deep", "Location: /deep/"));
    assert_true(asks(server, "localhost", "/a.txt", "own"));
    skua_server_free(server);
    for (int i = 0; i < 2; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "%s/a.txt", folders[i]);
        (void)unlink(path);
        (void)rmdir(folders[i]);
    }
}

static void test_directories_that_are_refused(void **state)
{
    (void)state;
    skua_server *server = open_server("localhost");
    skua_site *site = skua_site_new(server, &(skua_site_desc){ .hosts = "a.test" });
    assert_int_equal(skua_site_directory(site, "/a", "/", NULL), SKUA_EINVAL);
    assert_non_null(strstr(skua_site_error(site), "a directory's pattern is"));
    assert_int_equal(skua_site_directory(site, "/", "/there is none", NULL), SKUA_ENOENT);
    assert_non_null(strstr(skua_site_error(site), "/there is none"));
    assert_string_equal(skua_server_error(server), "");
    skua_site_free(site);
    skua_server_free(server);
}

static unsigned descriptors(void)
{
    unsigned open = 0;
    for (int fd = 0; fd < 1024; fd++)
        open += fcntl(fd, F_GETFD) >= 0;
    return open;
}

// A client that leaves as soon as it has asked, so that files are opened for nobody. A descriptor is the lowest number that
// is free: a high one says that the workers have not yet heard of those who left, who must not take all that there are.
static void *ask_and_leave(void *user)
{
    enum { LEFT_OPEN_MAX = 800 };
    crowd *c = user;
    while (!atomic_load(&c->over)) {
        static const char wire[] = "GET /lists/ HTTP/1.1\r\nHost: live.test\r\n\r\n"
                                   "GET /index.html HTTP/1.1\r\nHost: live.test\r\n\r\n";
        int fd = socket_connect_to(skua_server_address(c->server, 0));
        (void)send(fd, wire, sizeof wire - 1, MSG_NOSIGNAL);
        (void)close(fd);
        // a server that is slow keeps them all until it has answered
        while (fd > LEFT_OPEN_MAX && descriptors() > LEFT_OPEN_MAX && !atomic_load(&c->over))
            nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
    }
    return NULL;
}

static void put_live_directories(crowd *c, const char *folder)
{
    skua_site *site = skua_site_new(
        c->server,
        &(skua_site_desc){ .hosts = "live.test", .release = count_release, .user = &c->released });
    const skua_directory_config lists = { .list = true, .index = "none.html" };
    assert_int_equal(skua_site_directory(site, "/", folder, NULL), SKUA_OK);
    assert_int_equal(skua_site_directory(site, "/lists/", folder, &lists), SKUA_OK);
    assert_int_equal(skua_site_put(site), SKUA_OK);
}

static bool descriptors_are(unsigned count)
{
    for (int i = 0; i < 2000 && descriptors() != count; i++)
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    return descriptors() == count;
}

static bool count_is(atomic_uint *count, unsigned expected)
{
    for (int i = 0; i < 2000 && atomic_load(count) != expected; i++)
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    return atomic_load(count) == expected;
}

static void hear(skua_worker *worker, void *user)
{
    (void)worker;
    atomic_fetch_add((atomic_uint *)user, 1);
}

// Letters come in their order: who has read this one has taken over the site that was put before.
static void wait_until_all_serve(skua_server *server)
{
    atomic_uint heard = 0;
    for (unsigned i = 0; i < skua_server_workers(server); i++)
        assert_int_equal(skua_post(server, i, hear, &heard), SKUA_OK);
    assert_true(count_is(&heard, skua_server_workers(server)));
}

// More than there are keys for objects of workers, so that these must be given out again. When the last directory has
// gone, so have the descriptors of its root, its files and its watches.
static void test_directories_come_and_go_while_threads_ask(void **state)
{
    (void)state;
    enum { DIRECTORIES = 700, LEFT_MAX = 100 };
    crowd c = { 0 };
    pthread_t askers[ASKERS], leaver;
    char folder[32] = "/tmp/skua-sites-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    write_file(folder, "index.html", "there is one");
    c.server = skua_server_new(
        &(skua_config){ .listen = "127.0.0.1:0", .workers = 2, .log_write = discard });
    assert_int_equal(skua_start(c.server), SKUA_OK);
    unsigned before = descriptors();
    put_live_directories(&c, folder);
    wait_until_all_serve(c.server);
    for (int i = 0; i < ASKERS; i++)
        assert_int_equal(pthread_create(&askers[i], NULL, ask_on, &c), 0);
    assert_int_equal(pthread_create(&leaver, NULL, ask_and_leave, &c), 0);
    for (int i = 0; i < DIRECTORIES; i++) {
        put_live_directories(&c, folder);
        do // keys are given out again when workers have had the time for it
            nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
        while (i - (int)atomic_load(&c.released) > LEFT_MAX);
    }
    await_answers(&c);
    atomic_store(&c.over, true);
    for (int i = 0; i < ASKERS; i++)
        pthread_join(askers[i], NULL);
    pthread_join(leaver, NULL);
    assert_int_equal(c.wrong, 0);
    assert_int_equal(skua_site_withdraw(c.server, "live.test"), SKUA_OK);
    assert_true(descriptors_are(before));
    assert_int_equal(c.released, DIRECTORIES + 1);
    skua_server_free(c.server);
    (void)snprintf(path, sizeof path, "%s/index.html", folder);
    (void)unlink(path);
    (void)rmdir(folder);
}

static void *make_none(skua_worker *worker, void *user)
{
    (void)worker;
    return user;
}

// A directory takes one of the objects of workers.
static void test_the_last_directory(void **state)
{
    (void)state;
    enum { LOCALS_MAX = 1024 };
    skua_server *server = open_server("localhost");
    unsigned key;
    for (int i = 0; i < LOCALS_MAX - 1; i++) {
        const skua_local_desc desc = { .make = make_none };
        assert_int_equal(skua_local_add(server, &desc, &key), SKUA_OK);
    }
    put_directory(server, "a.test", "/", "/");
    skua_site *site = skua_site_new(server, &(skua_site_desc){ .hosts = "b.test" });
    assert_int_equal(skua_site_directory(site, "/", "/", NULL), SKUA_ELIMIT);
    assert_non_null(strstr(skua_site_error(site), "too many"));
    skua_site_free(site);
    skua_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sites_are_found_by_host),
        cmocka_unit_test(test_sites_have_all_that_servers_have),
        cmocka_unit_test(test_groups_of_routes),
        cmocka_unit_test(test_groups_that_are_refused),
        cmocka_unit_test(test_sites_that_are_refused),
        cmocka_unit_test(test_sites_are_replaced_host_by_host),
        cmocka_unit_test(test_sites_may_be_put_in_a_release),
        cmocka_unit_test(test_sites_are_kept_by_their_requests),
        cmocka_unit_test(test_sites_are_kept_by_what_they_lend),
        cmocka_unit_test(test_sites_need_no_memory_of_workers),
        cmocka_unit_test(test_sites_are_replaced_while_threads_ask),
        cmocka_unit_test(test_directories_of_sites),
        cmocka_unit_test(test_directories_that_are_refused),
        cmocka_unit_test(test_directories_come_and_go_while_threads_ask),
        cmocka_unit_test(test_the_last_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
