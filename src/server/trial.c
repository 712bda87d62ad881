// SPDX-License-Identifier: MIT
//
// Trial: one request of a test in words, and its response read. The response is the server's own, so that it is read
// without suspicion; what a handler may cut off is taken as far as it goes.

#include "base/contract.h"
#include "base/memory.h"
#include "base/sized.h"
#include "server/server.h"

#include <stdio.h>
#include <stdlib.h>

// ---- The request ----

static slice trial_host(const skua_server *server)
{
    const char *hosts = server->hosts_text;
    if (!hosts || strcmp(hosts, "*") == 0) return SKUA_SLICE("localhost");
    return slice_make(hosts, strcspn(hosts, " "));
}

static const char *trial_type(const char *content)
{
    return content[0] == '{' || content[0] == '[' ? "application/json"
                                                  : "text/plain; charset=utf-8";
}

// As snprintf: the length, whether there is room or not.
static size_t trial_write(char *text, size_t room, slice host, const char *method, const char *path,
                          const char *content)
{
    int head = snprintf(text, room, "%s %s HTTP/1.1\r\nHost: %.*s\r\n", method, path, (int)host.len,
                        host.ptr);
    size_t len = head > 0 ? (size_t)head : 0, left = room > len ? room - len : 0;
    char *rest = left ? text + len : NULL;
    int more = content ? snprintf(rest, left, "Content-Type: %s\r\nContent-Length: %zu\r\n\r\n%s",
                                  trial_type(content), strlen(content), content)
                       : snprintf(rest, left, "\r\n");
    return len + (more > 0 ? (size_t)more : 0);
}

// ---- The response ----

static char *trial_mutable(slice octets)
{
    union {
        const char *from;
        char *to;
    } same = { .from = octets.ptr };
    return same.to;
}

// Takes a line off the front, without its CRLF; what is left when there is none is no line.
static bool trial_line(slice *text, slice *line)
{
    const char *end = text->len ? memmem(text->ptr, text->len, "\r\n", 2) : NULL;
    if (!end) return false;
    *line = slice_make(text->ptr, (size_t)(end - text->ptr));
    *text = slice_make(end + 2, text->len - line->len - 2);
    return true;
}

// Takes a head off the front.
static bool trial_head(slice *text, skua_test_response *result)
{
    slice line;
    if (!trial_line(text, &line) || line.len < 12) return false;
    result->status = (int)strtol(line.ptr + 9, NULL, 10);
    result->fields.ptr = text->ptr;
    while (trial_line(text, &line)) {
        result->fields.len = (size_t)(line.ptr - result->fields.ptr);
        if (!line.len) return true;
    }
    return false;
}

// Moves the chunks' content together. Returns its length.
static size_t trial_join_chunks(char *content, slice chunks)
{
    size_t len = 0;
    slice line;
    while (trial_line(&chunks, &line)) {
        size_t size = strtoul(line.ptr, NULL, 16);
        size_t there = size < chunks.len ? size : chunks.len;
        if (!there) break;
        memmove(content + len, chunks.ptr, there);
        len += there;
        chunks = slice_make(chunks.ptr + there, chunks.len - there);
        if (!trial_line(&chunks, &line)) break;
    }
    return len;
}

static void trial_read(slice text, bool is_head, skua_test_response *result)
{
    *result = (skua_test_response){ .received = text };
    do {
        if (!trial_head(&text, result)) {
            *result = (skua_test_response){ .received = result->received };
            result->content = result->fields = slice_make(text.ptr + text.len, 0);
            return;
        }
    } while (result->status < 200 && result->status != 101);
    char *content = trial_mutable(text);
    size_t len = is_head ? 0 : text.len;
    if (slice_equal_nocase(skua_test_field(result, "Transfer-Encoding"), SKUA_SLICE("chunked")))
        len = trial_join_chunks(content, text);
    result->content = slice_make(content, len);
    content[len] = 0;
}

// ---- Public ----

skua_slice skua_test_field_sized(const skua_test_response *result, const char *name,
                                 const skua_sizes *sizes)
{
    CONTRACT_GIVEN(result);
    CONTRACT_GIVEN(name);
    CONTRACT_SIZES(sizes);
    skua_test_response own;
    result = SIZED_GIVEN(result, sizes->test_response, &own);
    slice fields = result->fields, line, wanted = slice_of(name);
    while (trial_line(&fields, &line)) {
        if (line.len <= wanted.len || line.ptr[wanted.len] != ':' ||
            !slice_equal_nocase(slice_make(line.ptr, wanted.len), wanted))
            continue;
        line = slice_make(line.ptr + wanted.len + 1, line.len - wanted.len - 1);
        return slice_make(line.ptr + strspn(line.ptr, " "), line.len - strspn(line.ptr, " "));
    }
    return (slice){ 0 };
}

__attribute__((cold)) skua_status skua_test_sized(skua_server *server, const char *method,
                                                  const char *path, const char *content,
                                                  skua_test_response *result,
                                                  const skua_sizes *sizes)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(method);
    CONTRACT_GIVEN(path);
    CONTRACT_GIVEN(result);
    CONTRACT_SIZES(sizes);
    slice host = trial_host(server), received;
    size_t len = trial_write(NULL, 0, host, method, path, content);
    char *text = memory_alloc(len + 1);
    if (!text) return SKUA_ENOMEM;
    (void)trial_write(text, len + 1, host, method, path, content);
    skua_status status = skua_test_request(server, slice_make(text, len), &received);
    memory_free(text);
    if (status) return status;
    skua_test_response own;
    trial_read(received, strcmp(method, "HEAD") == 0, &own);
    sized_give(result, sizes->test_response, &own, sizeof own);
    return SKUA_OK;
}
