// SPDX-License-Identifier: MIT
//
// A worker as memory_max comes near: the oldest idle connections go first, new requests are
// refused, the largest heads are ended, and what is being served goes on, slowly.

#include "h1/session.h"
#include "h2/session.h"
#include "server/connection.h"
#include "support/socket.h"
#include "unit/bed.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MEMORY_MAX = 1 << 20, IDLE = 40, HEADS = 60, UPLOAD = 200000, PULLED = 300000 };

static const int64_t second_ns = 1000000000, tick_ns = 100000000;

static int64_t counted; // by fill
static unsigned lines;  // of the log, about memory_max

// ---- The server ----

static void on_hello(skua_request *r, void *user)
{
    (void)user;
    assert_int_equal(skua_respond(r, 200, "text/plain", SKUA_SLICE("Hello")), SKUA_OK);
}

static void on_collected(skua_request *r, skua_status status, skua_slice content, void *user)
{
    (void)user;
    char text[32];
    int len = snprintf(text, sizeof text, "%zu", content.len);
    if (!status)
        assert_int_equal(skua_respond(r, 200, "text/plain", slice_make(text, (size_t)len)),
                         SKUA_OK);
}

static void on_collect(skua_request *r, void *user)
{
    (void)user;
    assert_int_equal(skua_content_collect(r, 0, on_collected, NULL), SKUA_OK);
}

// As much as there is room for, of PULLED.
static skua_pulled pull(skua_request *r, char *buffer, size_t room, size_t *octets, void *user)
{
    (void)r;
    size_t *left = user;
    *octets = room < *left ? room : *left;
    *left -= *octets;
    memset(buffer, 'p', *octets);
    return *left ? SKUA_PULL_OCTETS : SKUA_PULL_END;
}

static void on_pull(skua_request *r, void *user)
{
    (void)user;
    static size_t left;
    left = PULLED;
    skua_status status = skua_respond_pull(r, 200, "text/plain", PULLED, pull, &left);
    assert_int_equal(status, SKUA_OK);
}

// Several lines may come at once.
static void log_lines(skua_slice written, void *user)
{
    (void)user;
    static const char text[] = "memory_max is 1048576 octets";
    const char *at = written.ptr, *end = written.ptr + written.len;
    while ((at = memmem(at, (size_t)(end - at), text, sizeof text - 1))) {
        lines++;
        at++;
    }
}

static void open_bed(bed *b)
{
    counted = lines = 0;
    bed_open(b, &(skua_config){ .memory_max = MEMORY_MAX, .log_write = log_lines });
    assert_int_equal(skua_route(b->server, "GET /", on_hello, NULL), SKUA_OK);
    assert_int_equal(skua_route(b->server, "GET /pull", on_pull, NULL), SKUA_OK);
    assert_int_equal(skua_route(b->server, "POST /collect", on_collect, NULL), SKUA_OK);
    bed_start(b);
}

// Makes the server hold so many permille of all, by the program's own memory.
static void fill(const bed *b, unsigned permille)
{
    int64_t wanted = (int64_t)MEMORY_MAX / 1000 * permille;
    int64_t others = (int64_t)budget_octets(&b->server->memory) - counted;
    int64_t more = wanted > others ? wanted - others - counted : -counted;
    skua_memory_count(&b->worker->self, more);
    counted += more;
}

static void close_bed(const bed *b)
{
    skua_memory_count(&b->worker->self, -counted);
    bed_close(b);
}

static bool has_received(const sim_client *client, const char *text)
{
    slice got = sim_client_received(client);
    return got.len && memmem(got.ptr, got.len, text, strlen(text));
}

static bool is_over(const sim_client *client)
{
    return sim_client_is_eof(client) || sim_client_is_reset(client);
}

#define HELLO SKUA_SLICE("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")

// ---- Tests ----

