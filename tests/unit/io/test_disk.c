// SPDX-License-Identifier: MIT
//
// Disk, with real files that have been driven out of the kernel's memory: what is not there is done
// elsewhere, which is a list here that the test works off when it likes, and the loop goes on
// meanwhile.

#include "io/disk.h"
#include "io/file.h"
#include "io/page_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { FILE_OCTETS = 2500000, ERRANDS_MAX = 8, TURNS_MAX = 20000 };

typedef struct end {
    io_stream stream;
    out_queue out;
    out_segment segments[16];
    int peer;
    uint64_t got; // octets that the peer has received, all of them right
    bool closed, failed;
} end;

typedef struct rig {
    io_loop loop;
    pool ends;
    block_store store;
    io_op *errands[ERRANDS_MAX];
    unsigned errand_count;
    bool refuses; // to take errands
    char folder[64];
    int root, file;
} rig;

static char pattern(uint64_t at)
{
    return (char)(at * 2654435761u >> 13);
}

// ---- The loop's owner ----

static void end_received(io_stream *stream, char *octets, size_t len)
{
    (void)stream, (void)octets, (void)len;
}

static void end_ended(io_stream *stream, io_end how)
{
    (void)stream, (void)how;
}

static void end_kicked(io_stream *stream)
{
    (void)stream;
}

static void end_sent(io_stream *stream, uint64_t n)
{
    (void)stream, (void)n;
}

static void end_send_failed(io_stream *stream)
{
    ((end *)(void *)stream)->failed = true;
}

static void end_closed(io_stream *stream)
{
    ((end *)(void *)stream)->closed = true;
}

static const io_stream_events end_events = {
    .received = end_received,
    .ended = end_ended,
    .kicked = end_kicked,
    .sent = end_sent,
    .send_failed = end_send_failed,
    .closed = end_closed,
};

static bool take_errand(io_loop *loop, io_op *op)
{
    rig *r = loop->owner;
    if (r->refuses) return false;
    assert_true(r->errand_count < ERRANDS_MAX);
    r->errands[r->errand_count++] = op;
    return true;
}

static void do_errands(rig *r)
{
    unsigned count = r->errand_count;
    r->errand_count = 0;
    for (unsigned i = 0; i < count; i++) {
        io_perform(r->errands[i]);
        io_complete(r->errands[i]);
    }
}

// ---- Rig ----

