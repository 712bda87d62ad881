// SPDX-License-Identifier: MIT
//
// The simulated kernel under an echo server written on the io seam alone: thousands of seeds with every fault,
// and each promise of io.h asserted in the callbacks.

#include "io/sim.h"
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { SEEDS = 3000, CLIENTS_MAX = 6, OUT_HIGH = 20000, OUT_LOW = 4000, TURNS_MAX = 200000 };
static const int64_t second_ns = 1000000000;

typedef struct echo {
    io_stream stream;
    out_queue out;
    bool near_told, fin_told, reset_told, closing;
    io_deadline deadline;
} echo;

typedef struct bench {
    io_loop loop;
    pool echoes;
    block_store store;
    sim_kernel *kernel;
    io_op accept;
    sim_client *clients[CLIENTS_MAX];
    char *sent[CLIENTS_MAX]; // what each client has to send, and how much of it it has
    size_t sent_len[CLIENTS_MAX], sent_upto[CLIENTS_MAX];
    bool stingy;       // never reads: for what is told while receiving is stopped
    unsigned accepted, closed, evictions, kicks, timeouts;
    echo *last;
} bench;

static bench *the_bench; // events carry no user pointer; one bench runs at a time

static bench *bench_of(const io_stream *stream)
{
    assert_non_null(stream);
    return the_bench;
}

// ---- The echo server ----

static void echo_close(bench *b, echo *e)
{
    if (e->closing) return;
    e->closing = true;
    io_close(&b->loop, &e->stream);
}

static void echo_received(io_stream *stream, char *octets, size_t len)
{
    bench *b = bench_of(stream);
    echo *e = (echo *)(void *)stream;
    assert_false(e->closing || e->fin_told || e->reset_told);
    assert_true(stream->flags & IO_WANT_RECV);
    assert_in_range(len, 1, IO_RECV_OCTETS);
    if (!out_copy(&e->out, slice_make(octets, len))) {
        echo_close(b, e);
        return;
    }
    memset(octets, 'x', len); // lent writable
    io_send(&b->loop, stream);
    if (e->out.octets > OUT_HIGH || out_is_full(&e->out)) io_recv_stop(stream);
    if (len % 7 == 0) io_kick(&b->loop, stream);
}

static void echo_ended(io_stream *stream, io_end how)
{
    bench *b = bench_of(stream);
    echo *e = (echo *)(void *)stream;
    assert_false(e->closing || e->reset_told);
    switch (how) {
    case IO_END_NEAR:
        assert_false(e->near_told || e->fin_told);
        assert_false(stream->flags & IO_WANT_RECV);
        e->near_told = true;
        break;
    case IO_END_FIN:
        assert_false(e->fin_told);
        e->fin_told = true;
        if (e->out.octets) io_shutdown(&b->loop, stream);
        else echo_close(b, e);
        break;
    case IO_END_RESET:
        e->reset_told = true;
        echo_close(b, e);
        break;
    }
}

static void echo_kicked(io_stream *stream)
{
    assert_false(((echo *)(void *)stream)->closing);
    bench_of(stream)->kicks++;
}

static void echo_sent(io_stream *stream, uint64_t n)
{
    bench *b = bench_of(stream);
    echo *e = (echo *)(void *)stream;
    assert_true(n > 0);
    assert_false(e->closing || e->reset_told);
    assert_int_equal((stream->flags & IO_WANT_SEND) == 0, e->out.octets == 0);
    if (e->fin_told && e->out.octets == 0) echo_close(b, e);
    else if (!e->fin_told && e->out.octets < OUT_LOW && !b->stingy) io_recv(&b->loop, stream);
}

static void echo_send_failed(io_stream *stream)
{
    echo_close(bench_of(stream), (echo *)(void *)stream);
}

static void echo_closed(io_stream *stream)
{
    bench *b = bench_of(stream);
    echo *e = (echo *)(void *)stream;
    assert_true(e->closing);
    io_deadline_remove(&b->loop.timers, &e->deadline);
    out_deinit(&e->out);
    pool_give(&b->echoes, e);
    b->closed++;
    if (b->last == e) b->last = NULL;
}

static const io_stream_events echo_events = {
    .received = echo_received,
    .ended = echo_ended,
    .kicked = echo_kicked,
    .sent = echo_sent,
    .send_failed = echo_send_failed,
    .closed = echo_closed,
};

