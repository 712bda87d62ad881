// SPDX-License-Identifier: MIT
//
// A whole connection over the simulated kernel, with small limits so that their edges are near:
// - octets that come at once and octets that come in pieces get the same answers, but for Date;
// - every answer is of the grammar and complete;
// - the connection ends when the client is done, and the next one is served.
// The first octet of the input chooses the pieces. Input that opens like HTTP/2's preface is an HTTP/1
// request here, since the answers are read as HTTP/1's; fuzz_h2 has the other.

#include "base/assert.h"
#include "io/sim.h"
#include "server/server.h"
#include "server/start.h"
#include "server/worker_run.h"
#include "app/app.h"
#include "support/responses.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 2048, TURNS_MAX = 20000, PIECE_OCTETS = 300, LENGTH_MAX = 10000 };

static sim_kernel *kernel;
static skua_server *server;
static server_worker *worker;
static int listener;
static app fuzzed;
static visit *waiting; // those who put something off

// ---- A server ----

static void put_off(visit *v)
{
    SKUA_ASSERT(!v->next);
    v->next = waiting;
    waiting = v;
}

static void discard_log(skua_slice lines, void *user)
{
    (void)lines;
    (void)user;
}

// Steps have one length, so that the chunks do not depend on how much room there happens to be.
// What has no good end is not complete, and so left out.
static void add_routes(void)
{
    static const app_manner manner = { .put_off = put_off, .hand_over = put_off };
    fuzzed = (app){ .forgets = true,
                    .len_max = LENGTH_MAX,
                    .step_octets = PIECE_OCTETS,
                    .piece_octets = PIECE_OCTETS };
    app_init(&fuzzed, &manner, server);
    app_add_answers(&fuzzed);
    app_add_content(&fuzzed);
    app_add_sources(&fuzzed);
}

static void start(void)
{
    const skua_config config = {
        .workers = 1,
        .head_octets_max = 600,
        .target_octets_max = 200,
        .fields_max = 10,
        .trailer_octets_max = 150,
        .chunk_ext_octets_max = 60,
        .content_octets_max = 400,
        .discard_octets_max = 300,
        .out_octets_max = 2000,
        .http2 = { .h2c_off = true },
        .log_write = discard_log,
    };
    kernel = sim_kernel_new(&(sim_config){ .seed = 1 });
    server = skua_server_new(&config);
    SKUA_ASSERT(kernel && server);
    add_routes();
    listener = sim_listen(kernel);
    SKUA_ASSERT(server_start_on(server, &io_backend_sim, kernel, listener) == SKUA_OK);
    worker = server->workers[0];
}

// ---- A client ----

// Until there is nothing to do but to wait for the client.
static void settle(void)
{
    for (int i = 0;; i++) {
        SKUA_ASSERT(i < TURNS_MAX);
        SKUA_ASSERT(worker_turn(worker, 0));
        if (worker->self.loop.pending || worker->self.loop.pending_ops || !sim_is_quiet(kernel))
            continue;
        if (!waiting) return;
        visit *v = waiting;
        waiting = v->next;
        v->next = NULL;
        visit_go_on(v);
    }
}

static void finish(sim_client *client)
{
    if (!sim_client_is_reset(client)) sim_client_shutdown(client);
    settle();
    for (int i = 0; i < TURNS_MAX && sim_sockets_open(kernel); i++)
        SKUA_ASSERT(worker_turn(worker, -1));
    SKUA_ASSERT(sim_sockets_open(kernel) == 0);
    sim_drain(kernel);
}

static size_t piece_of(unsigned control, uint64_t *state, size_t left)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    size_t most = control % 4 == 0 ? 1 : control % 4 == 1 ? 8 : control % 4 == 2 ? 100 : left;
    size_t n = 1 + (size_t)((*state >> 33) % most);
    return n < left ? n : left;
}

// pieces: 256 for all at once. What came back, but for what may differ, in memory of the caller's.
static sim_client *run(slice input, unsigned control)
{
    sim_client *client = sim_connect(kernel, listener);
    SKUA_ASSERT(client);
    uint64_t state = control;
    while (input.len) {
        size_t n = control > UINT8_MAX ? input.len : piece_of(control, &state, input.len);
        SKUA_ASSERT(sim_client_send(client, slice_make(input.ptr, n)));
        input = slice_from(input, n);
        settle();
    }
    finish(client);
    return client;
}

// ---- What must hold ----

static bool contains(slice s, const char *text)
{
    for (size_t i = 0; i + strlen(text) <= s.len; i++) {
        if (slice_equal_nocase(slice_make(s.ptr + i, strlen(text)), slice_of(text))) return true;
    }
    return false;
}

// A copy in which every Date is the same.
static char *without_dates(slice got)
{
    static const char mark[] = "\r\nDate: ";
    char *copy = malloc(got.len + 1);
    SKUA_ASSERT(copy);
    if (got.len) memcpy(copy, got.ptr, got.len);
    for (size_t i = 0; i + sizeof mark - 1 + 29 <= got.len; i++) {
        if (memcmp(copy + i, mark, sizeof mark - 1) == 0)
            memset(copy + i + sizeof mark - 1, '*', 29);
    }
    return copy;
}

static void check_same(slice one, slice two)
{
    char *a = without_dates(one), *b = without_dates(two);
    SKUA_ASSERT(one.len == two.len);
    SKUA_ASSERT(memcmp(a, b, one.len) == 0);
    free(a);
    free(b);
}

static void check_answers(const sim_client *client)
{
    slice got = sim_client_received(client);
    for (;;) {
        read_response a;
        responses_state state = responses_read(&got, false, true, &a);
        SKUA_ASSERT(state != RESPONSE_IS_BROKEN && state != RESPONSE_IS_PART);
        responses_free(&a);
        if (state == RESPONSE_IS_NONE) return;
    }
}

static void check_next_is_served(void)
{
    sim_client *client = run(slice_of("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"), UINT8_MAX + 1);
    slice got = sim_client_received(client);
    read_response a;
    SKUA_ASSERT(responses_read(&got, false, true, &a) == RESPONSE_IS_WHOLE);
    SKUA_ASSERT(a.status == 200 && a.content_len == 5 && got.len == 0);
    responses_free(&a);
    sim_client_free(client);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > INPUT_MAX) return 0;
    if (!kernel) start();
    slice input = slice_make((const char *)data + 1, size - 1);
    sim_client *whole = run(input, UINT8_MAX + 1), *pieces = run(input, data[0]);
    // Whether 100 (Continue) is sent depends on whether content is there already (RFC 9110
    // §10.1.1).
    if (!contains(input, "100-continue"))
        check_same(sim_client_received(whole), sim_client_received(pieces));
    // Without the requests there is no telling which answers are without content.
    if (!contains(input, "HEAD")) check_answers(whole);
    sim_client_free(whole);
    sim_client_free(pieces);
    check_next_is_served();
    return 0;
}
