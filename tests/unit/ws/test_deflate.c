// SPDX-License-Identifier: MIT
//
// The share of octets that a worker inflates in a turn, which is one for its sockets: those that come, and those that wait.

#include "ws/deflate.h"

#include "http/ws_frame.h"
#include "unit/bed.h"
#include "ws/zstream.h"

#include <string.h>

#if !defined(SKUA_NO_WEBSOCKET) && defined(SKUA_ZLIB)

enum {
    SHARE_OCTETS = 262144,
    TURNS_MAX = 200,
    COMERS_OF_A_TURN = 4,
    OLD_MESSAGES = 3,
    HUNDRED = 100,
    WAITING_MAX = 1000
};

static const char nothing[SHARE_OCTETS];
static char message[4096]; // that many octets, compressed, in a frame
static size_t message_len;

// A frame whose mask is zero.
static int pack_message(void **state)
{
    (void)state;
    static char packed[SHARE_OCTETS + WS_ZSTREAM_TAIL_OCTETS];
    size_t octets;
    ws_deflater *d = ws_deflater_open(NULL, 15);
    assert_true(ws_deflater_run(d, slice_make(nothing, sizeof nothing), packed, &octets));
    ws_deflater_close(d);
    assert_in_range(octets, 126, sizeof message - 8);
    memcpy(message, (uint8_t[]){ 0xc2, 0xfe, (uint8_t)(octets >> 8), (uint8_t)octets, 0, 0, 0, 0 },
           8);
    memcpy(message + 8, packed, octets);
    message_len = octets + 8;
    return 0;
}

// ---- The server ----

static bed b;
static unsigned told_old, told_new;

static void on_message(skua_socket socket, skua_slice came, bool text, void *user)
{
    (void)socket, (void)text;
    assert_int_equal(came.len, SHARE_OCTETS);
    ++*(unsigned *)user;
}

static void open_bed(void)
{
    const skua_config config = { .hosts = "*" };
    skua_websocket_desc desc = { .message = on_message,
                                 .user = &told_old,
                                 .deflate = SKUA_WEBSOCKET_DEFLATE_SHARED };
    told_old = told_new = 0;
    bed_open(&b, &config);
    assert_int_equal(skua_websocket(b.server, "GET /old", &desc), SKUA_OK);
    desc.user = &told_new;
    assert_int_equal(skua_websocket(b.server, "GET /new", &desc), SKUA_OK);
    bed_start(&b);
}

#define UPGRADE(path)                                                                              \
    SKUA_SLICE("GET " path " HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" \
               "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"      \
               "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n")

static void say_messages(sim_client *client, unsigned count)
{
    for (; count; count--)
        assert_true(sim_client_send(client, slice_make(message, message_len)));
}

// ---- Tests ----

// Those who wait are served before those who come anew. More of them come than a turn is enough for, so that each round is longer
// than the last.
static void test_those_who_come_do_not_keep_others_waiting(void **state)
{
    (void)state;
    unsigned turns;
    open_bed();
    sim_client *old = bed_send(&b, UPGRADE("/old"));
    bed_turn_for(&b, 1000000000);
    say_messages(old, OLD_MESSAGES);
    for (turns = 0; told_old < OLD_MESSAGES && turns < TURNS_MAX; turns++) {
        for (unsigned i = 0; i < COMERS_OF_A_TURN; i++)
            say_messages(bed_send(&b, UPGRADE("/new")), 1);
        assert_true(worker_turn(b.worker, 0));
    }
    assert_int_equal(told_old, OLD_MESSAGES);
    bed_close(&b);
}

// ---- How much waiting costs ----

static unsigned kicks;
static const io_stream_events *real_events;

static void on_kicked(io_stream *stream)
{
    kicks++;
    real_events->kicked(stream);
}

