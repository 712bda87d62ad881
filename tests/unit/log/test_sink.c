// SPDX-License-Identifier: MIT
//
// Lines and a file that takes a part of one only, because its disk is full: what stands in it are whole lines, and
// halves on a line of their own; each line is either written whole or counted as lost.

#include "log/sink.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

static const atomic_bool goes_on = false;
static char text[256];

// A file may have no more than so many octets, as if its disk were full.
static void limit_files(rlim_t octets)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = octets;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static int open_again(int fd, int flags)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int again = open(path, flags | O_APPEND | O_CLOEXEC);
    assert_true(again >= 0);
    return again;
}

static const char *content(int fd)
{
    int reads = open_again(fd, O_RDONLY);
    ssize_t n = read(reads, text, sizeof text - 1);
    assert_true(n >= 0);
    text[n] = 0;
    close(reads);
    return text;
}

// A log on a disk with room for ten octets, where "first", "second" and "third" came: what has left of them.
typedef struct torn {
    FILE *file;
    sink to;
    sink_place half;
    slice rest;
} torn;

static torn torn_log(void)
{
    torn t = { .file = tmpfile(), .rest = slice_of("first\nsecond\nthird\n") };
    assert_non_null(t.file);
    int fd = open_again(fileno(t.file), O_RDWR);
    (void)fclose(t.file);
    sink_init(&t.to, fd);
    limit_files(10);
    t.rest = slice_from(t.rest, sink_write(&t.to, &t.half, t.rest, &goes_on));
    assert_string_equal(content(fd), "first\nseco");
    assert_int_equal(sink_write(&t.to, &t.half, t.rest, &goes_on), 0);
    limit_files(RLIM_INFINITY);
    return t;
}

static void write_rest(torn *t)
{
    assert_int_equal(sink_write(&t->to, &t->half, t->rest, &goes_on), t->rest.len);
    assert_int_equal(t->half.octets, 0);
}

static void a_half_line_goes_on_where_it_stopped(void **state)
{
    (void)state;
    torn t = torn_log();
    write_rest(&t);
    assert_string_equal(content(t.to.fd), "first\nsecond\nthird\n");
    assert_int_equal(sink_lost(&t.to), 0);
    close(t.to.fd);
}

static void the_rest_of_a_half_line_does_not_go_to_another_file(void **state)
{
    (void)state;
    torn t = torn_log();
    int before = dup(t.to.fd);
    FILE *next = tmpfile();
    dup2(fileno(next), t.to.fd);
    write_rest(&t);
    assert_string_equal(content(before), "first\nseco");
    assert_string_equal(content(t.to.fd), "third\n");
    assert_int_equal(sink_lost(&t.to), 1);
    (void)fclose(next);
    close(before);
    close(t.to.fd);
}

static void the_rest_of_a_half_line_does_not_go_to_a_file_that_was_emptied(void **state)
{
    (void)state;
    torn t = torn_log();
    assert_int_equal(ftruncate(t.to.fd, 0), 0);
    write_rest(&t);
    assert_string_equal(content(t.to.fd), "third\n");
    assert_int_equal(sink_lost(&t.to), 1);
    close(t.to.fd);
}

// As of the next process after an upgrade, while the former one still has the log.
static void another_writer_begins_on_a_line_of_its_own(void **state)
{
    (void)state;
    torn t = torn_log();
    sink next;
    sink_place half = { 0 };
    sink_init(&next, open_again(t.to.fd, O_RDWR));
    for (int i = 0; i < 2; i++)
        assert_int_equal(sink_write(&next, &half, slice_of("next\n"), &goes_on), 5);
    write_rest(&t);
    assert_string_equal(content(t.to.fd), "first\nseco\nnext\nnext\nthird\n");
    assert_int_equal(sink_lost(&t.to), 1);
    assert_int_equal(sink_lost(&next), 0);
    close(next.fd);
    close(t.to.fd);
}

