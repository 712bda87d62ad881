// SPDX-License-Identifier: MIT
//
// HTTP/2 on the simulated kernel. Every seed makes a client that has several streams under way, some
// of which it resets, and a kernel with its own mix of faults. Whoever was not reset has its response
// whole; in every run each request ends once and what was lent comes back. SKUA_SIM_SEED=N plays that
// seed alone, with a trace.

#include "sim/site.h"
#include "http/h2_frame.h"
#include "support/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum {
    SEEDS = 1000,
    STREAMS_MAX = 24,
    SCRIPT_OCTETS_MAX = 1 << 18,
    TURNS_MAX = 100000,
    LENGTH_MAX = 30000,
    ALLOCATIONS_MAX = 2000, // of a play
    RESETS = 3 // before requests wait; there are not streams enough for the connection to end
};

static const int64_t step_ns = 1000000;

typedef struct asked {
    unsigned kind;     // a kind
    uint64_t len;      // of the response's content
    unsigned count;    // of events
    char sum[64];      // the content of that response
    bool reset, wrong; // by the client; the content is not what it is to be
    bool ended, cut;   // END_STREAM has come; RST_STREAM has
    bool trailed;      // by a HEADERS frame behind the content
    bool adds_trailer; // the request does
    uint64_t got;
} asked;

typedef struct play {
    uint64_t seed, memory;
    unsigned starved; // so many of a thousand allocations fail
    bool fails_once;  // one allocation does
    site site;
    sim_client *client;
    asked asked[STREAMS_MAX];
    unsigned count;
    char *script;
    size_t len, sent;
    size_t read; // of what came
} play;

// The octets of the pattern, the file, events, or content that is uploaded.
typedef enum kind {
    KIND_PULL,
    KIND_LENGTH,
    KIND_LENT,
    KIND_STREAM,
    KIND_LATER,
    KIND_TICKET,
    KIND_FILE,
    KIND_DIRECTORY,
    KIND_KEPT,
    KIND_EVENTS,
    KIND_ECHO,
    KIND_DUPLEX,
    KIND_BLOCKING,
    KIND_SUM,
    KINDS
} kind;

static const char *const routes[] = {
    [KIND_PULL] = "/pull",         [KIND_LENGTH] = "/length",
    [KIND_LENT] = "/lent",         [KIND_STREAM] = "/stream",
    [KIND_LATER] = "/later",       [KIND_TICKET] = "/ticket",
    [KIND_FILE] = "/file/file",    [KIND_DIRECTORY] = "/files/file",
    [KIND_KEPT] = "/small/file",   [KIND_EVENTS] = "/events/ticking",
    [KIND_ECHO] = "/echo",         [KIND_DUPLEX] = "/duplex",
    [KIND_BLOCKING] = "/blocking", [KIND_SUM] = "/sum",
};

// Two of the events, of which every other one is a comment.
static const char ticks[] = "data: tick\n\n: tick\n\n";
enum { TICKS_OCTETS = sizeof ticks - 1, TICK_OCTETS = 12 };

static char folder[APP_FOLDER_OCTETS];

static uint64_t dice(play *p, uint64_t n)
{
    return sim_random(p->site.kernel) % n;
}

// ---- What the client sends ----

static void put(play *p, slice octets)
{
    assert_true(p->len + octets.len <= SCRIPT_OCTETS_MAX);
    if (octets.len) memcpy(p->script + p->len, octets.ptr, octets.len);
    p->len += octets.len;
}

static void put_frame(play *p, h2_type type, unsigned flags, uint32_t stream, slice payload)
{
    char head[H2_HEAD_OCTETS];
    (void)h2_write_head(head, (h2_frame){ .len = (uint32_t)payload.len,
                                          .type = (uint8_t)type,
                                          .flags = (uint8_t)flags,
                                          .stream = stream });
    put(p, slice_make(head, sizeof head));
    put(p, payload);
}

static void put_number(play *p, h2_type type, uint32_t stream, uint32_t number)
{
    char octets[4];
    (void)h2_write32(octets, number);
    put_frame(p, type, 0, stream, slice_make(octets, sizeof octets));
}