// So many sockets send a message each, and a turn is enough for one of them. Those that wait are not looked at until
// it is theirs, or each turn would cost as much as there are sockets.
static void test_those_who_wait_cost_nothing(unsigned sockets)
{
    static sim_client *clients[WAITING_MAX];
    open_bed();
    io_loop *loop = &b.worker->self.loop;
    real_events = loop->events[0];
    io_stream_events counting = *real_events;
    counting.kicked = on_kicked;
    loop->events[0] = &counting;
    for (unsigned i = 0; i < sockets; i++)
        clients[i] = bed_send(&b, UPGRADE("/old"));
    bed_turn_for(&b, 1000000000);
    for (unsigned i = 0; i < sockets; i++)
        say_messages(clients[i], 1);
    kicks = 0;
    for (unsigned turns = 0; told_old < sockets && turns < 10 * sockets; turns++)
        assert_true(worker_turn(b.worker, 0));
    assert_int_equal(told_old, sockets);
    assert_in_range(kicks, 1, 4 * sockets);
    loop->events[0] = real_events;
    bed_close(&b);
}

static void test_a_hundred_wait(void **state)
{
    (void)state;
    test_those_who_wait_cost_nothing(HUNDRED);
}

static void test_a_thousand_wait(void **state)
{
    (void)state;
    test_those_who_wait_cost_nothing(WAITING_MAX);
}

// ---- Those who wait, and leave ----

static skua_socket opened[HUNDRED];
static unsigned opened_count, closed_codes[4]; // normal, going away, abnormal, others

static void on_open(skua_socket socket, skua_request *r, void *user)
{
    (void)r, (void)user;
    opened[opened_count++] = socket;
}

static void on_close(skua_socket socket, unsigned code, skua_slice reason, void *user)
{
    (void)socket, (void)reason, (void)user;
    closed_codes[code == 1000 ? 0 : code == 1001 ? 1 : code == 1006 ? 2 : 3]++;
}

static void open_hundred(const skua_websocket_desc *desc, sim_client *clients[HUNDRED])
{
    const skua_config config = { .hosts = "*" };
    opened_count = 0;
    bed_open(&b, &config);
    assert_int_equal(skua_websocket(b.server, "GET /", desc), SKUA_OK);
    bed_start(&b);
    for (unsigned i = 0; i < HUNDRED; i++)
        clients[i] = bed_send(&b, UPGRADE("/"));
    bed_turn_for(&b, 1000000000);
    assert_int_equal(opened_count, HUNDRED);
}

static unsigned closed_in_all(void)
{
    return closed_codes[0] + closed_codes[1] + closed_codes[2] + closed_codes[3];
}

static const uint8_t close_1001[] = { 0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe9 };

// A close of the program's, a reset, an end, and the server's stop. What waited is dropped, and each is told once.
static void test_those_who_wait_leave(void **state)
{
    (void)state;
    static sim_client *clients[HUNDRED];
    skua_websocket_desc desc = { .open = on_open,
                                 .message = on_message,
                                 .close = on_close,
                                 .user = &told_old,
                                 .deflate = SKUA_WEBSOCKET_DEFLATE_SHARED };
    told_old = 0;
    memset(closed_codes, 0, sizeof closed_codes);
    open_hundred(&desc, clients);
    for (unsigned i = 0; i < HUNDRED; i++)
        say_messages(clients[i], 3);
    for (unsigned turns = 0; turns < 20 && told_old < 10; turns++)
        assert_true(worker_turn(b.worker, 0));
    assert_non_null(b.worker->self.ws_share.first);
    for (unsigned i = 0; i < 25; i++) {
        sim_client_reset(clients[i]);
        sim_client_shutdown(clients[25 + i]);
    }
    for (unsigned i = 0; i < HUNDRED; i += 2)
        (void)skua_socket_close(opened[i], 1001, SKUA_SLICE(""));
    assert_true(worker_turn(b.worker, 0));
    assert_true(worker_turn(b.worker, 0));
    assert_non_null(b.worker->self.ws_share.first);
    skua_stop(b.server, 5000000000);
    for (unsigned i = 50; i < HUNDRED; i++)
        assert_true(sim_client_send(clients[i], slice_make((const char *)close_1001, 8)));
    while (worker_turn(b.worker, -1))
        ;
    assert_null(b.worker->self.ws_share.first);
    assert_int_equal(closed_in_all(), HUNDRED);
    assert_int_equal(closed_codes[3], 0);
    assert_in_range(closed_codes[1], 50, HUNDRED);
    assert_in_range(told_old, 10, 3 * HUNDRED - 1);
    bed_close(&b);
}

