// SPDX-License-Identifier: MIT
//
// Files beneath a directory, by openat2 and by the walk: what opens, what is refused, and that
// nobody who renames things meanwhile gets either of them to leave the root.

#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static char base[] = "/tmp/skua-test-XXXXXX";
static int base_fd = -1;
static file_root root = { .fd = -1 };

static void put(const char *path, const char *text)
{
    int fd = openat(base_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void link_to(const char *target, const char *path)
{
    assert_int_equal(symlinkat(target, base_fd, path), 0);
}

static void directory(const char *path)
{
    assert_int_equal(mkdirat(base_fd, path, 0755), 0);
}

static void make_socket(void)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    (void)snprintf(un.sun_path, sizeof un.sun_path, "%.32s/shared/socket", base);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&un, sizeof un), 0);
    close(fd);
}

// A link with an absolute text: the path of base and what is behind it.
static void link_to_absolute(const char *target, const char *path)
{
    char text[128];
    (void)snprintf(text, sizeof text, "%.32s%s", base, target);
    link_to(text, path);
}

static void make_links_that_leave(void)
{
    link_to("shared", "alias");
    link_to("loop-outside", "loop-outside");
    link_to_absolute("/shared/file", "shared/absolute-in");
    link_to_absolute("/shared/a/", "shared/absolute-directory");
    link_to_absolute("/shared", "shared/absolute-self");
    link_to_absolute("/alias/file", "shared/absolute-alias");
    link_to_absolute("/shared/a/../../shared/./file", "shared/absolute-again");
    link_to_absolute("/shared/absolute-in", "shared/absolute-twice");
    link_to_absolute("/shared/nothing", "shared/absolute-dangling");
    link_to_absolute("/shared/../secret", "shared/absolute-out-later");
    link_to_absolute("/secret", "shared/absolute-beside");
    link_to_absolute("/secret/below", "shared/absolute-below-file");
    link_to_absolute("/nothing/at/all", "shared/absolute-nothing");
    link_to_absolute("/loop-outside/file", "shared/absolute-loop");
    link_to("../shared/file", "shared/back");
    link_to("../../../shared/a/b/deep", "shared/a/b/back");
}

static void make_links(void)
{
    link_to("file", "shared/in");
    link_to("a/b", "shared/in-directory");
    link_to("../../file", "shared/a/b/up");
    link_to("../../../secret", "shared/a/b/out");
    link_to("../secret", "shared/out");
    link_to("a/../../secret", "shared/out-later");
    link_to("/etc/passwd", "shared/absolute");
    link_to("/", "shared/absolute-root");
    link_to("nothing", "shared/dangling");
    link_to("loop", "shared/loop");
    link_to("file/", "shared/in-slash");
    link_to(".", "shared/self");
    link_to("in-directory/up", "shared/in-two");
    link_to("..", "shared/parent");
    make_links_that_leave();
    char from[32], to[24];
    link_to("file", "shared/chain-1");
    for (int i = 2; i <= 41; i++) {
        (void)snprintf(from, sizeof from, "shared/chain-%d", i);
        (void)snprintf(to, sizeof to, "chain-%d", i - 1);
        link_to(to, from);
    }
}

