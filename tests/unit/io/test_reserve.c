// SPDX-License-Identifier: MIT
//
// The reserve of descriptors: how many are held and when, that openings and only those get them, and
// that it is whole again afterwards, whoever takes descriptors meanwhile.

#include "io/file.h"
#include "io/reserve.h"
#include "io/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { LIMIT = 128, SIZE = LIMIT / 8, THREADS = 8, ROUNDS = 300 };

static struct rlimit usual;
static char folder[] = "/tmp/skua-reserve-XXXXXX";
static int root;

// ---- Descriptors ----

static void allow(unsigned descriptors)
{
    struct rlimit limit = { .rlim_cur = descriptors, .rlim_max = usual.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static unsigned count_open(void)
{
    unsigned n = 0;
    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

typedef struct crowd {
    int fds[LIMIT];
    unsigned count;
} crowd;

static void crowd_come(crowd *c)
{
    c->count = 0;
    for (int fd; (fd = dup(root)) >= 0;)
        c->fds[c->count++] = fd;
    assert_int_equal(errno, EMFILE);
}

static void crowd_go(crowd *c)
{
    while (c->count)
        assert_int_equal(close(c->fds[--c->count]), 0);
}

static int make_folder(void **state)
{
    (void)state;
    char path[64];
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < THREADS; i++) {
        (void)snprintf(path, sizeof path, "%s/%d", folder, i);
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        assert_true(fd >= 0);
        close(fd);
    }
    root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(root >= 0);
    (void)file_method_get();
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char path[64];
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    for (int i = 0; i < THREADS; i++) {
        (void)snprintf(path, sizeof path, "%s/%d", folder, i);
        assert_int_equal(unlink(path), 0);
    }
    return close(root) || rmdir(folder);
}

// ---- How many ----

static void test_reserve_size(void **state)
{
    (void)state;
    static const struct {
        unsigned limit, asked, size;
    } cases[] = {
        { 128, 0, 16 },  { 1024, 0, 128 }, { 2048, 0, 256 },   { 4096, 0, 256 },   { 1024, 5, 5 },
        { 128, 64, 64 }, { 128, 65, 64 },  { 1024, 256, 256 }, { 1024, 257, 256 },
    };
    unsigned before = count_open();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].limit > usual.rlim_max) continue;
        allow(cases[i].limit);
        unsigned added = reserve_add_server(cases[i].asked);
        assert_int_equal(added, cases[i].size);
        assert_int_equal(count_open(), before); // no root is open
        reserve_add_user();
        assert_int_equal(count_open(), before + cases[i].size + 1);
        assert_false(reserve_is_short());
        reserve_drop_server(added);
        assert_int_equal(count_open(), before);
        reserve_drop_user();
    }
}

static void test_reserve_is_shared_by_servers(void **state)
{
    (void)state;
    allow(1024);
    unsigned before = count_open();
    reserve_add_user();
    assert_int_equal(count_open(), before); // no server runs
    unsigned one = reserve_add_server(10), two = reserve_add_server(20);
    assert_int_equal(count_open(), before + 31);
    unsigned most = reserve_add_server(RESERVE_MAX);
    assert_int_equal(count_open(), before + RESERVE_MAX + 1);
    reserve_drop_server(most);
    assert_int_equal(count_open(), before + 31);
    reserve_drop_server(one);
    assert_int_equal(count_open(), before + 21);
    reserve_drop_user();
    assert_int_equal(count_open(), before);
    reserve_drop_server(two);
}

// ---- Who gets them ----

static void test_reserve_is_spent_and_mended(void **state)
{
    (void)state;
    allow(LIMIT);
    reserve_add_user();
    unsigned added = reserve_add_server(2);
    crowd c;
    crowd_come(&c);
    assert_false(reserve_spend(ENOENT, 0));
    assert_false(reserve_spend(ENFILE, 0)); // duplicates have no room of their own in that table
    assert_false(reserve_spend(EMFILE, RESERVE_TRIES_MAX));
    assert_false(reserve_is_short());
    assert_true(reserve_spend(EMFILE, 0));
    assert_true(reserve_is_short());
    int one = dup(root);
    assert_true(one >= 0);
    assert_false(reserve_mend());
    assert_true(reserve_spend(EMFILE, RESERVE_TRIES_MAX - 1));
    int two = dup(root);
    assert_true(two >= 0);
    assert_false(reserve_spend(EMFILE, 0)); // there are no more
    reserve_close(one);
    assert_true(reserve_is_short());
    assert_true(dup(root) < 0); // it went to the reserve
    reserve_close(two);
    assert_false(reserve_is_short());
    assert_true(reserve_mend());
    assert_true(dup(root) < 0);
    crowd_go(&c);
    reserve_drop_server(added);
    reserve_drop_user();
}

