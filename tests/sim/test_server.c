// SPDX-License-Identifier: MIT
//
// The whole server on the simulated kernel. Every seed makes clients with scripts of requests, a
// kernel with its own mix of faults and a server with its own limits, and plays them against each
// other in an order that follows from the seed. What each client has received is then read strictly
// and compared with what it asked. SKUA_SIM_SEED=N plays that seed alone, with a trace of
// everything that happened.

#include "sim/clients.h"
#include "support/memory.h"
#include "support/responses.h"
#include "support/support.h"

#include <inttypes.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { SEEDS = 1500, TURNS_MAX = 1000000 }; // SKUA_SOAK_ROUNDS asks for others

static const int64_t second_ns = 1000000000;

static char folder[APP_FOLDER_OCTETS];

// ---- Playing ----

static bool client_has_continue(const client *c)
{
    static const char line[] = "HTTP/1.1 100 Continue\r\n\r\n";
    slice got = sim_client_received(c->end);
    return got.len && memmem(got.ptr, got.len, line, sizeof line - 1);
}

static void client_send(client *c, size_t most)
{
    size_t until = c->stop;
    if (c->barrier && until > c->barrier && !client_has_continue(c)) until = c->barrier;
    size_t n = until > c->upto ? until - c->upto : 0;
    if (n > most) n = most;
    if (n) assert_true(sim_client_send(c->end, slice_make(c->script + c->upto, n)));
    c->upto += n;
    bool fins = c->after == AFTER_SHUTDOWN || c->after == AFTER_CUT;
    if (c->upto == c->stop && fins && !c->finned) {
        c->finned = true;
        sim_client_shutdown(c->end);
    }
}

static void client_step(play *p, client *c)
{
    uint64_t what = dice(p, 100);
    if (what < 10) sim_client_pause(c->end, true);
    else if (what < 35) sim_client_pause(c->end, false);
    else if (c->after == AFTER_RESET && what > 96 && !c->reset) {
        c->reset = true;
        sim_client_reset(c->end);
    } else if (!c->finned) {
        client_send(c, 1 + (size_t)dice(p, dice(p, 2) ? 40 : 20000));
    }
}

static bool client_is_over(const client *c)
{
    return sim_client_is_eof(c->end) || sim_client_is_reset(c->end);
}

static void play_turn(play *p, int64_t timeout_ns)
{
    if (p->starved) memory_starve(&p->memory, p->starved);
    site_turn(&p->site, timeout_ns);
    memory_relax();
}

static bool play_act(play *p)
{
    if (p->starved) memory_starve(&p->memory, p->starved);
    bool acted = site_act(&p->site);
    memory_relax();
    return acted;
}

static void play_staff(play *p)
{
    if (p->starved) memory_starve(&p->memory, p->starved);
    skua_status status = site_staff(&p->site, 1 + (unsigned)dice(p, SITE_WORKERS_MAX));
    memory_relax();
    if (status && (status != SKUA_ENOMEM || !p->starved) &&
        (status != SKUA_ECLOSED || !p->site.stopped))
        fail_msg("seed %" PRIu64 ": workers cannot be set: %s", p->seed, skua_status_text(status));
}

static void play_step(play *p)
{
    if (p->staffed && dice(p, 10) == 0) play_staff(p);
    client_step(p, &p->clients[dice(p, (uint64_t)p->client_count)]);
    if (dice(p, 3) == 0) (void)play_act(p);
    int64_t timeout = (int64_t)dice(p, 3) * (p->sluggish ? second_ns : second_ns / 2000);
    for (uint64_t n = dice(p, 4); n; n--)
        play_turn(p, timeout);
}

static bool play_is_over(const play *p)
{
    if (p->site.over) return true;
    for (int i = 0; i < p->client_count; i++) {
        if (!client_is_over(&p->clients[i])) return false;
    }
    return true;
}

