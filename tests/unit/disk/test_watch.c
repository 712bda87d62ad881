// SPDX-License-Identifier: MIT
//
// Watches: what is counted and what is not, sharing, directories that go away, and an overflowing
// queue.

#include "io/file.h"
#include "disk/root.h"
#include "disk/watch.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static char base[32];
static int base_fd = -1;
static skua_root *root;
static watch_set *set;

static void put(const char *path, const char *text)
{
    int fd = openat(base_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(base, sizeof base, "/tmp/skua-test-XXXXXX");
    assert_non_null(mkdtemp(base));
    base_fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(mkdirat(base_fd, "a", 0755), 0);
    assert_int_equal(mkdirat(base_fd, "b", 0755), 0);
    assert_int_equal(symlinkat("a", base_fd, "link"), 0);
    assert_int_equal(symlinkat("..", base_fd, "out"), 0);
    assert_int_equal(mkfifoat(base_fd, "fifo", 0644), 0);
    put("a/file", "text");
    assert_int_equal(skua_root_open(base, &root), SKUA_OK);
    set = watch_set_new();
    assert_non_null(set);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[64];
    watch_set_free(set);
    skua_root_close(root);
    close(base_fd);
    (void)snprintf(command, sizeof command, "rm -rf %s", base);
    return system(command);
}

static skua_watch *open_watch(const char *path)
{
    skua_watch *watch = NULL;
    assert_int_equal(watch_open(set, root, slice_of(path), &watch), SKUA_OK);
    return watch;
}

// Whether it has changed since the last call, with the same place to remember in.
static bool changed(const skua_watch *watch, uint64_t *last)
{
    watch_set_read(set);
    uint64_t now = skua_watch_changes(watch);
    assert_true(now >= *last);
    bool grown = now != *last;
    *last = now;
    return grown;
}

static void test_watch_counts_changes(void **state)
{
    (void)state;
    skua_watch *watch = open_watch("a"), *other = open_watch("b");
    uint64_t seen = 0, other_seen = 0;
    assert_false(changed(watch, &seen));
    put("a/file", "other text");
    assert_int_equal(changed(watch, &seen), skua_watch_includes_writes());
    put("a/new", "new");
    assert_true(changed(watch, &seen));
    assert_int_equal(fchmodat(base_fd, "a/file", 0600, 0), 0);
    assert_int_equal(changed(watch, &seen), skua_watch_includes_writes());
    struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 1000000000 } };
    assert_int_equal(utimensat(base_fd, "a/file", times, 0), 0);
    assert_int_equal(changed(watch, &seen), skua_watch_includes_writes());
    assert_int_equal(renameat(base_fd, "a/new", base_fd, "a/newer"), 0);
    assert_true(changed(watch, &seen));
    assert_int_equal(renameat(base_fd, "a/newer", base_fd, "outside"), 0);
    assert_true(changed(watch, &seen));
    assert_int_equal(renameat(base_fd, "outside", base_fd, "a/newer"), 0);
    assert_true(changed(watch, &seen));
    assert_int_equal(unlinkat(base_fd, "a/newer", 0), 0);
    assert_true(changed(watch, &seen));
    assert_int_equal(mkdirat(base_fd, "a/sub", 0755), 0);
    assert_true(changed(watch, &seen));
    assert_false(changed(other, &other_seen));
    watch_close(set, watch);
    watch_close(set, other);
}

static void test_watch_of_a_file(void **state)
{
    (void)state;
    if (skua_watch_includes_writes()) skip();
    skua_watch *watch = open_watch("a/file");
    uint64_t seen = 0;
    assert_false(changed(watch, &seen));
    put("a/file", "other text");
    assert_true(changed(watch, &seen));
    assert_int_equal(fchmodat(base_fd, "a/file", 0600, 0), 0);
    assert_true(changed(watch, &seen));
    put("a/new", "new");
    assert_false(changed(watch, &seen));
    assert_int_equal(renameat(base_fd, "a/new", base_fd, "a/file"), 0);
    assert_true(changed(watch, &seen));
    assert_true(changed(watch, &seen)); // it is dead: what the path names is another file
    watch_close(set, watch);
}

