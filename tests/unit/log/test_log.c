// SPDX-License-Identifier: MIT
//
// The logs' lanes and writer: lines arrive whole and in order, a writer that is held up holds up
// nobody, and what was lost is said.

#include "log/log.h"
#include "support/support.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

enum { BUFFER_MAX = 1 << 24 };

// Takes what the writer writes.
typedef struct catcher {
    pthread_mutex_t gate; // held by a test that wants the writer to wait
    char *text;
    size_t len, room;
    _Atomic uint64_t lines;
    atomic_bool entered;
} catcher;

static void catcher_init(catcher *c)
{
    memset(c, 0, sizeof *c);
    pthread_mutex_init(&c->gate, NULL);
}

static void catcher_deinit(catcher *c)
{
    pthread_mutex_destroy(&c->gate);
    free(c->text);
}

static void catch (skua_slice octets, void *user)
{
    catcher *c = user;
    atomic_store(&c->entered, true);
    pthread_mutex_lock(&c->gate);
    if (c->len + octets.len >= c->room) {
        c->room = (c->len + octets.len) * 2 + 1;
        c->text = realloc(c->text, c->room);
        if (!c->text) abort();
    }
    memcpy(c->text + c->len, octets.ptr, octets.len);
    c->len += octets.len;
    c->text[c->len] = '\0';
    for (size_t i = 0; i < octets.len; i++) {
        if (octets.ptr[i] == '\n') atomic_fetch_add(&c->lines, 1);
    }
    if (octets.ptr[octets.len - 1] != '\n') abort(); // whole lines only
    pthread_mutex_unlock(&c->gate);
}

static void nap(long ms)
{
    (void)nanosleep(&(struct timespec){ 0, ms * 1000000 }, NULL);
}

static void expect_lines_within(catcher *c, uint64_t lines, int ms)
{
    for (int waited = 0; atomic_load(&c->lines) < lines && waited < ms; waited++)
        nap(1);
    assert_true(atomic_load(&c->lines) >= lines);
}

static void put(log_lane *lane, unsigned writer, unsigned number)
{
    char target[32];
    int n = snprintf(target, sizeof target, "/%u/%u", writer, number);
    log_access access = { .peer = "::1",
                          .remote = "",
                          .method = slice_of("GET"),
                          .version = 11,
                          .status = 200,
                          .target = slice_make(target, (size_t)n),
                          .end = "" };
    log_request(lane, &access);
}

// The next line of *rest, without its LF; NULL when there is none.
static char *next_line(char **rest)
{
    char *line = *rest, *end = line ? strchr(line, '\n') : NULL;
    if (!end) return NULL;
    *end = '\0';
    *rest = end + 1;
    return line;
}

// The number after prefix in line; -1 when there is none.
static long number_after(const char *line, const char *prefix)
{
    const char *at = strstr(line, prefix);
    return at ? strtol(at + strlen(prefix), NULL, 10) : -1;
}

// ---- Tests ----

static void a_line_comes_soon_and_again_after_sleep(void **state)
{
    (void)state;
    catcher c;
    catcher_init(&c);
    server_log *log = log_new(&(log_config){ SKUA_LOG_SHORT, BUFFER_MAX, NULL, catch, &c });
    log_lane *lane = log_lane_open(log);
    for (unsigned i = 0; i < 3; i++) {
        put(lane, 0, i);
        expect_lines_within(&c, i + 1, 5000);
        nap(130); // two naps: the writer sleeps until it is woken
    }
    log_free(log);
    assert_non_null(strstr(c.text, " 200 GET /0/0 "));
    assert_non_null(strstr(c.text, " 200 GET /0/2 "));
    catcher_deinit(&c);
}

static void what_is_queued_is_written_by_free(void **state)
{
    (void)state;
    catcher c;
    catcher_init(&c);
    server_log *log = log_new(&(log_config){ SKUA_LOG_JSON, BUFFER_MAX, NULL, catch, &c });
    log_lane *lane = log_lane_open(log);
    for (unsigned i = 0; i < 500; i++)
        put(lane, 0, i);
    log_message(log, slice_of("done"));
    log_free(log);
    assert_int_equal(c.lines, 501);
    assert_non_null(strstr(c.text, "\"msg\":\"done\"}"));
    catcher_deinit(&c);
}

typedef struct producer {
    server_log *log;
    log_lane *lane;
    unsigned number, count;
} producer;