static void echo_accepted(io_op *op, int64_t result)
{
    bench *b = op->user;
    assert_true(result >= 0);
    assert_int_equal(op->peer.family, 4);
    assert_true(op->active);
    b->accepted++;
    echo *e = pool_take(&b->echoes);
    if (!e) {
        b->loop.backend->discard(&b->loop, (int)result);
        return;
    }
    out_init(&e->out, &b->store);
    io_stream_open(&e->stream, (int)result);
    e->stream.out = &e->out;
    b->last = e;
    if (b->stingy) io_kick(&b->loop, &e->stream);
    else io_recv(&b->loop, &e->stream);
}

static bool bench_evict(io_loop *loop)
{
    bench *b = loop->owner;
    b->evictions++;
    return false;
}

static void bench_fired(io_deadline *deadline, void *user)
{
    (void)deadline;
    ((bench *)user)->timeouts++;
}

// ---- The bench ----

static void bench_open(bench *b, const sim_config *config)
{
    *b = (bench){ .accepted = 0 };
    the_bench = b;
    pool_init(&b->echoes, (sizeof(echo) + 15) / 16 * 16, 1000);
    block_store_init(&b->store, 4);
    b->kernel = sim_kernel_new(config);
    assert_non_null(b->kernel);
    b->loop.events = &echo_events;
    b->loop.streams = &b->echoes;
    b->loop.owner = b;
    b->loop.evict = bench_evict;
    b->loop.send_turn_octets_max = 50000;
    b->loop.kernel = b->kernel;
    assert_int_equal(io_loop_open(&b->loop, &io_backend_sim), SKUA_OK);
    io_timers_init(&b->loop.timers, b->loop.now_ns, bench_fired, b);
    b->accept = (io_op){ .code = IO_ACCEPT, .done = echo_accepted, .user = b, .fd = sim_listen(b->kernel) };
    assert_true(b->accept.fd >= 0);
    io_submit(&b->loop, &b->accept);
}

static void bench_turn(bench *b, int64_t timeout_ns)
{
    assert_int_equal(io_turn(&b->loop, timeout_ns), SKUA_OK);
}

static void bench_settle(bench *b)
{
    for (int i = 0; i < TURNS_MAX; i++) {
        bench_turn(b, -1);
        if (sim_is_quiet(b->kernel)) return;
    }
    fail_msg("the run does not end");
}

static void bench_close(bench *b)
{
    io_cancel(&b->loop, &b->accept);
    assert_int_equal(b->echoes.in_use, 0);
    assert_int_equal(b->store.out_count, 0);
    assert_int_equal(sim_sockets_open(b->kernel), 0);
    assert_int_equal(sim_files_open(b->kernel), 0);
    io_loop_close(&b->loop);
    sim_kernel_free(b->kernel);
    block_store_deinit(&b->store);
    pool_deinit(&b->echoes);
    for (int i = 0; i < CLIENTS_MAX; i++) free(b->sent[i]);
    the_bench = NULL;
}

static sim_client *bench_connect(bench *b)
{
    sim_client *client = sim_connect(b->kernel, b->accept.fd);
    assert_non_null(client);
    return client;
}

// ---- Seeds ----

static void client_begin(bench *b, int i)
{
    static const size_t lens[] = { 0, 1, 100, 3000, 40000, 150000 };
    b->sent_len[i] = lens[sim_random(b->kernel) % 6];
    b->sent[i] = malloc(b->sent_len[i] + 1);
    assert_non_null(b->sent[i]);
    for (size_t k = 0; k < b->sent_len[i]; k++) b->sent[i][k] = (char)sim_random(b->kernel);
    b->clients[i] = bench_connect(b);
}

// One thing a client may do.
static void client_step(bench *b, int i)
{
    sim_client *client = b->clients[i];
    size_t left = b->sent_len[i] - b->sent_upto[i];
    uint64_t dice = sim_random(b->kernel) % 100;
    if (dice < 10) {
        sim_client_pause(client, true);
    } else if (dice < 40) {
        sim_client_pause(client, false);
    } else if (dice == 99 && sim_random(b->kernel) % 4 == 0) {
        sim_client_reset(client);
    } else if (left) {
        size_t n = 1 + sim_random(b->kernel) % left;
        assert_true(sim_client_send(client, slice_make(b->sent[i] + b->sent_upto[i], n)));
        b->sent_upto[i] += n;
        if (b->sent_upto[i] == b->sent_len[i]) sim_client_shutdown(client);
    }
}

