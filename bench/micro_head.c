// SPDX-License-Identifier: MIT
//
// Reading a request's head: wide, and octet by octet with this file's own copy of the reader.

#include "micro.h"

#include "http/h1_head.h"

#include <string.h>

// The portable twin, under names of its own.
h1_result portable_read(request_head *head, slice octets);

#define SKUA_PORTABLE 1
#define h1_head_read portable_read
#include "http/h1_head.c"
#undef h1_head_read

static const char *const names[] = { "short", "command line", "browser", "4 KiB, cookies" };

static const char *const samples[] = {
    "GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n",
    "GET /index.html HTTP/1.1\r\nHost: example.com\r\nUser-Agent: curl/7.88.1\r\n"
    "Accept: */*\r\n\r\n",
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
    "If-None-Match: \"1a2b3c-5d6e7f\"\r\n\r\n",
};

static const head_limits limits = {
    .head_octets_max = 16384, .target_octets_max = 8192, .method_octets_max = 17, .fields_max = 100
};

static head_field fields[100];

static uint64_t head_ours(const void *input)
{
    request_head head;
    head_init(&head, &limits, fields);
    return h1_head_read(&head, *(const slice *)input) == H1_DONE ? head.octets : 0;
}

static uint64_t head_plain(const void *input)
{
    request_head head;
    head_init(&head, &limits, fields);
    return portable_read(&head, *(const slice *)input) == H1_DONE ? head.octets : 0;
}

// Fills text[at..] with a cookie of len octets and the end of the head.
static size_t head_add_cookie(char *text, size_t at, size_t len)
{
    static const char name[] = "Cookie: session=";
    memcpy(text + at, name, sizeof name - 1);
    at += sizeof name - 1;
    for (size_t i = 0; i < len; i++)
        text[at++] = (i + 1) % 64 == 0 ? ';' : "0123456789abcdefABCDEF_%.-"[i * 7 % 26];
    memcpy(text + at, "\r\n\r\n", 4);
    return at + 4;
}

// The browser's head with cookies up to 4 KiB in all.
static slice head_with_cookies(const char *octets)
{
    enum { HEAD_OCTETS = 4096, AROUND = 20 };
    static char text[HEAD_OCTETS];
    size_t at = strlen(octets) - 2;
    memcpy(text, octets, at);
    return slice_make(text, head_add_cookie(text, at, HEAD_OCTETS - at - AROUND));
}

int main(int argc, char **argv)
{
    slice heads[4];
    micro_case cases[4];
    for (size_t i = 0; i < 4; i++) {
        heads[i] = i < 3 ? slice_of(samples[i]) : head_with_cookies(samples[2]);
        cases[i] = (micro_case){ names[i], heads[i].len, head_ours, head_plain, &heads[i] };
    }
    return micro_run(argc, argv, "head", cases, 4);
}
