// SPDX-License-Identifier: MIT
//
// Parked sockets when something fails: the kernel takes a part of what they are sent, memory runs out as they are
// woken, and their client has left before it has been read to its end.

#include "ws/parked_send.h"

#include "http/ws_frame.h"
#include "server/connection.h"
#include "support/memory.h"
#include "support/tls_files.h"
#include "support/tls_peer.h"
#include "unit/bed.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    MEMORY_MAX = 4 << 20,
    ALARMS_MAX = 64,
    ALLOCATIONS_MAX = 50,
    SHORT_OCTETS = 3000,
    LONG_OCTETS = 40000
};

static const int64_t second_ns = 1000000000;

// ---- The server ----

static skua_socket opened;          // the last one
static char told[64];               // the last message
static unsigned closings, closes;   // calls of these
static unsigned closing_code, code; // as they were told

static void on_open(skua_socket socket, skua_request *r, void *user)
{
    (void)r, (void)user;
    opened = socket;
}

static void on_message(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)text, (void)user;
    assert_true(message.len < sizeof told);
    memcpy(told, message.ptr, message.len);
    assert_int_equal(skua_socket_text(socket, message), SKUA_OK);
}

static void on_closing(skua_socket socket, unsigned said, skua_slice reason, void *user)
{
    (void)user;
    assert_int_equal(skua_socket_text(socket, SKUA_SLICE("late")), SKUA_ECLOSED);
    assert_int_equal(closes, 0);
    assert_true(slice_equal(reason, said == 4001 ? SKUA_SLICE("bye") : SKUA_SLICE("")));
    closings++;
    closing_code = said;
}

static void on_close(skua_socket socket, unsigned said, skua_slice reason, void *user)
{
    (void)socket, (void)reason, (void)user;
    closes++;
    code = said;
}

static skua_tls_certificate certificate;

// GET /told is told that it is closed by this side, GET /quiet is not.
static void open_bed(bed *b, bool secure)
{
    skua_config config = { .memory_max = MEMORY_MAX, .hosts = "*", .http2 = { .tunnels = true } };
    skua_websocket_desc quiet = { .open = on_open, .message = on_message, .close = on_close };
    skua_websocket_desc loud = quiet;
    loud.closing = on_closing;
    if (secure) config.tls.certificates = &certificate;
    config.tls.certificate_count = secure;
    closings = closing_code = closes = code = 0;
    memset(told, 0, sizeof told);
    bed_open(b, &config);
    assert_int_equal(skua_websocket(b->server, "GET /quiet", &quiet), SKUA_OK);
    assert_int_equal(skua_websocket(b->server, "GET /told", &loud), SKUA_OK);
    bed_start(b);
}

// ---- Clients ----

#define UPGRADE(path)                                                                              \
    SKUA_SLICE("GET " path " HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" \
               "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")

typedef struct visitor {
    sim_client *client;
    struct tls_peer *peer; // NULL: in the clear
    size_t fed;            // octets of the wire that the peer has had
} visitor;

#ifdef SKUA_TLS

static void say_wire(const visitor *v)
{
    for (slice wire; (wire = tls_peer_take(v->peer)).len;)
        assert_true(sim_client_send(v->client, wire));
}

static void hear_wire(visitor *v)
{
    slice got = sim_client_received(v->client);
    tls_peer_feed(v->peer, slice_from(got, v->fed));
    v->fed = got.len;
    say_wire(v);
}

static void shake_hands(const bed *b, visitor *v)
{
    tls_peer_open(v->peer, 0, "http/1.1");
    for (int i = 0; !v->peer->is_open && i < 10; i++) {
        hear_wire(v);
        bed_turn_for(b, second_ns / 10);
    }
}

#endif

static void say(const visitor *v, slice octets)
{
#ifdef SKUA_TLS
    if (v->peer) {
        tls_peer_write(v->peer, octets);
        say_wire(v);
        return;
    }
#endif
    assert_true(sim_client_send(v->client, octets));
}

// The octets that have come behind the head of the response.
static slice heard(visitor *v)
{
    slice got = sim_client_received(v->client);
#ifdef SKUA_TLS
    if (v->peer) {
        hear_wire(v);
        got = slice_make(v->peer->plain, v->peer->plain_len);
    }
#endif
    const char *end = memmem(got.ptr, got.len, "\r\n\r\n", 4);
    assert_non_null(end);
    return slice_from(got, (size_t)(end + 4 - got.ptr));
}

