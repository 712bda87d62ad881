// SPDX-License-Identifier: MIT
//
// The simulated kernel under an echo server written on the io seam alone: thousands of seeds with
// every fault, and each promise of io.h asserted in the callbacks.

#include "support/echo.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { SEEDS = 3000, SENDERS_MAX = 6, TURNS_MAX = 200000 };

static const int64_t second_ns = 1000000000;

// ---- Seeds ----

// A client, and what it has to send.
typedef struct sender {
    sim_client *end;
    char *octets;
    size_t len, upto;
} sender;

static sender sender_begin(echo_bench *b)
{
    static const size_t lens[] = { 0, 1, 100, 3000, 40000, 150000 };
    sender s = { .len = lens[sim_random(b->kernel) % 6] };
    s.octets = malloc(s.len + 1);
    assert_non_null(s.octets);
    for (size_t i = 0; i < s.len; i++)
        s.octets[i] = (char)sim_random(b->kernel);
    s.end = echo_connect(b);
    return s;
}

static void sender_send(sender *s, size_t len)
{
    assert_true(sim_client_send(s->end, slice_make(s->octets + s->upto, len)));
    s->upto += len;
    if (s->upto == s->len) sim_client_shutdown(s->end);
}

// One thing a client may do.
static void sender_step(echo_bench *b, sender *s)
{
    uint64_t dice = sim_random(b->kernel) % 100;
    if (dice < 10) {
        sim_client_pause(s->end, true);
    } else if (dice < 40) {
        sim_client_pause(s->end, false);
    } else if (dice == 99 && sim_random(b->kernel) % 4 == 0) {
        sim_client_reset(s->end);
    } else if (s->upto < s->len) {
        sender_send(s, 1 + sim_random(b->kernel) % (s->len - s->upto));
    }
}

static void sender_finish(sender *s)
{
    sim_client_pause(s->end, false);
    if (s->upto < s->len) sender_send(s, s->len - s->upto);
    sim_client_shutdown(s->end);
}

// Returns whether everything came back.
static bool sender_check(const sender *s)
{
    slice got = sim_client_received(s->end);
    assert_true(got.len <= s->len);
    if (got.len) assert_memory_equal(got.ptr, s->octets, got.len);
    if (sim_client_is_reset(s->end)) return false;
    assert_true(sim_client_is_eof(s->end));
    assert_int_equal(got.len, s->len);
    return true;
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

static void wild_steps(echo_bench *b, sender *senders, uint64_t count)
{
    for (int step = 0; step < 60; step++) {
        sender_step(b, &senders[sim_random(b->kernel) % count]);
        int turns = (int)(sim_random(b->kernel) % 4);
        for (int i = 0; i < turns; i++)
            echo_turn(b, step % 2 ? 0 : second_ns / 1000);
    }
}

static outcome wild_outcome(const echo_bench *b)
{
    outcome result = { .hash = sim_hash(b->kernel), .evictions = b->evictions, .kicks = b->kicks };
    for (int i = 0; i < SIM_FAULTS; i++)
        result.faults[i] = sim_fault_count(b->kernel, (sim_fault)i);
    return result;
}

static outcome wild_run(uint64_t seed)
{
    echo_bench b;
    sender senders[SENDERS_MAX];
    sim_config config = wild_config(seed);
    echo_open(&b, &config);
    uint64_t count = 1 + sim_random(b.kernel) % SENDERS_MAX;
    for (uint64_t i = 0; i < count; i++)
        senders[i] = sender_begin(&b);
    wild_steps(&b, senders, count);
    for (uint64_t i = 0; i < count; i++)
        sender_finish(&senders[i]);
    echo_settle(&b);
    assert_int_equal(b.accepted, b.closed);
    outcome result = wild_outcome(&b);
    result.whole = true;
    for (uint64_t i = 0; i < count; i++) {
        if (!sender_check(&senders[i])) result.whole = false;
        free(senders[i].octets);
    }
    echo_finish(&b);
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
        for (int i = 0; i < SIM_FAULTS; i++)
            sum.faults[i] += one.faults[i];
        sum.evictions += one.evictions;
        sum.kicks += one.kicks;
        whole += one.whole;
        assert_true(one.hash != sum.hash);
        sum.hash = one.hash;
    }
    for (int i = 0; i < SIM_OPEN_NO_FILE; i++)
        assert_true(sum.faults[i] > 0);
    assert_true(sum.evictions > 0);
    assert_true(sum.kicks > 0);
    assert_in_range(whole, SEEDS / 10, SEEDS - SEEDS / 10); // neither nothing but resets nor none
}

