// SPDX-License-Identifier: MIT
//
// Plays scenarios on every backend. A scenario's transcript must be the same on all of them,
// however its octets are cut up and whatever the simulated kernel's seed.

#include "scenarios/suite.h"

#include "scenarios/house.h"
#include "scenarios/transcript.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum {
    SUITE_SEEDS_SIM = 24,
    SUITE_SEEDS_REAL = 3, // for cutting
    SUITE_BACKENDS_MAX = 8
};

// how old a file is to be for a strong entity tag
static const int64_t suite_settled_ns = 2100000000;

static const char section_mark[] = "==== ";

// One scenario on one backend.
typedef struct suite_item {
    const scenario *scenario;
    const char *backend;
    char name[120];
} suite_item;

// One program plays one group.
static struct {
    const char *group;
    char folder[APP_FOLDER_OCTETS];
    int64_t folder_ns; // when that was made
    bool records;
    text kept;     // the file of transcripts
    text recorded; // to become that file
    unsigned played;
} suite;

// ---- The file of transcripts ----

static void suite_path(char *path, size_t room)
{
    if (snprintf(path, room, "%s/%s.txt", SCENARIO_TRANSCRIPTS, suite.group) >= (int)room) abort();
}

static void suite_read(void)
{
    char path[512], octets[4096];
    suite_path(path, sizeof path);
    FILE *file = fopen(path, "r");
    for (size_t n; file && (n = fread(octets, 1, sizeof octets, file)) > 0;)
        text_add(&suite.kept, slice_make(octets, n));
    if (file) (void)fclose(file);
}

static bool suite_write(void)
{
    char path[512];
    suite_path(path, sizeof path);
    FILE *file = fopen(path, "w");
    if (!file) return false;
    bool whole = fwrite(suite.recorded.octets, 1, suite.recorded.len, file) == suite.recorded.len;
    return fclose(file) == 0 && whole;
}

static size_t suite_find(slice s, const char *mark)
{
    const char *at = s.len ? memmem(s.ptr, s.len, mark, strlen(mark)) : NULL;
    return at ? (size_t)(at - s.ptr) : s.len;
}

// The kept transcript of a scenario; empty when there is none.
static slice suite_section(const char *name)
{
    char line[160];
    slice kept = text_slice(&suite.kept);
    (void)snprintf(line, sizeof line, "%s%s\n", section_mark, name);
    size_t at = suite_find(kept, line);
    if (at == kept.len) return (slice){ 0 };
    slice rest = slice_from(kept, at + strlen(line));
    return slice_make(rest.ptr, suite_find(rest, section_mark));
}

static size_t suite_count_sections(void)
{
    size_t count = 0;
    slice rest = text_slice(&suite.kept);
    for (size_t at; (at = suite_find(rest, section_mark)) < rest.len; count++)
        rest = slice_from(rest, at + sizeof section_mark - 1);
    return count;
}

// ---- Playing ----

static void suite_keep(const suite_item *item, const text *got)
{
    text_addf(&suite.recorded, "%s%s\n", section_mark, item->scenario->name);
    text_add(&suite.recorded, text_slice(got));
}

static bool suite_equals(const suite_item *item, text *got)
{
    slice section = suite_section(item->scenario->name);
    if (!wire_h2_is_asked()) return transcript_equals(text_slice(got), section);
    text kept = { .len = 0 };
    text_add(&kept, section);
    transcript_without_version(&kept);
    transcript_without_version(got);
    bool equal = transcript_equals(text_slice(got), text_slice(&kept));
    text_free(&kept);
    return equal;
}

static bool suite_is_simulated(const suite_item *item)
{
    return strcmp(item->backend, "sim") == 0;
}

// On a real kernel a deadline that is short passes early where the machine stands still: such a scenario is played again.
static bool suite_play(const suite_item *item, run_cut cut, uint64_t seed)
{
    bool equal = false;
    int tries = item->scenario->waits && !suite_is_simulated(item) ? 3 : 1;
    for (; tries > 0 && !equal; tries--) {
        text got = { .len = 0 };
        if (!run_play(item->scenario, item->backend, suite.folder, cut, seed, &got)) return false;
        if (suite.records && cut == RUN_WHOLE) suite_keep(item, &got);
        equal = suite.records || suite_equals(item, &got);
        text_free(&got);
    }
    suite.played++;
    if (!equal)
        fail_msg("%s: another transcript, cut %d, seed %" PRIu64, item->name, (int)cut, seed);
    return true;
}