static void write_file(rig *r)
{
    char *octets = malloc(FILE_OCTETS);
    assert_non_null(octets);
    for (uint64_t i = 0; i < FILE_OCTETS; i++)
        octets[i] = pattern(i);
    int fd = openat(r->root, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    for (size_t at = 0; at < FILE_OCTETS;) {
        ssize_t n = pwrite(fd, octets + at, FILE_OCTETS - at, (off_t)at);
        assert_true(n > 0);
        at += (size_t)n;
    }
    assert_int_equal(fsync(fd), 0);
    free(octets);
    r->file = fd;
}

// Not in /tmp, which may be memory.
static void rig_open(rig *r, const io_backend *backend)
{
    *r = (rig){ .root = -1 };
    const char *call;
    if (backend->probe && backend->probe(&call)) skip(); // no io_uring here
    snprintf(r->folder, sizeof r->folder, "test_disk.XXXXXX");
    assert_non_null(mkdtemp(r->folder));
    r->root = open(r->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(r->root >= 0);
    write_file(r);
    pool_init(&r->ends, (sizeof(end) + 15) & ~(size_t)15, 16);
    block_store_init(&r->store, 8);
    r->loop.events[0] = &end_events;
    r->loop.streams = &r->ends;
    r->loop.owner = r;
    r->loop.elsewhere = take_errand;
    r->loop.send_turn_octets_max = 2097152;
    assert_int_equal(io_loop_open(&r->loop, backend), SKUA_OK);
    io_timers_init(&r->loop.timers, r->loop.now_ns, NULL, NULL);
    assert_int_equal(io_settle(&r->loop), SKUA_OK);
}

static void rig_close(rig *r)
{
    io_loop_close(&r->loop);
    pool_deinit(&r->ends);
    block_store_deinit(&r->store);
    (void)close(r->file);
    assert_int_equal(unlinkat(r->root, "file", 0), 0);
    (void)close(r->root);
    assert_int_equal(rmdir(r->folder), 0);
}

// Skips the test where the file system keeps everything in memory, or nobody can tell what it does.
static void drive_out(const rig *r)
{
    page_cache_load(r->file, 0, FILE_OCTETS);
    if (!page_cache_holds(r->file, 0, FILE_OCTETS)) skip();
    assert_int_equal(posix_fadvise(r->file, 0, 0, POSIX_FADV_DONTNEED), 0);
    if (page_cache_holds(r->file, 0, FILE_OCTETS)) skip();
}

// Found out without looking at the file, which could begin to read it. What has begun may take its
// time.
static bool is_driven_out(const rig *r)
{
    enum { PAGES = FILE_OCTETS / 4096 + 1 };
    unsigned char pages[PAGES];
    void *map = mmap(NULL, FILE_OCTETS, PROT_READ, MAP_SHARED, r->file, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    (void)nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
    assert_int_equal(mincore(map, FILE_OCTETS, pages), 0);
    assert_int_equal(munmap(map, FILE_OCTETS), 0);
    for (long i = 0; i < FILE_OCTETS / sysconf(_SC_PAGESIZE); i++) {
        if (pages[i] & 1) return false;
    }
    return true;
}

static end *end_open(rig *r)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    end *e = pool_take(&r->ends);
    assert_non_null(e);
    io_stream_open(&e->stream, pair[0]);
    e->peer = pair[1];
    out_init(&e->out, &r->store, e->segments, 16);
    e->stream.out = &e->out;
    return e;
}

static void end_close(rig *r, end *e)
{
    out_deinit(&e->out);
    io_close(&r->loop, &e->stream);
    for (int i = 0; i < TURNS_MAX && !e->closed; i++)
        assert_int_equal(io_turn(&r->loop, 0), SKUA_OK);
    assert_true(e->closed);
    (void)close(e->peer);
    pool_give(&r->ends, e);
}

static void end_drain(end *e, uint64_t offset)
{
    static char octets[65536];
    ssize_t n;
    while ((n = recv(e->peer, octets, sizeof octets, 0)) > 0) {
        for (ssize_t i = 0; i < n; i++)
            assert_int_equal(octets[i], pattern(offset + e->got + (uint64_t)i));
        e->got += (uint64_t)n;
    }
}

static void turn_some(rig *r)
{
    for (int i = 0; i < 4; i++)
        assert_int_equal(io_turn(&r->loop, 0), SKUA_OK);
}

static unsigned open_descriptors(void)
{
    unsigned count = 0;
    DIR *list = opendir("/proc/self/fd");
    assert_non_null(list);
    while (readdir(list))
        count++;
    (void)closedir(list);
    return count;
}

// ---- The page cache ----

static void test_page_cache_knows_what_is_there(const io_backend *backend)
{
    rig r;
    rig_open(&r, backend);
    drive_out(&r);
    static char octets[65536];
    assert_int_equal(page_cache_read(r.file, octets, sizeof octets, 1048576), -1);
    page_cache_load(r.file, 1048576, 65536);
    assert_true(page_cache_holds(r.file, 1048576, 65536));
    assert_int_equal(page_cache_read(r.file, octets, sizeof octets, 1048576), sizeof octets);
    for (uint64_t i = 0; i < sizeof octets; i++)
        assert_int_equal(octets[i], pattern(1048576 + i));
    static char parts[2][65536];
    struct iovec places[] = { { parts[0], 1000 }, { parts[1], 64536 } };
    assert_int_equal(page_cache_read_to(r.file, places, 2, 65536, 1048576), 65536);
    assert_memory_equal(parts[0], octets, 1000);
    assert_memory_equal(parts[1], octets + 1000, 64536);
    assert_true(page_cache_holds(r.file, 0, 0));
    // Less than was asked for is for those who may wait.
    assert_int_equal(page_cache_read(r.file, octets, sizeof octets, FILE_OCTETS - 10), -1);
    rig_close(&r);
}

// By cachestat, of Linux 6.5, which has one number everywhere but on Alpha.
static bool kernel_tells(int fd)
{
    uint64_t range[2] = { 0, FILE_OCTETS }, stat[5];
    return syscall(451, fd, range, stat, 0) == 0;
}

// Where the kernel can tell what is there, asking begins no reading, which would wait where the
// disk has enough to do.
static void test_page_cache_is_looked_at_only(const io_backend *backend)
{
    rig r;
    rig_open(&r, backend);
    if (!kernel_tells(r.file)) skip();
    page_cache_load(r.file, 0, FILE_OCTETS);
    assert_int_equal(posix_fadvise(r.file, 0, 0, POSIX_FADV_DONTNEED), 0);
    if (!is_driven_out(&r)) skip();
    char octets[100];
    assert_false(page_cache_holds(r.file, 0, 1048576));
    assert_int_equal(page_cache_read(r.file, octets, sizeof octets, 0), -1);
    assert_true(is_driven_out(&r));
    rig_close(&r);
}

// A part that was there a moment ago is not looked at again. When it has gone meanwhile, nobody waits.
static void test_what_is_read_is_believed_to_stay(const io_backend *backend)
{
    rig r;
    rig_open(&r, backend);
    static char octets[65536];
    struct iovec place = { octets, sizeof octets };
    page_cache_load(r.file, 0, FILE_OCTETS);
    assert_true(disk_read_cached(&r.loop, r.file, &place, 1, sizeof octets, 65536));
    assert_true(disk_read_cached(&r.loop, r.file, &place, 1, sizeof octets, 131072));
    drive_out(&r);
    assert_false(disk_read_cached(&r.loop, r.file, &place, 1, sizeof octets, 65536));
    page_cache_load(r.file, 65536, sizeof octets);
    memset(octets, 0, sizeof octets);
    assert_true(disk_read_cached(&r.loop, r.file, &place, 1, sizeof octets, 65536));
    for (uint64_t i = 0; i < sizeof octets; i++)
        assert_int_equal(octets[i], pattern(65536 + i));
    rig_close(&r);
}

// ---- Operations ----

static void note_result(io_op *op, int64_t result)
{
    *(int64_t *)op->user = result;
}

static int64_t run_op(rig *r, io_op *op)
{
    int64_t result = INT64_MIN;
    op->done = note_result;
    op->user = &result;
    io_submit(&r->loop, op);
    turn_some(r);
    return result;
}

static void test_disk_reads_elsewhere_what_is_not_there(const io_backend *backend)
{
    rig r;
    rig_open(&r, backend);
    drive_out(&r);
    char octets[100] = { 0 };
    int64_t result = INT64_MIN;
    io_op op = { .code = IO_FILE_READ,
                 .fd = r.file,
                 .buffer = octets,
                 .length = sizeof octets,
                 .offset = 2000000 };
    op.done = note_result;
    op.user = &result;
    io_submit(&r.loop, &op);
    turn_some(&r);
    assert_int_equal(r.errand_count, 1);
    assert_int_equal(result, INT64_MIN);
    do_errands(&r);
    assert_int_equal(result, sizeof octets);
    assert_int_equal(octets[99], pattern(2000099));
    assert_int_equal(run_op(&r, &op), sizeof octets); // it is there now
    assert_int_equal(r.errand_count, 0);
    rig_close(&r);
}

static void test_disk_opens_elsewhere_what_may_wait(const io_backend *backend)
{
    rig r;
    rig_open(&r, backend);
    io_op op = { .code = IO_FILE_OPEN, .fd = r.root, .path = SKUA_SLICE("file") };
    if (!file_is_remote(r.root) && file_method_get() == FILE_METHOD_OPENAT2) {
        int64_t fd = run_op(&r, &op);
        assert_int_equal(r.errand_count, 0);
        assert_true(fd >= 0);
        assert_int_equal(op.info.size, FILE_OCTETS);
        r.loop.backend->discard(&r.loop, (int)fd);
    }
    op.remote = true;
    int64_t result = INT64_MIN;
    op.user = &result;
    io_submit(&r.loop, &op);
    turn_some(&r);
    assert_int_equal(r.errand_count, 1);
    do_errands(&r);
    assert_true(result >= 0);
    r.loop.backend->discard(&r.loop, (int)result);
    op.path = SKUA_SLICE("none");
    r.refuses = true; // then there is nothing for it but to wait
    assert_int_equal(run_op(&r, &op), -(int64_t)SKUA_ENOENT);
    rig_close(&r);
}

// ---- Sending ----

static void test_disk_sends_when_it_has_been_loaded(const io_backend *backend)
{
    rig r;
    rig_open(&r, backend);
    drive_out(&r);
    end *cold = end_open(&r), *other = end_open(&r);
    out_file(&cold->out, r.file, 0, FILE_OCTETS, NULL, NULL);
    io_send(&r.loop, &cold->stream);
    turn_some(&r);
    assert_int_equal(r.errand_count, 1);
    end_drain(cold, 0);
    assert_int_equal(cold->got, 0);
    assert_true(out_copy(&other->out, SKUA_SLICE("x")));
    io_send(&r.loop, &other->stream);
    turn_some(&r);
    assert_int_equal(other->out.octets, 0);
    for (int i = 0; i < TURNS_MAX && cold->got < FILE_OCTETS; i++) {
        do_errands(&r);
        assert_int_equal(io_turn(&r.loop, 0), SKUA_OK);
        end_drain(cold, 0);
    }
    assert_int_equal(cold->got, FILE_OCTETS);
    assert_false(cold->failed);
    end_close(&r, cold);
    end_close(&r, other);
    rig_close(&r);
}

static void test_disk_sends_at_once_what_is_there(const io_backend *backend)
{
    rig r;
    rig_open(&r, backend);
    drive_out(&r);
    page_cache_load(r.file, 1000000, 1000000);
    end *e = end_open(&r);
    out_file(&e->out, r.file, 1000001, 900000, NULL, NULL);
    io_send(&r.loop, &e->stream);
    for (int i = 0; i < TURNS_MAX && e->got < 900000; i++) {
        assert_int_equal(io_turn(&r.loop, 0), SKUA_OK);
        end_drain(e, 1000001);
    }
    assert_int_equal(e->got, 900000);
    assert_int_equal(r.errand_count, 0);
    end_close(&r, e);
    rig_close(&r);
}

static void begin_to_send(rig *r, end *e, int fd)
{
    out_file(&e->out, fd, 0, FILE_OCTETS, NULL, NULL);
    io_send(&r->loop, &e->stream);
    turn_some(r);
    assert_int_equal(r->errand_count, 1);
}

static void test_disk_loads_nothing_for_who_has_gone(const io_backend *backend)
{
    rig r;
    rig_open(&r, backend);
    drive_out(&r);
    unsigned before = open_descriptors();
    end *e = end_open(&r);
    begin_to_send(&r, e, r.file);
    end_close(&r, e);
    do_errands(&r);
    turn_some(&r);
    assert_int_equal(open_descriptors(), before);
    assert_true(is_driven_out(&r));
    rig_close(&r);
}

// The number of a file that was closed meanwhile is another's, of which nothing is known.
static void test_disk_believes_nothing_of_who_is_going(const io_backend *backend)
{
    rig r;
    rig_open(&r, backend);
    drive_out(&r);
    int number = fcntl(r.file, F_DUPFD_CLOEXEC, 0);
    assert_true(number >= 0);
    end *going = end_open(&r), *other = end_open(&r);
    begin_to_send(&r, going, number);
    out_deinit(&going->out);
    io_close(&r.loop, &going->stream);
    r.loop.backend->discard(&r.loop, number);
    do_errands(&r);
    assert_int_equal(dup2(r.file, number), number);
    assert_int_equal(posix_fadvise(r.file, 0, 0, POSIX_FADV_DONTNEED), 0);
    begin_to_send(&r, other, number);
    end_close(&r, other);
    end_close(&r, going);
    do_errands(&r);
    (void)close(number);
    rig_close(&r);
}

static int spare = -1;

static bool give_spare(io_loop *loop)
{
    (void)loop;
    if (spare < 0) return false;
    (void)close(spare);
    spare = -1;
    return true;
}

static void test_disk_loads_with_a_descriptor_given_up(const io_backend *backend)
{
    rig r;
    struct rlimit limit, low;
    rig_open(&r, backend);
    drive_out(&r);
    end *e = end_open(&r);
    spare = fcntl(r.file, F_DUPFD_CLOEXEC, 0);
    r.loop.evict = give_spare;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    low = (struct rlimit){ .rlim_cur = (rlim_t)spare + 1, .rlim_max = limit.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    begin_to_send(&r, e, r.file);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(spare, -1);
    end_close(&r, e);
    do_errands(&r);
    rig_close(&r);
}

static void test_disk_waits_if_nobody_else_can(const io_backend *backend)
{
    rig r;
    rig_open(&r, backend);
    drive_out(&r);
    r.refuses = true;
    end *e = end_open(&r);
    out_file(&e->out, r.file, 0, FILE_OCTETS, NULL, NULL);
    io_send(&r.loop, &e->stream);
    for (int i = 0; i < TURNS_MAX && e->got < FILE_OCTETS; i++) {
        assert_int_equal(io_turn(&r.loop, 0), SKUA_OK);
        end_drain(e, 0);
    }
    assert_int_equal(e->got, FILE_OCTETS);
    end_close(&r, e);
    rig_close(&r);
}

static void test_disk_sends_a_file_that_ended_early(const io_backend *backend)
{
    rig r;
    rig_open(&r, backend);
    drive_out(&r);
    end *e = end_open(&r);
    out_file(&e->out, r.file, FILE_OCTETS - 10, 1000, NULL, NULL);
    io_send(&r.loop, &e->stream);
    for (int i = 0; i < TURNS_MAX && !e->failed; i++) {
        do_errands(&r);
        assert_int_equal(io_turn(&r.loop, 0), SKUA_OK);
        end_drain(e, FILE_OCTETS - 10);
    }
    assert_true(e->failed);
    assert_int_equal(e->got, 10);
    end_close(&r, e);
    rig_close(&r);
}

// ---- On each backend ----

typedef void disk_test(const io_backend *backend);

static disk_test *const disk_tests[] = {
    test_page_cache_knows_what_is_there,        test_page_cache_is_looked_at_only,
    test_what_is_read_is_believed_to_stay,      test_disk_reads_elsewhere_what_is_not_there,
    test_disk_opens_elsewhere_what_may_wait,    test_disk_sends_when_it_has_been_loaded,
    test_disk_sends_at_once_what_is_there,      test_disk_loads_nothing_for_who_has_gone,
    test_disk_waits_if_nobody_else_can,         test_disk_sends_a_file_that_ended_early,
    test_disk_believes_nothing_of_who_is_going, test_disk_loads_with_a_descriptor_given_up,
};

enum { DISK_TESTS = sizeof disk_tests / sizeof *disk_tests };

static void test_disk_on_epoll(void **state)
{
    (*(disk_test **)*state)(&io_backend_epoll);
}

static void test_disk_on_uring(void **state)
{
    (*(disk_test **)*state)(&io_backend_uring);
}

int main(void)
{
    static const char *const names[DISK_TESTS] = {
        "the page cache",
        "looking only",
        "what is believed",
        "reading",
        "opening",
        "sending what is loaded",
        "sending what is there",
        "one who has gone",
        "nobody else",
        "a file that ended early",
        "one who is going",
        "a descriptor given up",
    };
    struct CMUnitTest tests[2 * DISK_TESTS];
    for (size_t i = 0; i < DISK_TESTS; i++) {
        union {
            disk_test *const *from;
            void *to;
        } which = { .from = &disk_tests[i] };
        tests[2 * i] = (struct CMUnitTest){ names[i], test_disk_on_epoll, NULL, NULL, which.to };
        tests[2 * i + 1] =
            (struct CMUnitTest){ names[i], test_disk_on_uring, NULL, NULL, which.to };
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