// Shows the scripts of a traced run.
static void print_client(const client *c, int number)
{
    slice got = sim_client_received(c->end);
    fprintf(stderr, "client %d: after %d, sent %zu of %zu until %zu, received %zu%s%s%s\n", number,
            (int)c->after, c->upto, c->len, c->stop, got.len,
            sim_client_is_eof(c->end) ? ", eof" : "", sim_client_is_reset(c->end) ? ", reset" : "",
            sim_client_is_victim(c->end) ? ", by a fault" : "");
    for (unsigned i = 0; i < c->asked_count; i++) {
        const asked *a = &c->asked[i];
        fprintf(stderr, "    %u: kind %d, tag %" PRIu64 ", length %" PRIu64 ", ends at %zu\n", i,
                (int)a->kind, a->tag, a->len, a->end);
    }
    fprintf(stderr, "%.*s\n", got.len < 1000 ? (int)got.len : 1000, got.len ? got.ptr : "");
}

static void play_finish(play *p)
{
    for (int turn = 0; turn < TURNS_MAX; turn++) {
        for (int i = 0; i < p->client_count; i++) {
            client *c = &p->clients[i];
            sim_client_pause(c->end, false);
            if (!c->finned && !c->reset) client_send(c, SIZE_MAX);
        }
        bool acted = play_act(p);
        if (play_is_over(p)) {
            sim_drain(p->site.kernel);
            return;
        }
        play_turn(p, acted ? 0 : -1);
    }
    for (int i = 0; i < p->client_count; i++)
        print_client(&p->clients[i], i);
    fail_msg("seed %" PRIu64 ": the run does not end", p->seed);
}

// ---- What must have come of it ----

static void wrong(const play *p, const client *c, unsigned i, const char *what)
{
    fail_msg("seed %" PRIu64 ", client %d, request %u: %s", p->seed, (int)(c - p->clients), i,
             what);
}

static char count_octet(const asked *a, uint64_t i, uint64_t *len)
{
    char words[64];
    uint64_t sum = 0;
    for (uint64_t k = 0; k < a->len; k++)
        sum = app_sum(sum, app_octet(a->tag, k));
    app_sum_text(words, a->len, sum);
    *len = strlen(words);
    return i < *len ? words[i] : 0;
}

// How long the content of the answer is, and an octet of it.
static char wanted_octet(const asked *a, uint64_t i, uint64_t *len)
{
    switch (a->kind) {
    case ASK_HELLO:
    case ASK_IGNORED:
    case ASK_CLOSE: *len = 5; return "Hello"[i < 5 ? i : 5];
    case ASK_COUNT_LENGTH:
    case ASK_COUNT_CHUNKED: return count_octet(a, i, len);
    case ASK_FILE:
    case ASK_DIRECTORY:
    case ASK_KEPT:
    case ASK_PARTS: // answered whole where descriptors have run out
        *len = APP_FILE_OCTETS;
        return app_octet(APP_FILE_TAG, i);
    case ASK_ECHO_LENGTH:
    case ASK_ECHO_CHUNKED:
    case ASK_ECHO_EXPECT:
    case ASK_PULL:
    case ASK_LENGTH:
    case ASK_LENT:
    case ASK_LATER:
    case ASK_TICKET:
    case ASK_STREAM:
    case ASK_DUPLEX_LENGTH:
    case ASK_DUPLEX_CHUNKED:
    case ASK_TUNNEL:
    case ASK_BLOCKING:
    case ASK_FAIL:
    case ASK_OLD: *len = a->len; return app_octet(a->tag, i);
    case ASK_HEAD:
    case ASK_MISSING:
    case ASK_BAD_METHOD:
    case ASK_BROKEN:
    case ASK_KINDS: break;
    }
    *len = 0;
    return 0;
}

static int wanted_status(ask kind)
{
    if (kind == ASK_MISSING) return 404;
    if (kind == ASK_BAD_METHOD) return 405;
    if (kind == ASK_PARTS) return 206;
    return kind == ASK_BROKEN ? 400 : 200;
}