// ---- One promise at a time ----

static void test_a_calm_kernel_echoes(void **state)
{
    (void)state;
    echo_bench b;
    echo_open(&b, &(sim_config){ .seed = 1 });
    sim_client *client = echo_connect(&b);
    assert_true(sim_client_send(client, slice_of("hello")));
    echo_settle(&b);
    slice got = sim_client_received(client);
    assert_int_equal(got.len, 5);
    assert_memory_equal(got.ptr, "hello", 5);
    assert_false(sim_client_is_eof(client));
    sim_client_shutdown(client);
    echo_settle(&b);
    assert_true(sim_client_is_eof(client));
    assert_false(sim_client_is_reset(client));
    echo_finish(&b);
}

static void test_a_paused_client_stops_the_server(void **state)
{
    (void)state;
    enum { LEN = 200000 };
    echo_bench b;
    echo_open(&b,
              &(sim_config){ .seed = 2, .send_buffer_octets = 5000, .recv_buffer_octets = 7000 });
    char *octets = calloc(1, LEN);
    assert_non_null(octets);
    sim_client *client = echo_connect(&b);
    sim_client_pause(client, true);
    assert_true(sim_client_send(client, slice_make(octets, LEN)));
    echo_settle(&b);
    assert_int_equal(sim_client_received(client).len, 0);
    assert_in_range(sim_client_unsent(client), LEN - 5000 - 7000 - ECHO_OUT_HIGH - IO_RECV_OCTETS,
                    LEN);
    sim_client_pause(client, false);
    sim_client_shutdown(client);
    echo_settle(&b);
    assert_int_equal(sim_client_received(client).len, LEN);
    assert_true(sim_client_is_eof(client));
    free(octets);
    echo_finish(&b);
}

static void test_near_and_reset_are_told_while_receiving_is_stopped(void **state)
{
    (void)state;
    echo_bench b;
    echo_open(&b, &(sim_config){ .seed = 3 });
    b.stingy = true;
    sim_client *client = echo_connect(&b);
    assert_true(sim_client_send(client, slice_of("unread")));
    sim_client_shutdown(client);
    echo_settle(&b);
    assert_non_null(b.last);
    assert_true(b.last->near_told);
    assert_false(b.last->fin_told);
    sim_client_reset(client);
    echo_settle(&b);
    assert_int_equal(b.closed, 1);
    echo_finish(&b);
}

static void test_closing_with_input_unread_resets(void **state)
{
    (void)state;
    echo_bench b;
    echo_open(&b, &(sim_config){ .seed = 4 });
    b.stingy = true;
    sim_client *client = echo_connect(&b);
    assert_true(sim_client_send(client, slice_of("unread")));
    echo_settle(&b);
    echo_close(&b, b.last);
    echo_settle(&b);
    assert_true(sim_client_is_reset(client));
    assert_false(sim_client_is_victim(client));
    echo_finish(&b);
}

// Octets that the peer does not take are dropped, and FIN never comes.
static void test_a_stream_can_be_reset(void **state)
{
    (void)state;
    enum { LEN = 60000 };
    echo_bench b;
    echo_open(&b, &(sim_config){ .seed = 4, .send_buffer_octets = 1000 });
    char *octets = calloc(1, LEN);
    assert_non_null(octets);
    sim_client *client = echo_connect(&b);
    sim_client_pause(client, true);
    assert_true(sim_client_send(client, slice_make(octets, LEN)));
    echo_settle(&b);
    b.last->closing = true;
    io_reset(&b.loop, &b.last->stream);
    echo_settle(&b);
    sim_client_pause(client, false);
    echo_settle(&b);
    assert_int_equal(b.closed, 1);
    assert_true(sim_client_is_reset(client));
    assert_false(sim_client_is_victim(client));
    assert_false(sim_client_is_eof(client));
    assert_int_equal(sim_client_received(client).len, 0);
    free(octets);
    echo_finish(&b);
}

