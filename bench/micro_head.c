// SPDX-License-Identifier: MIT
//
// What reading a request's head costs: nanoseconds per head for a few typical ones, read wide and,
// with this file's own copy of the reader, octet by octet.
//
//     cc -O2 -std=c17 -D_GNU_SOURCE -Isrc -Iinclude bench/micro_head.c src/http/h1_head.c
//        src/http/syntax.c src/base/assert.c -o micro_head

#include "http/h1_head.h"

#include <stdio.h>
#include <time.h>

// The portable twin, under names of its own.
field_id portable_identify(slice name);
void portable_init(h1_head *head, const h1_limits *limits, h1_field *fields);
h1_result portable_read(h1_head *head, slice octets);

#define SKUA_PORTABLE 1
#define field_identify portable_identify
#define h1_head_init portable_init
#define h1_head_read portable_read
#include "http/h1_head.c"
#undef field_identify
#undef h1_head_init
#undef h1_head_read

typedef void init_fn(h1_head *head, const h1_limits *limits, h1_field *fields);
typedef h1_result read_fn(h1_head *head, slice octets);

typedef struct sample {
    const char *name;
    const char *octets;
} sample;

static const sample samples[] = {
    { "load generator", "GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n" },
    { "command line", "GET /index.html HTTP/1.1\r\nHost: example.com\r\nUser-Agent: curl/7.88.1\r\n"
                      "Accept: */*\r\n\r\n" },
    { "browser",
      "GET /articles/2024/spring/overview?page=2 HTTP/1.1\r\n"
      "Host: www.example.com\r\n"
      "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:124.0) Gecko/20100101 Firefox/124.0\r\n"
      "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n"
      "Accept-Language: en-GB,en;q=0.5\r\n"
      "Accept-Encoding: gzip, deflate, br\r\n"
      "Connection: keep-alive\r\n"
      "Cookie: session=3f9a2c77d1e84b0f; theme=dark; seen=1710000000\r\n"
      "Upgrade-Insecure-Requests: 1\r\n"
      "Sec-Fetch-Dest: document\r\n"
      "If-None-Match: \"1a2b3c-5d6e7f\"\r\n\r\n" },
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static const h1_limits limits = { .head_octets_max = 16384,
                                  .target_octets_max = 8192,
                                  .fields_max = 100 };

// The best of many short runs, since a machine that does other things only ever makes them slower.
static double measure(init_fn *init, read_fn *read, slice octets)
{
    enum { RUNS = 1500, HEADS = 1000 };
    static h1_field fields[100];
    double best = 1e9;
    for (int run = 0; run < RUNS; run++) {
        int64_t start = now_ns();
        for (int i = 0; i < HEADS; i++) {
            h1_head head;
            init(&head, &limits, fields);
            __asm__ volatile("" : : "r"(octets.ptr) : "memory");
            if (read(&head, octets) != H1_DONE) return -1;
            __asm__ volatile("" : : "r"(&head) : "memory");
        }
        double each = (double)(now_ns() - start) / HEADS;
        if (each < best) best = each;
    }
    return best;
}

int main(void)
{
    printf("%-16s %8s %8s %12s\n", "head", "octets", "ns", "portable ns");
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        slice octets = slice_of(samples[i].octets);
        double wide_ns = measure(h1_head_init, h1_head_read, octets);
        double portable_ns = measure(portable_init, portable_read, octets);
        printf("%-16s %8zu %8.1f %12.1f\n", samples[i].name, octets.len, wide_ns, portable_ns);
    }
    return 0;
}