static void *produce(void *user)
{
    producer *p = user;
    for (unsigned i = 0; i < p->count; i++) {
        put(p->lane, p->number, i);
        if (i % 1000 == 0) log_message(p->log, slice_of("milestone"));
        if (i % 200 == 0) nap(1); // slow enough for a writer that is woken at half full
    }
    return NULL;
}

static void lines_of_each_lane_arrive_whole_and_in_order(void **state)
{
    (void)state;
    enum { PRODUCERS = 3, LINES = 20000 };
    catcher c;
    catcher_init(&c);
    server_log *log = log_new(&(log_config){ SKUA_LOG_COMMON, BUFFER_MAX, NULL, catch, &c });
    producer producers[PRODUCERS];
    pthread_t threads[PRODUCERS];
    for (unsigned i = 0; i < PRODUCERS; i++) {
        producers[i] = (producer){ log, log_lane_open(log), i, LINES };
        assert_int_equal(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
    }
    for (unsigned i = 0; i < PRODUCERS; i++)
        pthread_join(threads[i], NULL);
    log_free(log);
    long next[PRODUCERS] = { 0 }, seen = 0, milestones = 0, lost = 0;
    char *rest = c.text;
    for (char *line; (line = next_line(&rest));) {
        long number = number_after(line, "\"GET /");
        if (number >= 0) {
            assert_true(number < PRODUCERS &&
                        strcmp(line + strlen(line) - 15, "HTTP/1.1\" 200 -") == 0);
            long i = number_after(strstr(line, "GET /") + 5, "/");
            assert_true(i >= next[number]);
            next[number] = i + 1;
            seen++;
        } else if (strcmp(line, "skua: milestone") == 0) {
            milestones++;
        } else {
            assert_true(number_after(line, "skua: the log could not keep up: ") > 0);
            lost += number_after(line, "skua: the log could not keep up: ");
        }
    }
    assert_int_equal(milestones, PRODUCERS * LINES / 1000);
    assert_int_equal(seen + lost, PRODUCERS * LINES);
    catcher_deinit(&c);
}

// Logs so many lines on one lane while the writer is held up. Returns how many were written, of
// which none is missing before the first that was lost; *lost is how many were said to be lost.
static long log_while_held_up(size_t buffer_max, unsigned lines, long *lost)
{
    catcher c;
    catcher_init(&c);
    server_log *log = log_new(&(log_config){ SKUA_LOG_COMMON, buffer_max, NULL, catch, &c });
    log_lane *lane = log_lane_open(log);
    pthread_mutex_lock(&c.gate);
    put(lane, 9, 0);
    while (!atomic_load(&c.entered))
        nap(1);
    for (unsigned i = 0; i < lines; i++)
        put(lane, 1, i); // would hang here if a worker could wait
    assert_true(log_octets(log) <= buffer_max + 6 * 65536);
    pthread_mutex_unlock(&c.gate);
    log_free(log);
    long seen = 0;
    char *rest = c.text;
    *lost = 0;
    for (char *line; (line = next_line(&rest));) {
        long n = number_after(line, "skua: the log could not keep up: ");
        if (n > 0) *lost += n;
        else if (seen++) assert_int_equal(number_after(line, "GET /1/"), seen - 2);
    }
    catcher_deinit(&c);
    return seen;
}

static void a_writer_that_is_held_up_loses_nothing_within_the_buffer(void **state)
{
    (void)state;
    long lost, lines = 100000;
    assert_int_equal(log_while_held_up(BUFFER_MAX, (unsigned)lines, &lost), lines + 1);
    assert_int_equal(lost, 0);
}

static void beyond_the_buffer_lines_are_lost_and_counted(void **state)
{
    (void)state;
    static const size_t buffers[] = { 1, 1 << 20 };
    for (size_t i = 0; i < 2; i++) {
        long lost, lines = 40000, line_octets = 60;
        long seen = log_while_held_up(buffers[i], (unsigned)lines, &lost);
        long kept = buffers[i] > 131072 ? (long)buffers[i] : 131072;
        assert_true(lost > 0);
        assert_int_equal(seen + lost, lines + 1);
        assert_true(seen * line_octets > kept - 3 * 65536);
    }
}

static void the_buffer_is_given_back(void **state)
{
    (void)state;
    catcher c;
    catcher_init(&c);
    server_log *log = log_new(&(log_config){ SKUA_LOG_COMMON, BUFFER_MAX, NULL, catch, &c });
    log_lane *lane = log_lane_open(log);
    pthread_mutex_lock(&c.gate);
    for (unsigned i = 0; i < 20000; i++)
        put(lane, 1, i);
    assert_true(log_octets(log) > 1000000);
    pthread_mutex_unlock(&c.gate);
    expect_lines_within(&c, 20000, 5000);
    put(lane, 1, 0);
    expect_lines_within(&c, 20001, 5000);
    assert_true(log_octets(log) <= 3 * 65536);
    log_free(log);
    catcher_deinit(&c);
}

static void expect_threads(unsigned threads)
{
    for (int waited = 0; support_threads() != threads && waited < 5000; waited++)
        nap(1); // those that have been joined may take a moment to be gone
    assert_int_equal(support_threads(), threads);
}

// A server without an access log may never have anything to say.
static void without_a_format_the_thread_starts_with_the_first_message(void **state)
{
    (void)state;
    unsigned before = support_threads_at_rest();
    for (int lines = 0; lines < 3; lines++) {
        catcher c;
        catcher_init(&c);
        server_log *log = log_new(&(log_config){ SKUA_LOG_NONE, BUFFER_MAX, NULL, catch, &c });
        expect_threads(before);
        for (int i = 0; i < lines; i++)
            log_message(log, slice_of("x"));
        expect_threads(before + (before && lines > 0));
        expect_lines_within(&c, (uint64_t)lines, 5000);
        log_free(log);
        assert_int_equal(c.lines, lines);
        catcher_deinit(&c);
    }
}

// Runs with standard output and standard error in files or pipes of the test's.
static void redirected(int out, int err, int saved[2])
{
    (void)fflush(NULL);
    saved[0] = dup(STDOUT_FILENO);
    saved[1] = dup(STDERR_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
}

static void restored(const int saved[2])
{
    for (int i = 0; i < 2; i++) {
        dup2(saved[i], i ? STDERR_FILENO : STDOUT_FILENO);
        close(saved[i]);
    }
}

// Of new threads, so that there is no room for one; 0: as usual.
static void set_stacks(size_t octets)
{
    static pthread_attr_t usual;
    if (octets) assert_int_equal(pthread_getattr_default_np(&usual), 0);
    pthread_attr_t attributes = usual;
    if (octets) assert_int_equal(pthread_attr_setstacksize(&attributes, octets), 0);
    assert_int_equal(pthread_setattr_default_np(&attributes), 0);
}

// Where no thread can be had, the one that frees the log writes what was kept, to a pipe that nobody reads as well.
static void without_a_thread_lines_are_written_by_free(void **state)
{
    (void)state;
    char text[64] = "";
    int ends[2], nobody[2], saved[2];
    for (int is_read = 0; is_read < 2; is_read++) {
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(pipe(nobody), 0);
        close(nobody[0]);
        dup2(is_read ? ends[1] : nobody[1], nobody[1]);
        redirected(nobody[1], nobody[1], saved);
        set_stacks((size_t)1 << 46);
        server_log *log = log_new(&(log_config){ SKUA_LOG_NONE, BUFFER_MAX, NULL, NULL, NULL });
        log_message(log, slice_of("x"));
        log_free(log);
        set_stacks(0);
        restored(saved);
        close(nobody[1]);
        close(ends[1]);
        ssize_t n = read(ends[0], text, sizeof text - 1);
        assert_int_equal(n, is_read ? (ssize_t)strlen("skua: x\n") : 0);
        close(ends[0]);
    }
    assert_string_equal(text, "skua: x\n");
}

static void no_format_writes_messages_only(void **state)
{
    (void)state;
    catcher c;
    catcher_init(&c);
    server_log *log = log_new(&(log_config){ SKUA_LOG_NONE, BUFFER_MAX, NULL, catch, &c });
    log_lane *lane = log_lane_open(log);
    put(lane, 0, 0);
    log_message(log, slice_of("a\nb"));
    log_free(log);
    log_free(NULL);
    assert_string_equal(c.text, "skua: a\\x0ab\n");
    catcher_deinit(&c);
}

static size_t read_all(FILE *file, char *text, size_t room)
{
    rewind(file);
    size_t len = fread(text, 1, room - 1, file);
    text[len] = '\0';
    (void)fclose(file);
    return len;
}

static void without_a_write_function_it_goes_to_the_standard_streams(void **state)
{
    (void)state;
    FILE *out = tmpfile(), *err = tmpfile();
    char text[4096];
    int saved[2];
    redirected(fileno(out), fileno(err), saved);
    server_log *log = log_new(&(log_config){ SKUA_LOG_JSON, BUFFER_MAX, NULL, NULL, NULL });
    put(log_lane_open(log), 4, 2);
    log_message(log, slice_of("hello"));
    log_free(log);
    restored(saved);
    read_all(out, text, sizeof text);
    assert_non_null(strstr(text, "\"uri\":\"/4/2\""));
    read_all(err, text, sizeof text);
    assert_string_equal(text, "skua: hello\n");
}

static void a_reader_that_is_gone_is_said_once(void **state)
{
    (void)state;
    FILE *err = tmpfile();
    char text[4096];
    int ends[2], saved[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    redirected(ends[1], fileno(err), saved);
    server_log *log = log_new(&(log_config){ SKUA_LOG_SHORT, BUFFER_MAX, NULL, NULL, NULL });
    log_lane *lane = log_lane_open(log);
    for (unsigned i = 0; i < 3; i++) {
        put(lane, 0, i);
        nap(120);
    }
    log_free(log);
    restored(saved);
    close(ends[1]);
    read_all(err, text, sizeof text);
    assert_string_equal(text, "skua: the access log cannot be written: nobody reads it any more\n"
                              "skua: the log could not be written: 3 lines were lost\n");
}

static void a_reader_that_does_not_read_does_not_keep_the_process(void **state)
{
    (void)state;
    FILE *err = tmpfile();
    char text[4096];
    int ends[2], saved[2];
    assert_int_equal(pipe(ends), 0);
    redirected(ends[1], fileno(err), saved);
    server_log *log = log_new(&(log_config){ SKUA_LOG_SHORT, BUFFER_MAX, NULL, NULL, NULL });
    log_lane *lane = log_lane_open(log);
    for (unsigned i = 0; i < 3000; i++)
        put(lane, 0, i); // more than a pipe holds
    log_free(log);
    restored(saved);
    close(ends[0]);
    close(ends[1]);
    read_all(err, text, sizeof text);
    assert_non_null(
        strstr(text, "skua: the access log cannot be written: its reader does not read\n"));
}

enum { SLOW_LINES = 20000, SLOW_OCTETS_MIN = 40 * SLOW_LINES };

// Takes a little, each time while the writer looks whether it does.
static void *read_slowly(void *user)
{
    const int *fd = user;
    static char piece[4096];
    size_t octets = 0;
    ssize_t n;
    while ((n = read(*fd, piece, sizeof piece)) > 0) {
        octets += (size_t)n;
        nap(40);
    }
    return (void *)(uintptr_t)octets;
}

static void a_reader_that_reads_slowly_does_not_keep_the_process(void **state)
{
    (void)state;
    FILE *err = tmpfile();
    int ends[2], saved[2];
    pthread_t reader;
    void *octets;
    assert_int_equal(pipe(ends), 0);
    redirected(ends[1], fileno(err), saved);
    server_log *log = log_new(&(log_config){ SKUA_LOG_SHORT, BUFFER_MAX, NULL, NULL, NULL });
    log_lane *lane = log_lane_open(log);
    assert_int_equal(pthread_create(&reader, NULL, read_slowly, &ends[0]), 0);
    for (unsigned i = 0; i < SLOW_LINES; i++)
        put(lane, 0, i);
    log_free(log);
    restored(saved);
    close(ends[1]);
    assert_int_equal(pthread_join(reader, &octets), 0);
    close(ends[0]);
    (void)fclose(err);
    assert_true((uintptr_t)octets < SLOW_OCTETS_MIN / 2);
}

enum { STALLED_LINES = 3000 }; // of each lane: more than a pipe holds

// Reads lines until the pipe ends: each lane's are whole, and in their order.
static void *read_both(void *user)
{
    long next[2] = { 0, 0 };
    char line[256], prefix[8];
    FILE *file = fdopen(*(const int *)user, "r");
    while (file && fgets(line, sizeof line, file)) {
        int lane = strstr(line, " /1/") != NULL;
        (void)snprintf(prefix, sizeof prefix, " /%d/", lane);
        if (number_after(line, prefix) != next[lane] || !strchr(line, '\n')) break;
        next[lane]++;
    }
    if (file) (void)fclose(file);
    return (void *)(uintptr_t)(next[0] + next[1]);
}

static bool has_said(int fd, const char *what)
{
    char text[4096];
    ssize_t n = pread(fd, text, sizeof text, 0);
    return n > 0 && memmem(text, (size_t)n, what, strlen(what));
}

static void messages_are_written_while_the_reader_of_the_access_log_stalls(void **state)
{
    (void)state;
    FILE *err = tmpfile();
    int ends[2], saved[2];
    pthread_t reader;
    void *lines;
    assert_int_equal(pipe(ends), 0);
    redirected(ends[1], fileno(err), saved);
    close(ends[1]);
    server_log *log = log_new(&(log_config){ SKUA_LOG_SHORT, BUFFER_MAX, NULL, NULL, NULL });
    log_lane *lanes[] = { log_lane_open(log), log_lane_open(log) };
    for (unsigned i = 0; i < 2 * STALLED_LINES; i++)
        put(lanes[i % 2], i % 2, i / 2);
    nap(120); // the writer has come to where the pipe is full
    log_message(log, slice_of("hello"));
    for (int waited = 0; !has_said(fileno(err), "skua: hello\n") && waited < 5000; waited++)
        nap(1);
    bool said = has_said(fileno(err), "skua: hello\n");
    assert_int_equal(pthread_create(&reader, NULL, read_both, &ends[0]), 0);
    log_free(log);
    restored(saved);
    assert_int_equal(pthread_join(reader, &lines), 0);
    (void)fclose(err);
    assert_true(said);
    assert_int_equal((uintptr_t)lines, 2 * STALLED_LINES);
}

static void lines_that_are_lost_are_said_once_in_a_second(void **state)
{
    (void)state;
    FILE *err = tmpfile();
    char text[4096];
    int ends[2], saved[2];
    unsigned said = 0;
    assert_int_equal(pipe(ends), 0);
    redirected(ends[1], fileno(err), saved);
    server_log *log = log_new(&(log_config){ SKUA_LOG_SHORT, 0, NULL, NULL, NULL });
    log_lane *lane = log_lane_open(log);
    time_t begun = time(NULL);
    for (unsigned i = 0; i < 20; i++) {
        for (unsigned k = 0; k < 5000; k++)
            put(lane, 0, k); // more than a pipe and its lane hold
        nap(120);
    }
    log_free(log);
    long seconds = (long)(time(NULL) - begun);
    restored(saved);
    close(ends[0]);
    close(ends[1]);
    read_all(err, text, sizeof text);
    for (const char *at = text; (at = strstr(at, "could not keep up")); at++)
        said++;
    assert_in_range(said, 2, 3 + seconds);
}

// The program puts another log in the place of the former one, and its reader may be anybody.
static void a_pipe_takes_the_place_of_a_file(void **state)
{
    (void)state;
    FILE *out = tmpfile(), *err = tmpfile();
    char text[4096];
    int ends[2], saved[2];
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    redirected(fileno(out), fileno(err), saved);
    server_log *log = log_new(&(log_config){ SKUA_LOG_SHORT, BUFFER_MAX, NULL, NULL, NULL });
    log_lane *lane = log_lane_open(log);
    put(lane, 0, 0);
    nap(120);
    dup2(ends[1], STDOUT_FILENO);
    for (unsigned i = 1; i < 3000; i++)
        put(lane, 0, i); // more than a pipe holds
    log_free(log);
    restored(saved);
    close(ends[0]);
    close(ends[1]);
    (void)fclose(out);
    read_all(err, text, sizeof text);
    assert_non_null(
        strstr(text, "skua: the access log cannot be written: its reader does not read\n"));
    assert_non_null(strstr(text, "skua: the log could not be written: "));
}

// A file that may have no more than so many octets, as if its disk were full.
static void limit_files(rlim_t octets)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = octets;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static off_t size_of(FILE *file)
{
    struct stat info;
    assert_int_equal(fstat(fileno(file), &info), 0);
    return info.st_size;
}

// Logs 1,000 lines to out while it takes no more than a tenth of them.
static server_log *log_to_a_full_file(FILE *out, FILE *err, int saved[2])
{
    redirected(fileno(out), fileno(err), saved);
    server_log *log = log_new(&(log_config){ SKUA_LOG_COMMON, BUFFER_MAX, NULL, NULL, NULL });
    log_lane *lane = log_lane_open(log);
    limit_files(7500);
    for (unsigned i = 0; i < 1000; i++)
        put(lane, 0, i);
    while (size_of(out) < 7500 || size_of(err) == 0)
        nap(1);
    return log;
}

static void a_file_that_is_full_gets_its_lines_when_it_is_not(void **state)
{
    (void)state;
    FILE *out = tmpfile(), *err = tmpfile();
    static char text[1 << 17];
    int saved[2];
    server_log *log = log_to_a_full_file(out, err, saved);
    limit_files(RLIM_INFINITY);
    for (int i = 0; i < 5000 && size_of(out) < 60000; i++)
        nap(1);
    log_free(log);
    restored(saved);
    read_all(out, text, sizeof text);
    char *rest = text;
    for (long i = 0; i < 1000; i++)
        assert_int_equal(number_after(next_line(&rest), "GET /0/"), i);
    assert_null(next_line(&rest));
    read_all(err, text, sizeof text);
    assert_string_equal(text, "skua: the access log cannot be written: the file is too large; "
                              "its lines are kept until it can\n"
                              "skua: the log can be written again\n");
}

// Lines of two workers on a disk that is full within a line of the first, and has room again when it is the other's turn.
static void another_worker_does_not_tear_a_line_that_a_full_file_took_in_part(void **state)
{
    (void)state;
    FILE *out = tmpfile(), *err = tmpfile();
    static char text[1 << 18];
    int saved[2];
    server_log *log = log_to_a_full_file(out, err, saved);
    log_lane *other = log_lane_open(log); // which has its turn before those that are there
    for (unsigned i = 0; i < 1000; i++)
        put(other, 1, i);
    nap(100); // two turns of the writer
    limit_files(RLIM_INFINITY);
    assert_int_equal(pread(fileno(out), text, 1, 7499), 1);
    assert_int_not_equal(text[0], '\n');
    for (int i = 0; i < 5000 && size_of(out) < 120000; i++)
        nap(1);
    uint64_t lost = log_lost(log);
    log_free(log);
    restored(saved);
    assert_int_equal(lost, 0);
    read_all(out, text, sizeof text);
    char *rest = text;
    for (long next[2] = { 0 }; next[0] + next[1] < 2000;) {
        const char *line = next_line(&rest);
        assert_non_null(line);
        bool first = strstr(line, "GET /0/");
        assert_int_equal(number_after(line, first ? "GET /0/" : "GET /1/"), next[first ? 0 : 1]++);
    }
    assert_null(next_line(&rest));
    (void)fclose(err);
}

static void what_a_full_file_never_took_is_said_at_the_end(void **state)
{
    (void)state;
    FILE *out = tmpfile(), *err = tmpfile();
    static char text[1 << 17];
    int saved[2];
    server_log *log = log_to_a_full_file(out, err, saved);
    log_free(log);
    limit_files(RLIM_INFINITY);
    restored(saved);
    read_all(out, text, sizeof text);
    long whole = 0;
    for (char *rest = text; next_line(&rest); whole++)
        continue;
    read_all(err, text, sizeof text);
    assert_int_equal(number_after(text, "the log could not be written: "), 1000 - whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_comes_soon_and_again_after_sleep),
        cmocka_unit_test(what_is_queued_is_written_by_free),
        cmocka_unit_test(lines_of_each_lane_arrive_whole_and_in_order),
        cmocka_unit_test(a_writer_that_is_held_up_loses_nothing_within_the_buffer),
        cmocka_unit_test(beyond_the_buffer_lines_are_lost_and_counted),
        cmocka_unit_test(the_buffer_is_given_back),
        cmocka_unit_test(without_a_format_the_thread_starts_with_the_first_message),
        cmocka_unit_test(without_a_thread_lines_are_written_by_free),
        cmocka_unit_test(no_format_writes_messages_only),
        cmocka_unit_test(without_a_write_function_it_goes_to_the_standard_streams),
        cmocka_unit_test(a_reader_that_is_gone_is_said_once),
        cmocka_unit_test(a_reader_that_does_not_read_does_not_keep_the_process),
        cmocka_unit_test(a_reader_that_reads_slowly_does_not_keep_the_process),
        cmocka_unit_test(messages_are_written_while_the_reader_of_the_access_log_stalls),
        cmocka_unit_test(lines_that_are_lost_are_said_once_in_a_second),
        cmocka_unit_test(a_pipe_takes_the_place_of_a_file),
        cmocka_unit_test(a_file_that_is_full_gets_its_lines_when_it_is_not),
        cmocka_unit_test(another_worker_does_not_tear_a_line_that_a_full_file_took_in_part),
        cmocka_unit_test(what_a_full_file_never_took_is_said_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