static void put_window(play *p, uint32_t octets)
{
    char entry[H2_SETTING_OCTETS];
    (void)h2_write32(h2_write16(entry, H2_SETTING_INITIAL_WINDOW_SIZE), octets);
    put_frame(p, H2_SETTINGS, 0, 0, slice_make(entry, sizeof entry));
}

// Of fields that are not indexed. Large heads are continued.
static void put_request(play *p, uint32_t stream, const char *path, bool ends)
{
    char fields[128];
    int len = snprintf(fields, sizeof fields, "%c%c%c%c%s%c%c%s", ends ? 0x82 : 0x83, 0x86, 4,
                       (int)strlen(path), path, 0x41, 1, "a");
    unsigned flags = ends ? H2_FLAG_END_STREAM : 0;
    slice all = slice_make(fields, (size_t)len);
    if (dice(p, 4)) {
        put_frame(p, H2_HEADERS, flags | H2_FLAG_END_HEADERS, stream, all);
        return;
    }
    size_t at = (size_t)dice(p, (uint64_t)len);
    put_frame(p, H2_HEADERS, flags, stream, slice_make(fields, at));
    put_frame(p, H2_CONTINUATION, H2_FLAG_END_HEADERS, stream, slice_from(all, at));
}

// A field that is not indexed.
static void put_trailer(play *p, uint32_t stream)
{
    put_frame(p, H2_HEADERS, H2_FLAG_END_STREAM | H2_FLAG_END_HEADERS, stream,
              slice_make("\0\5x-sum\1"
                         "1",
                         9));
}

static void put_content(play *p, uint32_t stream, uint64_t len, bool adds_trailer)
{
    char piece[1000];
    for (uint64_t at = 0; at < len;) {
        size_t n = 1 + (size_t)dice(p, sizeof piece);
        if (n > len - at) n = (size_t)(len - at);
        for (size_t i = 0; i < n; i++)
            piece[i] = app_octet(stream, at + i);
        at += n;
        bool ends = at == len && !adds_trailer && dice(p, 2);
        put_frame(p, H2_DATA, ends ? H2_FLAG_END_STREAM : 0, stream, slice_make(piece, n));
        if (ends) return;
    }
    if (adds_trailer) put_trailer(p, stream);
    else put_frame(p, H2_DATA, H2_FLAG_END_STREAM, stream, (slice){ 0 });
}

static void write_path(const asked *a, uint32_t stream, char *path, size_t room)
{
    const char *base = routes[a->kind];
    if (a->kind == KIND_EVENTS) (void)snprintf(path, room, "%s/%u", base, a->count);
    else if (a->kind <= KIND_TICKET)
        (void)snprintf(path, room, "%s/%u/%u", base, stream, (unsigned)a->len);
    else (void)snprintf(path, room, "%s", base);
}

static bool asks_for_file(const asked *a)
{
    return a->kind == KIND_FILE || a->kind == KIND_DIRECTORY || a->kind == KIND_KEPT;
}

static void choose(play *p, asked *a)
{
    a->kind = (unsigned)dice(p, KINDS);
    a->len = 1 + dice(p, a->kind >= KIND_ECHO ? 2000 : LENGTH_MAX);
    a->reset = dice(p, 6) == 0;
    a->adds_trailer = a->kind >= KIND_ECHO && dice(p, 2);
    if (asks_for_file(a)) a->len = APP_FILE_OCTETS;
    if (a->kind != KIND_EVENTS) return;
    a->count = 1 + (unsigned)dice(p, 20);
    a->len = a->count / 2 * TICKS_OCTETS + a->count % 2 * TICK_OCTETS;
}

// The response is of another length than what is uploaded.
static void expect_sum(asked *a, uint32_t stream)
{
    uint64_t sum = 0;
    for (uint64_t at = 0; at < a->len; at++)
        sum = app_sum(sum, app_octet(stream, at));
    app_sum_text(a->sum, a->len, sum);
    a->len = strlen(a->sum);
}

static void put_stream(play *p, unsigned i)
{
    uint32_t stream = 2 * i + 1;
    asked *a = &p->asked[i];
    char path[40];
    choose(p, a);
    write_path(a, stream, path, sizeof path);
    put_request(p, stream, path, a->kind < KIND_ECHO);
    if (a->kind >= KIND_ECHO) put_content(p, stream, a->len, a->adds_trailer);
    if (a->kind == KIND_SUM) expect_sum(a, stream);
    if (a->reset) put_number(p, H2_RST_STREAM, stream, H2_CANCEL);
    else if (dice(p, 2)) put_number(p, H2_WINDOW_UPDATE, stream, 1 + (uint32_t)dice(p, 30000));
}