static void test_watch_does_not_count_reading(void **state)
{
    (void)state;
    skua_watch *watch = open_watch("a");
    uint64_t seen = 0;
    char octets[8];
    int fd = openat(base_fd, "a/file", O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, octets, sizeof octets), 4);
    close(fd);
    struct stat st;
    assert_int_equal(fstatat(base_fd, "a/file", &st, 0), 0);
    skua_watch *again = open_watch("a");
    watch_close(set, again);
    assert_false(changed(watch, &seen));
    assert_int_equal(mkdirat(base_fd, "a/sub", 0755), 0);
    assert_true(changed(watch, &seen));
    put("a/sub/below", "not in it");
    assert_false(changed(watch, &seen));
    watch_close(set, watch);
}

static void test_watch_is_shared(void **state)
{
    (void)state;
    skua_watch *one = open_watch("a"), *two = open_watch("a/"), *linked = open_watch("link");
    assert_ptr_equal(one, two);
    assert_ptr_not_equal(one, linked);
    uint64_t seen = 0, linked_seen = 0;
    put("a/new0", "x");
    assert_true(changed(one, &seen));
    assert_true(changed(linked, &linked_seen));
    // The kernel's watch stays while anybody needs it.
    watch_close(set, two);
    put("a/new1", "y");
    assert_true(changed(one, &seen));
    watch_close(set, one);
    put("a/new2", "z");
    assert_true(changed(linked, &linked_seen));
    watch_close(set, linked);
    put("a/new3", "0");
    watch_set_read(set);
    skua_watch *fresh = open_watch("a");
    assert_int_equal(skua_watch_changes(fresh), 0);
    watch_close(set, fresh);
}

// A directory that is in memory is watched as if there were time; of the others only those that are
// watched already.
static void test_watch_without_waiting(void **state)
{
    (void)state;
    skua_watch *watch = NULL;
    skua_status status = SKUA_EIO;
    if (file_method_get() != FILE_METHOD_OPENAT2) skip();
    assert_true(watch_try(set, root, SKUA_SLICE("a"), &watch, &status));
    assert_int_equal(status, SKUA_OK);
    uint64_t last = skua_watch_changes(watch);
    put("a/new", "tried");
    assert_true(changed(watch, &last));
    assert_int_equal(unlinkat(base_fd, "a/new", 0), 0);
    skua_watch *none = NULL;
    // from here on the kernel knows that there is none
    assert_int_equal(faccessat(base_fd, "none", F_OK, 0), -1);
    assert_true(watch_try(set, root, SKUA_SLICE("none"), &none, &status));
    assert_int_equal(status, SKUA_ENOENT);
    if (skua_watch_includes_writes()) {
        assert_true(watch_try(set, root, SKUA_SLICE("a/file"), &none, &status));
        assert_int_equal(status, SKUA_ENOENT);
    }
    file_method_set(FILE_METHOD_WALK); // nobody can tell whether it would wait
    skua_watch *again = NULL;
    status = SKUA_EIO;
    assert_false(watch_try(set, root, SKUA_SLICE("b"), &again, &status));
    assert_int_equal(status, SKUA_EIO);
    assert_true(watch_try(set, root, SKUA_SLICE("a"), &again, &status));
    assert_int_equal(status, SKUA_OK);
    assert_ptr_equal(again, watch);
    file_method_set(FILE_METHOD_UNKNOWN);
    watch_close(set, again);
    watch_close(set, watch);
}

// The kernel may have to ask whoever answers for them, while everybody who looks for a watch would
// wait.
static void test_watch_of_what_others_answer_for(void **state)
{
    (void)state;
    skua_root *others, *top;
    skua_watch *watch = NULL;
    skua_status status = SKUA_EIO;
    if (!skua_watch_includes_writes()) skip();
    assert_int_equal(skua_root_open("/proc", &others), SKUA_OK);
    assert_int_equal(watch_open(set, others, SKUA_SLICE("self"), &watch), SKUA_EUNSUPPORTED);
    assert_true(watch_try(set, others, SKUA_SLICE("self"), &watch, &status));
    assert_int_equal(status, SKUA_EUNSUPPORTED);
    skua_root_close(others);
    assert_int_equal(skua_root_open("/", &top), SKUA_OK);
    assert_int_equal(watch_open(set, top, SKUA_SLICE("proc/self"), &watch), SKUA_EUNSUPPORTED);
    assert_null(watch);
    skua_root_close(top);
}