static void client_finish(bench *b, int i)
{
    sim_client *client = b->clients[i];
    size_t left = b->sent_len[i] - b->sent_upto[i];
    sim_client_pause(client, false);
    if (left) assert_true(sim_client_send(client, slice_make(b->sent[i] + b->sent_upto[i], left)));
    sim_client_shutdown(client);
}

static void client_check(const bench *b, int i)
{
    const sim_client *client = b->clients[i];
    slice got = sim_client_received(client);
    assert_true(got.len <= b->sent_len[i]);
    if (got.len) assert_memory_equal(got.ptr, b->sent[i], got.len);
    if (sim_client_is_reset(client)) return;
    assert_true(sim_client_is_eof(client));
    assert_int_equal(got.len, b->sent_len[i]);
}

static sim_config wild_config(uint64_t seed)
{
    sim_config config = { .seed = seed };
    uint64_t z = seed;
    for (int i = 0; i < SIM_FAULTS; i++) {
        z = z * 6364136223846793005u + 1442695040888963407u;
        uint16_t most = i == SIM_RESET || i == SIM_REGISTER_NO_MEMORY ? 20 : 500;
        if (z >> 60 >= 4) config.permille[i] = (uint16_t)((z >> 33) % most);
    }
    if (seed % 3 == 0) config.recv_buffer_octets = 1 + (uint32_t)(z >> 40) % 3000;
    if (seed % 5 == 0) config.send_buffer_octets = 1 + (uint32_t)(z >> 37) % 3000;
    if (seed % 7 == 0) config.descriptors_max = 1 + (uint32_t)(z >> 35) % 4;
    if (seed % 11 == 0) config.delay_max_ns = 3 * second_ns;
    return config;
}

typedef struct outcome {
    uint64_t hash;
    uint64_t faults[SIM_FAULTS];
    unsigned evictions, kicks;
    bool whole; // every client got everything
} outcome;

static void wild_steps(bench *b, int clients)
{
    for (int step = 0; step < 60; step++) {
        client_step(b, (int)(sim_random(b->kernel) % (uint64_t)clients));
        int turns = (int)(sim_random(b->kernel) % 4);
        for (int i = 0; i < turns; i++) bench_turn(b, step % 2 ? 0 : second_ns / 1000);
    }
}

static outcome wild_run(uint64_t seed)
{
    bench b;
    sim_config config = wild_config(seed);
    bench_open(&b, &config);
    int clients = 1 + (int)(sim_random(b.kernel) % CLIENTS_MAX);
    for (int i = 0; i < clients; i++) client_begin(&b, i);
    wild_steps(&b, clients);
    for (int i = 0; i < clients; i++) client_finish(&b, i);
    bench_settle(&b);
    outcome result = { .hash = sim_hash(b.kernel), .evictions = b.evictions, .kicks = b.kicks, .whole = true };
    for (int i = 0; i < clients; i++) {
        client_check(&b, i);
        if (sim_client_is_reset(b.clients[i])) result.whole = false;
    }
    assert_int_equal(b.accepted, b.closed);
    for (int i = 0; i < SIM_FAULTS; i++) result.faults[i] = sim_fault_count(b.kernel, (sim_fault)i);
    bench_close(&b);
    return result;
}

static void test_seeds_with_every_fault(void **state)
{
    (void)state;
    outcome sum = { .hash = 0 };
    unsigned whole = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        outcome one = wild_run(seed);
        if (seed % 10 == 0) assert_int_equal(wild_run(seed).hash, one.hash);
        for (int i = 0; i < SIM_FAULTS; i++) sum.faults[i] += one.faults[i];
        sum.evictions += one.evictions;
        sum.kicks += one.kicks;
        whole += one.whole;
        assert_true(one.hash != sum.hash);
        sum.hash = one.hash;
    }
    for (int i = 0; i < SIM_OPEN_NO_FILE; i++) assert_true(sum.faults[i] > 0);
    assert_true(sum.evictions > 0);
    assert_true(sum.kicks > 0);
    assert_in_range(whole, SEEDS / 10, SEEDS - SEEDS / 10); // neither nothing but resets nor none
}

