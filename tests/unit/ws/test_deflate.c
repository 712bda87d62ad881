// SPDX-License-Identifier: MIT
//
// The share of octets that a worker inflates in a turn, which is one for its sockets: those that come, and those that wait.

#include "ws/deflate.h"

#include "http/ws_frame.h"
#include "unit/bed.h"
#include "ws/zstream.h"

#include <string.h>

#if !defined(SKUA_NO_WEBSOCKET) && defined(SKUA_ZLIB)

enum { SHARE_OCTETS = 262144, TURNS_MAX = 200, COMERS_OF_A_TURN = 4, OLD_MESSAGES = 3 };

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
    bool may = !ws_deflate_has_had_its_turn(d);
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
    };
    return cmocka_run_group_tests(tests, pack_message, NULL);
}

#else

int main(void)
{
    return 0;
}

#endif
