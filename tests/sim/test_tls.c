// SPDX-License-Identifier: MIT
//
// The whole server over TLS on the simulated kernel: what its clients send is cut anywhere, its
// kernel takes and gives pieces, connections end at any octet, and memory fails. The certificate is
// an Ed25519 one, whose signatures have one length.

#include "io/sim.h"
#include "server/start.h"
#include "server/worker_run.h"
#include "support/memory.h"
#include "support/support.h"
#include "support/tls.h"
#include "support/tls_files.h"
#include "support/tls_peer.h"
#include "app/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum {
    TURNS_MAX = 20000,
    LARGE_OCTETS = 100000,
    UPLOAD_OCTETS = 40000,
    SEEDS = 80, // SKUA_SOAK_ROUNDS asks for others
    FAILURES_MAX = 5000,
    STARVED = 100
};

static const int64_t second_ns = 1000000000;
static const char *const kinds_of_records[] = { NULL, "openssl" };

static char *chain_pem, *key_pem;
static char large[LARGE_OCTETS];
static char folder[APP_FOLDER_OCTETS];

// ---- The server ----

typedef struct scene {
    sim_kernel *kernel;
    skua_server *server;
    server_worker *worker;
    int listener;
} scene;

static void discard_log(skua_slice lines, void *user)
{
    (void)lines;
    (void)user;
}

// Without memory the connection is closed.
static void answer(skua_request *request, void *user)
{
    (void)user;
    if (skua_respond(request, 200, "text/plain", SKUA_SLICE("hello"))) return;
}

static void answer_much(skua_request *request, void *user)
{
    (void)user;
    skua_slice much = slice_make(large, sizeof large);
    if (skua_respond_borrowed(request, 200, "text/plain", much, NULL, NULL)) return;
}

// Without memory it is answered already.
static void answer_collected(skua_request *request, skua_status status, slice content, void *user)
{
    if (status) return;
    assert_true(slice_equal(content, slice_make(large, UPLOAD_OCTETS)));
    answer(request, user);
}

static void answer_upload(skua_request *request, void *user)
{
    if (skua_content_collect(request, 0, answer_collected, user)) skua_request_abort(request);
}

static void scene_open(scene *s, const sim_config *sim, const char *records)
{
    const skua_tls_certificate certificate = { .pem = slice_of(chain_pem),
                                               .key_pem = slice_of(key_pem) };
    const skua_config config = {
        .workers = 1,
        .hosts = "*",
        .log_write = discard_log,
        .tls = { .certificates = &certificate, .certificate_count = 1, .records = records }
    };
    s->kernel = sim_kernel_new(sim);
    s->server = skua_server_new(&config);
    assert_true(s->kernel && s->server);
    assert_int_equal(skua_route(s->server, "GET /{$}", answer, NULL), SKUA_OK);
    assert_int_equal(skua_route(s->server, "GET /large", answer_much, NULL), SKUA_OK);
    assert_int_equal(skua_route(s->server, "POST /upload", answer_upload, NULL), SKUA_OK);
    assert_int_equal(skua_route_directory(s->server, "/files/", folder, NULL), SKUA_OK);
    s->listener = sim_listen(s->kernel);
    assert_int_equal(server_start_on(s->server, &io_backend_sim, s->kernel, s->listener), SKUA_OK);
    s->worker = s->server->workers[0];
}

static void scene_close(scene *s)
{
    skua_stop(s->server, 0);
    for (int i = 0; i < TURNS_MAX && worker_turn(s->worker, -1); i++)
        ;
    skua_server_free(s->server);
    sim_kernel_free(s->kernel);
}

// ---- A client of it ----

typedef struct talk {
    scene *scene;
    sim_client *end;
    tls_peer peer;
    size_t fed;             // octets of the wire that the peer has had
    size_t sent;            // octets that it has sent
    size_t cut, reset, fin; // where what it sends is cut, or ends; SIZE_MAX: nowhere
    bool asked, over;       // over: it sends no more
    const char *target;
    bool uploads;
} talk;

static talk talk_with(scene *s)
{
    return (talk){ .scene = s, .cut = SIZE_MAX, .reset = SIZE_MAX, .fin = SIZE_MAX, .target = "/" };
}

