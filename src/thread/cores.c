// SPDX-License-Identifier: MIT
//
// Cores. A container is usually held by a quota of time, which the affinity mask does not show: a
// server with a thread for each core of the machine is then stopped in the middle of every period.

#include "thread/cores.h"

#include "base/slice.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#ifdef __linux__
#include <sched.h>
#endif

enum { CORES_TEXT_OCTETS = 4096, CORES_PATH_OCTETS = 1024 };

// The whole of a small file, NUL-terminated; false when there is none, or it is not small.
static bool cores_read(const char *root, const char *folder, const char *name,
                       char text[CORES_TEXT_OCTETS])
{
    char path[CORES_PATH_OCTETS];
    int len = snprintf(path, sizeof path, "%s%s%s", root, folder, name);
    if (len < 0 || (size_t)len >= sizeof path) return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return false;
    ssize_t n = read(fd, text, CORES_TEXT_OCTETS);
    (void)close(fd);
    if (n < 0 || n == CORES_TEXT_OCTETS) return false;
    text[n] = 0;
    return true;
}

// A decimal number at *at, which moves behind it; -1: there is none ("max", or "-1").
static int64_t cores_number(const char **at)
{
    while (**at == ' ')
        (*at)++;
    if (**at < '0' || **at > '9') return -1;
    int64_t n = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        if (n > INT64_MAX / 10 - 10) return -1;
        n = n * 10 + (**at - '0');
    }
    return n;
}

static unsigned cores_of_share(int64_t quota, int64_t period)
{
    if (quota <= 0 || period <= 0) return 0;
    int64_t cores = (quota - 1) / period + 1;
    return cores > 65536 ? 65536 : (unsigned)cores;
}

static unsigned cores_fewer(unsigned a, unsigned b)
{
    if (a == 0) return b;
    return b == 0 || a < b ? a : b;
}

// "200000 100000", or "max 100000".
static unsigned cores_of_group2(const char *root, const char *folder)
{
    char text[CORES_TEXT_OCTETS];
    if (!cores_read(root, folder, "/cpu.max", text)) return 0;
    const char *at = text;
    int64_t quota = cores_number(&at);
    return cores_of_share(quota, cores_number(&at));
}

static unsigned cores_of_group1(const char *root, const char *folder)
{
    char quota[CORES_TEXT_OCTETS], period[CORES_TEXT_OCTETS];
    if (!cores_read(root, folder, "/cpu.cfs_quota_us", quota)) return 0;
    if (!cores_read(root, folder, "/cpu.cfs_period_us", period)) return 0;
    const char *quota_at = quota, *period_at = period;
    return cores_of_share(cores_number(&quota_at), cores_number(&period_at));
}

// The strictest of a group and all above it. Inside of a container the path may be the host's, of
// which only the end of the way up, the mount itself, is there.
static unsigned cores_of_groups(const char *root, const char *mount, slice group,
                                unsigned (*of_group)(const char *root, const char *folder))
{
    unsigned cores = 0;
    char folder[CORES_PATH_OCTETS];
    for (;;) {
        int len = snprintf(folder, sizeof folder, "%s%.*s", mount, (int)group.len, group.ptr);
        if (len > 0 && (size_t)len < sizeof folder)
            cores = cores_fewer(cores, of_group(root, folder));
        if (group.len == 0) return cores;
        while (group.len && group.ptr[--group.len] != '/') {
        }
    }
}

static bool cores_list_has(slice list, slice name)
{
    while (list.len) {
        const char *comma = memchr(list.ptr, ',', list.len);
        size_t len = comma ? (size_t)(comma - list.ptr) : list.len;
        if (slice_equal(slice_make(list.ptr, len), name)) return true;
        list = slice_from(list, comma ? len + 1 : len);
    }
    return false;
}

// A line "0::/group" (version 2) or "3:cpu,cpuacct:/group" (version 1), cgroups(7).
static unsigned cores_of_line(const char *root, slice line)
{
    const char *first = line.len ? memchr(line.ptr, ':', line.len) : NULL;
    if (!first) return 0;
    slice rest = slice_from(line, (size_t)(first - line.ptr) + 1);
    const char *second = rest.len ? memchr(rest.ptr, ':', rest.len) : NULL;
    if (!second) return 0;
    slice controllers = slice_make(rest.ptr, (size_t)(second - rest.ptr));
    slice group = slice_from(rest, controllers.len + 1);
    if (controllers.len == 0) {
        return cores_fewer(cores_of_groups(root, "/sys/fs/cgroup", group, cores_of_group2),
                           cores_of_groups(root, "/sys/fs/cgroup/unified", group, cores_of_group2));
    }
    if (!cores_list_has(controllers, SKUA_SLICE("cpu"))) return 0;
    return cores_fewer(cores_of_groups(root, "/sys/fs/cgroup/cpu", group, cores_of_group1),
                       cores_of_groups(root, "/sys/fs/cgroup/cpu,cpuacct", group, cores_of_group1));
}

__attribute__((cold)) unsigned cores_allowed(const char *root)
{
    char text[CORES_TEXT_OCTETS];
    if (!cores_read(root, "/proc/self", "/cgroup", text)) return 0;
    unsigned cores = 0;
    for (const char *at = text; *at;) {
        size_t len = strcspn(at, "\n");
        cores = cores_fewer(cores, cores_of_line(root, slice_make(at, len)));
        at += len;
        at += strspn(at, "\n");
    }
    return cores;
}

static unsigned cores_reachable(void)
{
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (unsigned)CPU_COUNT(&set);
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}

unsigned cores_usable(void)
{
    return cores_fewer(cores_reachable(), cores_allowed(""));
}
