// SPDX-License-Identifier: MIT
//
// WebSockets on the simulated kernel. Every seed makes clients that send messages in fragments, cut
// anywhere, with pings between, or take what the server pours; and a kernel with its own mix of
// faults; every other seed's echoes forget their requests, and rest, so that they are parked. Each client that the network has not reset gets everything, in its order; in every run
// each socket that was open is closed once. SKUA_SIM_SEED=N plays that seed alone, with a trace.

#include "http/ws_frame.h"
#include "io/sim.h"
#include "server/start.h"
#include "server/worker_run.h"
#include "support/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum {
    SEEDS = 400,
    CLIENTS_MAX = 5,
    MESSAGES_MAX = 12,
    MESSAGE_OCTETS_MAX = 9000,
    SCRIPT_OCTETS_MAX = 1 << 18,
    POURED = 60,
    POURED_OCTETS = 3000,
    TURNS_MAX = 100000,
    RESTS_MAX = 3
};

static const int64_t step_ns = 1000000;

// How a client ends.
typedef enum leaving { LEAVES_BY_CLOSE, LEAVES_BY_FIN, LEAVES_BY_RESET, STAYS, LEAVINGS } leaving;

typedef struct visitor {
    sim_client *client;
    bool takes; // what is poured, in place of an echo
    leaving how;
    char *script;
    size_t len, sent;
    char *wanted; // frames that are to come, pongs left out
    size_t wanted_len;
} visitor;

typedef struct play {
    uint64_t seed, memory;
    unsigned starved, rests;
    bool forgets;
    sim_kernel *kernel;
    skua_server *server;
    int listener;
    bool over;
    unsigned opened, closed, parked;
    visitor visitors[CLIENTS_MAX];
    unsigned count;
} play;

static uint64_t dice(play *p, uint64_t n)
{
    return sim_random(p->kernel) % n;
}

// ---- The server's side ----

static void echo_open(skua_socket socket, skua_request *request, void *user)
{
    play *p = user;
    p->opened++;
    if (skua_socket_request(socket) != request) abort();
}

static void echo_message(skua_socket socket, skua_slice message, bool text, void *user)
{
    const play *p = user;
    skua_status status =
        text ? skua_socket_text(socket, message) : skua_socket_binary(socket, message);
    if (status && !(p->starved && status == SKUA_ENOMEM)) abort();
}

static void any_close(skua_socket socket, unsigned code, skua_slice reason, void *user)
{
    play *p = user;
    p->closed++;
    (void)reason;
    if (code < 1000 || (!p->forgets && !skua_socket_request(socket))) abort();
    if (skua_socket_close(socket, 0, SKUA_SLICE("")) != SKUA_ECLOSED) abort();
}

static const char poured_key;

// The number of the next piece is kept with the request.
static void pour(skua_socket socket)
{
    static char piece[POURED_OCTETS];
    unsigned *at = skua_request_get(skua_socket_request(socket), &poured_key);
    skua_status status = SKUA_OK;
    while (*at < POURED && !status) {
        memset(piece, 'a' + (int)(*at % 26), sizeof piece);
        status = skua_socket_text(socket, slice_make(piece, sizeof piece));
        if (!status) ++*at;
    }
}

static void pour_open(skua_socket socket, skua_request *request, void *user)
{
    play *p = user;
    p->opened++;
    unsigned *at = skua_request_alloc(request, sizeof *at);
    if (!at) {
        (void)skua_socket_close(socket, 1011, SKUA_SLICE(""));
        return;
    }
    *at = 0;
    if (skua_request_set(request, &poured_key, at)) {
        (void)skua_socket_close(socket, 1011, SKUA_SLICE(""));
        return;
    }
    pour(socket);
}

static void pour_drain(skua_socket socket, void *user)
{
    (void)user;
    pour(socket);
}

// ---- The clients' side ----

static void put(visitor *v, const char *octets, size_t len)
{
    assert_true(v->len + len <= SCRIPT_OCTETS_MAX);
    memcpy(v->script + v->len, octets, len);
    v->len += len;
}