static void test_sending_to_a_closed_socket_resets(void **state)
{
    (void)state;
    echo_bench b;
    echo_open(&b, &(sim_config){ .seed = 5 });
    sim_client *client = echo_connect(&b);
    echo_settle(&b);
    echo_close(&b, b.last);
    echo_settle(&b);
    assert_true(sim_client_is_eof(client));
    assert_true(sim_client_send(client, slice_of("late")));
    echo_settle(&b);
    assert_true(sim_client_is_reset(client));
    echo_finish(&b);
}

static void test_accepting_goes_on_when_descriptors_are_free_again(void **state)
{
    (void)state;
    echo_bench b;
    sim_client *clients[4];
    echo_open(&b, &(sim_config){ .seed = 6, .descriptors_max = 2 });
    for (int i = 0; i < 4; i++)
        clients[i] = echo_connect(&b);
    int64_t start = sim_now(b.kernel);
    while (sim_now(b.kernel) < start + second_ns)
        echo_turn(&b, second_ns / 10);
    assert_int_equal(b.accepted, 2);
    assert_in_range(b.evictions, 5, 15); // every 100 ms, not in every turn
    unsigned evictions = b.evictions;
    sim_client_shutdown(clients[0]);
    start = sim_now(b.kernel);
    while (b.accepted < 3)
        echo_turn(&b, second_ns);
    assert_true(sim_now(b.kernel) < start + second_ns / 10);
    assert_in_range(b.evictions, evictions, evictions + 3);
    for (int i = 1; i < 4; i++)
        sim_client_shutdown(clients[i]);
    while (b.closed < 4)
        echo_turn(&b, second_ns);
    echo_finish(&b);
}

static void test_unwanted_sockets_are_discarded(void **state)
{
    (void)state;
    echo_bench b;
    echo_open(&b, &(sim_config){ .seed = 7 });
    b.echoes.items_max = 0;
    sim_client *client = echo_connect(&b);
    echo_settle(&b);
    assert_int_equal(b.accepted, 1);
    assert_true(sim_client_is_eof(client));
    echo_finish(&b);
}

static void test_a_closed_listener_resets_its_queue(void **state)
{
    (void)state;
    echo_bench b;
    echo_open(&b, &(sim_config){ .seed = 8 });
    io_cancel(&b.loop, &b.accept);
    sim_client *early = echo_connect(&b);
    echo_turn(&b, 0);
    assert_false(sim_client_is_reset(early));
    sim_listener_close(b.kernel, b.accept.fd);
    assert_true(sim_client_is_reset(early));
    assert_true(sim_client_is_reset(echo_connect(&b)));
    assert_int_equal(b.accepted, 0);
    echo_finish(&b);
}

static void test_what_waits_is_delivered_when_accepting_ends(void **state)
{
    (void)state;
    echo_bench b;
    echo_open(&b, &(sim_config){ .seed = 8 });
    echo_turn(&b, 0);
    sim_client *early = echo_connect(&b);
    io_cancel(&b.loop, &b.accept);
    assert_int_equal(b.accepted, 1);
    assert_false(b.accept.active);
    sim_client_shutdown(early);
    echo_settle(&b);
    assert_true(sim_client_is_eof(early));
    echo_finish(&b);
}

static void test_time_passes_only_by_turns(void **state)
{
    (void)state;
    echo_bench b;
    echo_open(&b, &(sim_config){ .seed = 9 });
    int64_t start = sim_now(b.kernel);
    io_deadline deadline = { .due = 0 };
    io_deadline_set(&b.loop.timers, &deadline, 3600 * second_ns);
    for (int i = 0; i < 4000 && !b.timeouts; i++) {
        assert_true(sim_now(b.kernel) < start + 3601 * second_ns);
        echo_turn(&b, -1);
    }
    assert_int_equal(b.timeouts, 1);
    assert_true(sim_now(b.kernel) >= start + 3600 * second_ns);
    start = sim_now(b.kernel);
    echo_turn(&b, second_ns);
    assert_in_range(sim_now(b.kernel) - start, second_ns, second_ns + 1000000);
    echo_turn(&b, -1); // nothing to wait for: it returns
    assert_true(sim_now(b.kernel) < start + second_ns + 1000000);
    echo_finish(&b);
}

