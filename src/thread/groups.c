// SPDX-License-Identifier: MIT
//
// Control groups, by the files in which the kernel shows them.

#include "thread/groups.h"

#include "base/slice.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { GROUPS_PATH_OCTETS = 1024 };

bool groups_read(const char *root, const char *folder, const char *name,
                 char text[GROUPS_TEXT_OCTETS])
{
    char path[GROUPS_PATH_OCTETS];
    int len = snprintf(path, sizeof path, "%s%s%s", root, folder, name);
    if (len < 0 || (size_t)len >= sizeof path) return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return false;
    ssize_t n = read(fd, text, GROUPS_TEXT_OCTETS);
    (void)close(fd);
    if (n < 0 || n == GROUPS_TEXT_OCTETS) return false;
    text[n] = 0;
    return true;
}

int64_t groups_number(const char **at)
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

static uint64_t groups_less(uint64_t a, uint64_t b)
{
    if (a == 0) return b;
    return b == 0 || a < b ? a : b;
}

// The strictest of a group and all above it. Inside of a container the path may be the host's, of
// which only the end of the way up, the mount itself, is there.
static uint64_t groups_of_path(const char *root, const char *mount, slice group, groups_limit *of)
{
    uint64_t least = 0;
    char folder[GROUPS_PATH_OCTETS];
    for (;;) {
        int len = snprintf(folder, sizeof folder, "%s%.*s", mount, (int)group.len, group.ptr);
        if (len > 0 && (size_t)len < sizeof folder) least = groups_less(least, of(root, folder));
        if (group.len == 0) return least;
        while (group.len && group.ptr[--group.len] != '/') {
        }
    }
}

static bool groups_list_has(slice list, slice name)
{
    while (list.len) {
        const char *comma = memchr(list.ptr, ',', list.len);
        size_t len = comma ? (size_t)(comma - list.ptr) : list.len;
        if (slice_equal(slice_make(list.ptr, len), name)) return true;
        list = slice_from(list, comma ? len + 1 : len);
    }
    return false;
}

static uint64_t groups_of_controllers(const char *root, const groups_kind *kind, slice controllers,
                                      slice group)
{
    if (controllers.len == 0)
        return groups_less(groups_of_path(root, "/sys/fs/cgroup", group, kind->version2),
                           groups_of_path(root, "/sys/fs/cgroup/unified", group, kind->version2));
    uint64_t least = 0;
    if (!groups_list_has(controllers, slice_of(kind->controller))) return 0;
    for (int i = 0; i < 2 && kind->mounts[i]; i++)
        least = groups_less(least, groups_of_path(root, kind->mounts[i], group, kind->version1));
    return least;
}

// A line "0::/group" (version 2) or "3:cpu,cpuacct:/group" (version 1).
static uint64_t groups_of_line(const char *root, const groups_kind *kind, slice line)
{
    const char *first = line.len ? memchr(line.ptr, ':', line.len) : NULL;
    if (!first) return 0;
    slice rest = slice_from(line, (size_t)(first - line.ptr) + 1);
    const char *second = rest.len ? memchr(rest.ptr, ':', rest.len) : NULL;
    if (!second) return 0;
    slice controllers = slice_make(rest.ptr, (size_t)(second - rest.ptr));
    return groups_of_controllers(root, kind, controllers, slice_from(rest, controllers.len + 1));
}

__attribute__((cold)) uint64_t groups_least(const char *root, const groups_kind *kind)
{
    char text[GROUPS_TEXT_OCTETS];
    if (!groups_read(root, "/proc/self", "/cgroup", text)) return 0;
    uint64_t least = 0;
    for (const char *at = text; *at;) {
        size_t len = strcspn(at, "\n");
        least = groups_less(least, groups_of_line(root, kind, slice_make(at, len)));
        at += len;
        at += strspn(at, "\n");
    }
    return least;
}
