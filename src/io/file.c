// SPDX-License-Identifier: MIT
//
// Files beneath a directory. A FIFO or a device is opened without waiting, looked at, and closed:
// finding out beforehand would cost every file two more system calls, and what such an opening may
// stir belongs to whoever put it there.

#include "io/file.h"

#include "io/reserve.h"
#include "io/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/statfs.h>
#include <sys/syscall.h>
#endif

_Static_assert(sizeof(off_t) == 8, "files over 2 GiB: compile with _FILE_OFFSET_BITS=64");

enum { BENEATH_TRIES = 8, BENEATH_PATH_OCTETS = 4096 };

static _Atomic int beneath_method;

// ---- Opening ----

#ifdef __linux__

// The kernel's struct open_how and its flags: the distribution's headers may lag the kernel.
typedef struct beneath_how {
    uint64_t flags, mode, resolve;
} beneath_how;

_Static_assert(sizeof(beneath_how) == 24, "the kernel's ABI");

enum {
#ifdef SYS_openat2
    BENEATH_CALL = SYS_openat2,
#else
    BENEATH_CALL = 437, // everywhere but on Alpha
#endif
    BENEATH_NO_XDEV = 0x01,
    BENEATH_NO_MAGICLINKS = 0x02,
    BENEATH_NO_SYMLINKS = 0x04,
    BENEATH_BENEATH = 0x08,
    BENEATH_CACHED = 0x20
};

static uint64_t beneath_resolve(file_root root)
{
    switch ((skua_links)root.links) {
    case SKUA_LINKS_INSIDE: break;
    case SKUA_LINKS_NONE: return BENEATH_BENEATH | BENEATH_NO_SYMLINKS;
    case SKUA_LINKS_ALL: return BENEATH_NO_MAGICLINKS;
    }
    return BENEATH_BENEATH | BENEATH_NO_MAGICLINKS;
}

static int beneath_openat2(file_root root, const char *path, int flags, uint64_t resolve)
{
    beneath_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
        .resolve = beneath_resolve(root) | resolve,
    };
    for (unsigned times = 0;; times++) {
        long fd = syscall(BENEATH_CALL, root.fd, path[0] ? path : ".", &how, sizeof how);
        if (fd >= 0) return (int)fd;
        if (!reserve_spend(errno, times)) return -errno;
    }
}

// Sandboxes answer EPERM for calls they do not know.
static file_method beneath_probe(void)
{
    int fd = beneath_openat2((file_root){ .fd = AT_FDCWD }, ".", O_PATH, 0);
    if (fd >= 0) (void)close(fd);
    return fd == -ENOSYS || fd == -EPERM ? FILE_METHOD_WALK : FILE_METHOD_OPENAT2;
}

// A file system is local when its disk is this machine's and it opens files without asking another
// process.
bool file_is_remote(int directory)
{
    static const uint32_t local[] = {
        0xef53 /* ext4 */,         0x58465342 /* XFS */,   0x9123683e /* btrfs */,
        0x01021994 /* tmpfs */,    0x858458f6 /* ramfs */, 0x794c7630 /* overlayfs */,
        0xf2f52010 /* F2FS */,     0x2fc12fc1 /* ZFS */,   0xca451a4e /* bcachefs */,
        0x73717368 /* squashfs */, 0xe0f5e1e2 /* EROFS */, 0x9660 /* ISO 9660 */,
        0x4d44 /* FAT */,          0x2011bab0 /* exFAT */, 0x7366746e /* NTFS */,
    };
    struct statfs fs;
    if (fstatfs(directory, &fs) != 0) return true;
    for (size_t i = 0; i < sizeof local / sizeof *local; i++) {
        if ((uint32_t)fs.f_type == local[i]) return false;
    }
    return true;
}

#else

enum { BENEATH_NO_XDEV, BENEATH_CACHED };

static int beneath_openat2(file_root root, const char *path, int flags, uint64_t resolve)
{
    (void)root, (void)path, (void)flags, (void)resolve;
    return -EAGAIN;
}

bool file_is_remote(int directory)
{
    (void)directory;
    return true;
}

static file_method beneath_probe(void)
{
    return FILE_METHOD_WALK;
}

#endif

#ifdef O_PATH
enum { BENEATH_LOOK = O_PATH };
#else
enum { BENEATH_LOOK = O_RDONLY | O_NONBLOCK | O_NOCTTY };
#endif