static int set_up(void **state)
{
    (void)state;
    umask(022);
    assert_non_null(mkdtemp(base));
    assert_int_equal(chmod(base, 0755), 0);
    base_fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    directory("shared");
    directory("shared/a");
    directory("shared/a/b");
    directory("shared/unsearchable");
    put("secret", "outside");
    put("shared/file", "inside");
    put("shared/a/b/deep", "deep inside");
    put("shared/unreadable", "hidden");
    put("shared/unsearchable/file", "hidden");
    assert_int_equal(fchmodat(base_fd, "shared/unreadable", 0, 0), 0);
    assert_int_equal(fchmodat(base_fd, "shared/unsearchable", 0, 0), 0);
    assert_int_equal(mkfifoat(base_fd, "shared/fifo", 0644), 0);
    make_links();
    make_socket();
    root.fd = openat(base_fd, "shared", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(root.fd >= 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[64];
    close(root.fd);
    close(base_fd);
    (void)snprintf(command, sizeof command, "rm -rf %.32s", base);
    return system(command);
}

typedef struct path_case {
    const char *path;
    skua_status status; // of opening; looking differs where other is set
    skua_file_kind kind;
    bool other; // looking works and says SKUA_FILE_OTHER
} path_case;

static const path_case path_cases[] = {
    { "file", SKUA_OK, SKUA_FILE_REGULAR, false },
    { "a/b/deep", SKUA_OK, SKUA_FILE_REGULAR, false },
    { "a//b/./deep", SKUA_OK, SKUA_FILE_REGULAR, false },
    { "a/../file", SKUA_OK, SKUA_FILE_REGULAR, false },
    { "a/b/../../file", SKUA_OK, SKUA_FILE_REGULAR, false },
    { "a/b/..", SKUA_OK, SKUA_FILE_DIRECTORY, false },
    { "", SKUA_OK, SKUA_FILE_DIRECTORY, false },
    { ".", SKUA_OK, SKUA_FILE_DIRECTORY, false },
    { "a", SKUA_OK, SKUA_FILE_DIRECTORY, false },
    { "a/", SKUA_OK, SKUA_FILE_DIRECTORY, false },
    { "in", SKUA_OK, SKUA_FILE_REGULAR, false },
    { "in-directory", SKUA_OK, SKUA_FILE_DIRECTORY, false },
    { "in-directory/", SKUA_OK, SKUA_FILE_DIRECTORY, false },
    { "in-directory/deep", SKUA_OK, SKUA_FILE_REGULAR, false },
    { "a/b/up", SKUA_OK, SKUA_FILE_REGULAR, false },
    { "in-two", SKUA_OK, SKUA_FILE_REGULAR, false },
    { "self/self/self/file", SKUA_OK, SKUA_FILE_REGULAR, false },
    { "chain-40", SKUA_OK, SKUA_FILE_REGULAR, false },
    { "chain-41", SKUA_ENOENT, SKUA_FILE_OTHER, false },
    { "in-slash", SKUA_ENOENT, SKUA_FILE_OTHER, false },
    { "nothing", SKUA_ENOENT, SKUA_FILE_OTHER, false },
    { "nothing/file", SKUA_ENOENT, SKUA_FILE_OTHER, false },
    { "file/", SKUA_ENOENT, SKUA_FILE_OTHER, false },
    { "file/file", SKUA_ENOENT, SKUA_FILE_OTHER, false },
    { "in/file", SKUA_ENOENT, SKUA_FILE_OTHER, false },
    { "dangling", SKUA_ENOENT, SKUA_FILE_OTHER, false },
    { "dangling/file", SKUA_ENOENT, SKUA_FILE_OTHER, false },
    { "loop", SKUA_ENOENT, SKUA_FILE_OTHER, false },
    { "loop/file", SKUA_ENOENT, SKUA_FILE_OTHER, false },
    { "..", SKUA_EACCES, SKUA_FILE_OTHER, false },
    { "../shared/file", SKUA_EACCES, SKUA_FILE_OTHER, false },
    { "../secret", SKUA_EACCES, SKUA_FILE_OTHER, false },
    { "a/../../secret", SKUA_EACCES, SKUA_FILE_OTHER, false },
    { "/etc/passwd", SKUA_EACCES, SKUA_FILE_OTHER, false },
    { "/", SKUA_EACCES, SKUA_FILE_OTHER, false },
    { "out", SKUA_EACCES, SKUA_FILE_OTHER, false },
    { "out-later", SKUA_EACCES, SKUA_FILE_OTHER, false },
    { "a/b/out", SKUA_EACCES, SKUA_FILE_OTHER, false },
    { "absolute", SKUA_EACCES, SKUA_FILE_OTHER, false },
    { "absolute-root/etc/passwd", SKUA_EACCES, SKUA_FILE_OTHER, false },
    { "parent", SKUA_EACCES, SKUA_FILE_OTHER, false },
    { "parent/secret", SKUA_EACCES, SKUA_FILE_OTHER, false },
    { "absolute-in", SKUA_OK, SKUA_FILE_REGULAR, false },
    { "absolute-directory", SKUA_OK, SKUA_FILE_DIRECTORY, false },
    { "absolute-directory/b/deep", SKUA_OK, SKUA_FILE_REGULAR, false },
    { "absolute-self", SKUA_OK, SKUA_FILE_DIRECTORY, false },
    { "absolute-self/absolute-self/file", SKUA_OK, SKUA_FILE_REGULAR, false },
    { "absolute-alias", SKUA_OK, SKUA_FILE_REGULAR, false },
    { "absolute-again", SKUA_OK, SKUA_FILE_REGULAR, false },
    { "absolute-twice", SKUA_OK, SKUA_FILE_REGULAR, false },
    { "back", SKUA_OK, SKUA_FILE_REGULAR, false },
    { "a/b/back", SKUA_OK, SKUA_FILE_REGULAR, false },
    { "absolute-dangling", SKUA_ENOENT, SKUA_FILE_OTHER, false },
    { "absolute-in/file", SKUA_ENOENT, SKUA_FILE_OTHER, false },
    { "absolute-out-later", SKUA_EACCES, SKUA_FILE_OTHER, false },
    { "absolute-beside", SKUA_EACCES, SKUA_FILE_OTHER, false },
    { "absolute-below-file", SKUA_EACCES, SKUA_FILE_OTHER, false },
    { "absolute-nothing", SKUA_EACCES, SKUA_FILE_OTHER, false },
    { "absolute-loop", SKUA_EACCES, SKUA_FILE_OTHER, false },
    { "absolute-directory/../../secret", SKUA_EACCES, SKUA_FILE_OTHER, false },
    { "absolute-root", SKUA_EACCES, SKUA_FILE_OTHER, false },
    { "absolute-root/nothing", SKUA_EACCES, SKUA_FILE_OTHER, false },
    // A link leads out, and the rest of the path back: it would tell where the root is.
    { "parent/shared/file", SKUA_EACCES, SKUA_FILE_OTHER, false },
    { "fifo", SKUA_EACCES, SKUA_FILE_OTHER, true },
    { "socket", SKUA_EACCES, SKUA_FILE_OTHER, true },
};

// The kernel gives up when somebody renames or mounts anything on the machine meanwhile.
static bool opens_cached(const path_case *c, int *fd, io_file_info *info, skua_status *status)
{
    for (unsigned i = 0; i < 1000; i++) {
        if (file_open_cached(root, c->path, false, fd, info, status)) return true;
        if (file_method_get() != FILE_METHOD_OPENAT2) return false;
        sched_yield();
    }
    return false;
}

// A file that was opened just now is in memory. Another file system beneath the root, or a way out
// of it, is for those who may wait.
static void check_cached(const path_case *c)
{
    int fd = -1;
    io_file_info info;
    skua_status status = SKUA_EIO;
    bool done = opens_cached(c, &fd, &info, &status);
    if (done) assert_int_equal(status, c->status);
    if (done && status == SKUA_OK) {
        assert_int_equal(info.kind, c->kind);
        close(fd);
    }
    bool leaves = strstr(c->path, "absolute") || strstr(c->path, "back");
    if (c->status == SKUA_OK && !leaves)
        assert_int_equal(done, file_method_get() == FILE_METHOD_OPENAT2);
}

static void check_open(const path_case *c)
{
    int fd = -1;
    io_file_info info = { .inode = 1234567 };
    skua_status status = file_open_beneath(root, c->path, false, &fd, &info);
    if (status != c->status) fail_msg("\"%s\": status %d, not %d", c->path, status, c->status);
    check_cached(c);
    if (status != SKUA_OK) {
        assert_int_equal(fd, -1);
        assert_int_equal(info.inode, 1234567);
        return;
    }
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(info.kind, c->kind);
    assert_int_equal(info.inode, st.st_ino);
    assert_int_equal(info.size, st.st_size);
    assert_int_equal(info.mtime_ns, (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
    assert_int_equal(info.ctime_ns, (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
}

static void check_look(const path_case *c)
{
    io_file_info info = { .inode = 1234567 };
    skua_status expected = c->other ? SKUA_OK : c->status;
    skua_status status = file_open_beneath(root, c->path, true, NULL, &info);
    if (status != expected) fail_msg("\"%s\": status %d, not %d", c->path, status, expected);
    if (status == SKUA_OK) {
        assert_int_equal(info.kind, c->kind);
    } else {
        assert_int_equal(info.inode, 1234567);
    }
}

static int use_openat2(void **state)
{
    (void)state;
    file_method_set(FILE_METHOD_UNKNOWN);
    if (file_method_get() != FILE_METHOD_OPENAT2)
        print_message("no openat2 here: the walk twice\n");
    return 0;
}

static int use_walk(void **state)
{
    (void)state;
    file_method_set(FILE_METHOD_WALK);
    return 0;
}

static unsigned descriptors(void)
{
    unsigned n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void test_file_opens_beneath(void **state)
{
    (void)state;
    unsigned before = descriptors();
    for (size_t i = 0; i < sizeof path_cases / sizeof *path_cases; i++) {
        check_open(&path_cases[i]);
        check_look(&path_cases[i]);
    }
    assert_int_equal(descriptors(), before);
}

static void test_file_refuses_long_names(void **state)
{
    (void)state;
    static char path[10000];
    int fd = -1;
    io_file_info info;
    static const size_t lens[] = { 255, 256, 257, 4094, 4095, 4096, 4097, 9999 };
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
        memset(path, 'x', lens[i]);
        path[lens[i]] = 0;
        assert_int_equal(file_open_beneath(root, path, false, &fd, &info), SKUA_ENOENT);
        for (size_t k = 0; k < lens[i]; k++)
            path[k] = k % 2 ? '/' : '.';
        skua_status status = lens[i] < 4096 ? SKUA_OK : SKUA_ENOENT;
        assert_int_equal(file_open_beneath(root, path, true, NULL, &info), status);
    }
    assert_int_equal(fd, -1);
}

static void test_file_is_remote_where_others_answer(void **state)
{
    (void)state;
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(file_is_remote(proc));
    close(proc);
    assert_false(file_is_remote(root.fd));
}

static void test_file_refuses_devices(void **state)
{
    (void)state;
    int fd = -1, dev = open("/dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    io_file_info info;
    assert_int_equal(file_open_beneath((file_root){ .fd = dev }, "null", false, &fd, &info),
                     SKUA_EACCES);
    assert_int_equal(file_open_beneath((file_root){ .fd = dev }, "null", true, NULL, &info),
                     SKUA_OK);
    assert_int_equal(info.kind, SKUA_FILE_OTHER);
    assert_int_equal(fd, -1);
    close(dev);
}

// Permissions don't hold root back, so root becomes somebody else for a while.
static void test_file_refuses_the_unreadable(void **state)
{
    (void)state;
    int fd = -1;
    io_file_info info;
    uid_t user = geteuid();
    if (user == 0) assert_int_equal(seteuid(65534), 0);
    skua_status unreadable = file_open_beneath(root, "unreadable", false, &fd, &info);
    skua_status looked = file_open_beneath(root, "unreadable", true, NULL, &info);
    skua_status below = file_open_beneath(root, "unsearchable/file", false, &fd, &info);
    skua_status below_looked = file_open_beneath(root, "unsearchable/file", true, NULL, &info);
    if (user == 0) assert_int_equal(seteuid(0), 0);
    assert_int_equal(unreadable, SKUA_EACCES);
    assert_int_equal(looked, SKUA_OK);
    assert_int_equal(below, SKUA_EACCES);
    assert_int_equal(below_looked, SKUA_EACCES);
    assert_int_equal(fd, -1);
}

static void test_file_says_when_descriptors_ran_out(void **state)
{
    (void)state;
    struct rlimit before, none;
    int fd = -1;
    io_file_info info;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    skua_status opened = file_open_beneath(root, "a/b/deep", false, &fd, &info);
    skua_status looked = file_open_beneath(root, "file", true, NULL, &info);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(opened, SKUA_ENOFILE);
    assert_int_equal(looked, SKUA_ENOFILE);
}

// ---- Listing ----

typedef struct listed {
    unsigned files, directories, others, all;
    unsigned stop_after;
} listed;

static bool on_entry(const char *name, const io_file_info *info, void *user)
{
    listed *seen = user;
    assert_string_not_equal(name, ".");
    assert_string_not_equal(name, "..");
    seen->all++;
    seen->files += info->kind == SKUA_FILE_REGULAR;
    seen->directories += info->kind == SKUA_FILE_DIRECTORY;
    seen->others += info->kind == SKUA_FILE_OTHER;
    if (strcmp(name, "in") == 0) assert_int_equal(info->size, 6);
    if (strcmp(name, "in-directory") == 0) assert_int_equal(info->kind, SKUA_FILE_DIRECTORY);
    if (strcmp(name, "out") == 0) assert_int_equal(info->kind, SKUA_FILE_OTHER);
    return seen->all != seen->stop_after;
}

static void test_file_lists_beneath(void **state)
{
    (void)state;
    unsigned before = descriptors();
    listed seen = { 0 };
    assert_int_equal(file_list_beneath(root, "", SIZE_MAX, on_entry, &seen), SKUA_OK);
    // file, unreadable, in, in-two, back, four absolute ones, chain 1 to 40; a, unsearchable,
    // in-directory, self, two absolute ones; the rest.
    assert_int_equal(seen.files, 4 + 5 + 40);
    assert_int_equal(seen.directories, 4 + 2);
    assert_int_equal(seen.others, 11 + 6);
    listed deep = { 0 };
    assert_int_equal(file_list_beneath(root, "in-directory/", SIZE_MAX, on_entry, &deep), SKUA_OK);
    assert_int_equal(deep.all, 4);
    assert_int_equal(deep.files, 3);
    listed some = { .stop_after = 5 };
    assert_int_equal(file_list_beneath(root, ".", SIZE_MAX, on_entry, &some), SKUA_OK);
    assert_int_equal(some.all, 5);
    listed capped = { 0 };
    assert_int_equal(file_list_beneath(root, ".", 7, on_entry, &capped), SKUA_ELIMIT);
    assert_int_equal(capped.all, 7);
    listed exact = { 0 };
    assert_int_equal(file_list_beneath(root, "a/b", 4, on_entry, &exact), SKUA_OK);
    assert_int_equal(descriptors(), before);
}

static void test_file_lists_directories_only(void **state)
{
    (void)state;
    assert_int_equal(file_list_beneath(root, "file", 9, on_entry, NULL), SKUA_ENOENT);
    assert_int_equal(file_list_beneath(root, "fifo", 9, on_entry, NULL), SKUA_ENOENT);
    assert_int_equal(file_list_beneath(root, "nothing", 9, on_entry, NULL), SKUA_ENOENT);
    assert_int_equal(file_list_beneath(root, "..", 9, on_entry, NULL), SKUA_EACCES);
    assert_int_equal(file_list_beneath(root, "parent", 9, on_entry, NULL), SKUA_EACCES);
}

// ---- Against somebody who renames ----

static atomic_bool swapping;

static void *swap(void *user)
{
    const char *const *names = user;
    while (atomic_load(&swapping)) {
        (void)renameat(base_fd, names[0], base_fd, names[1]);
        (void)renameat(base_fd, names[2], base_fd, names[0]);
        (void)renameat(base_fd, names[0], base_fd, names[2]);
        (void)renameat(base_fd, names[1], base_fd, names[0]);
    }
    return NULL;
}

static void race(const char *const names[3], const char *path, ino_t secret)
{
    pthread_t thread;
    io_file_info info;
    unsigned found = 0;
    atomic_store(&swapping, true);
    assert_int_equal(pthread_create(&thread, NULL, swap, (void *)(uintptr_t)names), 0);
    for (int i = 0; i < 10000 || (found == 0 && i < 2000000); i++) {
        int fd = -1;
        skua_status status = file_open_beneath(root, path, false, &fd, &info);
        if (status != SKUA_OK) continue;
        assert_int_not_equal(info.inode, secret);
        close(fd);
        found++;
    }
    atomic_store(&swapping, false);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(found > 0);
}

static void test_file_stays_beneath_while_renamed(void **state)
{
    (void)state;
    struct stat st;
    assert_int_equal(mkdirat(base_fd, "outside", 0755), 0);
    put("outside/target", "outside");
    assert_int_equal(fstatat(base_fd, "outside/target", &st, 0), 0);
    directory("shared/swapped");
    put("shared/swapped/target", "inside");
    link_to("../outside", "shared/trap");
    // A directory changes places with a link that leads out.
    static const char *const with_link[] = { "shared/swapped", "shared/kept", "shared/trap" };
    race(with_link, "swapped/target", st.st_ino);
    link_to_absolute("/shared/swapped/target", "shared/absolute-swapped");
    race(with_link, "absolute-swapped", st.st_ino);
    assert_int_equal(unlinkat(base_fd, "shared/absolute-swapped", 0), 0);
    // A directory is moved out while the path goes up from it.
    directory("shared/deep");
    directory("shared/deep/er");
    put("shared/deep/target", "inside");
    static const char *const moved_out[] = { "shared/deep/er", "outside/er", "outside/nothing" };
    race(moved_out, "deep/er/../target", st.st_ino);
    assert_int_equal(unlinkat(base_fd, "shared/trap", 0), 0);
    char command[128];
    (void)snprintf(command, sizeof command, "cd %.32s && rm -r outside shared/swapped shared/deep",
                   base);
    assert_int_equal(system(command), 0);
}

static void expect_opening(file_root from, const char *path, skua_status expected)
{
    io_file_info info;
    int fd = -1;
    skua_status status = file_open_beneath(from, path, false, &fd, &info);
    if (status != expected)
        fail_msg("\"%s\", links %d: status %d, not %d", path, from.links, status, expected);
    if (status == SKUA_OK) close(fd);
    skua_status cached = SKUA_EIO;
    if (!file_open_cached(from, path, false, &fd, &info, &cached)) return;
    assert_int_equal(cached, expected);
    if (cached == SKUA_OK) close(fd);
}

static void test_file_follows_the_links_it_is_told_to(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        skua_status none, all;
    } cases[] = {
        { "file", SKUA_OK, SKUA_OK },
        { "a/b/deep", SKUA_OK, SKUA_OK },
        { "", SKUA_OK, SKUA_OK },
        { "in", SKUA_ENOENT, SKUA_OK },
        { "in-directory/deep", SKUA_ENOENT, SKUA_OK },
        { "absolute-in", SKUA_ENOENT, SKUA_OK },
        { "out", SKUA_ENOENT, SKUA_OK },
        { "absolute-beside", SKUA_ENOENT, SKUA_OK },
        { "parent/secret", SKUA_ENOENT, SKUA_OK },
        { "absolute-root/etc/passwd", SKUA_ENOENT, SKUA_OK },
        { "dangling", SKUA_ENOENT, SKUA_ENOENT },
        { "loop", SKUA_ENOENT, SKUA_ENOENT },
        { "fifo", SKUA_EACCES, SKUA_EACCES },
        { "../secret", SKUA_EACCES, SKUA_EACCES },
        { "a/../../secret", SKUA_EACCES, SKUA_EACCES },
        { "/etc/passwd", SKUA_EACCES, SKUA_EACCES },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        file_root from = { .fd = root.fd, .links = SKUA_LINKS_NONE };
        expect_opening(from, cases[i].path, cases[i].none);
        from.links = SKUA_LINKS_ALL;
        expect_opening(from, cases[i].path, cases[i].all);
    }
}

#define BOTH(test)                                                                                 \
    { #test " by openat2", test, use_openat2, NULL, NULL },                                        \
    {                                                                                              \
        #test " by the walk", test, use_walk, NULL, NULL                                           \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(test_file_opens_beneath),
        BOTH(test_file_follows_the_links_it_is_told_to),
        BOTH(test_file_refuses_long_names),
        cmocka_unit_test(test_file_is_remote_where_others_answer),
        BOTH(test_file_refuses_devices),
        BOTH(test_file_refuses_the_unreadable),
        BOTH(test_file_says_when_descriptors_ran_out),
        BOTH(test_file_lists_beneath),
        BOTH(test_file_lists_directories_only),
        BOTH(test_file_stays_beneath_while_renamed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
