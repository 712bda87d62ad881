// SPDX-License-Identifier: MIT
//
// Memory that ends at a forbidden page, how long stress tests play, and threads.

#include "support/support.h"

#include "base/assert.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static size_t page_round(size_t len, size_t page)
{
    return (len + page - 1) / page * page;
}

char *guarded_copy(const char *octets, size_t len)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t body = page_round(len, page);
    char *map = mmap(NULL, body + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SKUA_ASSERT(map != MAP_FAILED);
    SKUA_ASSERT(mprotect(map + body, page, PROT_NONE) == 0);
    char *copy = map + body - len;
    if (len) memcpy(copy, octets, len);
    return copy;
}

void guarded_free(char *copy, size_t len)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t body = page_round(len, page);
    SKUA_ASSERT(munmap(copy + len - body, body + page) == 0);
}

unsigned support_rounds(unsigned usual)
{
    const char *rounds = getenv("SKUA_SOAK_ROUNDS");
    return rounds ? (unsigned)strtoul(rounds, NULL, 10) : usual;
}

unsigned support_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    unsigned threads = 0;
    const struct dirent *entry;
    if (!tasks) return 0;
    while ((entry = readdir(tasks)))
        threads += entry->d_name[0] != '.';
    (void)closedir(tasks);
    return threads;
}

unsigned support_threads_at_rest(void)
{
    unsigned threads = support_threads();
    for (int same = 0; same < 100; same++) {
        (void)nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
        unsigned now = support_threads();
        if (now != threads) same = 0;
        threads = now;
    }
    return threads;
}