static void count_done(io_op *op, int64_t result)
{
    assert_true(result >= 0);
    (*(unsigned *)op->user)++;
}

static void test_wake_completes_once_for_many_calls(void **state)
{
    (void)state;
    echo_bench b;
    echo_open(&b, &(sim_config){ .seed = 10 });
    unsigned count = 0;
    io_op wake = { .code = IO_WAKE, .done = count_done, .user = &count, .fd = -1 };
    io_submit(&b.loop, &wake);
    echo_turn(&b, 0);
    assert_int_equal(count, 0);
    io_wake(&wake);
    io_wake(&wake);
    echo_turn(&b, -1);
    echo_turn(&b, 0);
    assert_int_equal(count, 1);
    io_wake(&wake);
    echo_turn(&b, -1);
    assert_int_equal(count, 2);
    io_cancel(&b.loop, &wake);
    io_wake(&wake);
    echo_turn(&b, 0);
    assert_int_equal(count, 2);
    echo_finish(&b);
}

static void test_poll_of_a_real_descriptor(void **state)
{
    (void)state;
    echo_bench b;
    echo_open(&b, &(sim_config){ .seed = 11 });
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    unsigned count = 0;
    io_op op = { .code = IO_POLL, .done = count_done, .user = &count, .fd = ends[0] };
    io_submit(&b.loop, &op);
    echo_turn(&b, 0);
    assert_int_equal(count, 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    echo_turn(&b, 0);
    echo_turn(&b, 0);
    assert_int_equal(count, 1);
    assert_false(op.active);
    close(ends[0]);
    close(ends[1]);
    echo_finish(&b);
}

static void keep_result(io_op *op, int64_t result)
{
    *(int64_t *)op->user = result;
}

static int64_t run_op(echo_bench *b, io_op *op)
{
    int64_t result = INT64_MIN;
    op->done = keep_result;
    op->user = &result;
    io_submit(&b->loop, op);
    assert_int_equal(result, INT64_MIN); // never from within the submission
    for (int i = 0; i < 1000 && op->active; i++)
        echo_turn(b, -1);
    assert_false(op->active);
    return result;
}

static void test_unsupported_operations_say_so(void **state)
{
    (void)state;
    static const uint8_t codes[] = { IO_RECVMSG, IO_SENDMSG };
    echo_bench b;
    echo_open(&b, &(sim_config){ .seed = 12 });
    for (size_t i = 0; i < sizeof codes; i++) {
        io_op op = { .code = codes[i], .fd = -1 };
        assert_int_equal(run_op(&b, &op), -(int64_t)SKUA_EUNSUPPORTED);
    }
    echo_finish(&b);
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
    for (size_t i = 0; i < FILE_LEN; i++)
        assert_true(fputc((unsigned char)file_octet(i), file) != EOF);
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
    echo_bench b;
    folder f;
    folder_make(&f);
    echo_open(&b, &(sim_config){ .seed = 13, .permille = { [SIM_DELAY] = 500 } });
    io_op op = { .code = IO_FILE_STAT, .fd = f.root, .path = slice_of("file") };
    assert_int_equal(run_op(&b, &op), 0);
    assert_int_equal(op.info.size, FILE_LEN);
    assert_int_equal(sim_files_open(b.kernel), 0);
    op = (io_op){ .code = IO_FILE_OPEN, .fd = f.root, .path = slice_of("file") };
    int64_t file = run_op(&b, &op);
    assert_true(file >= 0);
    assert_int_equal(op.info.size, FILE_LEN);
    assert_int_equal(sim_files_open(b.kernel), 1);
    char octets[100];
    op = (io_op){
        .code = IO_FILE_READ, .fd = (int)file, .buffer = octets, .offset = 5000, .length = 100
    };
    assert_int_equal(run_op(&b, &op), 100);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(octets[i], file_octet(5000 + i));
    b.loop.backend->discard(&b.loop, (int)file);
    op = (io_op){ .code = IO_FILE_OPEN, .fd = f.root, .path = slice_of("none") };
    assert_int_equal(run_op(&b, &op), -(int64_t)SKUA_ENOENT);
    op = (io_op){ .code = IO_FILE_OPEN, .fd = f.root, .path = slice_of("../etc") };
    assert_int_equal(run_op(&b, &op), -(int64_t)SKUA_EACCES);
    echo_finish(&b);
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
        echo_bench b;
        echo_open(&b, &(sim_config){ .seed = i });
        sim_set_permille(b.kernel, cases[i].fault, 1000);
        char octet;
        io_op op = { .code = cases[i].code,
                     .fd = f.root,
                     .path = slice_of("file"),
                     .buffer = &octet,
                     .length = 1 };
        assert_int_equal(run_op(&b, &op), -(int64_t)cases[i].status);
        assert_int_equal(sim_fault_count(b.kernel, cases[i].fault), 1);
        echo_finish(&b);
    }
    folder_remove(&f);
}