// Its socket is parked when this returns.
static visitor visit(const bed *b, slice head, struct tls_peer *peer)
{
    visitor v = { .client = bed_send(b, (slice){ 0 }), .peer = peer };
#ifdef SKUA_TLS
    if (peer) shake_hands(b, &v);
#endif
    say(&v, head);
    bed_turn_for(b, 3 * second_ns);
    assert_int_equal(b->worker->self.parked.in_use, 1);
    return v;
}

// So many have been woken in this turn that messages are handed to the kernel at once.
static void wake_many(const bed *b)
{
    skua_worker *w = &b->worker->self;
    w->woken_ns = w->loop.now_ns;
    w->woken = WS_WOKEN_MAX;
}

// ---- Memory ----

static io_alarm alarms[ALARMS_MAX];

static void never(io_alarm *alarm, void *user)
{
    (void)alarm, (void)user;
    fail();
}

// The next alarm that is set needs memory.
static unsigned set_alarms(const bed *b)
{
    io_alarms *all = &b->worker->self.loop.alarms;
    unsigned count = 0;
    do {
        assert_true(count < ALARMS_MAX);
        alarms[count] = (io_alarm){ .fired = never };
        assert_int_equal(io_alarm_set(all, &alarms[count++], INT64_MAX), SKUA_OK);
    } while (all->count + 1 < all->room);
    return count;
}

static void unset_alarms(const bed *b, unsigned count)
{
    while (count-- > 0)
        io_alarm_unset(&b->worker->self.loop.alarms, &alarms[count]);
}

// The kernel takes a part of a message to a parked socket or, over TLS, nothing of its records, and an allocation may
// fail as a session is made for the rest. Returns: whether one has.
static bool send_in_part(struct tls_peer *peer, size_t len, unsigned allocations, unsigned *whole)
{
    static char message[LONG_OCTETS], frame[LONG_OCTETS + WS_SENT_HEAD_OCTETS_MAX];
    uint64_t failures = memory_failures();
    bed b;
    open_bed(&b, peer);
    visitor v = visit(&b, UPGRADE("/quiet"), peer);
    unsigned count = set_alarms(&b);
    for (size_t i = 0; i < len; i++)
        message[i] = (char)('a' + i % 26);
    size_t framed = ws_head_write(frame, WS_TEXT, true, len);
    memcpy(frame + framed, message, len);
    framed += len;
    sim_set_permille(b.kernel, peer ? SIM_SEND_AGAIN : SIM_SHORT_SEND, 1000);
    wake_many(&b);
    memory_fail_after(allocations);
    skua_status status = skua_socket_text(opened, slice_make(message, len));
    memory_relax();
    sim_set_calm(b.kernel);
    bed_turn_for(&b, second_ns);
    slice got = heard(&v);
    assert_in_range(got.len, 0, framed); // no close in the middle of it
    assert_memory_equal(got.ptr, frame, got.len);
    assert_int_equal(status, got.len == framed ? SKUA_OK : got.len ? SKUA_ECLOSED : SKUA_ENOMEM);
    assert_int_equal(closes, got.len && got.len < framed);
    *whole += got.len == framed;
    unset_alarms(&b, count);
    bed_close(&b);
    return memory_failures() != failures;
}

static void send_without_memory(size_t len)
{
    unsigned allocations = 0, whole = 0;
    while (send_in_part(NULL, len, allocations, &whole))
        assert_in_range(++allocations, 1, ALLOCATIONS_MAX);
    assert_true(allocations > 3);
    assert_true(whole > 0); // without a failure
}

static void test_a_message_in_part_is_followed_by_its_rest_or_by_nothing(void **state)
{
    (void)state;
    send_without_memory(SHORT_OCTETS);
    send_without_memory(LONG_OCTETS);
}

#ifdef SKUA_TLS