static bool content_is_wanted(const asked *a, const read_response *got, bool whole)
{
    uint64_t len = 0;
    if (a->kind == ASK_PARTS && got->status == 206 && whole)
        return site_parts_are_right(slice_make(got->content, got->content_len));
    if (got->status != 200) return true; // an error page
    (void)wanted_octet(a, 0, &len);
    if (got->content_len > len || (whole && got->content_len != len)) return false;
    if (a->kind == ASK_COUNT_LENGTH || a->kind == ASK_COUNT_CHUNKED) {
        return got->content_len == 0 || got->content[0] == wanted_octet(a, 0, &len);
    }
    for (size_t i = 0; i < got->content_len; i++) {
        if (got->content[i] != wanted_octet(a, i, &len)) return false;
    }
    return true;
}

static bool count_is_wanted(const asked *a, const read_response *got)
{
    uint64_t len = 0;
    if (got->status != 200) return true; // an error page
    if (a->kind != ASK_COUNT_LENGTH && a->kind != ASK_COUNT_CHUNKED) return true;
    for (size_t i = 0; i < got->content_len; i += 7) {
        if (got->content[i] != count_octet(a, i, &len)) return false;
    }
    return true;
}

static bool asks_for_file(const asked *a)
{
    return a->kind == ASK_FILE || a->kind == ASK_DIRECTORY || a->kind == ASK_KEPT ||
           a->kind == ASK_PARTS;
}

static bool status_is_wanted(const play *p, const asked *a, const read_response *got)
{
    if (asks_for_file(a) && p->files_fail && got->status >= 500) return true;
    if (p->starved && got->status == 503) return true;
    if (a->kind == ASK_PARTS && p->files_fail && got->status == 200) return true;
    // it could not answer
    if (p->starved && a->kind == ASK_BLOCKING && got->status == 500) return true;
    return got->status == wanted_status(a->kind);
}

static void check_answer(const play *p, const client *c, unsigned i, const read_response *got,
                         bool whole)
{
    const asked *a = &c->asked[i];
    if (!got->has_head) return;
    if (!status_is_wanted(p, a, got)) wrong(p, c, i, "another status");
    if (!content_is_wanted(a, got, whole) || !count_is_wanted(a, got))
        wrong(p, c, i, "other content");
    if (!whole) return;
    if (a->kind == ASK_FAIL) wrong(p, c, i, "a source that failed looks complete");
    if (a->kind == ASK_BAD_METHOD && !responses_field(got->head, "allow").ptr)
        wrong(p, c, i, "405 without Allow");
    if (a->kind == ASK_PULL && !responses_field(got->trailers, "x-pulled").ptr)
        wrong(p, c, i, "no trailer");
    if ((a->kind == ASK_OLD) != got->delimited) wrong(p, c, i, "framed for another version");
    if (ask_ends(a->kind) && !got->close) wrong(p, c, i, "no Connection: close");
}

// Whether the connection may end behind the answer to a request that does not ask for it.
static bool may_end(const play *p, const asked *a)
{
    return ask_ends(a->kind) || (a->kind == ASK_IGNORED && a->len > 65536) ||
           // the answer began before the reading
           (a->kind == ASK_DUPLEX_LENGTH && a->len > 65536) || (p->files_fail && asks_for_file(a));
}

// Requests that may wait for something that only time can bring.
static bool ask_waits(ask kind)
{
    switch (kind) {
    case ASK_PULL:
    case ASK_LENGTH:
    case ASK_LATER:
    case ASK_TICKET:
    case ASK_BLOCKING:
    case ASK_STREAM:
    case ASK_DUPLEX_LENGTH:
    case ASK_DUPLEX_CHUNKED:
    case ASK_FAIL:
    case ASK_OLD: return true;
    case ASK_HELLO:
    case ASK_HEAD:
    case ASK_ECHO_LENGTH:
    case ASK_ECHO_CHUNKED:
    case ASK_ECHO_EXPECT:
    case ASK_COUNT_LENGTH:
    case ASK_COUNT_CHUNKED:
    case ASK_LENT:
    case ASK_FILE:
    case ASK_DIRECTORY:
    case ASK_KEPT:
    case ASK_PARTS:
    case ASK_MISSING:
    case ASK_BAD_METHOD:
    case ASK_IGNORED:
    case ASK_KINDS:
    case ASK_BROKEN:
    case ASK_CLOSE:
    case ASK_TUNNEL: return false;
    }
    return false;
}