#ifdef O_LARGEFILE
enum { BENEATH_LARGE = O_LARGEFILE }; // openat2 adds nothing by itself
#else
enum { BENEATH_LARGE = 0 };
#endif

enum { BENEATH_READ = O_RDONLY | O_NONBLOCK | O_NOCTTY | BENEATH_LARGE };

file_method file_method_get(void)
{
    file_method method = (file_method)atomic_load_explicit(&beneath_method, memory_order_relaxed);
    if (method != FILE_METHOD_UNKNOWN) return method;
    method = beneath_probe();
    file_method_set(method);
    return method;
}

void file_method_set(file_method method)
{
    atomic_store_explicit(&beneath_method, (int)method, memory_order_relaxed);
}

// The kernel answers EAGAIN when something was renamed while it went up by "..": it cannot tell
// whether it is still inside. After a few times the walk decides, and so it does about links that
// leave the root, of which the kernel does not look whether they come back.
static int beneath_open_inside(file_root root, const char *path, int flags)
{
    bool follows = root.links != SKUA_LINKS_NONE;
    if (file_method_get() == FILE_METHOD_OPENAT2) {
        for (int i = 0; i < BENEATH_TRIES; i++) {
            int fd = beneath_openat2(root, path, flags, 0);
            if (fd == -EXDEV && follows) break;
            if (fd != -EAGAIN && fd != -EINTR) return fd;
        }
    }
    return walk_open(root.fd, path, flags, follows);
}

// Whether a path could lead out without any link.
static bool beneath_climbs(const char *path)
{
    if (path[0] == '/') return true;
    for (const char *at = path; *at; at += strspn(at, "/")) {
        size_t len = strcspn(at, "/");
        if (len == 2 && memcmp(at, "..", 2) == 0) return true;
        at += len;
    }
    return false;
}

// Wherever links lead.
static int beneath_open_anywhere(file_root root, const char *path, int flags)
{
    if (beneath_climbs(path)) return -EXDEV;
    int fd =
        file_method_get() == FILE_METHOD_OPENAT2 ? beneath_openat2(root, path, flags, 0) : -EAGAIN;
    if (fd != -EAGAIN && fd != -EINTR) return fd;
    return walk_openat(root.fd, path[0] ? path : ".", flags);
}

static int beneath_open(file_root root, const char *path, int flags)
{
    return root.links == SKUA_LINKS_ALL ? beneath_open_anywhere(root, path, flags)
                                        : beneath_open_inside(root, path, flags);
}

static skua_status beneath_status(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
    case ELOOP:
    case EINVAL: // names that a file system does not take
    case EILSEQ: return SKUA_ENOENT;
    case EACCES:
    case EPERM:
    case EXDEV: // out of the root
    case ENXIO: // a socket, or a device without a driver
    case ENODEV: return SKUA_EACCES;
    case EMFILE:
    case ENFILE: return SKUA_ENOFILE;
    case ENOMEM: return SKUA_ENOMEM;
    default: return SKUA_EIO;
    }
}