static void test_a_message_in_part_is_followed_by_its_rest_over_tls(void **state)
{
    (void)state;
    tls_peer peer;
    unsigned whole = 0;
    (void)send_in_part(&peer, SHORT_OCTETS, UINT_MAX, &whole);
    tls_peer_close(&peer);
    (void)send_in_part(&peer, LONG_OCTETS, UINT_MAX, &whole);
    tls_peer_close(&peer);
    assert_int_equal(whole, 2);
}

#endif

// While memory is short a queue holds less than a session may have found free before.
static void test_a_queue_is_short_while_memory_is(void **state)
{
    (void)state;
    static const char ping[] = "\x81\x84\0\0\0\0ping";
    char message[1000];
    memset(message, 'm', sizeof message);
    bed b;
    open_bed(&b, false);
    visitor v = visit(&b, UPGRADE("/quiet"), NULL);
    say(&v, slice_make(ping, sizeof ping - 1));
    bed_turn_for(&b, second_ns / 10);
    assert_memory_equal(told, "ping", 4); // the queue has been looked at
    int64_t filled = MEMORY_MAX + MEMORY_MAX / 10;
    skua_memory_count(&b.worker->self, filled);
    bed_turn_for(&b, second_ns);
    uint64_t most = b.worker->self.out_octets_max;
    assert_true(most < worker_config(&b.worker->self)->out_octets_max);
    size_t queued = 0;
    while (!skua_socket_text(opened, slice_make(message, sizeof message)))
        queued += sizeof message;
    assert_in_range(queued, 1, most + sizeof message);
    skua_memory_count(&b.worker->self, -filled);
    bed_close(&b);
}

// ---- Closes ----

// The kernel takes a part of the frame or, over TLS, nothing of the record that holds it.
static void close_in_part(struct tls_peer *peer, slice head, bool stops)
{
    bed b;
    open_bed(&b, peer);
    visitor v = visit(&b, head, peer);
    sim_set_permille(b.kernel, peer ? SIM_SEND_AGAIN : SIM_SHORT_SEND, 1000);
    if (stops) skua_stop(b.server, 5 * second_ns);
    else assert_int_equal(skua_socket_close(opened, 1001, SKUA_SLICE("")), SKUA_OK);
    assert_int_equal(closings, 0);
    bed_turn_for(&b, second_ns / 10);
    assert_int_equal(b.worker->self.parked.in_use, 0); // a session has the rest
    sim_set_calm(b.kernel);
    bed_turn_for(&b, second_ns);
    slice got = heard(&v);
    assert_int_equal(got.len, 4);
    assert_memory_equal(got.ptr, "\x88\2\3\xe9", 4);
    assert_int_equal(closings, stops);
    assert_int_equal(closing_code, stops ? 1001 : 0);
    assert_int_equal(closes, 0);
    say(&v, slice_make("\x88\x82\0\0\0\0\3\xe9", 8));
    while (!closes && worker_turn(b.worker, second_ns / 100))
        ;
    assert_int_equal(code, 1001);
    bed_close(&b);
    assert_int_equal(closes, 1);
}

static void test_a_close_that_leaves_in_part_is_told(void **state)
{
    (void)state;
    close_in_part(NULL, UPGRADE("/told"), true);
    close_in_part(NULL, UPGRADE("/quiet"), false);
}

// By the worker that has the socket, while the kernel takes the frame so (SIM_FAULTS: whole), and an allocation may fail.
// Returns: whether one has.
static bool close_here(sim_fault how, unsigned allocations)
{
    uint64_t failures = memory_failures();
    bed b;
    open_bed(&b, false);
    visitor v = visit(&b, UPGRADE("/told"), NULL);
    if (how != SIM_FAULTS) sim_set_permille(b.kernel, how, 1000);
    memory_fail_after(allocations);
    skua_status status = skua_socket_close(opened, 4001, SKUA_SLICE("bye"));
    memory_relax();
    bool has_failed = memory_failures() != failures, is_lost = closes;
    assert_int_equal(status, has_failed && is_lost && status ? SKUA_ECLOSED : SKUA_OK);
    assert_int_equal(skua_socket_close(opened, 4001, SKUA_SLICE("bye")), SKUA_ECLOSED);
    assert_int_equal(skua_socket_text(opened, SKUA_SLICE("behind")), SKUA_ECLOSED);
    assert_int_equal(closings, 0); // not inside that call
    assert_int_equal(b.worker->self.parked.in_use, how == SIM_FAULTS && !has_failed);
    bed_turn_for(&b, second_ns / 10);
    assert_int_equal(closings, !is_lost);
    sim_set_calm(b.kernel);
    bed_turn_for(&b, second_ns);
    if (!is_lost) {
        assert_memory_equal(heard(&v).ptr,
                            "\x88\5\x0f\xa1"
                            "bye",
                            7);
        assert_int_equal(heard(&v).len, 7);
        assert_int_equal(closing_code, 4001);
        say(&v, slice_make("\x88\x82\0\0\0\0\x0f\xa1", 8));
        bed_turn_for(&b, second_ns);
    }
    assert_int_equal(code, is_lost ? 1011 : 4001);
    assert_int_equal(closes, 1);
    assert_int_equal(closings, !is_lost);
    bed_close(&b);
    return has_failed;
}

