// SPDX-License-Identifier: MIT
//
// The memory that one connection can make a server hold, at the default limits, in each state. The
// figures are those of docs/limits.md: none holds more, and each nearly as much.

#include "h1/session.h"
#include "unit/bed.h"

#include <stdio.h>

enum { HEAD_OCTETS = 16384, REQUESTS = 400, SPOOL_MAX = 65536 };

static const int64_t second_ns = 1000000000;

// ---- Handlers ----

static void on_end(skua_request *r, skua_end how, void *user)
{
    (void)r, (void)how, (void)user;
}

// Its end is awaited, so that its head stays until the answer has left.
static void on_watched(skua_request *r, void *user)
{
    static const char content[4000];
    (void)user;
    skua_on_end(r, on_end, NULL);
    assert_int_equal(skua_respond(r, 200, "text/plain", slice_make(content, sizeof content)),
                     SKUA_OK);
}

static void on_collected(skua_request *r, skua_status status, skua_slice content, void *user)
{
    (void)r, (void)status, (void)content, (void)user;
}

static void on_collect(skua_request *r, void *user)
{
    (void)user;
    assert_int_equal(skua_content_collect(r, 0, on_collected, NULL), SKUA_OK);
}

static void on_spooled(skua_request *r, skua_status status, const skua_upload *upload, void *user)
{
    (void)r, (void)status, (void)upload, (void)user;
}

static void on_spool(skua_request *r, void *user)
{
    (void)user;
    assert_int_equal(skua_content_spool(r, SPOOL_MAX, 0, on_spooled, NULL), SKUA_OK);
}

static void on_content(skua_request *r, skua_content_event event, skua_slice octets, void *user)
{
    (void)r, (void)event, (void)octets, (void)user; // nothing is consumed
}

static void on_read(skua_request *r, void *user)
{
    (void)user;
    assert_int_equal(skua_content_read(r, on_content, NULL), SKUA_OK);
}

static void on_room(skua_request *r, void *user)
{
    (void)user;
    static const char piece[4000];
    while (skua_write_room(r) >= sizeof piece)
        assert_int_equal(skua_write(r, slice_make(piece, sizeof piece)), SKUA_OK);
}

static void on_push(skua_request *r, void *user)
{
    (void)user;
    assert_int_equal(skua_respond_stream(r, 200, "text/plain", -1, on_room, NULL), SKUA_OK);
    on_room(r, NULL);
}

// ---- The server ----

static void open_bed(bed *b)
{
    static const struct {
        const char *pattern;
        skua_handler *handler;
    } routes[] = {
        { "GET /watched", on_watched }, { "POST /collect", on_collect },
        { "POST /spool", on_spool },    { "POST /read", on_read },
        { "GET /push", on_push },
    };
    bed_open(b, NULL);
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++)
        assert_int_equal(skua_route(b->server, routes[i].pattern, routes[i].handler, NULL),
                         SKUA_OK);
    bed_start(b);
}

// ---- Connections ----

// A head of the largest size, all but its end.
static size_t write_head(char *to, const char *line, const char *fields)
{
    size_t len = (size_t)snprintf(to, HEAD_OCTETS, "%s HTTP/1.1\r\nHost: a\r\n%sX: ", line, fields);
    memset(to + len, 'x', HEAD_OCTETS - 4 - len);
    memcpy(to + HEAD_OCTETS - 4, "\r\n\r\n", 4);
    return HEAD_OCTETS;
}

typedef struct holding {
    const char *name;
    const char *line, *fields; // of the head; NULL: none is sent
    bool in_part;              // the head
    size_t content;
    unsigned requests;
    size_t octets; // of docs/limits.md
} holding;

static const holding holdings[] = {
    { "idle", NULL, NULL, false, 0, 0, 128 },
    { "head", "GET /watched", "", true, 0, 1, 24576 },
    { "read", "POST /read", "Content-Length: 9000000\r\n", false, 8000000, 1, 24576 },
    { "spooled", "POST /spool", "Content-Length: 65000\r\n", false, 64999, 1, 114688 },
    { "collected", "POST /collect", "Content-Length: 1048576\r\n", false, 1048575, 1, 1081344 },
    { "pushed", "GET /push", "", false, 0, 1, 311296 },
    { "pipelined", "GET /watched", "", false, 0, REQUESTS, 1703936 },
};

static void holding_send(const holding *h, sim_client *client)
{
    static char head[HEAD_OCTETS], content[1 << 20];
    if (!h->line) return;
    size_t len = write_head(head, h->line, h->fields) - (h->in_part ? 1 : 0);
    for (unsigned i = 0; i < h->requests; i++)
        assert_true(sim_client_send(client, slice_make(head, len)));
    for (size_t sent = 0; sent < h->content;) {
        size_t n = h->content - sent < sizeof content ? h->content - sent : sizeof content;
        assert_true(sim_client_send(client, slice_make(content, n)));
        sent += n;
    }
}

// The rest of the slab of connections is no connection's, so it does not count.
static size_t holding_measure(const holding *h)
{
    enum { CONNECTIONS = 4 };
    bed b;
    open_bed(&b);
    for (int i = 0; i < CONNECTIONS; i++) {
        sim_client *client = bed_send(&b, (slice){ 0 });
        sim_client_pause(client, true);
        holding_send(h, client);
    }
    bed_turn_for(&b, 2 * second_ns);
    assert_int_equal(b.worker->connections.in_use, CONNECTIONS);
    size_t slab = pool_octets(&b.worker->connections), each = slab / POOL_SLAB_ITEMS;
    size_t octets = (b.worker->self.memory.used - slab) / CONNECTIONS + each;
    bed_close(&b);
    return octets;
}

static void test_each_state_holds_what_is_documented(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof holdings / sizeof holdings[0]; i++) {
        const holding *h = &holdings[i];
        size_t octets = holding_measure(h);
        if (octets > h->octets + 8 || octets < h->octets / 4 * 3)
            fail_msg("%s: %zu octets, not about %zu", h->name, octets, h->octets);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_state_holds_what_is_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