// A half line is given up once, whatever comes after it.
static void a_pipe_that_takes_the_place_of_a_torn_file_gets_all_lines(void **state)
{
    (void)state;
    torn t = torn_log();
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_true(dup2(ends[1], t.to.fd) >= 0);
    write_rest(&t);
    for (int i = 0; i < 2; i++)
        assert_int_equal(sink_write(&t.to, &t.half, slice_of("next\n"), &goes_on), 5);
    ssize_t n = read(ends[0], text, sizeof text - 1);
    assert_true(n >= 0);
    text[n] = 0;
    assert_string_equal(text, "third\nnext\nnext\n");
    assert_int_equal(sink_lost(&t.to), 1);
    close(ends[0]);
    close(ends[1]);
    close(t.to.fd);
}

static void lines_behind_a_half_one_are_written_at_the_end(void **state)
{
    (void)state;
    const atomic_bool ends = true;
    torn t = torn_log();
    assert_int_equal(sink_write(&t.to, &t.half, t.rest, &ends), t.rest.len);
    for (int i = 0; i < 2; i++)
        assert_int_equal(sink_write(&t.to, &t.half, slice_of("next\n"), &ends), 5);
    assert_string_equal(content(t.to.fd), "first\nsecond\nthird\nnext\nnext\n");
    assert_int_equal(sink_lost(&t.to), 0);
    close(t.to.fd);
}

static void what_is_given_up_at_the_end_is_joined_to_nothing(void **state)
{
    (void)state;
    const atomic_bool ends = true;
    torn t = torn_log();
    limit_files(10);
    assert_int_equal(sink_write(&t.to, &t.half, t.rest, &ends), t.rest.len);
    assert_int_equal(sink_lost(&t.to), 2);
    limit_files(RLIM_INFINITY);
    assert_int_equal(sink_write(&t.to, &t.half, slice_of("next\n"), &ends), 5);
    assert_string_equal(content(t.to.fd), "first\nseco\nnext\n");
    assert_int_equal(sink_lost(&t.to), 2);
    close(t.to.fd);
}

// Messages about the log may go to the same file, and are not kept.
static void a_message_about_the_log_is_lost_at_once(void **state)
{
    (void)state;
    torn t = torn_log();
    limit_files(10);
    assert_int_equal(sink_write(&t.to, NULL, slice_of("full\n"), &goes_on), 5);
    assert_int_equal(sink_lost_now(&t.to), 1);
    limit_files(13);
    assert_int_equal(sink_write(&t.to, NULL, slice_of("full\n"), &goes_on), 5);
    assert_int_equal(sink_lost_now(&t.to), 1);
    limit_files(RLIM_INFINITY);
    write_rest(&t);
    assert_string_equal(content(t.to.fd), "first\nseco\nfu\nthird\n");
    assert_int_equal(sink_lost_now(&t.to), 1);
    close(t.to.fd);
}

// The end of a line may be all that there is room for.
static void the_end_of_somebody_elses_line_is_written_once(void **state)
{
    (void)state;
    torn t = torn_log();
    sink next;
    sink_place half = { 0 };
    sink_init(&next, open_again(t.to.fd, O_RDWR));
    for (rlim_t room = 10; room < 13; room++) {
        limit_files(room);
        size_t done = sink_write(&next, &half, slice_of("next\n"), &goes_on);
        assert_int_equal(done, room == 12);
    }
    limit_files(RLIM_INFINITY);
    assert_int_equal(sink_write(&next, &half, slice_of("ext\n"), &goes_on), 4);
    assert_string_equal(content(t.to.fd), "first\nseco\nnext\n");
    close(next.fd);
    close(t.to.fd);
}

int main(void)
{
    struct sigaction ignored = { .sa_handler = SIG_IGN };
    (void)sigaction(SIGXFSZ, &ignored, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_half_line_goes_on_where_it_stopped),
        cmocka_unit_test(the_rest_of_a_half_line_does_not_go_to_another_file),
        cmocka_unit_test(the_rest_of_a_half_line_does_not_go_to_a_file_that_was_emptied),
        cmocka_unit_test(another_writer_begins_on_a_line_of_its_own),
        cmocka_unit_test(a_pipe_that_takes_the_place_of_a_torn_file_gets_all_lines),
        cmocka_unit_test(lines_behind_a_half_one_are_written_at_the_end),
        cmocka_unit_test(what_is_given_up_at_the_end_is_joined_to_nothing),
        cmocka_unit_test(a_message_about_the_log_is_lost_at_once),
        cmocka_unit_test(the_end_of_somebody_elses_line_is_written_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