static int64_t beneath_time(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

#ifdef __APPLE__
static struct timespec beneath_mtime(const struct stat *st)
{
    return st->st_mtimespec;
}
static struct timespec beneath_ctime(const struct stat *st)
{
    return st->st_ctimespec;
}
#else
static struct timespec beneath_mtime(const struct stat *st)
{
    return st->st_mtim;
}
static struct timespec beneath_ctime(const struct stat *st)
{
    return st->st_ctim;
}
#endif

static void beneath_describe(const struct stat *st, io_file_info *info)
{
    *info = (io_file_info){
        .kind = S_ISREG(st->st_mode)   ? SKUA_FILE_REGULAR
                : S_ISDIR(st->st_mode) ? SKUA_FILE_DIRECTORY
                                       : SKUA_FILE_OTHER,
        .size = st->st_size > 0 ? (uint64_t)st->st_size : 0,
        .inode = (uint64_t)st->st_ino,
        .mtime_ns = beneath_time(beneath_mtime(st)),
        .ctime_ns = beneath_time(beneath_ctime(st)),
        .device = (uint64_t)st->st_dev,
    };
}

static skua_status beneath_close(int fd, skua_status status)
{
    reserve_close(fd);
    return status;
}

// opened: the descriptor, or an error below 0.
static skua_status beneath_settle(int opened, bool stat_only, int *fd, io_file_info *info)
{
    struct stat st;
    if (opened < 0) return beneath_status(-opened);
    if (fstat(opened, &st) != 0) return beneath_close(opened, beneath_status(errno));
    if (!stat_only && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return beneath_close(opened, SKUA_EACCES);
    beneath_describe(&st, info);
    if (stat_only) return beneath_close(opened, SKUA_OK);
    *fd = opened;
    return SKUA_OK;
}

skua_status file_open_beneath(file_root root, const char *path, bool stat_only, int *fd,
                              io_file_info *info)
{
    return beneath_settle(beneath_open(root, path, stat_only ? BENEATH_LOOK : BENEATH_READ),
                          stat_only, fd, info);
}

// EAGAIN: not all of the way is in memory. EXDEV may be another file system's, which need not be
// local, and EINVAL a kernel's that cannot tell (before 5.12).
bool file_open_cached(file_root root, const char *path, bool stat_only, int *fd, io_file_info *info,
                      skua_status *status)
{
    if (file_method_get() != FILE_METHOD_OPENAT2) return false;
    if (root.links == SKUA_LINKS_ALL && beneath_climbs(path)) return false;
    int flags = stat_only ? BENEATH_LOOK : BENEATH_READ;
    int opened = beneath_openat2(root, path, flags, BENEATH_CACHED | BENEATH_NO_XDEV);
    if (opened == -EAGAIN || opened == -EXDEV || opened == -EINVAL || opened == -EINTR)
        return false;
    *status = beneath_settle(opened, stat_only, fd, info);
    return true;
}

skua_status file_open_directory(file_root root, const char *path, int *fd)
{
    int opened = beneath_open(root, path, BENEATH_READ | O_DIRECTORY);
    if (opened < 0) return beneath_status(-opened);
    *fd = opened;
    return SKUA_OK;
}

// ---- Listing ----

static bool beneath_is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

// Looks at the file that a link leads to; info stays as it is when that is outside, or nothing.
static void beneath_follow(file_root root, const char *path, const char *name, io_file_info *info)
{
    char whole[BENEATH_PATH_OCTETS];
    int len = snprintf(whole, sizeof whole, "%s/%s", path[0] ? path : ".", name);
    if (len < 0 || (size_t)len >= sizeof whole) return;
    io_file_info found;
    if (file_open_beneath(root, whole, true, NULL, &found) == SKUA_OK) *info = found;
}

// False if the entry has gone meanwhile.
static bool beneath_entry(file_root root, const char *path, DIR *directory, const char *name,
                          io_file_info *info)
{
    struct stat st;
    *info = (io_file_info){ .kind = SKUA_FILE_OTHER };
    if (fstatat(dirfd(directory), name, &st, AT_SYMLINK_NOFOLLOW) != 0) return errno != ENOENT;
    beneath_describe(&st, info);
    if (S_ISLNK(st.st_mode)) beneath_follow(root, path, name, info);
    return true;
}

typedef struct beneath_lister {
    file_root root;
    const char *path;
    DIR *directory;
    size_t left;
    file_entry_fn *each;
    void *user;
} beneath_lister;

// Tells of the next entry. *done: there are no more, or no more are wanted.
static skua_status beneath_list_next(beneath_lister *lister, bool *done)
{
    errno = 0;
    const struct dirent *entry = readdir(lister->directory);
    if (!entry) {
        *done = true;
        return errno ? beneath_status(errno) : SKUA_OK;
    }
    io_file_info info;
    if (beneath_is_dots(entry->d_name)) return SKUA_OK;
    if (!beneath_entry(lister->root, lister->path, lister->directory, entry->d_name, &info))
        return SKUA_OK;
    if (lister->left-- == 0) return SKUA_ELIMIT;
    *done = !lister->each(entry->d_name, &info, lister->user);
    return SKUA_OK;
}

skua_status file_list_beneath(file_root root, const char *path, size_t entries_max,
                              file_entry_fn *each, void *user)
{
    int fd = -1;
    skua_status status = file_open_directory(root, path, &fd);
    if (status != SKUA_OK) return status;
    beneath_lister lister = { root, path, fdopendir(fd), entries_max, each, user };
    if (!lister.directory) return beneath_close(fd, beneath_status(errno));
    bool done = false;
    while (status == SKUA_OK && !done)
        status = beneath_list_next(&lister, &done);
    (void)closedir(lister.directory);
    (void)reserve_mend();
    return status;
}