// Whether the client may have been taken to have left before it had its answer.
static bool may_be_left(const play *p, const client *c, const asked *a)
{
    return c->finned && !p->half_close && ask_waits(a->kind);
}

// Nothing but the server itself decided how the connection went.
static bool is_undisturbed(const play *p, const client *c)
{
    return !c->reset && !sim_client_is_victim(c->end) && !p->site.stopped && !p->few &&
           !p->sluggish && !p->starved;
}

// A refusal of a head that has hardly begun has content, whatever the head was to be; and of what a
// client has sent, a slow network may not have brought the method in time.
static bool client_asks_for_head(const client *c, unsigned i, slice in)
{
    static const char late[] = "HTTP/1.1 408 ";
    if (i >= c->asked_count || c->asked[i].kind != ASK_HEAD) return false;
    if (c->upto < (i ? c->asked[i - 1].end : 0) + sizeof "HEAD") return false;
    if (in.len < sizeof late || memcmp(in.ptr, late, sizeof late - 1) != 0) return true;
    return memcmp(in.ptr + in.len - 4, "\r\n\r\n", 4) == 0;
}

static responses_state next_final(const play *p, const client *c, unsigned i, slice *in,
                                  read_response *got)
{
    for (;;) {
        bool to_head = client_asks_for_head(c, i, *in);
        // cut, it looks complete in HTTP/1.0
        bool cut = i < c->asked_count && may_be_left(p, c, &c->asked[i]);
        bool at_end = sim_client_is_eof(c->end) && is_undisturbed(p, c) && !cut;
        responses_state state = responses_read(in, to_head, at_end, got);
        if (state == RESPONSE_IS_BROKEN) wrong(p, c, i, got->why);
        if (state != RESPONSE_IS_WHOLE || got->status >= 200) return state;
        if (c->asked[i].kind != ASK_ECHO_EXPECT) wrong(p, c, i, "100 to one who did not ask");
    }
}

// The answer to a client that stopped in the middle of a request.
static bool is_timeout(const play *p, const client *c, unsigned i, const read_response *got)
{
    if (got->status != 408 || !got->close) return false;
    size_t begin = i ? c->asked[i - 1].end : 0;
    bool within = i < c->asked_count && c->stop > begin && c->stop < c->asked[i].end;
    return within || p->sluggish;
}

// Whether a tunnel has been opened; then what came through it is what went into it, and all of that
// if nothing was in its way.
static bool check_tunnel(const play *p, const client *c, unsigned i, slice in)
{
    if (i >= c->asked_count || c->asked[i].kind != ASK_TUNNEL) return false;
    const asked *a = &c->asked[i];
    read_response got;
    responses_state state = responses_read(&in, false, false, &got);
    responses_free(&got);
    if (state != RESPONSE_IS_WHOLE || got.status != 101) return false;
    if (got.close || !slice_equal(responses_field(got.head, "upgrade"), slice_of("echo")))
        wrong(p, c, i, "a 101 without its fields");
    if (in.len > a->len) wrong(p, c, i, "more came through the tunnel than went into it");
    for (size_t k = 0; k < in.len; k++) {
        if (in.ptr[k] != app_octet(a->tag, k))
            wrong(p, c, i, "something else came through the tunnel");
    }
    if (is_undisturbed(p, c) && c->upto >= a->end && in.len < a->len)
        wrong(p, c, i, "the tunnel lost octets");
    return true;
}