static void test_the_oldest_idle_connections_go_first(void **state)
{
    (void)state;
    bed b;
    sim_client *clients[IDLE];
    open_bed(&b);
    for (unsigned i = 0; i < IDLE; i++) {
        clients[i] = bed_send(&b, HELLO);
        bed_turn_for(&b, 2 * tick_ns);
    }
    fill(&b, 790);
    bed_turn_for(&b, second_ns);
    for (unsigned i = 0; i < IDLE; i++)
        assert_false(is_over(clients[i]));
    unsigned gone_before = 0;
    for (int look = 0; look < 30; look++) {
        fill(&b, gone_before < IDLE / 2 ? 850 : 0); // what was kept for later goes first
        bed_turn_for(&b, tick_ns);
        unsigned gone = 0;
        while (gone < IDLE && is_over(clients[gone]))
            gone++;
        for (unsigned i = gone; i < IDLE; i++)
            assert_false(is_over(clients[i])); // none before an older one
        assert_true(gone - gone_before <= (IDLE - gone_before + 3) / 4 + 1);
        gone_before = gone;
    }
    assert_in_range(gone_before, IDLE / 2, IDLE * 3 / 4);
    assert_int_equal(lines, 0);
    close_bed(&b);
}

static void test_a_request_that_waits_is_answered_before_its_connection_is_closed(void **state)
{
    (void)state;
    bed b;
    open_bed(&b);
    sim_client *client = bed_send(&b, HELLO);
    bed_turn_for(&b, second_ns);
    size_t answer = sim_client_received(client).len;
    fill(&b, 850);
    assert_true(sim_client_send(client, HELLO));
    bed_turn_for(&b, tick_ns / 10);
    bed_turn_for(&b, second_ns);
    assert_int_equal(sim_client_received(client).len, 2 * answer);
    close_bed(&b);
}

static void test_new_requests_are_refused_and_old_ones_served(void **state)
{
    (void)state;
    bed b;
    open_bed(&b);
    sim_client *upload = bed_send(
        &b, SKUA_SLICE("POST /collect HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nab"));
    bed_turn_for(&b, second_ns);
    fill(&b, 950);
    bed_turn_for(&b, tick_ns);
    sim_client *late = bed_send(&b, HELLO);
    bed_turn_for(&b, second_ns);
    assert_true(has_received(late, "HTTP/1.1 503 Service Unavailable\r\n"));
    assert_true(has_received(late, "Retry-After: 5\r\n"));
    assert_true(has_received(late, "Connection: close\r\n"));
    assert_true(sim_client_is_eof(late));
    assert_true(sim_client_send(upload, SKUA_SLICE("cd")));
    bed_turn_for(&b, second_ns);
    assert_true(has_received(upload, "HTTP/1.1 200 OK\r\n"));
    fill(&b, 0);
    bed_turn_for(&b, second_ns);
    sim_client *again = bed_send(&b, HELLO);
    bed_turn_for(&b, second_ns);
    assert_true(has_received(again, "HTTP/1.1 200 OK\r\n"));
    close_bed(&b);
}

static void test_the_largest_heads_are_ended(void **state)
{
    (void)state;
    static char head[16000];
    sim_client *clients[HEADS];
    bed b;
    open_bed(&b);
    memset(head, 'h', sizeof head);
    memcpy(head, "GET / HTTP/1.1\r\nA: ", 19);
    for (unsigned i = 0; i < HEADS; i++) {
        size_t octets = 1000 + (i * 37 % HEADS) * 130; // in no order
        clients[i] = bed_send(&b, slice_make(head, octets));
    }
    bed_turn_for(&b, second_ns);
    assert_true(budget_octets(&b.server->memory) < MEMORY_MAX * 9 / 10);
    for (unsigned i = 0; i < HEADS; i++)
        assert_false(is_over(clients[i]));
    fill(&b, 1001);
    bed_turn_for(&b, 3 * tick_ns);
    assert_true(budget_octets(&b.server->memory) < MEMORY_MAX);
    size_t smallest_gone = SIZE_MAX, largest_left = 0, gone = 0;
    for (unsigned i = 0; i < HEADS; i++) {
        size_t octets = 1000 + (i * 37 % HEADS) * 130;
        if (is_over(clients[i])) {
            gone++;
            if (octets < smallest_gone) smallest_gone = octets;
        } else if (octets > largest_left) {
            largest_left = octets;
        }
    }
    assert_in_range(gone, 1, HEADS / 2);
    assert_true(smallest_gone + 1024 >= largest_left);
    close_bed(&b);
}

static void test_at_the_limit_nothing_is_accepted(void **state)
{
    (void)state;
    bed b;
    open_bed(&b);
    fill(&b, 1001);
    bed_turn_for(&b, tick_ns);
    sim_client *client = bed_send(&b, HELLO);
    bed_turn_for(&b, second_ns);
    assert_true(is_over(client));
    assert_int_equal(sim_client_received(client).len, 0);
    assert_int_equal(figure_read(&b.worker->self.figures->shared.refused), 1);
    bed_turn_for(&b, 100 * second_ns);
    close_bed(&b);
    assert_int_equal(lines, 2); // a minute apart
}