// ---- One promise at a time ----

static void test_a_calm_kernel_echoes(void **state)
{
    (void)state;
    bench b;
    bench_open(&b, &(sim_config){ .seed = 1 });
    sim_client *client = bench_connect(&b);
    assert_true(sim_client_send(client, slice_of("hello")));
    bench_settle(&b);
    slice got = sim_client_received(client);
    assert_int_equal(got.len, 5);
    assert_memory_equal(got.ptr, "hello", 5);
    assert_false(sim_client_is_eof(client));
    sim_client_shutdown(client);
    bench_settle(&b);
    assert_true(sim_client_is_eof(client));
    assert_false(sim_client_is_reset(client));
    bench_close(&b);
}

static void test_a_paused_client_stops_the_server(void **state)
{
    (void)state;
    enum { LEN = 200000 };
    bench b;
    bench_open(&b, &(sim_config){ .seed = 2, .send_buffer_octets = 5000, .recv_buffer_octets = 7000 });
    char *octets = calloc(1, LEN);
    assert_non_null(octets);
    sim_client *client = bench_connect(&b);
    sim_client_pause(client, true);
    assert_true(sim_client_send(client, slice_make(octets, LEN)));
    bench_settle(&b);
    assert_int_equal(sim_client_received(client).len, 0);
    assert_in_range(sim_client_unsent(client), LEN - 5000 - 7000 - OUT_HIGH - IO_RECV_OCTETS, LEN);
    sim_client_pause(client, false);
    sim_client_shutdown(client);
    bench_settle(&b);
    assert_int_equal(sim_client_received(client).len, LEN);
    assert_true(sim_client_is_eof(client));
    free(octets);
    bench_close(&b);
}

static void test_near_and_reset_are_told_while_receiving_is_stopped(void **state)
{
    (void)state;
    bench b;
    bench_open(&b, &(sim_config){ .seed = 3 });
    b.stingy = true;
    sim_client *client = bench_connect(&b);
    assert_true(sim_client_send(client, slice_of("unread")));
    sim_client_shutdown(client);
    bench_settle(&b);
    assert_non_null(b.last);
    assert_true(b.last->near_told);
    assert_false(b.last->fin_told);
    sim_client_reset(client);
    bench_settle(&b);
    assert_int_equal(b.closed, 1);
    bench_close(&b);
}

static void test_closing_with_input_unread_resets(void **state)
{
    (void)state;
    bench b;
    bench_open(&b, &(sim_config){ .seed = 4 });
    b.stingy = true;
    sim_client *client = bench_connect(&b);
    assert_true(sim_client_send(client, slice_of("unread")));
    bench_settle(&b);
    echo_close(&b, b.last);
    bench_settle(&b);
    assert_true(sim_client_is_reset(client));
    assert_false(sim_client_is_victim(client));
    bench_close(&b);
}

static void test_sending_to_a_closed_socket_resets(void **state)
{
    (void)state;
    bench b;
    bench_open(&b, &(sim_config){ .seed = 5 });
    sim_client *client = bench_connect(&b);
    bench_settle(&b);
    echo_close(&b, b.last);
    bench_settle(&b);
    assert_true(sim_client_is_eof(client));
    assert_true(sim_client_send(client, slice_of("late")));
    bench_settle(&b);
    assert_true(sim_client_is_reset(client));
    bench_close(&b);
}

static void test_accepting_goes_on_when_descriptors_are_free_again(void **state)
{
    (void)state;
    bench b;
    bench_open(&b, &(sim_config){ .seed = 6, .descriptors_max = 2 });
    for (int i = 0; i < 4; i++) b.clients[i] = bench_connect(&b);
    int64_t start = sim_now(b.kernel);
    while (sim_now(b.kernel) < start + second_ns) bench_turn(&b, second_ns / 10);
    assert_int_equal(b.accepted, 2);
    assert_in_range(b.evictions, 5, 15); // every 100 ms, not in every turn
    unsigned evictions = b.evictions;
    sim_client_shutdown(b.clients[0]);
    start = sim_now(b.kernel);
    while (b.accepted < 3) bench_turn(&b, second_ns);
    assert_true(sim_now(b.kernel) < start + second_ns / 10);
    assert_in_range(b.evictions, evictions, evictions + 3);
    for (int i = 1; i < 4; i++) sim_client_shutdown(b.clients[i]);
    while (b.closed < 4) bench_turn(&b, second_ns);
    bench_close(&b);
}