static void count_release(void *user)
{
    (*(unsigned *)user)++;
}

// Sends head, file and tail on the first connection, with len claimed for the file.
static sim_client *send_file(echo_bench *b, const folder *f, uint64_t len, unsigned *released)
{
    char path[80];
    folder_file(f, path, sizeof path);
    b->stingy = true;
    sim_client *client = echo_connect(b);
    while (!b->last)
        echo_turn(b, -1);
    echo *e = b->last;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    assert_true(out_copy(&e->out, slice_of("head")));
    out_file(&e->out, file, 0, len, count_release, released);
    out_lend(&e->out, slice_of("tail"), count_release, released);
    io_send(&b->loop, &e->stream);
    io_shutdown(&b->loop, &e->stream);
    for (int i = 0; i < TURNS_MAX && !sim_client_is_eof(client) && !b->closed; i++)
        echo_turn(b, -1);
    if (b->last) echo_close(b, b->last);
    echo_settle(b);
    close(file);
    return client;
}

static void test_files_are_sent_between_memory(void **state)
{
    (void)state;
    folder f;
    folder_make(&f);
    for (uint64_t seed = 1; seed <= 50; seed++) {
        echo_bench b;
        unsigned released = 0;
        echo_open(&b, &(sim_config){ .seed = seed,
                                     .permille = { [SIM_SHORT_SEND] = 300, [SIM_SEND_AGAIN] = 200 },
                                     .send_buffer_octets = 3000 });
        sim_client *client = send_file(&b, &f, FILE_LEN, &released);
        slice got = sim_client_received(client);
        assert_int_equal(got.len, FILE_LEN + 8);
        assert_memory_equal(got.ptr, "head", 4);
        assert_memory_equal(got.ptr + FILE_LEN + 4, "tail", 4);
        for (size_t i = 0; i < FILE_LEN; i++)
            assert_true(got.ptr[4 + i] == file_octet(i));
        assert_int_equal(released, 2);
        echo_finish(&b);
    }
    folder_remove(&f);
}

static void test_a_file_that_shrinks_fails_the_send(void **state)
{
    (void)state;
    folder f;
    folder_make(&f);
    for (int kind = 0; kind < 3; kind++) {
        echo_bench b;
        unsigned released = 0;
        echo_open(&b, &(sim_config){ .seed = 1 });
        if (kind == 1) sim_set_permille(b.kernel, SIM_FILE_SHRINKS, 300);
        if (kind == 2) sim_set_permille(b.kernel, SIM_READ_FAILS, 300);
        sim_client *client = send_file(&b, &f, kind ? FILE_LEN : FILE_LEN + 1, &released);
        slice got = sim_client_received(client);
        assert_in_range(got.len, 4, FILE_LEN + 4);
        for (size_t i = 4; i < got.len; i++)
            assert_true(got.ptr[i] == file_octet(i - 4));
        assert_int_equal(released, 2);
        echo_finish(&b);
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
        cmocka_unit_test(test_a_stream_can_be_reset),
        cmocka_unit_test(test_sending_to_a_closed_socket_resets),
        cmocka_unit_test(test_accepting_goes_on_when_descriptors_are_free_again),
        cmocka_unit_test(test_unwanted_sockets_are_discarded),
        cmocka_unit_test(test_a_closed_listener_resets_its_queue),
        cmocka_unit_test(test_what_waits_is_delivered_when_accepting_ends),
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