static void talk_turn(talk *t, int64_t timeout_ns)
{
    assert_true(worker_turn(t->scene->worker, timeout_ns));
}

static bool talk_is_quiet(const talk *t)
{
    const io_loop *loop = &t->scene->worker->self.loop;
    return !loop->pending && !loop->pending_ops && sim_is_quiet(t->scene->kernel);
}

static void talk_settle(talk *t)
{
    int turns = 0;
    do {
        assert_in_range(turns++, 0, TURNS_MAX);
        talk_turn(t, 0);
    } while (!talk_is_quiet(t));
}

static void talk_send(talk *t, slice octets)
{
    while (octets.len && !t->over) {
        size_t n = octets.len, until[] = { t->cut, t->reset, t->fin };
        for (int i = 0; i < 3; i++) {
            if (until[i] > t->sent && until[i] - t->sent < n) n = until[i] - t->sent;
        }
        assert_true(sim_client_send(t->end, slice_make(octets.ptr, n)));
        t->sent += n;
        octets = slice_from(octets, n);
        if (t->sent == t->cut) talk_settle(t);
        if (t->sent == t->fin) sim_client_shutdown(t->end);
        if (t->sent == t->reset) sim_client_reset(t->end);
        t->over = t->sent == t->fin || t->sent == t->reset;
    }
}

static void talk_step(talk *t)
{
    char line[128];
    slice got = sim_client_received(t->end);
    if (got.len > t->fed) tls_peer_feed(&t->peer, slice_from(got, t->fed));
    t->fed = got.len;
    if (t->peer.is_open && !t->asked && !t->peer.failed) {
        size_t content = t->uploads ? UPLOAD_OCTETS : 0;
        int len = snprintf(
            line, sizeof line,
            "%s %s HTTP/1.1\r\nHost: sim.test\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
            t->uploads ? "POST" : "GET", t->target, content);
        tls_peer_write(&t->peer, slice_make(line, (size_t)len));
        if (content) tls_peer_write(&t->peer, slice_make(large, content));
        t->asked = true;
    }
    for (slice out; (out = tls_peer_take(&t->peer)).len;)
        talk_send(t, out);
}

static bool talk_is_over(const talk *t)
{
    return t->over || t->peer.ended || t->peer.failed || sim_client_is_eof(t->end) ||
           sim_client_is_reset(t->end);
}

// Until the server has ended its side, or there is nothing to wait for.
static void talk_play(talk *t, int64_t timeout_ns)
{
    t->end = sim_connect(t->scene->kernel, t->scene->listener);
    assert_non_null(t->end);
    tls_peer_open(&t->peer, 0, NULL);
    for (int i = 0; i < TURNS_MAX && !talk_is_over(t); i++) {
        talk_step(t);
        talk_turn(t, timeout_ns);
    }
    talk_step(t);
    assert_true(talk_is_over(t));
}

// Until the server has let go of it.
static void talk_end(talk *t)
{
    if (!sim_client_is_reset(t->end)) sim_client_shutdown(t->end);
    for (int i = 0; i < TURNS_MAX && sim_sockets_open(t->scene->kernel); i++)
        talk_turn(t, -1);
    assert_int_equal(sim_sockets_open(t->scene->kernel), 0);
    sim_drain(t->scene->kernel);
    sim_client_free(t->end);
    tls_peer_close(&t->peer);
}

static bool talk_got(const talk *t, slice content)
{
    slice got = slice_make(t->peer.plain, t->peer.plain_len);
    return got.len > content.len && memcmp(got.ptr, "HTTP/1.1 200 ", 13) == 0 &&
           memcmp(got.ptr + got.len - content.len, content.ptr, content.len) == 0 && t->peer.ended;
}

static void check_served(scene *s)
{
    talk t = talk_with(s);
    talk_play(&t, 0);
    assert_true(talk_got(&t, SKUA_SLICE("hello")));
    talk_end(&t);
}

// How many octets a client sends for one request.
static size_t octets_of_a_request(scene *s)
{
    talk t = talk_with(s);
    talk_play(&t, 0);
    assert_true(talk_got(&t, SKUA_SLICE("hello")));
    size_t octets = t.sent;
    talk_end(&t);
    return octets;
}

// ---- Tests ----

