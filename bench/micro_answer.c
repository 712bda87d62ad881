// SPDX-License-Identifier: MIT
//
// Writing the head of an answer: by what the library writes it with, and by a loop that copies an
// octet at a time.

#include "http/h1_write.h"

#include "micro.h"

#define DATE_LINE "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n" // is kept ready by a worker

typedef struct answer {
    int status;
    const char *reason;
    const char *type;
    uint64_t octets;
    const char *fields[8][2]; // until a NULL
} answer;

static char text[4096];

static uint64_t answer_ours(const void *input)
{
    const answer *a = input;
    char *at = h1_write_status(text, a->status, slice_of(a->reason));
    at = H1_WRITE(at, DATE_LINE);
    for (size_t i = 0; a->fields[i][0]; i++)
        at = h1_write_field(at, slice_of(a->fields[i][0]), slice_of(a->fields[i][1]));
    at = H1_WRITE(at, "Content-Type: ");
    at = h1_write_slice(at, slice_of(a->type));
    at = H1_WRITE(at, "\r\nContent-Length: ");
    at = h1_write_number(at, a->octets);
    at = H1_WRITE(at, "\r\n\r\n");
    return (uint64_t)(at - text);
}

// ---- The plain loop ----

static char *plain_text(char *at, const char *from)
{
    while (*from)
        *at++ = *from++;
    return at;
}

static char *plain_number(char *at, uint64_t n)
{
    if (n >= 10) at = plain_number(at, n / 10);
    *at++ = (char)('0' + n % 10);
    return at;
}

static char *plain_field(char *at, const char *name, const char *value)
{
    at = plain_text(at, name);
    at = plain_text(at, ": ");
    at = plain_text(at, value);
    return plain_text(at, "\r\n");
}

static uint64_t answer_plain(const void *input)
{
    const answer *a = input;
    char *at = plain_text(text, "HTTP/1.1 ");
    at = plain_number(at, (uint64_t)a->status);
    at = plain_text(at, " ");
    at = plain_text(at, a->reason);
    at = plain_text(at, "\r\n" DATE_LINE);
    for (size_t i = 0; a->fields[i][0]; i++)
        at = plain_field(at, a->fields[i][0], a->fields[i][1]);
    at = plain_text(at, "Content-Type: ");
    at = plain_text(at, a->type);
    at = plain_text(at, "\r\nContent-Length: ");
    at = plain_number(at, a->octets);
    at = plain_text(at, "\r\n\r\n");
    return (uint64_t)(at - text);
}

int main(int argc, char **argv)
{
    static const answer hello = {
        .status = 200, .reason = "OK", .type = "text/plain", .octets = 13
    };
    static const answer missing = {
        .status = 404,
        .reason = "Not Found",
        .type = "text/html; charset=utf-8",
        .octets = 1312,
        .fields = { { "Content-Security-Policy", "default-src 'none'" },
                    { "X-Content-Type-Options", "nosniff" } },
    };
    static const answer page = {
        .status = 200,
        .reason = "OK",
        .type = "text/html; charset=utf-8",
        .octets = 148213,
        .fields = { { "Cache-Control", "public, max-age=3600, stale-while-revalidate=60" },
                    { "ETag", "\"1f3a5b7c9d-1400-17f0e1d2c3b4a596\"" },
                    { "Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT" },
                    { "Accept-Ranges", "bytes" },
                    { "Vary", "Accept-Encoding" },
                    { "Set-Cookie",
                      "session=3f9a2c77d1e84b0f; Path=/; Secure; HttpOnly; SameSite=Lax" } },
    };
    const micro_case cases[] = {
        { "hello", answer_ours(&hello), answer_ours, answer_plain, &hello },
        { "404, two fields", answer_ours(&missing), answer_ours, answer_plain, &missing },
        { "page, six fields", answer_ours(&page), answer_ours, answer_plain, &page },
    };
    return micro_run(argc, argv, "answer", cases, sizeof cases / sizeof *cases);
}
