// SPDX-License-Identifier: MIT
//
// Reads responses by RFC 9112 §4 to §7, and checks those of a server's duties that can be seen in a
// head.

#include "support/responses.h"

#include <stdlib.h>

static slice responses_until(slice s, const char *mark)
{
    const char *at = s.len ? memmem(s.ptr, s.len, mark, strlen(mark)) : NULL;
    return at ? slice_make(s.ptr, (size_t)(at - s.ptr)) : (slice){ 0 };
}

static responses_state responses_broken(read_response *a, const char *why)
{
    a->why = why;
    return RESPONSE_IS_BROKEN;
}

static bool responses_is_token(slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
        if (!letter && !(c >= '0' && c <= '9') && (c == 0 || !strchr("!#$%&'*+-.^_`|~", c)))
            return false;
    }
    return s.len > 0;
}

static bool responses_is_value(slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f) return false;
    }
    return s.len == slice_trim(s).len;
}

// Takes the line at the front of *section, which ends with CRLF.
static bool responses_next_field(slice *section, slice *name, slice *value)
{
    if (section->len == 0) return false;
    slice line = responses_until(*section, "\r\n");
    *section = slice_from(*section, line.len + 2);
    slice colon = responses_until(line, ": ");
    *name = colon;
    *value = colon.ptr ? slice_from(line, colon.len + 2) : (slice){ 0 };
    return true;
}

slice responses_field(slice section, const char *name)
{
    slice key, value;
    while (responses_next_field(&section, &key, &value)) {
        if (slice_equal_nocase(key, slice_of(name))) return value;
    }
    return (slice){ 0 };
}

static bool responses_number(slice s, unsigned base, uint64_t *n)
{
    uint64_t sum = 0;
    if (s.len == 0 || s.len > 15) return false;
    for (size_t i = 0; i < s.len; i++) {
        const char *digits = "0123456789abcdef",
                   *at = s.ptr[i] ? strchr(digits, octet_lower(s.ptr[i])) : NULL;
        if (!at || (unsigned)(at - digits) >= base) return false;
        sum = sum * base + (unsigned)(at - digits);
    }
    *n = sum;
    return true;
}

// HTTP-version SP status-code SP reason; the version is the server's own, whatever was asked in.
static bool responses_status_line(slice line, int *status)
{
    uint64_t n = 0;
    if (line.len < 13 || memcmp(line.ptr, "HTTP/1.1 ", 9) != 0 || line.ptr[12] != ' ') return false;
    if (!responses_number(slice_make(line.ptr + 9, 3), 10, &n) || n < 100 || n > 599) return false;
    *status = (int)n;
    return true;
}

static const char *responses_take_field(read_response *a, slice name, slice value, unsigned *dates)
{
    if (!responses_is_token(name)) return "a field name is not a token";
    if (!responses_is_value(value)) return "a field value is not of its grammar";
    if (slice_equal_nocase(name, slice_of("date"))) ++*dates;
    if (slice_equal_nocase(name, slice_of("connection")))
        a->close = slice_equal_nocase(value, slice_of("close"));
    if (slice_equal_nocase(name, slice_of("transfer-encoding"))) {
        if (a->chunked || !slice_equal(value, slice_of("chunked")))
            return "Transfer-Encoding is not one chunked";
        a->chunked = true;
    }
    if (slice_equal_nocase(name, slice_of("content-length"))) {
        if (a->has_length || !responses_number(value, 10, &a->length))
            return "Content-Length is not one number";
        a->has_length = true;
    }
    return NULL;
}

// RFC 9110 §6.6.1, §8.6, §15; RFC 9112 §6.1
static const char *responses_check_head(const read_response *a, unsigned dates)
{
    bool bare = a->status < 200 || a->status == 204;
    if (a->status >= 200 && dates != 1) return "not exactly one Date";
    if (a->chunked && a->has_length) return "Content-Length with Transfer-Encoding";
    if (bare && (a->chunked || a->has_length)) return "framing where there is no content";
    if (a->status == 205 && a->has_length && a->length) return "205 with content";
    if (a->status == 304 && a->chunked) return "304 with Transfer-Encoding";
    return NULL;
}

