// SPDX-License-Identifier: MIT
//
// Each address has one source of clients' addresses, over real sockets. Everything is sent to all, and
// each believes its own.

#include "support/socket.h"

#include <skua/skua.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define HEADER "PROXY TCP4 203.0.113.3 10.0.0.1 4711 80\r\n"
#define FIELDS "Forwarded: for=203.0.113.1;proto=https\r\nX-Forwarded-For: 203.0.113.2\r\n"

static void tell(skua_request *request, void *user)
{
    (void)user;
    char peer[64];
    (void)skua_request_peer(request, peer, sizeof peer);
    skua_respond_format(request, 200, "text/plain", "[%s %s]", peer, skua_request_scheme(request));
}

static void ask(skua_server *server, size_t index, const char *host, bool proxied, char text[512])
{
    int client = socket_connect_to(skua_server_address(server, index));
    char octets[512];
    size_t len = 0;
    int n = snprintf(octets, sizeof octets,
                     "%sGET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n" FIELDS "\r\n",
                     proxied ? HEADER : "", host);
    assert_int_equal(send(client, octets, (size_t)n, MSG_NOSIGNAL), n);
    for (int tries = 0; tries < 20000 && len < 511; tries++) {
        assert_int_equal(skua_turn(server, 1000000), SKUA_OK);
        ssize_t got = recv(client, text + len, 511 - len, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN)) break;
        if (got > 0) len += (size_t)got;
    }
    text[len] = 0;
    close(client);
}

static void expect(skua_server *server, size_t index, const char *host, bool proxied,
                   const char *wanted)
{
    char text[512];
    ask(server, index, host, proxied, text);
    if (*wanted ? !strstr(text, wanted) : *text)
        fail_msg("address %zu: not %s: %s", index, wanted, text);
}

static void each_address_has_its_own(void **state)
{
    (void)state;
    char path[64];
    (void)snprintf(path, sizeof path, "unix:/tmp/skua-sources-%d", (int)getpid());
    skua_server *server = skua_server_new(&(skua_config){
        .listen = "127.0.0.1:0", .trusted = "127.0.0.1 unix", .forwarded = SKUA_FORWARDED_X });
    assert_non_null(server);
    assert_int_equal(skua_route(server, "/", tell, NULL), SKUA_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(skua_listen(server, "127.0.0.1:0"), SKUA_OK);
    assert_int_equal(skua_listen(server, path), SKUA_OK);
    assert_int_equal(skua_listen_forwarded(server, 1, SKUA_FORWARDED_NONE), SKUA_OK);
    assert_int_equal(skua_listen_forwarded(server, 2, SKUA_FORWARDED_STANDARD), SKUA_OK);
    assert_int_equal(skua_listen_forwarded(server, 3, SKUA_FORWARDED_PROXY), SKUA_OK);
    assert_int_equal(skua_listen_forwarded(server, 4, SKUA_FORWARDED_PROXY), SKUA_OK);
    assert_int_equal(skua_listen_forwarded(server, 4, (skua_forwarded)4), SKUA_EINVAL);
    assert_int_equal(skua_open(server), SKUA_OK);
    expect(server, 0, "localhost", false, "[203.0.113.2 http]");
    expect(server, 1, "localhost", false, "[127.0.0.1 http]");
    expect(server, 2, "localhost", false, "[203.0.113.1 https]");
    expect(server, 3, "localhost", true, "[203.0.113.3 http]");
    expect(server, 4, "localhost", true, "[203.0.113.3 http]");
    // The names of hosts are checked by how a proxy has come.
    expect(server, 3, "elsewhere.example", true, " 421 ");
    expect(server, 4, "elsewhere.example", true, "[203.0.113.3 http]");
    // Without a header nobody is served, and with one where none is expected.
    expect(server, 3, "localhost", false, "");
    expect(server, 0, "localhost", true, " 400 ");
    skua_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_address_has_its_own) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
