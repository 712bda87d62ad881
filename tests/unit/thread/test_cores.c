// SPDX-License-Identifier: MIT
//
// Cores that control groups allow, read from made-up files as kernels and container runtimes write
// them.

#include "thread/cores.h"

#include <errno.h>
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

typedef struct cores_file {
    const char *path, *text;
} cores_file;

typedef struct cores_case {
    const char *name;
    cores_file files[6];
    unsigned cores;
} cores_case;

static const cores_case cases[] = {
    { "nothing is there", { { NULL, NULL } }, 0 },
    { "version 2, no quota",
      { { "/proc/self/cgroup", "0::/\n" }, { "/sys/fs/cgroup/cpu.max", "max 100000\n" } },
      0 },
    { "version 2, the root group has no file", { { "/proc/self/cgroup", "0::/\n" } }, 0 },
    { "version 2, two cores",
      { { "/proc/self/cgroup", "0::/\n" }, { "/sys/fs/cgroup/cpu.max", "200000 100000\n" } },
      2 },
    { "version 2, one and a half",
      { { "/proc/self/cgroup", "0::/\n" }, { "/sys/fs/cgroup/cpu.max", "150000 100000" } },
      2 },
    { "version 2, a tenth",
      { { "/proc/self/cgroup", "0::/\n" }, { "/sys/fs/cgroup/cpu.max", "10000 100000\n" } },
      1 },
    { "version 2, the strictest of a path",
      { { "/proc/self/cgroup", "0::/a.slice/b.scope\n" },
        { "/sys/fs/cgroup/a.slice/cpu.max", "300000 100000\n" },
        { "/sys/fs/cgroup/a.slice/b.scope/cpu.max", "max 100000\n" } },
      3 },
    { "version 2, the innermost is stricter",
      { { "/proc/self/cgroup", "0::/a/b\n" },
        { "/sys/fs/cgroup/a/cpu.max", "800000 100000\n" },
        { "/sys/fs/cgroup/a/b/cpu.max", "100000 50000\n" } },
      2 },
    { "version 2, the path is the host's",
      { { "/proc/self/cgroup", "0::/docker/0123\n" },
        { "/sys/fs/cgroup/cpu.max", "400000 100000\n" } },
      4 },
    { "version 1",
      { { "/proc/self/cgroup", "4:memory:/x\n3:cpu,cpuacct:/x\n1:name=systemd:/x\n" },
        { "/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "250000\n" },
        { "/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n" } },
      3 },
    { "version 1, no quota",
      { { "/proc/self/cgroup", "3:cpu:/x\n" },
        { "/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "-1\n" },
        { "/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n" } },
      0 },
    { "version 1, cpuset is not cpu",
      { { "/proc/self/cgroup", "3:cpuset,cpuacct:/x\n" },
        { "/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "100000\n" },
        { "/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n" } },
      0 },
    { "both, a quota in version 1",
      { { "/proc/self/cgroup", "1:cpu:/\n0::/\n" },
        { "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n" },
        { "/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n" } },
      1 },
    { "files that make no sense",
      { { "/proc/self/cgroup", "\n:::\n0\n::/\n0::\n" },
        { "/sys/fs/cgroup/cpu.max", "99999999999999999999 0\n" } },
      0 },
    { "a period of nothing",
      { { "/proc/self/cgroup", "0::/\n" }, { "/sys/fs/cgroup/cpu.max", "1000 0\n" } },
      0 },
    { "an empty file", { { "/proc/self/cgroup", "0::/\n" }, { "/sys/fs/cgroup/cpu.max", "" } }, 0 },
};

static void make_file(const char *root, const cores_file *file)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s%s", root, file->path);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(file->text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static void quotas_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char root[] = "/tmp/skua-test-XXXXXX";
        assert_non_null(mkdtemp(root));
        for (const cores_file *file = cases[i].files; file->path; file++)
            make_file(root, file);
        unsigned cores = cores_allowed(root);
        if (cores != cases[i].cores)
            fail_msg("%s: %u, not %u", cases[i].name, cores, cases[i].cores);
        assert_int_equal(nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    }
}

static void affinity_is_respected(void **state)
{
    (void)state;
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_in_range(cores_usable(), 1, CPU_COUNT(&before));
    size_t cpu = 0;
    while (!CPU_ISSET(cpu, &before))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(cores_usable(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotas_are_read),
        cmocka_unit_test(affinity_is_respected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