// In the end the windows are large enough for everything.
static void write_script(play *p)
{
    put(p, H2_PREFACE);
    put_window(p, (uint32_t)dice(p, 70000));
    put_frame(p, H2_SETTINGS, H2_FLAG_ACK, 0, (slice){ 0 });
    p->count = 1 + (unsigned)dice(p, STREAMS_MAX);
    for (unsigned i = 0; i < p->count; i++) {
        put_stream(p, i);
        if (dice(p, 8) == 0) put_window(p, (uint32_t)dice(p, 70000));
        if (dice(p, 8) == 0) put_frame(p, H2_PING, 0, 0, SKUA_SLICE("12345678"));
    }
    put_number(p, H2_WINDOW_UPDATE, 0, STREAMS_MAX * APP_FILE_OCTETS);
    put_window(p, 100000);
}

// ---- What comes ----

static char wanted_octet(const asked *a, unsigned i, uint64_t at)
{
    if (at >= a->len) return '\0';
    if (a->kind == KIND_EVENTS) return ticks[at % TICKS_OCTETS];
    if (a->kind == KIND_SUM) return a->sum[at];
    return app_octet(asks_for_file(a) ? APP_FILE_TAG : 2 * i + 1, at);
}

static void take_frame(play *p, const h2_frame *frame, slice payload)
{
    unsigned i = frame->stream / 2;
    if (!frame->stream) return;
    assert_true(frame->stream % 2 == 1 && i < p->count);
    asked *a = &p->asked[i];
    if (frame->type == H2_RST_STREAM) a->cut = true;
    if (frame->type != H2_DATA && frame->type != H2_HEADERS) return;
    assert_false(a->ended || a->cut);
    for (size_t k = 0; frame->type == H2_DATA && k < payload.len; k++, a->got++)
        a->wrong |= payload.ptr[k] != wanted_octet(a, i, a->got);
    a->ended = frame->flags & H2_FLAG_END_STREAM;
    a->trailed = a->ended && frame->type == H2_HEADERS && a->got;
}

static void take_frames(play *p)
{
    slice got = slice_from(sim_client_received(p->client), p->read);
    while (got.len >= H2_HEAD_OCTETS) {
        h2_frame frame = h2_read_head(got.ptr);
        size_t len = H2_HEAD_OCTETS + frame.len;
        assert_true(frame.len <= H2_PAYLOAD_OCTETS_MAX);
        if (got.len < len) return;
        take_frame(p, &frame, slice_make(got.ptr + H2_HEAD_OCTETS, frame.len));
        got = slice_from(got, len);
        p->read += len;
    }
}

static bool is_answered(const play *p)
{
    for (unsigned i = 0; i < p->count; i++) {
        const asked *a = &p->asked[i];
        if (!a->reset && !a->ended && !a->cut) return false;
    }
    return p->sent == p->len;
}

// ---- Playing ----

static bool lacks_memory(const play *p)
{
    return p->starved || p->fails_once;
}

static void play_begin(play *p, FILE *trace)
{
    skua_config config = { .workers = 1, .http2 = { .streams_max = STREAMS_MAX } };
    if (p->seed % 2) config.http2.resets_max = RESETS; // some requests wait
    sim_config kernel = { .seed = p->seed, .trace = trace };
    static const sim_fault faults[] = { SIM_SHORT_RECV, SIM_SHORT_SEND, SIM_DELAY,
                                        SIM_RECV_AGAIN, SIM_SEND_AGAIN, SIM_NO_BUFFERS,
                                        SIM_SHORT_READ };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        kernel.permille[faults[i]] = (uint16_t)((p->seed >> i & 1) * 200);
    if (p->seed % 8 == 0) kernel.permille[SIM_RESET] = 2;
    if (p->seed % 3 == 0) kernel.send_buffer_octets = 3000;
    assert_true(site_open(&p->site, &config, &kernel, folder));
    p->site.app.keeps_stories = !lacks_memory(p); // for trailers
    p->client = sim_connect(p->site.kernel, p->site.listener);
    p->script = malloc(SCRIPT_OCTETS_MAX);
    assert_true(p->client && p->script);
}