static void test_a_close_of_the_worker_is_told_later_and_once(void **state)
{
    (void)state;
    static const sim_fault hows[] = { SIM_FAULTS, SIM_SHORT_SEND, SIM_SEND_AGAIN };
    for (size_t i = 0; i < sizeof hows / sizeof hows[0]; i++) {
        unsigned allocations = 0;
        while (close_here(hows[i], allocations))
            assert_in_range(++allocations, 1, ALLOCATIONS_MAX);
        assert_true(allocations > 0);
    }
}

#ifdef SKUA_TLS

static void test_a_close_that_leaves_in_part_is_told_over_tls(void **state)
{
    (void)state;
    tls_peer peer;
    close_in_part(&peer, UPGRADE("/told"), true);
    tls_peer_close(&peer);
    close_in_part(&peer, UPGRADE("/quiet"), false);
    tls_peer_close(&peer);
}

#endif

#ifndef SKUA_NO_HTTP2

// ---- Streams ----

static sim_client *visit_by_stream(const bed *b)
{
    static const char head[] = "\2\7CONNECT\206\4\6/quiet\1\1a\0\11:protocol\11websocket"
                               "\0\25sec-websocket-version\00213";
    sim_client *client = bed_send(b, H2_PREFACE);
    bed_send_frame(client, H2_SETTINGS, 0, 0, (slice){ 0 });
    bed_send_frame(client, H2_HEADERS, H2_FLAG_END_HEADERS, 1, slice_make(head, sizeof head - 1));
    bed_turn_for(b, second_ns / 10);
    bed_send_frame(client, H2_SETTINGS, H2_FLAG_ACK, 0, (slice){ 0 });
    bed_turn_for(b, 3 * second_ns);
    assert_int_equal(b->worker->self.parked.in_use, 1);
    return client;
}

// The connection's session has given back what it needs to send, and an allocation may fail as it takes that again.
// Returns: whether one has.
static bool send_on_stream(unsigned allocations)
{
    static const char frame[] = "\0\0\6\0\0\0\0\0\1\x81\4here";
    uint64_t failures = memory_failures();
    bed b;
    open_bed(&b, false);
    sim_client *client = visit_by_stream(&b);
    const connection *conn = connection_of((io_stream *)(void *)pool_at(&b.worker->connections, 0));
    assert_int_equal(conn->session->out->room, 0);
    size_t before = sim_client_received(client).len;
    memory_fail_after(allocations);
    skua_status status = skua_socket_text(opened, SKUA_SLICE("here"));
    memory_relax();
    bed_turn_for(&b, second_ns / 10);
    slice got = slice_from(sim_client_received(client), before);
    bool has_failed = memory_failures() != failures, has_come = got.len >= sizeof frame - 1;
    if (has_come) assert_memory_equal(got.ptr, frame, sizeof frame - 1);
    assert_int_equal(has_come, !status);
    assert_int_equal(closes, status == SKUA_ECLOSED);
    if (!closes) assert_int_equal(skua_socket_text(opened, SKUA_SLICE("more")), SKUA_OK);
    bed_turn_for(&b, 3 * second_ns);
    assert_int_equal(b.worker->self.parked.in_use, !closes);
    bed_close(&b);
    assert_int_equal(closes, 1);
    return has_failed;
}

