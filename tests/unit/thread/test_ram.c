// SPDX-License-Identifier: MIT
//
// Memory that control groups allow, read from made-up files as kernels write them. How groups are
// found is tested with those of cores.

#include "thread/ram.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

typedef struct ram_case {
    const char *name, *group, *folder, *file, *text;
    uint64_t octets;
} ram_case;

static const ram_case cases[] = {
    { "version 2", "0::/\n", "/sys/fs/cgroup", "memory.max", "536870912\n", 536870912 },
    { "version 2, no limit", "0::/\n", "/sys/fs/cgroup", "memory.max", "max\n", 0 },
    { "version 2, nothing at all", "0::/\n", "/sys/fs/cgroup", "memory.max", "0\n", 0 },
    { "version 2, no file", "0::/\n", "/sys/fs/cgroup", "memory.high", "536870912\n", 0 },
    { "version 1", "4:memory:/x\n", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "1048576\n",
      1048576 },
    { "version 1, no limit", "4:memory:/x\n", "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
      "9223372036854771712\n", 0 },
    { "version 1, of others", "4:cpu:/x\n", "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
      "1048576\n", 0 },
};

static void write_file(const char *root, const char *folder, const char *name, const char *text)
{
    char command[512], path[512];
    (void)snprintf(command, sizeof command, "mkdir -p %s%s", root, folder);
    assert_int_equal(system(command), 0);
    (void)snprintf(path, sizeof path, "%s%s/%s", root, folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void limits_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char root[] = "/tmp/skua-test-XXXXXX", command[64];
        assert_non_null(mkdtemp(root));
        assert_int_equal(ram_allowed(root), 0);
        write_file(root, "/proc/self", "cgroup", cases[i].group);
        write_file(root, cases[i].folder, cases[i].file, cases[i].text);
        uint64_t octets = ram_allowed(root);
        if (octets != cases[i].octets) fail_msg("%s: %ju", cases[i].name, (uintmax_t)octets);
        (void)snprintf(command, sizeof command, "rm -r %s", root);
        assert_int_equal(system(command), 0);
    }
}

static void usable_is_at_most_what_the_machine_has(void **state)
{
    (void)state;
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    assert_in_range(ram_usable(), 1 << 20, machine);
    uint64_t allowed = ram_allowed("");
    if (allowed) assert_true(ram_usable() <= allowed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_read),
        cmocka_unit_test(usable_is_at_most_what_the_machine_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