static sim_client *upload_begin(bed *b)
{
    sim_client *client = bed_send(
        b,
        SKUA_SLICE("POST /collect HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n\r\n"));
    bed_turn_for(b, second_ns);
    return client;
}

// The server is at its limit when the content comes.
static void upload_send_at_the_limit(bed *b, sim_client *client)
{
    static char content[UPLOAD];
    fill(b, 1100);
    bed_turn_for(b, tick_ns);
    assert_true(b->worker->self.slow);
    memset(content, 'u', sizeof content);
    assert_true(sim_client_send(client, slice_make(content, sizeof content)));
}

// It takes about 50 s at 16 KiB per look; a stall would be 30 s.
static void test_at_the_limit_requests_are_slowed_and_not_ended(void **state)
{
    (void)state;
    bed b;
    open_bed(&b);
    sim_client *stalled = bed_send(
        &b, SKUA_SLICE("POST /collect HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\na"));
    sim_client *download =
        bed_send(&b, SKUA_SLICE("GET /pull HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    sim_client_pause(download, true);
    sim_client *upload = upload_begin(&b);
    upload_send_at_the_limit(&b, upload);
    sim_client_pause(download, false);
    bed_turn_for(&b, 20 * second_ns);
    assert_false(is_over(upload));
    assert_false(is_over(stalled));
    assert_int_equal(sim_client_received(upload).len, 0);
    assert_true(sim_client_received(download).len > PULLED);
    bed_turn_for(&b, 60 * second_ns);
    assert_true(has_received(upload, "200000"));
    assert_true(is_over(stalled)); // by stall_timeout_ns
    close_bed(&b);
}

static void test_uploads_go_on_when_there_is_memory_again(void **state)
{
    (void)state;
    bed b;
    open_bed(&b);
    sim_client *upload = upload_begin(&b);
    upload_send_at_the_limit(&b, upload);
    bed_turn_for(&b, second_ns);
    assert_int_equal(sim_client_received(upload).len, 0);
    fill(&b, 0);
    bed_turn_for(&b, second_ns);
    assert_false(b.worker->self.slow);
    assert_true(has_received(upload, "200000"));
    close_bed(&b);
}

#ifndef SKUA_NO_HTTP2

enum { PIECE = 16000, PIECES = 4, PIECES_BEHIND = 2 };

static void put_pieces(sim_client *client, unsigned count, bool ends)
{
    static char piece[PIECE];
    memset(piece, 'u', sizeof piece);
    for (unsigned i = 0; i < count; i++)
        bed_send_frame(client, H2_DATA, ends && i + 1 == count ? H2_FLAG_END_STREAM : 0, 1,
                       slice_make(piece, sizeof piece));
}

static sim_client *upload_begin_h2(bed *b)
{
    static const char head[] = "\203\206\4\10/collect\101\1a";
    sim_client *client = bed_send(b, H2_PREFACE);
    bed_send_frame(client, H2_SETTINGS, 0, 0, (slice){ 0 });
    bed_send_frame(client, H2_HEADERS, H2_FLAG_END_HEADERS, 1, slice_make(head, sizeof head - 1));
    bed_turn_for(b, second_ns);
    bed_send_frame(client, H2_SETTINGS, H2_FLAG_ACK, 0, (slice){ 0 });
    return client;
}

// The credit that the stream has been given, or the octets of its content.
static uint64_t sum_of(const sim_client *client, h2_type type)
{
    uint64_t sum = 0;
    slice got = sim_client_received(client);
    while (got.len >= H2_HEAD_OCTETS) {
        h2_frame frame = h2_read_head(got.ptr);
        if (frame.stream == 1 && frame.type == type)
            sum += type == H2_DATA ? frame.len : h2_read31(got.ptr + H2_HEAD_OCTETS);
        got = slice_from(got, H2_HEAD_OCTETS + frame.len);
    }
    return sum;
}

// A stream of HTTP/2 is slowed by its window, which is opened a little at a time.
static void test_at_the_limit_streams_get_little_credit(void **state)
{
    (void)state;
    bed b;
    open_bed(&b);
    sim_client *client = upload_begin_h2(&b);
    fill(&b, 1100);
    bed_turn_for(&b, tick_ns);
    assert_true(b.worker->self.slow);
    put_pieces(client, PIECES, false);
    bed_turn_for(&b, second_ns / 2);
    assert_true(sum_of(client, H2_WINDOW_UPDATE) <= H2_PAYLOAD_OCTETS_MAX);
    bed_turn_for(&b, 10 * second_ns);
    assert_int_equal(sum_of(client, H2_WINDOW_UPDATE), H2_PAYLOAD_OCTETS_MAX);
    fill(&b, 0);
    bed_turn_for(&b, second_ns);
    assert_false(b.worker->self.slow);
    assert_true(sum_of(client, H2_WINDOW_UPDATE) >= PIECES * PIECE / 2 + H2_PAYLOAD_OCTETS_MAX);
    put_pieces(client, PIECES_BEHIND, true);
    bed_turn_for(&b, second_ns);
    assert_true(sum_of(client, H2_DATA) > 0);
    close_bed(&b);
}

static void put_credit(sim_client *client, uint32_t stream)
{
    static const char much[] = "\0\x5\0\0";
    bed_send_frame(client, H2_WINDOW_UPDATE, 0, stream, slice_make(much, sizeof much - 1));
}

// Octets that are queued for the only connection.
static uint64_t queued_octets(const bed *b)
{
    const connection *conn =
        connection_of((io_stream *)(void *)pool_at(&b->worker->connections, 0));
    assert_non_null(conn->session);
    return conn->session->out->octets;
}

// A reader that takes nothing, with a window for all: before memory is scarce, and when it is.
static uint64_t queued_for_a_paused_reader(bool scarce)
{
    static const char head[] = "\202\206\4\5/pull\101\1a";
    static const char no_window[] = "\0\4\0\0\0\0";
    bed b;
    open_bed(&b);
    sim_client *client = bed_send(&b, H2_PREFACE);
    bed_send_frame(client, H2_SETTINGS, 0, 0, slice_make(no_window, sizeof no_window - 1));
    bed_send_frame(client, H2_HEADERS, H2_FLAG_END_HEADERS | H2_FLAG_END_STREAM, 1,
                   slice_make(head, sizeof head - 1));
    bed_turn_for(&b, second_ns);
    bed_send_frame(client, H2_SETTINGS, H2_FLAG_ACK, 0, (slice){ 0 });
    sim_client_pause(client, true);
    if (scarce) fill(&b, 1100);
    bed_turn_for(&b, tick_ns);
    assert_int_equal(b.worker->self.slow, scarce);
    put_credit(client, 0);
    put_credit(client, 1);
    bed_turn_for(&b, second_ns);
    uint64_t queued = queued_octets(&b);
    sim_client_pause(client, false);
    bed_turn_for(&b, 10 * second_ns);
    assert_int_equal(sum_of(client, H2_DATA), PULLED);
    fill(&b, 0);
    close_bed(&b);
    return queued;
}

static void test_at_the_limit_little_is_queued_for_streams(void **state)
{
    (void)state;
    assert_in_range(queued_for_a_paused_reader(false), H2_QUEUED_OCTETS_MAX,
                    H2_QUEUED_OCTETS_MAX + BLOCK_OCTETS);
    assert_in_range(queued_for_a_paused_reader(true), 1, 2 * BLOCK_OCTETS);
}

#endif

// ---- Several workers ----

enum { WORKERS = 3, TRIES_MAX = 2000, LARGE_MAX = 1 << 24 };

typedef struct told {
    int64_t octets;
} told;

static void count(skua_worker *worker, void *user)
{
    const told *t = user;
    skua_memory_count(worker, t->octets);
}

// The status of one request on a connection of its own.
static int ask(const skua_server *server)
{
    char text[512];
    size_t len = 0;
    int fd = socket_connect_to(skua_server_address(server, 0));
    assert_int_equal(write(fd, HELLO.ptr, HELLO.len), HELLO.len);
    while (len < sizeof "HTTP/1.1 200") {
        ssize_t n = read(fd, text + len, sizeof text - len);
        assert_true(n > 0);
        len += (size_t)n;
    }
    socket_reset(fd);
    const char *digits = text + sizeof "HTTP/1.1";
    return (digits[0] - '0') * 100 + (digits[1] - '0') * 10 + digits[2] - '0';
}

// So often in a row that every worker has been asked, as connections are handed to them in turn.
static bool all_answer(const skua_server *server, int status)
{
    int row = 0;
    for (int i = 0; i < TRIES_MAX && row < 2 * WORKERS; i++) {
        row = ask(server) == status ? row + 1 : 0;
        if (row == 0) usleep(5000);
    }
    return row == 2 * WORKERS;
}

static skua_server *start_workers(void)
{
    skua_server *server = skua_server_new(&(skua_config){ .listen = "127.0.0.1:0",
                                                          .workers = WORKERS,
                                                          .accept = "handoff",
                                                          .memory_max = LARGE_MAX });
    assert_int_equal(skua_route(server, "GET /", on_hello, NULL), SKUA_OK);
    assert_int_equal(skua_start(server), SKUA_OK);
    return server;
}

static void stop_workers(skua_server *server)
{
    skua_stop(server, 0);
    assert_int_equal(skua_wait(server), SKUA_OK);
    skua_server_free(server);
}

static void test_workers_hear_of_what_one_of_them_holds(void **state)
{
    (void)state;
    told more = { LARGE_MAX / 100 * 93 }, fewer = { -more.octets };
    skua_server *server = start_workers();
    for (int round = 0; round < 3; round++) {
        assert_true(all_answer(server, 200));
        assert_int_equal(skua_post(server, 1, count, &more), SKUA_OK);
        assert_true(all_answer(server, 503));
        assert_int_equal(skua_post(server, 1, count, &fewer), SKUA_OK);
        assert_true(all_answer(server, 200));
    }
    stop_workers(server);
}

enum { KEPT = LARGE_MAX / 100 * 70, USED = LARGE_MAX / 100 * 25 };

// A worker gives back memory that it keeps for later when it hears that memory is short: a little later than the others look.
static unsigned kept_key;
static atomic_bool is_kept, is_given_back;

static void *kept_make(skua_worker *worker, void *user)
{
    (void)user;
    skua_memory_count(worker, KEPT);
    return worker;
}

static void kept_drop(skua_worker *worker, void *object, void *user)
{
    (void)worker, (void)object, (void)user;
}

static void kept_shrink(skua_worker *worker, void *object, void *user)
{
    (void)object, (void)user;
    if (is_given_back) return;
    usleep(60000);
    skua_memory_count(worker, -KEPT);
    is_given_back = true;
}

static void keep(skua_worker *worker, void *user)
{
    (void)user;
    is_kept = skua_local(worker, kept_key) != NULL;
}

// Memory that one worker keeps, with that which another one uses, is nearly all; nobody is refused when it has been given back.
static void test_nobody_is_refused_for_what_another_worker_kept(void **state)
{
    (void)state;
    told more = { USED }, fewer = { -USED };
    skua_server *server = start_workers();
    skua_local_desc kept = { .make = kept_make, .drop = kept_drop, .shrink = kept_shrink };
    is_kept = is_given_back = false;
    assert_int_equal(skua_local_add(server, &kept, &kept_key), SKUA_OK);
    assert_int_equal(skua_post(server, 0, keep, NULL), SKUA_OK);
    while (!is_kept)
        usleep(1000);
    assert_true(all_answer(server, 200));
    assert_false(is_given_back);
    assert_int_equal(skua_post(server, 1, count, &more), SKUA_OK);
    while (!is_given_back)
        usleep(1000);
    for (unsigned i = 0; i < 2 * WORKERS; i++)
        assert_int_equal(ask(server), 200);
    assert_int_equal(skua_post(server, 1, count, &fewer), SKUA_OK);
    stop_workers(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_oldest_idle_connections_go_first),
        cmocka_unit_test(test_a_request_that_waits_is_answered_before_its_connection_is_closed),
        cmocka_unit_test(test_new_requests_are_refused_and_old_ones_served),
        cmocka_unit_test(test_the_largest_heads_are_ended),
        cmocka_unit_test(test_at_the_limit_nothing_is_accepted),
        cmocka_unit_test(test_at_the_limit_requests_are_slowed_and_not_ended),
#ifndef SKUA_NO_HTTP2
        cmocka_unit_test(test_at_the_limit_streams_get_little_credit),
        cmocka_unit_test(test_at_the_limit_little_is_queued_for_streams),
#endif
        cmocka_unit_test(test_uploads_go_on_when_there_is_memory_again),
        cmocka_unit_test(test_workers_hear_of_what_one_of_them_holds),
        cmocka_unit_test(test_nobody_is_refused_for_what_another_worker_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