static void test_unwanted_sockets_are_discarded(void **state)
{
    (void)state;
    bench b;
    bench_open(&b, &(sim_config){ .seed = 7 });
    b.echoes.items_max = 0;
    sim_client *client = bench_connect(&b);
    bench_settle(&b);
    assert_int_equal(b.accepted, 1);
    assert_true(sim_client_is_eof(client));
    bench_close(&b);
}

static void test_a_closed_listener_resets_its_queue(void **state)
{
    (void)state;
    bench b;
    bench_open(&b, &(sim_config){ .seed = 8 });
    io_cancel(&b.loop, &b.accept);
    sim_client *early = bench_connect(&b);
    bench_turn(&b, 0);
    assert_false(sim_client_is_reset(early));
    sim_listener_close(b.kernel, b.accept.fd);
    assert_true(sim_client_is_reset(early));
    assert_true(sim_client_is_reset(bench_connect(&b)));
    assert_int_equal(b.accepted, 0);
    bench_close(&b);
}

static void test_time_passes_only_by_turns(void **state)
{
    (void)state;
    bench b;
    bench_open(&b, &(sim_config){ .seed = 9 });
    int64_t start = sim_now(b.kernel);
    io_deadline deadline = { .due = 0 };
    io_deadline_set(&b.loop.timers, &deadline, 3600 * second_ns);
    for (int i = 0; i < 4000 && !b.timeouts; i++) {
        assert_true(sim_now(b.kernel) < start + 3601 * second_ns);
        bench_turn(&b, -1);
    }
    assert_int_equal(b.timeouts, 1);
    assert_true(sim_now(b.kernel) >= start + 3600 * second_ns);
    start = sim_now(b.kernel);
    bench_turn(&b, second_ns);
    assert_in_range(sim_now(b.kernel) - start, second_ns, second_ns + 1000000);
    bench_turn(&b, -1); // nothing to wait for: it returns
    assert_true(sim_now(b.kernel) < start + second_ns + 1000000);
    bench_close(&b);
}

static void count_done(io_op *op, int64_t result)
{
    assert_true(result >= 0);
    (*(unsigned *)op->user)++;
}

static void test_wake_completes_once_for_many_calls(void **state)
{
    (void)state;
    bench b;
    bench_open(&b, &(sim_config){ .seed = 10 });
    unsigned count = 0;
    io_op wake = { .code = IO_WAKE, .done = count_done, .user = &count, .fd = -1 };
    io_submit(&b.loop, &wake);
    bench_turn(&b, 0);
    assert_int_equal(count, 0);
    io_wake(&wake);
    io_wake(&wake);
    bench_turn(&b, -1);
    bench_turn(&b, 0);
    assert_int_equal(count, 1);
    io_wake(&wake);
    bench_turn(&b, -1);
    assert_int_equal(count, 2);
    io_cancel(&b.loop, &wake);
    io_wake(&wake);
    bench_turn(&b, 0);
    assert_int_equal(count, 2);
    bench_close(&b);
}