static const char *responses_head(read_response *a)
{
    slice line = responses_until(a->head, "\r\n"), fields = slice_from(a->head, line.len + 2), name,
          value;
    unsigned dates = 0;
    if (!responses_status_line(line, &a->status)) return "not a status line";
    while (responses_next_field(&fields, &name, &value)) {
        const char *why = responses_take_field(a, name, value, &dates);
        if (why) return why;
    }
    return responses_check_head(a, dates);
}

static bool responses_keep(read_response *a, slice octets)
{
    if (!a->content || octets.len > a->content_room - a->content_len) {
        size_t room = 2 * (a->content_len + octets.len) + 1;
        char *content = realloc(a->content, room);
        if (!content) return false;
        a->content = content;
        a->content_room = room;
    }
    if (octets.len) memcpy(a->content + a->content_len, octets.ptr, octets.len);
    a->content_len += octets.len;
    return true;
}

// At most len octets of content from the front; false: there were fewer.
static bool responses_take(slice *input, uint64_t len, read_response *a)
{
    size_t n = input->len < len ? input->len : (size_t)len;
    if (!responses_keep(a, slice_make(input->ptr, n))) abort();
    *input = slice_from(*input, n);
    return n == len;
}

static responses_state responses_trailers(slice *input, read_response *a)
{
    if (input->len >= 2 && memcmp(input->ptr, "\r\n", 2) == 0) {
        *input = slice_from(*input, 2);
        return RESPONSE_IS_WHOLE;
    }
    slice end = responses_until(*input, "\r\n\r\n");
    if (!end.ptr) return RESPONSE_IS_PART;
    a->trailers = slice_make(input->ptr, end.len + 2);
    *input = slice_from(*input, end.len + 4);
    slice rest = a->trailers, name, value;
    while (responses_next_field(&rest, &name, &value)) {
        if (!responses_is_token(name) || !responses_is_value(value))
            return responses_broken(a, "a trailer is broken");
    }
    return RESPONSE_IS_WHOLE;
}

static responses_state responses_chunk(slice *input, read_response *a, uint64_t *size)
{
    slice line = responses_until(*input, "\r\n");
    if (!line.ptr) return input->len > 17 ? responses_broken(a, "no chunk size") : RESPONSE_IS_PART;
    if (!responses_number(line, 16, size)) return responses_broken(a, "not a chunk size");
    *input = slice_from(*input, line.len + 2);
    if (*size == 0) return responses_trailers(input, a);
    if (!responses_take(input, *size, a) || input->len < 2) return RESPONSE_IS_PART;
    if (memcmp(input->ptr, "\r\n", 2) != 0)
        return responses_broken(a, "a chunk is longer than it says");
    *input = slice_from(*input, 2);
    return RESPONSE_IS_WHOLE;
}

static responses_state responses_chunks(slice *input, read_response *a)
{
    uint64_t size = 1;
    responses_state state = RESPONSE_IS_WHOLE;
    while (state == RESPONSE_IS_WHOLE && size)
        state = responses_chunk(input, a, &size);
    return state;
}

static responses_state responses_content(slice *input, bool to_head, bool at_end, read_response *a)
{
    if (to_head || a->status < 200 || a->status == 204 || a->status == 304)
        return RESPONSE_IS_WHOLE;
    if (a->chunked) return responses_chunks(input, a);
    if (a->has_length)
        return responses_take(input, a->length, a) ? RESPONSE_IS_WHOLE : RESPONSE_IS_PART;
    a->delimited = true;
    (void)responses_take(input, input->len, a);
    return at_end ? RESPONSE_IS_WHOLE : RESPONSE_IS_PART;
}

responses_state responses_read(slice *input, bool to_head, bool at_end, read_response *a)
{
    *a = (read_response){ .status = 0 };
    if (input->len == 0) return RESPONSE_IS_NONE;
    slice head = responses_until(*input, "\r\n\r\n");
    if (!head.ptr) {
        size_t n = input->len < 9 ? input->len : 9;
        if (memcmp(input->ptr, "HTTP/1.1 ", n) != 0)
            return responses_broken(a, "not a status line");
        *input = slice_from(*input, input->len);
        return RESPONSE_IS_PART;
    }
    a->head = slice_make(input->ptr, head.len + 2);
    a->has_head = true;
    const char *why = responses_head(a);
    if (why) return responses_broken(a, why);
    *input = slice_from(*input, head.len + 4);
    return responses_content(input, to_head, at_end, a);
}

void responses_free(read_response *a)
{
    free(a->content);
    a->content = NULL;
}
