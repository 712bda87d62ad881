// SPDX-License-Identifier: MIT
//
// The parts that the small measurements share. Each compares a function of the library's with a
// plain loop that does the same an octet at a time.
#ifndef BENCH_MICRO_H
#define BENCH_MICRO_H

#include <stddef.h>
#include <stdint.h>

// Does the thing once. Returns what both ways must agree about; 0 means that it failed.
typedef uint64_t micro_fn(const void *input);

typedef struct micro_case {
    const char *name;
    size_t octets; // that are read, or written
    micro_fn *ours, *plain;
    const void *input;
} micro_case;

// Checks that both ways agree, then prints a line of JSON for each case: nanoseconds, and
// instructions where the kernel counts them. With "--count N" it does each N times instead, between
// micro_begin and micro_end, for a tool that counts from outside: a case that does nothing first,
// then ours and plain of each. Returns: the exit status.
int micro_run(int argc, char **argv, const char *noun, const micro_case *cases, size_t count);

#endif
