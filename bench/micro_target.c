// SPDX-License-Identifier: MIT
//
// Checking a request's target and bringing its path into normal form: by the library, which copies
// nothing when there is nothing to normalise, and by a loop that looks at an octet at a time and
// always writes.

#include "http/target.h"

#include "micro.h"

#include <stdbool.h>

static char normal[1024];

static uint64_t target_ours(const void *input)
{
    const slice *text = input;
    target read;
    bool plain;
    if (target_parse(slice_of("GET"), *text, false, &read).status) return 0;
    if (read.clean) return read.raw_path.len;
    return target_normalise(read.raw_path, normal, &plain);
}

// ---- The plain loop ----

// RFC 3986: unreserved, sub-delims, ":", "@", "/", "?" and "%".
static bool plain_may_stand(char c)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
    return c && strchr("-._~!$&'()*+,;=:@/?%", c);
}

static int plain_hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

// Writes the segment that begins at text[*at], decoded; returns its length, or -1.
static int plain_segment(slice text, size_t *at, size_t end, char *out)
{
    int len = 0;
    while (*at < end && text.ptr[*at] != '/') {
        char c = text.ptr[(*at)++];
        if (c == '%') {
            if (*at + 2 > end) return -1;
            int high = plain_hex(text.ptr[*at]), low = plain_hex(text.ptr[*at + 1]);
            if (high < 0 || low < 0) return -1;
            c = (char)(high << 4 | low);
            *at += 2;
        }
        out[len++] = c;
    }
    return len;
}

static uint64_t plain_normal(slice text, size_t end)
{
    size_t at = 0, len = 1;
    normal[0] = '/';
    while (at < end) {
        at++;
        int segment = plain_segment(text, &at, end, normal + len);
        if (segment < 0) return 0;
        if (segment == 0 || (segment == 1 && normal[len] == '.')) continue;
        if (segment == 2 && normal[len] == '.' && normal[len + 1] == '.') {
            if (len > 1) len--;
            while (normal[len - 1] != '/')
                len--;
            continue;
        }
        len += (size_t)segment;
        if (at < end) normal[len++] = '/';
    }
    return len;
}

static uint64_t target_plain(const void *input)
{
    const slice *text = input;
    size_t end = text->len;
    for (size_t i = 0; i < text->len; i++) {
        if (!plain_may_stand(text->ptr[i])) return 0;
        if (text->ptr[i] == '?' && end == text->len) end = i;
    }
    return plain_normal(*text, end);
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "root", "path and query", "long path", "encoded, dots" };
    static const char *const samples[] = {
        "/",
        "/articles/2024/spring/overview?page=2&order=newest&tag=c",
        "/assets/2024/06/images/products/large/9f86d081884c7d659a2feaa0c55ad015/original.jpeg",
        "/a/./b/../caf%C3%A9/%7Euser//photos%20of%202024/x.html?q=%26",
    };
    slice targets[4];
    micro_case cases[4];
    for (size_t i = 0; i < 4; i++) {
        targets[i] = slice_of(samples[i]);
        cases[i] = (micro_case){ names[i], targets[i].len, target_ours, target_plain, &targets[i] };
    }
    return micro_run(argc, argv, "target", cases, 4);
}
