// SPDX-License-Identifier: MIT
//
// The kernel's interface is declared here, since headers of distributions are older than kernels. It grows only at
// its end, and a kernel takes a shorter structure.

#include "sandbox/landlock.h"

#ifdef __linux__

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    LANDLOCK_CREATE = 444,
    LANDLOCK_ADD = 445,
    LANDLOCK_RESTRICT = 446
}; // on every architecture
enum { LANDLOCK_ASKS_VERSION = 1, LANDLOCK_RULE_PATH = 1 };

// Rights to files, and the bits of all that a version has.
enum {
    LANDLOCK_WRITE_FILE = 1 << 1,
    LANDLOCK_READ_FILE = 1 << 2,
    LANDLOCK_READ_DIR = 1 << 3,
    LANDLOCK_REMOVE_FILE = 1 << 5,
    LANDLOCK_MAKE_REG = 1 << 8,
    LANDLOCK_WRITES = LANDLOCK_WRITE_FILE | LANDLOCK_REMOVE_FILE | LANDLOCK_MAKE_REG
};
enum {
    LANDLOCK_FS_1 = (1 << 13) - 1,
    LANDLOCK_FS_REFER = 1 << 13,     // from version 2 on
    LANDLOCK_FS_TRUNCATE = 1 << 14,  // 3
    LANDLOCK_FS_IOCTL_DEV = 1 << 15, // 5
    LANDLOCK_NET_TCP = 3,            // 4: bind and connect
    LANDLOCK_SCOPES = 3              // 6: abstract Unix sockets and signals
};

typedef struct landlock_ruleset {
    uint64_t fs, net, scoped;
} landlock_ruleset;

typedef struct __attribute__((packed)) landlock_path {
    uint64_t allowed;
    int32_t parent;
} landlock_path;

_Static_assert(sizeof(landlock_ruleset) == 24 && sizeof(landlock_path) == 12,
               "the kernel's layout");

int landlock_version(void)
{
    long version = syscall(LANDLOCK_CREATE, NULL, (size_t)0, LANDLOCK_ASKS_VERSION);
    return version > 0 ? (int)version : 0;
}

static landlock_ruleset landlock_all(int version, size_t *size)
{
    landlock_ruleset all = { .fs = LANDLOCK_FS_1 };
    if (version >= 2) all.fs |= LANDLOCK_FS_REFER;
    if (version >= 3) all.fs |= LANDLOCK_FS_TRUNCATE;
    if (version >= 4) all.net = LANDLOCK_NET_TCP;
    if (version >= 5) all.fs |= LANDLOCK_FS_IOCTL_DEV;
    if (version >= 6) all.scoped = LANDLOCK_SCOPES;
    *size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
    return all;
}

bool landlock_begin(landlock *rules)
{
    size_t size;
    rules->version = landlock_version();
    if (!rules->version) return false;
    const landlock_ruleset all = landlock_all(rules->version, &size);
    rules->fd = (int)syscall(LANDLOCK_CREATE, &all, size, 0);
    return rules->fd >= 0;
}

static void landlock_add(const landlock *rules, const char *path, uint64_t of_folders)
{
    struct stat info;
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0) return;
    landlock_path rule = { .allowed = LANDLOCK_READ_FILE, .parent = fd };
    if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) rule.allowed |= of_folders;
    (void)syscall(LANDLOCK_ADD, rules->fd, LANDLOCK_RULE_PATH, &rule, 0);
    (void)close(fd);
}

void landlock_read(const landlock *rules, const char *path)
{
    landlock_add(rules, path, LANDLOCK_READ_DIR);
}

void landlock_write(const landlock *rules, const char *path)
{
    landlock_add(rules, path, LANDLOCK_READ_DIR | LANDLOCK_WRITES);
}

bool landlock_end(landlock *rules)
{
    bool done = syscall(LANDLOCK_RESTRICT, rules->fd, 0) == 0;
    (void)close(rules->fd);
    return done;
}

#endif