static void put_frame(play *p, visitor *v, ws_opcode opcode, bool final, const char *payload,
                      size_t len)
{
    static char masked[MESSAGE_OCTETS_MAX + 1];
    char head[WS_SENT_HEAD_OCTETS_MAX];
    uint8_t key[WS_KEY_OCTETS];
    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (uint8_t)dice(p, 256);
    size_t head_len = ws_head_write(head, opcode, final, len);
    head[1] = (char)(head[1] | (char)0x80);
    put(v, head, head_len);
    put(v, (const char *)key, sizeof key);
    (void)ws_unmask(masked, payload, len, key, 0);
    put(v, masked, len);
}

static void want_frame(visitor *v, ws_opcode opcode, const char *payload, size_t len)
{
    assert_true(v->wanted_len + len + WS_SENT_HEAD_OCTETS_MAX <= SCRIPT_OCTETS_MAX);
    v->wanted_len += ws_head_write(v->wanted + v->wanted_len, opcode, true, len);
    memcpy(v->wanted + v->wanted_len, payload, len);
    v->wanted_len += len;
}

// A message in up to four fragments.
static void put_message(play *p, visitor *v)
{
    static char text[MESSAGE_OCTETS_MAX];
    ws_opcode opcode = dice(p, 2) ? WS_TEXT : WS_BINARY;
    size_t len = (size_t)dice(p, dice(p, 2) ? 200 : MESSAGE_OCTETS_MAX);
    for (size_t i = 0; i < len; i++)
        text[i] = (char)(opcode == WS_TEXT ? ' ' + (int)dice(p, 90) : (int)dice(p, 256));
    want_frame(v, opcode, text, len);
    size_t at = 0;
    for (unsigned fragment = 0; fragment < 3 && dice(p, 2); fragment++) {
        size_t n = (size_t)dice(p, len - at + 1);
        put_frame(p, v, fragment ? WS_CONTINUATION : opcode, false, text + at, n);
        if (dice(p, 3) == 0) put_frame(p, v, WS_PING, true, text, dice(p, 2) ? 0 : len % 126);
        opcode = fragment ? opcode : WS_CONTINUATION;
        at += n;
    }
    put_frame(p, v, opcode, true, text + at, len - at);
}

static void write_script(play *p, visitor *v)
{
    static const char upgrade[] = "GET /%s HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: "
                                  "websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
                                  "dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    char head[256], piece[POURED_OCTETS];
    int len = snprintf(head, sizeof head, upgrade, v->takes ? "pour" : "echo");
    put(v, head, (size_t)len);
    for (unsigned i = 0; v->takes && i < POURED; i++) {
        memset(piece, 'a' + (int)(i % 26), sizeof piece);
        want_frame(v, WS_TEXT, piece, sizeof piece);
    }
    for (unsigned i = (unsigned)dice(p, MESSAGES_MAX); !v->takes && i > 0; i--)
        put_message(p, v);
}

// The frames that have come behind the head of the response, without pongs, are those that were
// wanted so far; what follows them is a close at most. Returns: whether all have come.
static bool has_come(const play *p, const visitor *v, bool *closed)
{
    slice got = sim_client_received(v->client);
    const char *end = got.len > 3 ? memmem(got.ptr, got.len, "\r\n\r\n", 4) : NULL;
    *closed = false;
    if (!end) return false;
    if (p->starved && memcmp(got.ptr, "HTTP/1.1 101", 12) != 0) return false;
    assert_memory_equal(got.ptr, "HTTP/1.1 101", 12);
    got = slice_from(got, (size_t)(end + 4 - got.ptr));
    size_t at = 0;
    while (got.len >= 2) {
        size_t octets = (uint8_t)got.ptr[1], head = 2;
        if (octets == 126) {
            if (got.len < 4) break;
            octets = (size_t)(uint8_t)got.ptr[2] << 8 | (uint8_t)got.ptr[3];
            head = 4;
        }
        assert_true((uint8_t)got.ptr[1] < 127 && !*closed);
        if (got.len < head + octets) break;
        unsigned opcode = (uint8_t)got.ptr[0] & 15;
        if (opcode == WS_CLOSE) {
            *closed = true;
        } else if (opcode < WS_CLOSE) {
            assert_true(p->starved || at + head + octets <= v->wanted_len);
            if (!p->starved) assert_memory_equal(got.ptr, v->wanted + at, head + octets);
            at += head + octets;
        }
        got = slice_from(got, head + octets);
    }
    return at == v->wanted_len;
}