static void test_watch_of_the_root(void **state)
{
    (void)state;
    skua_watch *watch = open_watch("");
    uint64_t seen = 0;
    put("top", "x");
    assert_true(changed(watch, &seen));
    put("a/file", "y");
    assert_false(changed(watch, &seen));
    watch_close(set, watch);
}

// Nobody may believe a dead watch again, and the path can be watched anew.
static void check_dead(skua_watch *watch, const char *path)
{
    uint64_t seen = 0;
    for (int i = 0; i < 5; i++)
        assert_true(changed(watch, &seen));
    assert_int_equal(mkdirat(base_fd, path, 0755), 0);
    skua_watch *fresh = open_watch(path);
    assert_ptr_not_equal(fresh, watch);
    uint64_t fresh_seen = 0;
    assert_false(changed(fresh, &fresh_seen));
    char file[32];
    (void)snprintf(file, sizeof file, "%s/new", path);
    put(file, "x");
    assert_true(changed(fresh, &fresh_seen));
    assert_false(changed(fresh, &fresh_seen));
    watch_close(set, watch);
    assert_int_equal(unlinkat(base_fd, file, 0), 0);
    assert_true(changed(fresh, &fresh_seen));
    watch_close(set, fresh);
}

static void test_watch_dies_with_its_directory(void **state)
{
    (void)state;
    skua_watch *watch = open_watch("b");
    assert_int_equal(unlinkat(base_fd, "b", AT_REMOVEDIR), 0);
    check_dead(watch, "b");
}

static void test_watch_dies_when_its_directory_moves(void **state)
{
    (void)state;
    skua_watch *watch = open_watch("a"), *linked = open_watch("link");
    assert_int_equal(renameat(base_fd, "a", base_fd, "moved"), 0);
    check_dead(watch, "a");
    uint64_t seen = 0;
    for (int i = 0; i < 5; i++)
        assert_true(changed(linked, &seen));
    watch_close(set, linked);
}

static void refuse(const char *path, skua_status expected)
{
    skua_watch *watch = NULL;
    assert_int_equal(watch_open(set, root, slice_of(path), &watch), expected);
    assert_null(watch);
}

static void test_watch_stays_beneath_the_root(void **state)
{
    (void)state;
    refuse("out", SKUA_EACCES);
    refuse("..", SKUA_EACCES);
    refuse("/", SKUA_EACCES);
    refuse("/etc", SKUA_EACCES);
    refuse("nothing", SKUA_ENOENT);
    bool files = !skua_watch_includes_writes();
    if (!files) refuse("a/file", SKUA_ENOENT);
    refuse("fifo", files ? SKUA_EACCES : SKUA_ENOENT);
    skua_watch *watch = NULL;
    assert_int_equal(watch_open(set, root, SKUA_SLICE("a\0b"), &watch), SKUA_ENOENT);
}

static void test_watch_dies_of_an_overflow(void **state)
{
    (void)state;
    if (!skua_watch_includes_writes()) skip(); // kqueue has no queue that could overflow
    unsigned long queue = 16384;
    FILE *limit = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
    if (limit) {
        assert_int_equal(fscanf(limit, "%lu", &queue), 1);
        (void)fclose(limit);
    }
    if (queue > 100000) {
        print_message("the kernel's queue of %lu events is too long to be filled here\n", queue);
        skip();
    }
    skua_watch *busy = open_watch("a"), *quiet = open_watch("b");
    uint64_t seen = 0;
    for (unsigned long i = 0; i <= queue / 2 + 10; i++) {
        assert_int_equal(mkdirat(base_fd, "a/x", 0755), 0);
        assert_int_equal(unlinkat(base_fd, "a/x", AT_REMOVEDIR), 0);
    }
    while (!changed(quiet, &seen) && seen == 0) {
        uint64_t busy_seen = 0;
        assert_true(changed(busy, &busy_seen));
    }
    assert_true(changed(quiet, &seen)); // for ever: the move of its directory may have been lost
    skua_watch *fresh = open_watch("b");
    assert_ptr_not_equal(fresh, quiet);
    uint64_t fresh_seen = 0;
    put("b/new", "x");
    assert_true(changed(fresh, &fresh_seen));
    assert_false(changed(fresh, &fresh_seen));
    watch_close(set, fresh);
    watch_close(set, busy);
    watch_close(set, quiet);
}