static void test_poll_of_a_real_descriptor(void **state)
{
    (void)state;
    bench b;
    bench_open(&b, &(sim_config){ .seed = 11 });
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    unsigned count = 0;
    io_op op = { .code = IO_POLL, .done = count_done, .user = &count, .fd = ends[0] };
    io_submit(&b.loop, &op);
    bench_turn(&b, 0);
    assert_int_equal(count, 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    bench_turn(&b, 0);
    bench_turn(&b, 0);
    assert_int_equal(count, 1);
    assert_false(op.active);
    close(ends[0]);
    close(ends[1]);
    bench_close(&b);
}

static void keep_result(io_op *op, int64_t result)
{
    *(int64_t *)op->user = result;
}

static int64_t run_op(bench *b, io_op *op)
{
    int64_t result = INT64_MIN;
    op->done = keep_result;
    op->user = &result;
    io_submit(&b->loop, op);
    assert_int_equal(result, INT64_MIN); // never from within the submission
    for (int i = 0; i < 1000 && op->active; i++) bench_turn(b, -1);
    assert_false(op->active);
    return result;
}

static void test_unsupported_operations_say_so(void **state)
{
    (void)state;
    static const uint8_t codes[] = { IO_CONNECT, IO_RECVMSG, IO_SENDMSG };
    bench b;
    bench_open(&b, &(sim_config){ .seed = 12 });
    for (size_t i = 0; i < sizeof codes; i++) {
        io_op op = { .code = codes[i], .fd = -1 };
        assert_int_equal(run_op(&b, &op), -(int64_t)SKUA_EUNSUPPORTED);
    }
    bench_close(&b);
}

// ---- Files ----

typedef struct folder {
    char path[64];
    int root;
} folder;

enum { FILE_LEN = 100000 };

static char file_octet(size_t at)
{
    return (char)(at * 2654435761u >> 13);
}

static void folder_file(const folder *f, char *path, size_t room)
{
    assert_true(snprintf(path, room, "%s/file", f->path) < (int)room);
}

static void folder_make(folder *f)
{
    (void)snprintf(f->path, sizeof f->path, "/tmp/test_sim_XXXXXX");
    assert_non_null(mkdtemp(f->path));
    f->root = open(f->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(f->root >= 0);
    char path[80];
    folder_file(f, path, sizeof path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (size_t i = 0; i < FILE_LEN; i++) assert_true(fputc((unsigned char)file_octet(i), file) != EOF);
    assert_int_equal(fclose(file), 0);
}

static void folder_remove(const folder *f)
{
    char path[80];
    folder_file(f, path, sizeof path);
    (void)unlink(path);
    assert_int_equal(rmdir(f->path), 0);
    close(f->root);
}

static void test_files_are_opened_looked_at_and_read(void **state)
{
    (void)state;
    bench b;
    folder f;
    folder_make(&f);
    bench_open(&b, &(sim_config){ .seed = 13, .permille = { [SIM_DELAY] = 500 } });
    io_op op = { .code = IO_FILE_STAT, .fd = f.root, .path = slice_of("file") };
    assert_true(run_op(&b, &op) < 1 << 20);
    assert_int_equal(op.info.size, FILE_LEN);
    assert_int_equal(sim_files_open(b.kernel), 0);
    op = (io_op){ .code = IO_FILE_OPEN, .fd = f.root, .path = slice_of("file") };
    int64_t file = run_op(&b, &op);
    assert_true(file >= 0);
    assert_int_equal(op.info.size, FILE_LEN);
    assert_int_equal(sim_files_open(b.kernel), 1);
    char octets[100];
    op = (io_op){ .code = IO_FILE_READ, .fd = (int)file, .buffer = octets, .offset = 5000, .length = 100 };
    assert_int_equal(run_op(&b, &op), 100);
    for (size_t i = 0; i < 100; i++) assert_int_equal(octets[i], file_octet(5000 + i));
    b.loop.backend->discard(&b.loop, (int)file);
    op = (io_op){ .code = IO_FILE_OPEN, .fd = f.root, .path = slice_of("none") };
    assert_int_equal(run_op(&b, &op), -(int64_t)SKUA_ENOENT);
    op = (io_op){ .code = IO_FILE_OPEN, .fd = f.root, .path = slice_of("../etc") };
    assert_int_equal(run_op(&b, &op), -(int64_t)SKUA_EACCES);
    bench_close(&b);
    folder_remove(&f);
}

static void test_file_faults(void **state)
{
    (void)state;
    static const struct {
        sim_fault fault;
        uint8_t code;
        skua_status status;
    } cases[] = {
        { SIM_OPEN_NO_FILE, IO_FILE_OPEN, SKUA_ENOFILE },
        { SIM_OPEN_NO_MEMORY, IO_FILE_OPEN, SKUA_ENOMEM },
        { SIM_OPEN_NO_MEMORY, IO_FILE_STAT, SKUA_ENOMEM },
        { SIM_READ_FAILS, IO_FILE_READ, SKUA_EIO },
    };
    folder f;
    folder_make(&f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench b;
        bench_open(&b, &(sim_config){ .seed = i });
        sim_set_permille(b.kernel, cases[i].fault, 1000);
        char octet;
        io_op op = { .code = cases[i].code, .fd = f.root, .path = slice_of("file"), .buffer = &octet, .length = 1 };
        assert_int_equal(run_op(&b, &op), -(int64_t)cases[i].status);
        assert_int_equal(sim_fault_count(b.kernel, cases[i].fault), 1);
        bench_close(&b);
    }
    folder_remove(&f);
}

static void count_release(void *user)
{
    (*(unsigned *)user)++;
}

// Sends head, file and tail on the first connection, with len claimed for the file.
static sim_client *send_file(bench *b, const folder *f, uint64_t len, unsigned *released)
{
    char path[80];
    folder_file(f, path, sizeof path);
    b->stingy = true;
    sim_client *client = bench_connect(b);
    while (!b->last) bench_turn(b, -1);
    echo *e = b->last;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    assert_true(out_copy(&e->out, slice_of("head")));
    out_file(&e->out, file, 0, len, count_release, released);
    out_lend(&e->out, slice_of("tail"), count_release, released);
    io_send(&b->loop, &e->stream);
    io_shutdown(&b->loop, &e->stream);
    for (int i = 0; i < TURNS_MAX && !sim_client_is_eof(client) && !b->closed; i++) bench_turn(b, -1);
    if (b->last) echo_close(b, b->last);
    bench_settle(b);
    close(file);
    return client;
}

static void test_files_are_sent_between_memory(void **state)
{
    (void)state;
    folder f;
    folder_make(&f);
    for (uint64_t seed = 1; seed <= 50; seed++) {
        bench b;
        unsigned released = 0;
        bench_open(&b, &(sim_config){ .seed = seed,
                                      .permille = { [SIM_SHORT_SEND] = 300, [SIM_SEND_AGAIN] = 200 },
                                      .send_buffer_octets = 3000 });
        sim_client *client = send_file(&b, &f, FILE_LEN, &released);
        slice got = sim_client_received(client);
        assert_int_equal(got.len, FILE_LEN + 8);
        assert_memory_equal(got.ptr, "head", 4);
        assert_memory_equal(got.ptr + FILE_LEN + 4, "tail", 4);
        for (size_t i = 0; i < FILE_LEN; i++) assert_true(got.ptr[4 + i] == file_octet(i));
        assert_int_equal(released, 2);
        bench_close(&b);
    }
    folder_remove(&f);
}

static void test_a_file_that_shrinks_fails_the_send(void **state)
{
    (void)state;
    folder f;
    folder_make(&f);
    for (int kind = 0; kind < 3; kind++) {
        bench b;
        unsigned released = 0;
        bench_open(&b, &(sim_config){ .seed = 1 });
        if (kind == 1) sim_set_permille(b.kernel, SIM_FILE_SHRINKS, 300);
        if (kind == 2) sim_set_permille(b.kernel, SIM_READ_FAILS, 300);
        sim_client *client = send_file(&b, &f, kind ? FILE_LEN : FILE_LEN + 1, &released);
        slice got = sim_client_received(client);
        assert_in_range(got.len, 4, FILE_LEN + 4);
        for (size_t i = 4; i < got.len; i++) assert_true(got.ptr[i] == file_octet(i - 4));
        assert_int_equal(released, 2);
        bench_close(&b);
    }
    folder_remove(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_calm_kernel_echoes),
        cmocka_unit_test(test_a_paused_client_stops_the_server),
        cmocka_unit_test(test_near_and_reset_are_told_while_receiving_is_stopped),
        cmocka_unit_test(test_closing_with_input_unread_resets),
        cmocka_unit_test(test_sending_to_a_closed_socket_resets),
        cmocka_unit_test(test_accepting_goes_on_when_descriptors_are_free_again),
        cmocka_unit_test(test_unwanted_sockets_are_discarded),
        cmocka_unit_test(test_a_closed_listener_resets_its_queue),
        cmocka_unit_test(test_time_passes_only_by_turns),
        cmocka_unit_test(test_wake_completes_once_for_many_calls),
        cmocka_unit_test(test_poll_of_a_real_descriptor),
        cmocka_unit_test(test_unsupported_operations_say_so),
        cmocka_unit_test(test_files_are_opened_looked_at_and_read),
        cmocka_unit_test(test_file_faults),
        cmocka_unit_test(test_files_are_sent_between_memory),
        cmocka_unit_test(test_a_file_that_shrinks_fails_the_send),
        cmocka_unit_test(test_seeds_with_every_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