static void test_a_session_of_parked_streams_without_memory(void **state)
{
    (void)state;
    unsigned allocations = 0;
    while (send_on_stream(allocations))
        assert_in_range(++allocations, 1, ALLOCATIONS_MAX);
    assert_true(allocations > 0);
}

// Of DATA frames of the server.
static size_t payload_octets(slice got)
{
    size_t octets = 0;
    while (got.len >= H2_HEAD_OCTETS) {
        const unsigned char *at = (const unsigned char *)got.ptr;
        size_t len = (size_t)at[0] << 16 | (size_t)at[1] << 8 | at[2];
        if (at[3] == H2_DATA) octets += len;
        assert_true(H2_HEAD_OCTETS + len <= got.len);
        got = slice_from(got, H2_HEAD_OCTETS + len);
    }
    return octets;
}

// A frame of DATA is made in one piece of a block, which is as long as the longest payload.
static void test_messages_about_as_long_as_a_frame(void **state)
{
    enum { MESSAGE_HEAD_OCTETS = 4 };
    static char message[H2_PAYLOAD_OCTETS_MAX + 1];
    (void)state;
    memset(message, 'm', sizeof message);
    for (size_t len = sizeof message - 2 * H2_HEAD_OCTETS; len <= sizeof message; len++) {
        bed b;
        open_bed(&b, false);
        sim_client *client = visit_by_stream(&b);
        size_t before = sim_client_received(client).len;
        assert_int_equal(skua_socket_text(opened, slice_make(message, len)), SKUA_OK);
        bed_turn_for(&b, second_ns / 10);
        slice got = slice_from(sim_client_received(client), before);
        assert_int_equal(payload_octets(got), MESSAGE_HEAD_OCTETS + len);
        bed_close(&b);
    }
}

// The end of the client is near, and is known before what it has sent is read, as that waits for room in the queue.
static void test_the_end_of_a_client_does_not_overtake_its_octets(void **state)
{
    (void)state;
    enum { PINGS = 64 }; // as many answers as may wait
    static const char message[] = "\x81\x84\0\0\0\0last";
    bed b;
    open_bed(&b, false);
    sim_client *client = visit_by_stream(&b);
    sim_set_permille(b.kernel, SIM_SEND_AGAIN, 1000);
    for (int i = 0; i < PINGS; i++)
        bed_send_frame(client, H2_PING, 0, 0, SKUA_SLICE("12345678"));
    bed_turn_for(&b, second_ns / 10);
    bed_send_frame(client, H2_DATA, 0, 1, slice_make(message, sizeof message - 1));
    sim_client_shutdown(client);
    bed_turn_for(&b, second_ns / 10);
    const connection *conn = connection_of((io_stream *)(void *)pool_at(&b.worker->connections, 0));
    assert_true(conn->half_closed);
    assert_string_equal(told, "");
    sim_set_calm(b.kernel);
    bed_turn_for(&b, second_ns);
    assert_string_equal(told, "last");
    assert_int_equal(closes, 1);
    bed_close(&b);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_message_in_part_is_followed_by_its_rest_or_by_nothing),
        cmocka_unit_test(test_a_queue_is_short_while_memory_is),
        cmocka_unit_test(test_a_close_that_leaves_in_part_is_told),
        cmocka_unit_test(test_a_close_of_the_worker_is_told_later_and_once),
#ifdef SKUA_TLS
        cmocka_unit_test(test_a_message_in_part_is_followed_by_its_rest_over_tls),
        cmocka_unit_test(test_a_close_that_leaves_in_part_is_told_over_tls),
#endif
#ifndef SKUA_NO_HTTP2
        cmocka_unit_test(test_a_session_of_parked_streams_without_memory),
        cmocka_unit_test(test_messages_about_as_long_as_a_frame),
        cmocka_unit_test(test_the_end_of_a_client_does_not_overtake_its_octets),
#endif
    };
#ifdef SKUA_TLS
    tls_made made = tls_make((tls_want){ .name = "a" });
    char *chain = tls_pem_chain((const tls_made *const[]){ &made, NULL });
    char *key = tls_pem_key(&made, NULL);
    certificate = (skua_tls_certificate){ .pem = slice_of(chain), .key_pem = slice_of(key) };
#endif
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
#ifdef SKUA_TLS
    tls_made_free(&made);
    free(chain);
    free(key);
#endif
    return failed;
}