static bool is_over(const play *p)
{
    return sim_client_is_eof(p->client) || sim_client_is_reset(p->client);
}

static void play_turn(play *p)
{
    if (p->starved) memory_starve(&p->memory, p->starved);
    if (p->fails_once) memory_go_on();
    (void)site_act(&p->site);
    site_turn(&p->site, step_ns);
    memory_relax();
}

static void play_leave(play *p)
{
    if (!is_over(p)) sim_client_shutdown(p->client);
    for (int turn = 0; sim_sockets_open(p->site.kernel); turn++) {
        if (turn == TURNS_MAX) fail_msg("seed %" PRIu64 ": it stays open", p->seed);
        play_turn(p);
    }
    sim_drain(p->site.kernel);
}

static void play_all(play *p)
{
    for (int turn = 0; !is_over(p) && !is_answered(p); turn++) {
        if (turn == TURNS_MAX) fail_msg("seed %" PRIu64 ": no end", p->seed);
        size_t n = p->len - p->sent, most = 1 + (size_t)dice(p, 3000);
        if (n > most) n = most;
        if (n) assert_true(sim_client_send(p->client, slice_make(p->script + p->sent, n)));
        p->sent += n;
        play_turn(p);
        take_frames(p);
        // Who had no memory may have ended it all without a word.
        if (lacks_memory(p) && turn == TURNS_MAX / 100) break;
    }
    play_leave(p);
}

// Visits that were told of the request's trailer.
static unsigned trailers_read(const play *p)
{
    unsigned count = 0;
    for (const visit *v = p->site.app.visits; v; v = v->next)
        count += v->story.len && strstr(v->story.octets, "trailer 1");
    return count;
}

static unsigned check(const play *p)
{
    unsigned whole = 0, trailers = 0;
    bool disturbed = lacks_memory(p) || sim_client_is_victim(p->client);
    for (unsigned i = 0; i < p->count; i++) {
        const asked *a = &p->asked[i];
        bool is_whole = a->ended && a->got == a->len && !a->wrong;
        if (is_whole && a->kind == KIND_PULL && !a->trailed)
            fail_msg("seed %" PRIu64 ", stream %u: no trailer", p->seed, 2 * i + 1);
        trailers += is_whole && a->adds_trailer && a->kind == KIND_SUM;
        whole += is_whole;
        if (!disturbed && !a->reset && !is_whole)
            fail_msg("seed %" PRIu64 ", stream %u, kind %u: %" PRIu64 " of %" PRIu64 "%s%s",
                     p->seed, 2 * i + 1, a->kind, a->got, a->len, a->wrong ? ", wrong" : "",
                     a->cut ? ", reset" : "");
    }
    if (!lacks_memory(p) && trailers_read(p) < trailers)
        fail_msg("seed %" PRIu64 ": trailers that no handler has read", p->seed);
    return whole;
}

static unsigned play_run(uint64_t seed, unsigned starved, FILE *trace)
{
    play *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->seed = p->memory = seed;
    p->starved = starved;
    play_begin(p, trace);
    write_script(p);
    play_all(p);
    unsigned whole = check(p);
    const char *why = site_close(&p->site);
    if (why) fail_msg("seed %" PRIu64 ": %s", seed, why);
    free(p->script);
    free(p);
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
    assert_true(play_seeds(SEEDS, false) > 5 * SEEDS);
}

static void test_seeds_without_memory(void **state)
{
    (void)state;
    uint64_t before = memory_failures();
    (void)play_seeds(SEEDS / 2, true);
    assert_true(memory_failures() - before > SEEDS / 2);
}

// Returns: whether there were so many allocations.
static bool play_without(uint64_t seed, unsigned after, unsigned *whole)
{
    play *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->seed = seed;
    p->fails_once = true;
    play_begin(p, NULL);
    write_script(p);
    uint64_t before = memory_failures();
    memory_fail_after(after);
    memory_relax();
    play_all(p);
    bool failed = memory_failures() > before;
    *whole += check(p);
    const char *why = site_close(&p->site);
    if (why) fail_msg("seed %" PRIu64 ", allocation %u: %s", seed, after, why);
    free(p->script);
    free(p);
    return failed;
}