static void suite_let_files_age(void)
{
    int64_t left = suite.folder_ns + suite_settled_ns - io_clock_ns();
    if (left > 0)
        nanosleep(&(struct timespec){ left / 1000000000, (long)(left % 1000000000) }, NULL);
}

// Scenarios that wait for deadlines do so once on a real kernel, and on the simulated one as often
// as any.
static void suite_test(void **state)
{
    const suite_item *item = *state;
    bool sim = suite_is_simulated(item);
    if (wire_h2_is_asked() && item->scenario->http1_only) {
        print_message("not over HTTP/2: %s\n", item->scenario->http1_only);
        skip();
    }
    uint64_t seeds = sim ? SUITE_SEEDS_SIM : item->scenario->waits ? 0 : SUITE_SEEDS_REAL;
    if (item->scenario->serves_folder) suite_let_files_age();
    if (!suite_play(item, RUN_WHOLE, 0)) {
        print_message("this kernel refuses %s: not played\n", item->backend);
        skip();
    }
    if (suite.records) return;
    for (uint64_t seed = 1; seed <= seeds; seed++)
        (void)suite_play(item, (run_cut)(seed % 3), seed);
}

// ---- The program ----

static int suite_begin(void **state)
{
    (void)state;
    suite.records = getenv("SCENARIO_RECORD");
    if (!suite.records) suite_read();
    if (!app_folder_make(suite.folder)) return -1;
    suite.folder_ns = io_clock_ns();
    return 0;
}

static int suite_end(void **state)
{
    (void)state;
    app_folder_remove(suite.folder);
    bool written = !suite.records || suite_write();
    text_free(&suite.kept);
    text_free(&suite.recorded);
    return written ? 0 : -1;
}

static size_t suite_backends(const char **backends, int argc, char **argv)
{
    static const char *const all[] = { "epoll", "uring", "kqueue", "sim" };
    size_t count = 0;
    for (int i = 1; i < argc && count < SUITE_BACKENDS_MAX; i++)
        backends[count++] = argv[i];
    for (size_t i = 0; argc == 1 && i < sizeof all / sizeof *all; i++) {
        if (host_has_backend(all[i])) backends[count++] = all[i];
    }
    return count;
}

static void suite_set_test(struct CMUnitTest *test, suite_item *item, const scenario *s,
                           const char *backend)
{
    *item = (suite_item){ .scenario = s, .backend = backend };
    (void)snprintf(item->name, sizeof item->name, "%s, on %s", s->name, backend);
    *test =
        (struct CMUnitTest){ .name = item->name, .test_func = suite_test, .initial_state = item };
}

// A scenario that is no more leaves no transcript behind.
static void suite_test_kept(void **state)
{
    const size_t *count = *state;
    if (suite.records) skip();
    assert_int_equal(suite_count_sections(), *count);
}

int suite_main(const char *group, const scenario *scenarios, size_t count, int argc, char **argv)
{
    const char *backends[SUITE_BACKENDS_MAX];
    if (!wire_tls_prepare()) {
        fprintf(stderr, "this build has no TLS: not played\n");
        return SUITE_SKIPPED;
    }
    if (wire_h2_is_asked() && (!wire_h2_is_possible() || getenv("SCENARIO_RECORD"))) {
        fprintf(stderr, "without HTTP/2, or libnghttp2 for clients: not played\n");
        return SUITE_SKIPPED;
    }
    size_t backend_count = suite_backends(backends, argc, argv), total = backend_count * count;
    struct CMUnitTest *tests = calloc(total + 1, sizeof *tests);
    suite_item *items = calloc(total + 1, sizeof *items);
    if (!tests || !items) abort();
    suite.group = group;
    for (size_t i = 0; i < total; i++)
        suite_set_test(&tests[i], &items[i], &scenarios[i % count], backends[i / count]);
    tests[total] = (struct CMUnitTest){ .name = "no transcript is left over",
                                        .test_func = suite_test_kept,
                                        .initial_state = &count };
    int failed = _cmocka_run_group_tests(group, tests, total + 1, suite_begin, suite_end);
    free(tests);
    free(items);
    wire_tls_forget();
    return failed == 0 && suite.played == 0 ? SUITE_SKIPPED : failed;
}
