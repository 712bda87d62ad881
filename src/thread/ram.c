// SPDX-License-Identifier: MIT
//
// RAM. In a container the machine's says nothing: who uses more than its control group allows is
// killed.

#include "thread/ram.h"

#include "thread/groups.h"

#include <unistd.h>

static uint64_t ram_of_file(const char *root, const char *folder, const char *name)
{
    char text[GROUPS_TEXT_OCTETS];
    if (!groups_read(root, folder, name, text)) return 0;
    const char *at = text;
    int64_t octets = groups_number(&at);
    return octets > 0 && octets < INT64_MAX / 2 ? (uint64_t)octets : 0;
}

// "536870912", or "max".
static uint64_t ram_of_group2(const char *root, const char *folder)
{
    return ram_of_file(root, folder, "/memory.max");
}

// "536870912", or for no limit a number near 2^63.
static uint64_t ram_of_group1(const char *root, const char *folder)
{
    return ram_of_file(root, folder, "/memory.limit_in_bytes");
}

__attribute__((cold)) uint64_t ram_allowed(const char *root)
{
    static const groups_kind kind = {
        .version2 = ram_of_group2,
        .controller = "memory",
        .version1 = ram_of_group1,
        .mounts = { "/sys/fs/cgroup/memory" },
    };
    return groups_least(root, &kind);
}

uint64_t ram_usable(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), octets = sysconf(_SC_PAGESIZE);
    uint64_t machine = pages > 0 && octets > 0 ? (uint64_t)pages * (uint64_t)octets : 0;
    uint64_t allowed = ram_allowed("");
    return allowed && (allowed < machine || !machine) ? allowed : machine;
}
