// SPDX-License-Identifier: MIT
//
// Clocks and counters around a loop. Of many short runs the fastest counts, since a machine that
// does other things only ever makes them slower. What the loop itself takes is measured with a
// function that does nothing, and taken off.

#include "micro.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MICRO_RUNS = 300, MICRO_RUN_NS = 50000, MICRO_COUNTED = 1000 };

// Where a tool starts and ends to count.
__attribute__((noinline)) void micro_begin(void);
__attribute__((noinline)) void micro_end(void);

void micro_begin(void)
{
    __asm__ volatile("" : : : "memory");
}

void micro_end(void)
{
    __asm__ volatile("" : : : "memory");
}

static uint64_t micro_nothing(const void *input)
{
    return input != NULL;
}

static int64_t micro_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// input and result pass through the compiler's blind spot, so that no round is left out.
static void micro_repeat(micro_fn *fn, const void *input, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        __asm__ volatile("" : "+r"(fn), "+r"(input) : : "memory");
        uint64_t result = fn(input);
        __asm__ volatile("" : : "r"(result) : "memory");
    }
}

// ---- Time ----

static unsigned micro_times(micro_fn *fn, const void *input)
{
    for (unsigned times = 16;; times *= 2) {
        int64_t start = micro_now_ns();
        micro_repeat(fn, input, times);
        if (micro_now_ns() - start >= MICRO_RUN_NS || times > 1u << 20) return times;
    }
}

static double micro_ns(micro_fn *fn, const void *input)
{
    unsigned times = micro_times(fn, input);
    double best = 1e12;
    for (int run = 0; run < MICRO_RUNS; run++) {
        int64_t start = micro_now_ns();
        micro_repeat(fn, input, times);
        double each = (double)(micro_now_ns() - start) / times;
        if (each < best) best = each;
    }
    return best;
}

// ---- Instructions, by the kernel's counter ----

// Returns a descriptor, or -1 where the machine has no such counter or the kernel does not lend it.
static int micro_counter_open(void)
{
    struct perf_event_attr wanted = { .type = PERF_TYPE_HARDWARE,
                                      .size = sizeof wanted,
                                      .config = PERF_COUNT_HW_INSTRUCTIONS,
                                      .disabled = 1,
                                      .exclude_kernel = 1,
                                      .exclude_hv = 1 };
    return (int)syscall(SYS_perf_event_open, &wanted, 0, -1, -1, 0);
}

static double micro_instructions(int counter, micro_fn *fn, const void *input)
{
    uint64_t count = 0;
    ioctl(counter, PERF_EVENT_IOC_RESET, 0);
    ioctl(counter, PERF_EVENT_IOC_ENABLE, 0);
    micro_repeat(fn, input, MICRO_COUNTED);
    ioctl(counter, PERF_EVENT_IOC_DISABLE, 0);
    if (read(counter, &count, sizeof count) != (ssize_t)sizeof count) return 0;
    return (double)count / MICRO_COUNTED;
}

static void micro_show_instructions(const micro_case *one)
{
    int counter = micro_counter_open();
    if (counter < 0) {
        printf("null");
        return;
    }
    double loop = micro_instructions(counter, micro_nothing, one);
    printf("[%.0f, %.0f]", micro_instructions(counter, one->ours, one->input) - loop,
           micro_instructions(counter, one->plain, one->input) - loop);
    close(counter);
}

// ---- The run ----

static int micro_agree(const micro_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t ours = cases[i].ours(cases[i].input), plain = cases[i].plain(cases[i].input);
        if (ours && ours == plain) continue;
        fprintf(stderr, "%s: %llu, but plainly %llu\n", cases[i].name, (unsigned long long)ours,
                (unsigned long long)plain);
        return 0;
    }
    return 1;
}

static void micro_show(const char *noun, const micro_case *one)
{
    double loop = micro_ns(micro_nothing, one);
    printf("{\"noun\": \"%s\", \"name\": \"%s\", \"octets\": %zu, \"ns\": [%.1f, %.1f], "
           "\"instructions\": ",
           noun, one->name, one->octets, micro_ns(one->ours, one->input) - loop,
           micro_ns(one->plain, one->input) - loop);
    micro_show_instructions(one);
    printf("}\n");
}

static void micro_count(micro_fn *fn, const void *input, unsigned times)
{
    micro_begin();
    micro_repeat(fn, input, times);
    micro_end();
}

int micro_run(int argc, char **argv, const char *noun, const micro_case *cases, size_t count)
{
    if (!micro_agree(cases, count)) return 1;
    unsigned times =
        argc == 3 && strcmp(argv[1], "--count") == 0 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    if (times) micro_count(micro_nothing, cases, times);
    for (size_t i = 0; i < count; i++) {
        if (!times) {
            micro_show(noun, &cases[i]);
            continue;
        }
        micro_count(cases[i].ours, cases[i].input, times);
        micro_count(cases[i].plain, cases[i].input, times);
    }
    return 0;
}