static void test_lengths_repeat(void **state)
{
    (void)state;
    size_t received[2];
    for (size_t k = 0; k < 2; k++) {
        for (int again = 0; again < 2; again++) {
            scene s;
            scene_open(&s, &(sim_config){ .seed = 7 }, kinds_of_records[k]);
            talk t = talk_with(&s);
            t.target = "/large";
            talk_play(&t, 0);
            assert_true(talk_got(&t, slice_make(large, sizeof large)));
            received[again] = t.fed;
            talk_end(&t);
            scene_close(&s);
        }
        assert_int_equal(received[0], received[1]);
    }
}

static void test_every_split_of_what_a_client_sends(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        scene s;
        scene_open(&s, &(sim_config){ .seed = 1 }, kinds_of_records[k]);
        size_t octets = octets_of_a_request(&s);
        for (size_t at = 1; at < octets; at++) {
            talk t = talk_with(&s);
            t.cut = at;
            talk_play(&t, 0);
            assert_true(talk_got(&t, SKUA_SLICE("hello")));
            talk_end(&t);
        }
        scene_close(&s);
    }
}

static void test_an_end_at_every_octet(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        scene s;
        scene_open(&s, &(sim_config){ .seed = 1 }, kinds_of_records[k]);
        size_t octets = octets_of_a_request(&s);
        for (size_t at = 1; at < octets; at += 3) {
            talk t = talk_with(&s);
            *(at % 2 ? &t.reset : &t.fin) = at;
            talk_play(&t, 0);
            assert_int_equal(t.peer.plain_len, 0);
            talk_end(&t);
        }
        check_served(&s);
        scene_close(&s);
    }
}

static void test_pieces_and_full_buffers(void **state)
{
    (void)state;
    uint64_t without_buffers = 0;
    const unsigned seeds = support_rounds(SEEDS);
    for (unsigned seed = 0; seed < seeds; seed++) {
        scene s;
        sim_config sim = { .seed = seed,
                           .permille = { [SIM_SHORT_RECV] = 300,
                                         [SIM_SHORT_SEND] = 300,
                                         [SIM_DELAY] = 200,
                                         [SIM_RECV_AGAIN] = 100,
                                         [SIM_SEND_AGAIN] = 100,
                                         [SIM_NO_BUFFERS] = 50 },
                           .send_buffer_octets = seed % 3 ? 4096 : 65536 };
        scene_open(&s, &sim, kinds_of_records[seed % 2]);
        talk t = talk_with(&s);
        t.target = "/large";
        talk_play(&t, second_ns / 1000);
        assert_true(talk_got(&t, slice_make(large, sizeof large)));
        without_buffers += sim_fault_count(s.kernel, SIM_NO_BUFFERS);
        sim_set_calm(s.kernel);
        talk_end(&t);
        scene_close(&s);
    }
    assert_true(without_buffers > seeds);
}

// Plays it while the server's allocations fail, and nobody else's: Skua's by chance, or all of
// OpenSSL's in one turn, after so many have succeeded.
static void talk_play_starved(talk *t, uint64_t *chance, unsigned after)
{
    t->end = sim_connect(t->scene->kernel, t->scene->listener);
    assert_non_null(t->end);
    tls_peer_open(&t->peer, 0, NULL);
    if (!chance) tls_memory_fail_after(after);
    tls_memory_relax();
    for (int i = 0; i < TURNS_MAX && !talk_is_over(t); i++) {
        talk_step(t);
        if (chance) memory_starve(chance, STARVED);
        else if (!tls_memory_failures()) tls_memory_go_on();
        talk_turn(t, 0);
        tls_memory_relax();
        memory_relax();
    }
    talk_step(t);
    assert_true(talk_is_over(t));
}

static void test_every_allocation_of_openssl_fails_once(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        scene s;
        unsigned served = 0;
        scene_open(&s, &(sim_config){ .seed = 1 }, kinds_of_records[k]);
        for (unsigned after = 0;; after++) {
            assert_in_range(after, 0, FAILURES_MAX);
            talk t = talk_with(&s);
            talk_play_starved(&t, NULL, after);
            bool failed = tls_memory_failures() > 0;
            bool is_served = talk_got(&t, SKUA_SLICE("hello"));
            served += is_served;
            talk_end(&t);
            assert_true(failed || is_served);
            if (!failed) break;
            check_served(&s);
        }
        assert_true(served > 0);
        scene_close(&s);
    }
}