// ---- Playing ----

static void play_begin(play *p, FILE *trace)
{
    static const sim_fault faults[] = { SIM_SHORT_RECV, SIM_SHORT_SEND, SIM_DELAY,
                                        SIM_RECV_AGAIN, SIM_SEND_AGAIN, SIM_NO_BUFFERS };
    sim_config kernel = { .seed = p->seed, .trace = trace };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        kernel.permille[faults[i]] = (uint16_t)((p->seed >> i & 1) * 200);
    if (p->seed % 8 == 0) kernel.permille[SIM_RESET] = 2;
    if (p->seed % 3 == 0) kernel.send_buffer_octets = 3000;
    p->kernel = sim_kernel_new(&kernel);
    p->server = skua_server_new(&(skua_config){ .workers = 1, .out_octets_max = 30000 });
    assert_true(p->kernel && p->server);
    p->listener = sim_listen(p->kernel);
    const skua_websocket_desc echoes = { .open = echo_open,
                                         .message = echo_message,
                                         .close = any_close,
                                         .user = p,
                                         .keeps_request = !p->forgets };
    const skua_websocket_desc pours = { .open = pour_open,
                                        .drain = pour_drain,
                                        .close = any_close,
                                        .user = p,
                                        .queued_octets_max = 10000,
                                        .keeps_request = true };
    assert_int_equal(skua_websocket(p->server, "GET /echo", &echoes), SKUA_OK);
    assert_int_equal(skua_websocket(p->server, "GET /pour", &pours), SKUA_OK);
    assert_int_equal(server_start_on(p->server, &io_backend_sim, p->kernel, p->listener), SKUA_OK);
    p->count = 1 + (unsigned)dice(p, CLIENTS_MAX);
    for (unsigned i = 0; i < p->count; i++) {
        visitor *v = &p->visitors[i];
        *v = (visitor){ .client = sim_connect(p->kernel, p->listener), .takes = dice(p, 3) == 0 };
        v->how = (leaving)dice(p, LEAVINGS);
        v->script = malloc(SCRIPT_OCTETS_MAX);
        v->wanted = malloc(SCRIPT_OCTETS_MAX);
        assert_true(v->client && v->script && v->wanted);
        write_script(p, v);
    }
}

static void play_turn_of(play *p, int64_t ns)
{
    if (p->over) return;
    if (p->starved) memory_starve(&p->memory, p->starved);
    if (!worker_turn(p->server->workers[0], ns)) p->over = true;
    memory_relax();
}

static void play_turn(play *p)
{
    play_turn_of(p, step_ns);
}

// Nobody says anything for three seconds, a few times.
static void maybe_rest(play *p)
{
    if (!p->forgets || p->rests == RESTS_MAX || dice(p, 8)) return;
    p->rests++;
    for (int turn = 0; turn < 30; turn++)
        play_turn_of(p, 100 * step_ns);
    p->parked += p->server->workers[0]->self.parked.in_use;
}

static void say_more(play *p, visitor *v)
{
    size_t n = v->len - v->sent, most = 1 + (size_t)dice(p, 3000);
    if (n > most) n = most;
    if (n) assert_true(sim_client_send(v->client, slice_make(v->script + v->sent, n)));
    v->sent += n;
}

static bool is_over(const visitor *v)
{
    return sim_client_is_eof(v->client) || sim_client_is_reset(v->client);
}

static void leave(play *p, visitor *v)
{
    v->len = v->sent = 0;
    if (is_over(v)) return;
    if (v->how == LEAVES_BY_FIN) sim_client_shutdown(v->client);
    if (v->how == LEAVES_BY_RESET) sim_client_reset(v->client);
    if (v->how != LEAVES_BY_CLOSE) return;
    put_frame(p, v, WS_CLOSE, true, "\x03\xe8", 2);
    assert_true(sim_client_send(v->client, slice_make(v->script, v->len)));
}