// ---- What a program does inside ----

static unsigned told_of[HUNDRED], seed;
static bool left[HUNDRED], is_calm;

static unsigned chance(unsigned n)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % n;
}

static void do_something(void)
{
    static const char octets[30000];
    unsigned i = chance(HUNDRED), what = is_calm ? 10 : chance(12);
    if (what == 0) {
        (void)skua_socket_close(opened[i], 1000, SKUA_SLICE(""));
        left[i] = true; // its client does not answer
    } else if (what < 4) {
        skua_socket_pause(opened[i]);
    } else if (what < 8) {
        skua_socket_resume(opened[i]);
    } else if (what < 10) {
        skua_status status = skua_socket_binary(opened[i], slice_make(octets, sizeof octets));
        assert_true(status == SKUA_OK || status == SKUA_ECLOSED || status == SKUA_ELIMIT);
    }
}

static void on_message_to_any(skua_socket socket, skua_slice came, bool text, void *user)
{
    (void)came, (void)text, (void)user;
    for (unsigned i = 0; i < HUNDRED; i++)
        if (memcmp(&opened[i], &socket, sizeof socket) == 0) told_of[i]++;
    do_something();
    do_something();
}

static void on_close_of_any(skua_socket socket, unsigned code, skua_slice reason, void *user)
{
    (void)code, (void)reason, (void)user;
    for (unsigned i = 0; i < HUNDRED; i++)
        if (memcmp(&opened[i], &socket, sizeof socket) == 0) left[i] = true;
}

static void open_hundred_of_any(sim_client *clients[HUNDRED])
{
    const skua_websocket_desc desc = { .open = on_open,
                                       .message = on_message_to_any,
                                       .close = on_close_of_any,
                                       .idle_timeout_ns = -1,
                                       .ping_ns = -1,
                                       .deflate = SKUA_WEBSOCKET_DEFLATE_SHARED };
    is_calm = false;
    memset(told_of, 0, sizeof told_of);
    memset(left, 0, sizeof left);
    open_hundred(&desc, clients);
}

// While one has its turn, the program closes, pauses, resumes and sends to any of them, and clients go. Whoever stays is told
// everything.
static void test_whatever_a_program_does_inside(void **state)
{
    (void)state;
    static sim_client *clients[HUNDRED];
    for (unsigned round = 1; round < 5; round++) {
        seed = round;
        open_hundred_of_any(clients);
        for (unsigned i = 0; i < HUNDRED; i++)
            say_messages(clients[i], OLD_MESSAGES);
        for (unsigned turns = 0; turns < TURNS_MAX; turns++) {
            do_something();
            assert_true(worker_turn(b.worker, 0));
            if (turns % 16) continue;
            sim_client_reset(clients[chance(HUNDRED)]);
            bed_turn_for(&b, 1500000000); // those at rest are parked
        }
        is_calm = true;
        for (unsigned i = 0; i < HUNDRED; i++)
            skua_socket_resume(opened[i]);
        bed_turn_for(&b, 20000000000);
        assert_null(b.worker->self.ws_share.first);
        unsigned stayed = 0;
        for (unsigned i = 0; i < HUNDRED; i++) {
            stayed += !left[i];
            assert_true(left[i] || told_of[i] == OLD_MESSAGES);
        }
        assert_in_range(stayed, HUNDRED / 4, HUNDRED);
        bed_close(&b);
    }
}

// ---- The order of those who wait ----