static void test_skuas_allocations_fail(void **state)
{
    (void)state;
    uint64_t before = memory_failures();
    const unsigned seeds = support_rounds(SEEDS);
    for (unsigned seed = 0; seed < seeds; seed++) {
        scene s;
        uint64_t chance = seed;
        scene_open(&s, &(sim_config){ .seed = seed }, kinds_of_records[seed % 2]);
        talk t = talk_with(&s);
        t.target = seed % 4 < 2 ? "/" : "/large";
        talk_play_starved(&t, &chance, 0);
        talk_end(&t);
        check_served(&s);
        scene_close(&s);
    }
    assert_true(memory_failures() - before > seeds / 3);
}

// One after the other fails, from the connection's beginning on, and nothing else.
static void talk_play_without(talk *t, unsigned after)
{
    t->end = sim_connect(t->scene->kernel, t->scene->listener);
    assert_non_null(t->end);
    tls_peer_open(&t->peer, 0, NULL);
    memory_fail_after(after);
    memory_relax();
    for (int i = 0; i < TURNS_MAX && !talk_is_over(t); i++) {
        talk_step(t);
        memory_go_on();
        talk_turn(t, 0);
        memory_relax();
    }
    talk_step(t);
    assert_true(talk_is_over(t));
}

static void check_every_allocation(const talk *like, const char *records, slice content)
{
    unsigned served = 0;
    for (unsigned after = 0;; after++) {
        assert_in_range(after, 0, FAILURES_MAX);
        scene s;
        uint64_t before = memory_failures();
        scene_open(&s, &(sim_config){ .seed = 1 }, records);
        talk t = *like;
        t.scene = &s;
        talk_play_without(&t, after);
        bool failed = memory_failures() > before, is_served = talk_got(&t, content);
        served += is_served;
        talk_end(&t);
        check_served(&s);
        scene_close(&s);
        assert_true(failed || is_served);
        if (!failed) break;
    }
    assert_true(served > 0);
}

static void test_every_allocation_of_skua_fails_once(void **state)
{
    (void)state;
    char file[APP_FILE_OCTETS];
    for (size_t i = 0; i < sizeof file; i++)
        file[i] = app_octet(APP_FILE_TAG, i);
    for (size_t k = 0; k < 2; k++) {
        talk t = talk_with(NULL);
        check_every_allocation(&t, kinds_of_records[k], SKUA_SLICE("hello"));
        t.target = "/large";
        check_every_allocation(&t, kinds_of_records[k], slice_make(large, sizeof large));
        t.target = "/files/file";
        check_every_allocation(&t, kinds_of_records[k], slice_make(file, sizeof file));
        t.target = "/upload";
        t.uploads = true;
        check_every_allocation(&t, kinds_of_records[k], SKUA_SLICE("hello"));
    }
}

// ---- The program ----

static int make_certificate(void **state)
{
    (void)state;
    tls_made made =
        tls_make((tls_want){ .key = "ED25519", .name = "sim.test", .alternates = "DNS:sim.test" });
    const tls_made *const chain[] = { &made, NULL };
    chain_pem = tls_pem_chain(chain);
    key_pem = tls_pem_key(&made, NULL);
    tls_made_free(&made);
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (char)('a' + i % 23);
    return app_folder_make(folder) ? 0 : -1;
}

static int drop_certificate(void **state)
{
    (void)state;
    free(chain_pem);
    free(key_pem);
    app_folder_remove(folder);
    return 0;
}

int main(void)
{
    tls_memory_hook();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths_repeat),
        cmocka_unit_test(test_every_split_of_what_a_client_sends),
        cmocka_unit_test(test_an_end_at_every_octet),
        cmocka_unit_test(test_pieces_and_full_buffers),
        cmocka_unit_test(test_every_allocation_of_openssl_fails_once),
        cmocka_unit_test(test_skuas_allocations_fail),
        cmocka_unit_test(test_every_allocation_of_skua_fails_once),
    };
    return cmocka_run_group_tests(tests, make_certificate, drop_certificate);
}
