// SPDX-License-Identifier: MIT
//
// Cores. A container is usually held by a quota of time, which the affinity mask does not show: a
// server with a thread for each core of the machine is then stopped in the middle of every period.

#include "thread/cores.h"

#include "thread/groups.h"

#include <unistd.h>

#ifdef __linux__
#include <sched.h>
#endif

static uint64_t cores_of_share(int64_t quota, int64_t period)
{
    if (quota <= 0 || period <= 0) return 0;
    int64_t cores = (quota - 1) / period + 1;
    return cores > 65536 ? 65536 : (uint64_t)cores;
}

// "200000 100000", or "max 100000".
static uint64_t cores_of_group2(const char *root, const char *folder)
{
    char text[GROUPS_TEXT_OCTETS];
    if (!groups_read(root, folder, "/cpu.max", text)) return 0;
    const char *at = text;
    int64_t quota = groups_number(&at);
    return cores_of_share(quota, groups_number(&at));
}

static uint64_t cores_of_group1(const char *root, const char *folder)
{
    char quota[GROUPS_TEXT_OCTETS], period[GROUPS_TEXT_OCTETS];
    if (!groups_read(root, folder, "/cpu.cfs_quota_us", quota)) return 0;
    if (!groups_read(root, folder, "/cpu.cfs_period_us", period)) return 0;
    const char *quota_at = quota, *period_at = period;
    return cores_of_share(groups_number(&quota_at), groups_number(&period_at));
}

__attribute__((cold)) unsigned cores_allowed(const char *root)
{
    static const groups_kind kind = {
        .version2 = cores_of_group2,
        .controller = "cpu",
        .version1 = cores_of_group1,
        .mounts = { "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct" },
    };
    return (unsigned)groups_least(root, &kind);
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
    unsigned reachable = cores_reachable(), allowed = cores_allowed("");
    return allowed && allowed < reachable ? allowed : reachable;
}