static bool everything_has_come(const play *p)
{
    for (unsigned i = 0; i < p->count; i++) {
        const visitor *v = &p->visitors[i];
        bool closed, all = has_come(p, v, &closed);
        if (!is_over(v) && (v->sent < v->len || !all)) return false;
    }
    return true;
}

static void play_all(play *p)
{
    for (int turn = 0; !everything_has_come(p); turn++) {
        if (turn == TURNS_MAX) fail_msg("seed %" PRIu64 ": no end", p->seed);
        if (p->starved && turn == TURNS_MAX / 100) return; // nobody may have said a word
        for (unsigned i = 0; i < p->count; i++) {
            if (!is_over(&p->visitors[i])) say_more(p, &p->visitors[i]);
        }
        play_turn(p);
        maybe_rest(p);
    }
}

// Those who stay are told of the stop, and whoever asked for a close has one.
static void play_end(play *p)
{
    maybe_rest(p);
    for (unsigned i = 0; i < p->count; i++)
        leave(p, &p->visitors[i]);
    for (int turn = 0; turn < 300; turn++)
        play_turn(p);
    skua_stop(p->server, 20000000000);
    for (int turn = 0; !p->over; turn++) {
        if (turn == TURNS_MAX) fail_msg("seed %" PRIu64 ": it does not stop", p->seed);
        play_turn(p);
    }
    sim_drain(p->kernel);
}

static unsigned check(const play *p)
{
    unsigned whole = 0;
    for (unsigned i = 0; i < p->count; i++) {
        const visitor *v = &p->visitors[i];
        bool closed, all = has_come(p, v, &closed);
        bool left = v->how == LEAVES_BY_FIN || v->how == LEAVES_BY_RESET;
        bool disturbed = p->starved || sim_client_is_victim(v->client) || v->how == LEAVES_BY_RESET;
        if (!disturbed && (!all || (!left && !closed)))
            fail_msg("seed %" PRIu64 ", client %u, %s: %s", p->seed, i, v->takes ? "pour" : "echo",
                     all ? "no close" : "something is missing");
        whole += all;
        free(v->script);
        free(v->wanted);
    }
    if (p->opened != p->closed)
        fail_msg("seed %" PRIu64 ": %u opened, %u closed", p->seed, p->opened, p->closed);
    return whole;
}

static unsigned ever_parked;

static unsigned play_run(uint64_t seed, unsigned starved, FILE *trace)
{
    static play p;
    p = (play){ .seed = seed, .memory = seed, .starved = starved, .forgets = seed & 1 };
    play_begin(&p, trace);
    play_all(&p);
    play_end(&p);
    unsigned whole = check(&p);
    ever_parked += p.parked;
    sim_listener_close(p.kernel, p.listener);
    skua_server_free(p.server);
    assert_int_equal(sim_sockets_open(p.kernel), 0);
    sim_kernel_free(p.kernel);
    return whole;
}

static unsigned play_seeds(unsigned seeds, bool starves)
{
    const char *alone = getenv("SKUA_SIM_SEED");
    unsigned whole = 0;
    if (alone) {
        uint64_t seed = strtoull(alone, NULL, 10);
        (void)play_run(seed, starves ? 5 + (unsigned)(seed % 150) : 0, stderr);
        skip();
    }
    for (uint64_t seed = 1; seed <= seeds; seed++)
        whole += play_run(seed, starves ? 5 + (unsigned)(seed % 150) : 0, NULL);
    return whole;
}

static void test_seeds(void **state)
{
    (void)state;
    ever_parked = 0;
    assert_true(play_seeds(SEEDS, false) > 2 * SEEDS);
    assert_true(ever_parked > SEEDS / 4);
}

static void test_seeds_without_memory(void **state)
{
    (void)state;
    uint64_t before = memory_failures();
    (void)play_seeds(SEEDS / 2, true);
    assert_true(memory_failures() - before > SEEDS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_seeds_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