static unsigned check_received(const play *p, const client *c, bool *ended)
{
    slice in = sim_client_received(c->end);
    unsigned i = 0;
    for (*ended = false; !*ended;) {
        if (check_tunnel(p, c, i, in)) {
            *ended = true;
            return i + 1;
        }
        read_response got;
        responses_state state = next_final(p, c, i, &in, &got);
        bool whole = state == RESPONSE_IS_WHOLE, timeout = is_timeout(p, c, i, &got);
        if (i == c->asked_count && state != RESPONSE_IS_NONE && !timeout)
            wrong(p, c, i, "nobody asked for that");
        if (!timeout && state != RESPONSE_IS_NONE) check_answer(p, c, i, &got, whole);
        if (whole && !timeout && got.close && !may_end(p, &c->asked[i]) && is_undisturbed(p, c)) {
            wrong(p, c, i, "Connection: close for no reason");
        }
        *ended = !whole || got.close || timeout;
        if (whole && *ended && in.len) wrong(p, c, i, "octets behind Connection: close");
        if (whole && !timeout) i++;
        responses_free(&got);
    }
    return i;
}

// Everything that was asked whole must have been answered, unless the connection had a reason to
// end before. Returns how many answers were whole.
static unsigned check_client(const play *p, const client *c)
{
    bool ended;
    unsigned answered = check_received(p, c, &ended);
    if (!is_undisturbed(p, c)) return answered;
    // A client that stops within a request's content is given up on, answered or not.
    if (!sim_client_is_eof(c->end) && c->upto == c->len)
        wrong(p, c, answered, "reset by the server");
    for (unsigned i = 0; i < c->asked_count && c->asked[i].end <= c->upto; i++) {
        bool may = may_end(p, &c->asked[i]) || may_be_left(p, c, &c->asked[i]);
        if (i == answered && !may) wrong(p, c, i, "no answer");
        if (may && i + 1 >= answered) break;
    }
    return answered;
}

// ---- Seeds ----

static sim_config play_kernel(uint64_t seed, bool trace)
{
    sim_config config = { .seed = seed, .trace = trace ? stderr : NULL };
    uint64_t z = seed * UINT64_C(0x9e3779b97f4a7c15);
    bool resets = seed % 3 == 0; // most runs are to come to a good end
    for (int i = 0; i < SIM_FAULTS; i++) {
        z = z * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint16_t most = i == SIM_RESET || i == SIM_REGISTER_NO_MEMORY ? 10 : 300;
        bool hard = i == SIM_RESET || i == SIM_REGISTER_NO_MEMORY || i == SIM_ACCEPT_ABORTED;
        bool file = i >= SIM_OPEN_NO_FILE;
        if ((hard && !resets) || (file && seed % 4)) continue;
        if (z >> 62) config.permille[i] = (uint16_t)((z >> 33) % most);
    }
    if (seed % 5 == 0) config.recv_buffer_octets = 30 + (uint32_t)(z >> 40) % 2000;
    if (seed % 7 == 0) config.send_buffer_octets = 30 + (uint32_t)(z >> 37) % 2000;
    if (seed % 8 == 0) config.descriptors_max = 2 + (uint32_t)(z >> 35) % 4;
    return config;
}

static skua_config play_config(uint64_t seed)
{
    skua_config config = { .workers = 1, .half_close = seed / 2 % 2 };
    if (seed % 6 == 1) config.out_octets_max = 1000;
    if (seed % 6 == 2) config.send_turn_octets_max = 700;
    if (seed % 13 == 0) config.connections_max = 2;
    return config;
}