static void test_watch_without_inotify(void **state)
{
    (void)state;
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    watch_set *blind = watch_set_new();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_non_null(blind);
    assert_int_equal(watch_set_fd(blind), -1);
    skua_watch *watch = NULL;
    assert_int_equal(watch_open(blind, root, SKUA_SLICE("a"), &watch), SKUA_EUNSUPPORTED);
    watch_set_read(blind);
    watch_set_free(blind);
}

// ---- From many threads ----

static atomic_bool running;

static void *open_and_close(void *user)
{
    static const char *const paths[] = { "a", "b", "link", "", "a/" };
    uintptr_t i = (uintptr_t)user;
    for (int n = 0; n < 2000; n++, i++) {
        skua_watch *watch = NULL;
        if (watch_open(set, root, slice_of(paths[i % 5]), &watch) != SKUA_OK) return user;
        uint64_t first = skua_watch_changes(watch);
        if (skua_watch_changes(watch) < first) return user;
        watch_close(set, watch);
    }
    return NULL;
}

static void *change(void *user)
{
    (void)user;
    while (atomic_load(&running)) {
        put("b/file", "x");
        (void)unlinkat(base_fd, "b/file", 0);
    }
    return NULL;
}

static void test_watch_from_many_threads(void **state)
{
    (void)state;
    pthread_t openers[4], changer;
    atomic_store(&running, true);
    assert_int_equal(pthread_create(&changer, NULL, change, NULL), 0);
    for (uintptr_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&openers[i], NULL, open_and_close, (void *)(i + 1)), 0);
    }
    skua_watch *watch = open_watch("b");
    uint64_t seen = 0;
    for (int i = 0; i < 1000 || seen == 0; i++)
        (void)changed(watch, &seen);
    for (int i = 0; i < 4; i++) {
        void *failed = &running;
        assert_int_equal(pthread_join(openers[i], &failed), 0);
        assert_null(failed);
    }
    atomic_store(&running, false);
    assert_int_equal(pthread_join(changer, NULL), 0);
    watch_close(set, watch);
}

static void *read_events(void *user)
{
    while (atomic_load(&running)) {
        struct pollfd told = { .fd = watch_set_fd(set), .events = POLLIN };
        if (poll(&told, 1, 1) > 0) watch_set_read(set);
    }
    return user;
}

// Who is not told by the kernel, because somebody else has just read the event, must find it
// counted.
static void test_watch_is_counted_when_another_has_read(void **state)
{
    (void)state;
    pthread_t readers[3];
    skua_watch *watch = open_watch("a");
    atomic_store(&running, true);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_events, NULL), 0);
    unsigned stale = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t before = skua_watch_changes(watch);
        assert_int_equal(fchmodat(base_fd, "a", i & 1 ? 0755 : 0750, 0), 0);
        struct pollfd told = { .fd = watch_set_fd(set), .events = POLLIN };
        if (poll(&told, 1, 0) == 0 && skua_watch_changes(watch) == before) stale++;
    }
    atomic_store(&running, false);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_join(readers[i], NULL), 0);
    watch_close(set, watch);
    assert_int_equal(stale, 0);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(test_watch_counts_changes),
        EACH(test_watch_of_a_file),
        EACH(test_watch_does_not_count_reading),
        EACH(test_watch_is_shared),
        EACH(test_watch_without_waiting),
        EACH(test_watch_of_what_others_answer_for),
        EACH(test_watch_of_the_root),
        EACH(test_watch_dies_with_its_directory),
        EACH(test_watch_dies_when_its_directory_moves),
        EACH(test_watch_stays_beneath_the_root),
        EACH(test_watch_dies_of_an_overflow),
        EACH(test_watch_without_inotify),
        EACH(test_watch_from_many_threads),
        EACH(test_watch_is_counted_when_another_has_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