typedef struct patient {
    ws_waiter waiter;
    char name;
    size_t needs; // octets in each of its turns
    unsigned turns;
} patient;

static char served[16];
static size_t served_len;

static void on_turn(void *user)
{
    patient *p = user;
    skua_worker *w = &b.worker->self;
    assert_false(ws_share_is_for_others(w, &p->waiter));
    served[served_len++] = p->name;
    ws_share_use(w, p->needs);
    if (--p->turns) assert_true(ws_share_await(w, &p->waiter, on_turn, p));
}

// Several have their turn in one of the loop when that is enough for them. Who leaves is passed over, and who needs more
// waits behind the others.
static void test_who_waits_first_is_served_first(void **state)
{
    (void)state;
    patient patients[] = {
        { .name = 'a', .needs = SHARE_OCTETS, .turns = 2 },
        { .name = 'b', .needs = SHARE_OCTETS / 2, .turns = 1 },
        { .name = 'c', .needs = SHARE_OCTETS / 2, .turns = 1 },
        { .name = 'd', .needs = SHARE_OCTETS, .turns = 1 },
        { .name = 'e', .needs = 0, .turns = 1 },
    };
    static const char *const by_turns[] = { "", "a", "abc", "abcea", "abcea" };
    open_bed();
    skua_worker *w = &b.worker->self;
    served_len = 0;
    for (size_t i = 0; i < 5; i++)
        assert_true(ws_share_await(w, &patients[i].waiter, on_turn, &patients[i]));
    assert_true(ws_share_is_for_others(w, &patients[0].waiter));
    ws_share_leave(w, &patients[3].waiter);
    ws_share_leave(w, &patients[3].waiter);
    for (size_t turn = 0; turn < 5; turn++) {
        assert_int_equal(served_len, strlen(by_turns[turn]));
        assert_memory_equal(served, by_turns[turn], served_len);
        bed_turn_for(&b, 1);
    }
    assert_false(ws_share_is_for_others(w, &patients[0].waiter));
    bed_close(&b);
}

// Returns: whether a socket that comes may inflate a message in this turn, which it does.
static bool comes_and_leaves(void)
{
    static char out[SHARE_OCTETS];
    atomic_size_t windows = 0;
    const ws_deflate_terms terms = { .client_bits = 15, .server_bits = 15 };
    slice packed = slice_make(message + 8, message_len - 8);
    size_t octets;
    atomic_store(&windows, ws_deflate_memory(&terms));
    ws_deflate *d = ws_deflate_new(&b.worker->self, &terms, &windows);
    assert_non_null(d);
    bool may = !ws_deflate_is_to_wait(d);
    if (may)
        assert_int_equal(ws_deflate_unpack(d, &packed, out, sizeof out, &octets), WS_UNPACKED_MORE);
    ws_deflate_free(d);
    assert_int_equal(atomic_load(&windows), 0);
    return may;
}

// A share is the turn's, also if the only socket that has had of it has left: streams of HTTP/2 come and are reset.
static void test_those_who_leave_do_not_leave_a_new_share(void **state)
{
    (void)state;
    open_bed();
    assert_true(comes_and_leaves());
    assert_false(comes_and_leaves());
    for (unsigned turns = 0; !comes_and_leaves(); turns++) {
        assert_true(turns < 2);
        bed_turn_for(&b, 1);
    }
    bed_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_those_who_come_do_not_keep_others_waiting),
        cmocka_unit_test(test_those_who_leave_do_not_leave_a_new_share),
        cmocka_unit_test(test_those_who_wait_leave),
        cmocka_unit_test(test_whatever_a_program_does_inside),
        cmocka_unit_test(test_who_waits_first_is_served_first),
        cmocka_unit_test(test_a_hundred_wait),
        cmocka_unit_test(test_a_thousand_wait),
    };
    return cmocka_run_group_tests(tests, pack_message, NULL);
}

#else

int main(void)
{
    return 0;
}

#endif