// One after the other fails, and nothing else: every request ends once, nothing is kept, and most
// streams are none the worse.
static void test_every_allocation_fails_once(void **state)
{
    static const uint64_t seeds[] = { 5, 7, 11, 13 };
    (void)state;
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        unsigned whole = 0, after = 0;
        while (play_without(seeds[i], after, &whole))
            assert_in_range(++after, 1, ALLOCATIONS_MAX);
        assert_true(after > 10 && whole > after);
    }
}

// The client leaves somewhere in what it was about to send: every request still ends, once.
static void test_fin_anywhere(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS / 4; seed++) {
        play *p = calloc(1, sizeof *p);
        assert_non_null(p);
        p->seed = seed;
        play_begin(p, NULL);
        write_script(p);
        p->len = (size_t)dice(p, p->len);
        while (p->sent < p->len && !is_over(p)) {
            size_t n = p->len - p->sent, most = 1 + (size_t)dice(p, 3000);
            if (n > most) n = most;
            assert_true(sim_client_send(p->client, slice_make(p->script + p->sent, n)));
            p->sent += n;
            play_turn(p);
        }
        play_leave(p);
        const char *why = site_close(&p->site);
        if (why) fail_msg("seed %" PRIu64 ": %s", seed, why);
        free(p->script);
        free(p);
    }
}

// Content that nobody reads any more does not spoil the response, which is complete but for its
// window.
static void test_end_of_content_behind_answer(void **state)
{
    static const char fields[] = "\203\206\4\13/refuse/300\101\1a\0\16content-length\00210";
    play p = { .seed = 1, .count = 1, .asked = { { .len = LENGTH_MAX } } };
    (void)state;
    play_begin(&p, NULL);
    put(&p, H2_PREFACE);
    put_window(&p, 0);
    put_frame(&p, H2_HEADERS, H2_FLAG_END_HEADERS, 1, slice_make(fields, sizeof fields - 1));
    put_frame(&p, H2_DATA, H2_FLAG_END_STREAM, 1, SKUA_SLICE("0123456789"));
    put_number(&p, H2_WINDOW_UPDATE, 1, LENGTH_MAX);
    play_all(&p);
    assert_true(p.asked[0].ended && !p.asked[0].cut);
    assert_null(site_close(&p.site));
    free(p.script);
}

static unsigned visits_ended(const play *p, skua_end how)
{
    unsigned count = 0;
    for (const visit *v = p->site.app.visits; v; v = v->next)
        count += v->told && v->how == how;
    return count;
}

// A response that is queued with its end behind it, whose file then cannot be read: its stream alone
// is reset, and those whose responses wait before and behind it go on.
static void test_broken_file_behind_its_end(void **state)
{
    play p = { .seed = 64, .count = 4 };
    (void)state;
    play_begin(&p, NULL);
    sim_set_calm(p.site.kernel);
    sim_set_permille(p.site.kernel, SIM_READ_FAILS, 1000);
    put(&p, H2_PREFACE);
    put_window(&p, 100000);
    put_request(&p, 1, "/lent/1/100", true);
    put_request(&p, 3, "/file/small.txt", true);
    put_request(&p, 5, "/lent/5/200", true);
    put_request(&p, 7, "/file/small.txt", true);
    p.asked[0].len = 100;
    p.asked[2].len = 200;
    play_all(&p);
    for (unsigned i = 0; i < p.count; i++) {
        const asked *a = &p.asked[i];
        bool breaks = i % 2;
        assert_true(a->ended == !breaks && a->cut == breaks);
        assert_true(breaks || (a->got == a->len && !a->wrong));
    }
    assert_int_equal(visits_ended(&p, SKUA_END_SENT), 2);
    assert_int_equal(visits_ended(&p, SKUA_END_ERROR), 2);
    assert_null(site_close(&p.site));
    free(p.script);
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
        cmocka_unit_test(test_end_of_content_behind_answer),
        cmocka_unit_test(test_broken_file_behind_its_end),
        cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_fin_anywhere),
        cmocka_unit_test(test_seeds_without_memory),
        cmocka_unit_test(test_every_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