static void play_begin(play *p, uint64_t seed, bool starved, bool trace)
{
    skua_config config = play_config(seed);
    sim_config kernel = play_kernel(seed, trace);
    *p = (play){ .seed = seed, .few = config.connections_max > 0, .sluggish = seed % 16 == 7 };
    p->staffed = seed % 4 == 1;
    p->half_close = config.half_close;
    p->files_fail = seed % 4 == 0 || kernel.descriptors_max;
    assert_true(site_open(&p->site, &config, &kernel, folder));
    site_turn(&p->site, 0); // it listens now
    if (starved) p->starved = 5 + (unsigned)(seed % 150);
    p->memory = seed;
    p->client_count = 1 + (int)dice(p, CLIENTS_MAX);
    for (int i = 0; i < p->client_count; i++) {
        client *c = &p->clients[i];
        client_write_script(p, c);
        c->end = sim_connect(p->site.kernel, p->site.listener);
        assert_non_null(c->end);
    }
}

static void play_maybe_stop(play *p, int step)
{
    static const int64_t graces[] = { 0, 1000000, 100000000, 10000000000 };
    if (p->seed % 9 != 4 || step != 30) return;
    site_stop(&p->site, graces[dice(p, 4)]);
    if (dice(p, 2)) site_stop(&p->site, graces[dice(p, 4)]);
}

// The sums over all runs.
typedef struct tally {
    uint64_t faults[SIM_FAULTS];
    uint64_t asked, answered;
    uint64_t handed,
        rested; // clients of workers that came later, and runs that end with resting ones
} tally;

static uint64_t play_run(uint64_t seed, bool starved, bool trace, tally *sum)
{
    play *p = malloc(sizeof *p);
    assert_non_null(p);
    play_begin(p, seed, starved, trace);
    for (int step = 0; step < 80; step++) {
        play_maybe_stop(p, step);
        play_step(p);
    }
    play_finish(p);
    for (int i = 0; trace && i < p->client_count; i++)
        print_client(&p->clients[i], i);
    for (int i = 0; i < p->client_count; i++) {
        sum->asked += p->clients[i].asked_count;
        sum->answered += check_client(p, &p->clients[i]);
    }
    for (int i = 0; i < SIM_FAULTS; i++)
        sum->faults[i] += sim_fault_count(p->site.kernel, (sim_fault)i);
    sum->handed += site_handed(&p->site);
    sum->rested += server_serving_count(p->site.server) < server_worker_count(p->site.server);
    uint64_t hash = sim_hash(p->site.kernel);
    const char *why = site_close(&p->site);
    if (why) fail_msg("seed %" PRIu64 ": %s", seed, why);
    for (int i = 0; i < p->client_count; i++)
        free(p->clients[i].script);
    free(p);
    return hash;
}

static void play_seeds(uint64_t first, uint64_t last, bool starved, tally *sum)
{
    tally ignored = { .asked = 0 };
    const char *alone = getenv("SKUA_SIM_SEED");
    if (alone) {
        (void)play_run(strtoull(alone, NULL, 10), starved, true, sum);
        skip();
    }
    for (uint64_t seed = first; seed <= last; seed++) {
        uint64_t hash = play_run(seed, starved, false, sum);
        if (seed % REPLAYED == 0 && play_run(seed, starved, false, &ignored) != hash)
            fail_msg("seed %" PRIu64 " does not replay", seed);
    }
}

static void test_seeds(void **state)
{
    (void)state;
    tally sum = { .asked = 0 };
    play_seeds(1, support_rounds(SEEDS), false, &sum);
    for (int i = 0; i < SIM_CONNECT_REFUSED; i++) // it connects to nobody
        assert_true(sum.faults[i] > 0);
    assert_true(sum.answered > sum.asked / 2); // or the runs would not say much
    assert_true(sum.handed > 0 && sum.rested > 0);
}

// The server goes on without memory: connections end, requests end, nothing is lost track of.
static void test_seeds_without_memory(void **state)
{
    (void)state;
    tally sum = { .asked = 0 };
    uint64_t before = memory_failures();
    unsigned seeds = support_rounds(SEEDS) / 3;
    play_seeds(1, seeds, true, &sum);
    assert_true(memory_failures() - before > seeds);
    assert_true(sum.answered > sum.asked / 10);
}

static int make_folder(void **state)
{
    (void)state;
    return app_folder_make(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    app_folder_remove(folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_seeds_without_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
