// SPDX-License-Identifier: MIT
//
// All sites of a server at one stroke: what is replaced and what goes, what a failure leaves, and that no client ever
// meets a mixture.

#include "support/memory.h"
#include "support/socket.h"

#include <skua/skua.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { MANY = 40, ROUNDS = 200 };

static void discard(skua_slice octets, void *user)
{
    (void)octets, (void)user;
}

static void tell(skua_request *request, void *user)
{
    (void)skua_respond_text(request, 200, user);
}

static void count_release(void *user)
{
    atomic_fetch_add((atomic_uint *)user, 1);
}

static skua_site *site_of(skua_server *server, const char *names, const char *text,
                          atomic_uint *released)
{
    const skua_site_desc desc = { .hosts = names, .release = count_release, .user = released };
    skua_site *site = skua_site_new(server, &desc);
    assert_non_null(site);
    assert_int_equal(skua_site_route(site, "/", tell, (void *)(uintptr_t)text), SKUA_OK);
    return site;
}

static bool asks(skua_server *server, const char *host, const char *expected)
{
    char wire[200];
    skua_slice received;
    int len = snprintf(wire, sizeof wire, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", host);
    assert_int_equal(skua_test_request(server, (skua_slice){ wire, (size_t)len }, &received),
                     SKUA_OK);
    bool right = strstr(received.ptr, expected) != NULL;
    if (!right) print_error("%s: not %s but\n%s\n", host, expected, received.ptr);
    skua_test_free(received);
    return right;
}

static skua_server *open_server(void)
{
    skua_server *server =
        skua_server_new(&(skua_config){ .hosts = "localhost", .log_write = discard });
    assert_non_null(server);
    return server;
}

static void test_all_are_replaced(void **state)
{
    (void)state;
    atomic_uint released = 0;
    skua_server *server = open_server();
    skua_site *first[] = { site_of(server, "a.test", "old a", &released),
                           site_of(server, "b.test c.test", "old b", &released) };
    assert_int_equal(skua_sites_replace(server, first, 2), SKUA_OK);
    assert_true(asks(server, "c.test", "old b"));
    skua_site *second[] = { site_of(server, "a.test", "new a", &released),
                            site_of(server, "*.d.test", "new d", &released),
                            site_of(server, "a.test e.test", "later", &released) };
    assert_int_equal(skua_sites_replace(server, second, 3), SKUA_OK);
    assert_true(asks(server, "a.test", "later"));
    assert_int_equal(released, 3); // the two before, and the one whose only name the later one has
    assert_true(asks(server, "x.d.test", "new d"));
    assert_true(asks(server, "b.test", "421"));
    assert_int_equal(skua_sites_replace(server, NULL, 0), SKUA_OK);
    assert_true(asks(server, "a.test", "421"));
    assert_int_equal(released, 5);
    skua_server_free(server);
}

static void test_hosts_that_are_no_names_change_nothing(void **state)
{
    (void)state;
    atomic_uint released = 0;
    skua_server *server = open_server();
    skua_site *first = site_of(server, "a.test", "old", &released);
    assert_int_equal(skua_sites_replace(server, &first, 1), SKUA_OK);
    skua_site *second[] = { site_of(server, "a.test", "new", &released),
                            site_of(server, "b.test:80", "none", &released) };
    assert_int_equal(skua_sites_replace(server, second, 2), SKUA_EINVAL);
    assert_non_null(strstr(skua_site_error(second[1]), "names without ports"));
    assert_true(asks(server, "a.test", "old"));
    assert_int_equal(skua_sites_replace(server, second, 1), SKUA_OK); // it was the caller's still
    assert_true(asks(server, "a.test", "new"));
    skua_site_free(second[1]);
    assert_int_equal(released, 2);
    skua_server_free(server);
    assert_int_equal(released, 3);
}

// ---- A server that runs ----

typedef struct crowd {
    skua_server *server;
    atomic_bool over;
    atomic_uint asked, mixed, released;
} crowd;

static bool crowd_ask(int fd, const char *host, char *part, size_t room)
{
    char wire[100];
    int len = snprintf(wire, sizeof wire, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", host);
    return send(fd, wire, (size_t)len, MSG_NOSIGNAL) == len &&
           socket_read_response(fd, part, room) && strstr(part, "200 OK");
}

// One worker has one connection's requests: the round of the second is never older than that of the first.
static unsigned crowd_round(const char *response)
{
    const char *at = strstr(response, "round ");
    unsigned round = 0;
    for (at = at ? at + 6 : ""; *at >= '0' && *at <= '9'; at++)
        round = round * 10 + (unsigned)(*at - '0');
    return round;
}

static void *crowd_run(void *user)
{
    crowd *c = user;
    char first[1024], second[1024];
    int fd = socket_connect_to(skua_server_address(c->server, 0));
    while (!atomic_load(&c->over)) {
        bool right = crowd_ask(fd, "n1.test", first, sizeof first) &&
                     crowd_ask(fd, "n38.test", second, sizeof second) &&
                     crowd_round(second) >= crowd_round(first);
        if (!right) atomic_fetch_add(&c->mixed, 1);
        if (!right) break;
        atomic_fetch_add(&c->asked, 1);
    }
    (void)close(fd);
    return NULL;
}

static void crowd_replace(crowd *c, unsigned round)
{
    static char texts[ROUNDS][16];
    skua_site *sites[MANY];
    (void)snprintf(texts[round], sizeof texts[round], "round %u", round);
    for (unsigned i = 0; i < MANY; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n%u.test", i);
        sites[i] = site_of(c->server, name, texts[round], &c->released);
    }
    assert_int_equal(skua_sites_replace(c->server, sites, MANY), SKUA_OK);
}

static void test_no_client_meets_a_mixture(void **state)
{
    (void)state;
    enum { CLIENTS = 3 };
    pthread_t threads[CLIENTS];
    crowd c = { 0 };
    c.server = skua_server_new(
        &(skua_config){ .listen = "127.0.0.1:0", .workers = 2, .log_write = discard });
    crowd_replace(&c, 0);
    assert_int_equal(skua_start(c.server), SKUA_OK);
    for (int i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, crowd_run, &c), 0);
    for (unsigned round = 1; round < ROUNDS; round++) {
        crowd_replace(&c, round);
        nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
    }
    while (atomic_load(&c.asked) <= CLIENTS && !atomic_load(&c.mixed))
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    atomic_store(&c.over, true);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(c.mixed, 0);
    skua_server_free(c.server);
    assert_int_equal(c.released, MANY * ROUNDS);
}

// ---- Without memory ----

static void test_each_allocation_fails_once(void **state)
{
    (void)state;
    atomic_uint released = 0;
    skua_server *server = open_server();
    skua_site *first = site_of(server, "a.test", "old", &released);
    assert_int_equal(skua_sites_replace(server, &first, 1), SKUA_OK);
    skua_site *second[] = { site_of(server, "a.test", "new", &released),
                            site_of(server, "b.test", "new", &released) };
    unsigned failed = 0;
    skua_status status;
    do {
        memory_fail_after(failed);
        status = skua_sites_replace(server, second, 2);
        memory_relax();
        if (!status) break;
        assert_int_equal(status, SKUA_ENOMEM);
        assert_true(asks(server, "a.test", "old"));
        failed++;
    } while (failed < 1000);
    assert_true(failed >= 3 && failed < 1000);
    assert_true(asks(server, "b.test", "new"));
    assert_int_equal(released, 1);
    skua_server_free(server);
    assert_int_equal(released, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_are_replaced),
        cmocka_unit_test(test_hosts_that_are_no_names_change_nothing),
        cmocka_unit_test(test_no_client_meets_a_mixture),
        cmocka_unit_test(test_each_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