// Files that clients write must not take descriptors from files that others read.
static void test_reserve_is_not_for_scratch_files(void **state)
{
    (void)state;
    allow(LIMIT);
    reserve_add_user();
    unsigned added = reserve_add_server(0);
    crowd c;
    crowd_come(&c);
    int fd = -1;
    assert_int_equal(scratch_open(folder, &fd), SKUA_ENOFILE);
    assert_false(reserve_is_short());
    crowd_go(&c);
    reserve_drop_server(added);
    reserve_drop_user();
}

static int open_file(int number)
{
    char name[16];
    io_file_info info;
    int fd = -1;
    (void)snprintf(name, sizeof name, "%d", number);
    skua_status status = file_open_beneath((file_root){ .fd = root, .links = SKUA_LINKS_INSIDE },
                                           name, false, &fd, &info);
    return status ? -(int)status : fd;
}

static bool tell_nothing(const char *name, const io_file_info *info, void *user)
{
    (void)name, (void)info;
    ++*(unsigned *)user;
    return true;
}

// As many files at once as there are in the reserve, and not one more.
static void open_beneath_with(file_method method)
{
    file_method usually = file_method_get();
    file_method_set(method);
    allow(LIMIT);
    reserve_add_user();
    unsigned added = reserve_add_server(0);
    crowd c;
    int files[SIZE];
    crowd_come(&c);
    for (int i = 0; i < SIZE; i++)
        assert_true((files[i] = open_file(i % THREADS)) >= 0);
    assert_int_equal(open_file(0), -SKUA_ENOFILE);
    for (int i = 0; i < SIZE; i++)
        reserve_close(files[i]);
    assert_false(reserve_is_short());
    unsigned listed = 0;
    assert_int_equal(file_list_beneath((file_root){ .fd = root, .links = SKUA_LINKS_INSIDE }, "",
                                       100, tell_nothing, &listed),
                     SKUA_OK);
    assert_int_equal(listed, THREADS);
    assert_false(reserve_is_short());
    crowd_go(&c);
    reserve_drop_server(added);
    reserve_drop_user();
    file_method_set(usually);
}

static void test_reserve_opens_files(void **state)
{
    (void)state;
    open_beneath_with(file_method_get());
}

static void test_reserve_opens_files_by_walking(void **state)
{
    (void)state;
    open_beneath_with(FILE_METHOD_WALK);
}

// ---- By many threads ----

typedef struct thread_of {
    pthread_t thread;
    int number;
    atomic_bool *over;
    unsigned failed;
} thread_of;

static void *open_and_close(void *user)
{
    thread_of *t = user;
    for (int i = 0; i < ROUNDS; i++) {
        int fd = open_file(t->number);
        if (fd >= 0) reserve_close(fd);
        else t->failed++;
    }
    return NULL;
}

// As a worker that accepts: only while the reserve is whole. What it gets it lets go again. To find a
// descriptor always between another's spending and opening, it would have to do nothing else.
static void *accept_always(void *user)
{
    thread_of *t = user;
    const struct timespec other_work = { .tv_nsec = 20000 };
    while (!atomic_load(t->over)) {
        int fd = reserve_mend() ? dup(root) : -1;
        if (fd >= 0) close(fd);
        nanosleep(&other_work, NULL);
    }
    return NULL;
}

static void test_reserve_by_threads(void **state)
{
    (void)state;
    allow(LIMIT);
    unsigned before = count_open();
    reserve_add_user();
    unsigned added = reserve_add_server(0);
    crowd c;
    crowd_come(&c);
    unsigned full = count_open();
    atomic_bool over = false;
    thread_of threads[THREADS + 1];
    for (int i = 0; i <= THREADS; i++) {
        threads[i] = (thread_of){ .number = i, .over = &over };
        assert_int_equal(pthread_create(&threads[i].thread, NULL,
                                        i < THREADS ? open_and_close : accept_always, &threads[i]),
                         0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i].thread, NULL);
    atomic_store(&over, true);
    pthread_join(threads[THREADS].thread, NULL);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(threads[i].failed, 0);
    assert_true(reserve_mend());
    assert_int_equal(count_open(), full);
    crowd_go(&c);
    assert_int_equal(count_open(), before + SIZE + 1);
    reserve_drop_server(added);
    reserve_drop_user();
    assert_int_equal(count_open(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reserve_size),
        cmocka_unit_test(test_reserve_is_shared_by_servers),
        cmocka_unit_test(test_reserve_is_spent_and_mended),
        cmocka_unit_test(test_reserve_is_not_for_scratch_files),
        cmocka_unit_test(test_reserve_opens_files),
        cmocka_unit_test(test_reserve_opens_files_by_walking),
        cmocka_unit_test(test_reserve_by_threads),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
