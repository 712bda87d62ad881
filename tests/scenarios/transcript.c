// SPDX-License-Identifier: MIT
//
// How a transcript is written.

#include "scenarios/transcript.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRANSCRIPT_TEXT_OCTETS_MAX = 900, TRANSCRIPT_BOUNDARY_DIGITS = 16 };

// of multipart/byteranges, before digits that nobody can guess
static const char boundary_mark[] = "skua-";

// ---- Lines ----

// Takes the next line from the front, with its end.
static slice next_line(slice *rest)
{
    const char *end = rest->len ? memchr(rest->ptr, '\n', rest->len) : NULL;
    slice line = slice_make(rest->ptr, end ? (size_t)(end + 1 - rest->ptr) : rest->len);
    *rest = slice_from(*rest, line.len);
    return line;
}

static bool begins_with(slice s, const char *front)
{
    return s.len >= strlen(front) && memcmp(s.ptr, front, strlen(front)) == 0;
}

// Where mark is in s; s.len when nowhere.
static size_t find(slice s, const char *mark)
{
    const char *at = s.len ? memmem(s.ptr, s.len, mark, strlen(mark)) : NULL;
    return at ? (size_t)(at - s.ptr) : s.len;
}

// A line without its end. CR is shown where it is not part of one, so that no octet goes unseen.
static void put_line(text *t, const char *indent, slice line)
{
    text_add(t, slice_of(indent));
    bool ended = line.len && line.ptr[line.len - 1] == '\n';
    if (ended) line.len--;
    bool crlf = ended && line.len && line.ptr[line.len - 1] == '\r';
    if (crlf) line.len--;
    for (size_t i = 0; i < line.len; i++) {
        char c = line.ptr[i];
        if (c == '\r') text_addf(t, "\\r");
        else if (c == '\\') text_addf(t, "\\\\");
        else text_add(t, slice_make(&c, 1));
    }
    if (!ended) text_addf(t, "\\");
    else if (!crlf) text_addf(t, "\\n");
    text_addf(t, "\n");
}

// ---- Octets ----

static bool is_text(slice octets)
{
    for (size_t i = 0; i < octets.len; i++) {
        unsigned char c = (unsigned char)octets.ptr[i];
        if ((c < 0x20 && !strchr("\r\n\t", c)) || c >= 0x7f || c == 0) return false;
    }
    return true;
}

static uint64_t sum_of(slice octets)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325); // FNV-1a
    for (size_t i = 0; i < octets.len; i++)
        sum = (sum ^ (unsigned char)octets.ptr[i]) * UINT64_C(0x100000001b3);
    return sum;
}

// The digits behind each boundary's name are taken out.
static void add_without_boundaries(text *t, slice octets)
{
    while (octets.len) {
        size_t at = find(octets, boundary_mark);
        bool found = at + sizeof boundary_mark - 1 + TRANSCRIPT_BOUNDARY_DIGITS <= octets.len;
        size_t keep = found ? at + sizeof boundary_mark - 1 : octets.len;
        text_add(t, slice_make(octets.ptr, keep));
        octets = slice_from(octets, found ? keep + TRANSCRIPT_BOUNDARY_DIGITS : keep);
    }
}

void transcript_octets(text *t, const char *indent, slice octets)
{
    text plain = { .len = 0 };
    add_without_boundaries(&plain, octets);
    slice rest = text_slice(&plain);
    if (rest.len > TRANSCRIPT_TEXT_OCTETS_MAX || !is_text(rest)) {
        text_addf(t, "%s(%zu octets, sum %016" PRIx64 ")\n", indent, octets.len, sum_of(rest));
    } else {
        while (rest.len)
            put_line(t, indent, next_line(&rest));
    }
    text_free(&plain);
}

// ---- Fields ----

// An entity tag is made of the file's inode and times; whether it is weak stays.
static const char *field_without_value(slice line)
{
    if (begins_with(line, "Date: ")) return "Date: ...\r\n";
    if (begins_with(line, "ETag: W/\"")) return "ETag: W/\"...\"\r\n";
    if (begins_with(line, "ETag: \"")) return "ETag: \"...\"\r\n";
    return NULL;
}

void transcript_fields(text *t, const char *indent, slice fields)
{
    while (fields.len) {
        slice line = next_line(&fields);
        const char *shown = field_without_value(line);
        transcript_octets(t, indent, shown ? slice_of(shown) : line);
    }
}

// ---- The log ----

static void add_without_number(text *t, slice line, const char *member, const char *instead)
{
    size_t at = find(line, member), end = at + strlen(member);
    if (at == line.len) {
        text_add(t, line);
        return;
    }
    while (end < line.len && line.ptr[end] >= '0' && line.ptr[end] <= '9')
        end++;
    text_add(t, slice_make(line.ptr, at));
    text_add(t, slice_of(instead));
    text_add(t, slice_from(line, end));
}

// Shows a line up to and with begin, and goes on with end.
static void add_without_middle(text *t, slice line, const char *begin, const char *end)
{
    size_t from = find(line, begin) + strlen(begin);
    text_add(t, slice_make(line.ptr, from));
    text_add(t, slice_from(line, find(line, end)));
}

static slice part_between(slice line, const char *begin, const char *end)
{
    slice from = slice_from(line, find(line, begin));
    return slice_make(from.ptr, find(from, end));
}

// Fields, the host and what TLS adds are left out: transcripts are the same with it and without. So is the time that it
// took.
static void add_access(text *t, slice line)
{
    slice proto = part_between(line, "\"proto\":", ",\"host\":");
    slice uri = part_between(line, "\"uri\":", ",\"headers\":");
    slice rest = slice_from(line, find(line, ",\"duration\":") + strlen(",\"duration\":"));
    text_add(t, proto);
    text_addf(t, ",");
    // how much had come of a request line that was refused before its end is the kernel's affair
    if (begins_with(proto, "\"proto\":\"\"")) text_addf(t, "\"uri\":\"\"");
    else text_add(t, uri);
    text_add(t, slice_from(rest, find(rest, ",\"size\":")));
}

// How much of an answer had been sent when its connection died is the kernel's affair.
static void put_access(text *t, slice line)
{
    text known = { .len = 0 };
    add_access(&known, line);
    slice rest = text_slice(&known);
    bool broken = find(rest, "\"end\":") != rest.len;
    text_addf(t, "  {");
    if (broken) add_without_number(t, rest, "\"size\":", "\"size\":...");
    else text_add(t, rest);
    text_free(&known);
}

void transcript_log_line(text *access, text *messages, slice line)
{
    size_t message = find(line, "\"msg\":");
    if (find(line, "\"logger\":\"skua\"") == line.len) {
        put_access(access, line);
        return;
    }
    text_addf(messages, "  {");
    text_add(messages, slice_from(line, message));
}

static int compare_lines(const void *a, const void *b)
{
    const slice *x = a, *y = b;
    size_t len = x->len < y->len ? x->len : y->len;
    int order = memcmp(x->ptr, y->ptr, len);
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

void transcript_sort(text *t)
{
    enum { LINES_MAX = 256 };
    slice lines[LINES_MAX], rest = text_slice(t);
    size_t count = 0;
    text sorted = { .len = 0 };
    while (rest.len) {
        if (count == LINES_MAX) abort();
        lines[count++] = next_line(&rest);
    }
    qsort(lines, count, sizeof *lines, compare_lines);
    for (size_t i = 0; i < count; i++)
        text_add(&sorted, lines[i]);
    text_free(t);
    *t = sorted;
}

// ---- Versions ----

static void add_access_without_version(text *t, slice line)
{
    static const char member[] = "\"proto\":\"";
    text streamless = { .len = 0 };
    add_without_number(&streamless, line, ",\"stream\":", "");
    slice rest = text_slice(&streamless);
    if (find(rest, member) == rest.len) text_add(t, rest);
    else add_without_middle(t, rest, member, "\",\"method\"");
    text_free(&streamless);
}

void transcript_without_version(text *t)
{
    text plain = { .len = 0 }, access = { .len = 0 };
    for (slice rest = text_slice(t); rest.len;) {
        slice line = next_line(&rest);
        if (begins_with(line, "  < Connection: ")) continue;
        if (begins_with(line, "  {\"proto\"")) {
            add_access_without_version(&access, line);
            continue;
        }
        if (begins_with(line, "messages")) {
            transcript_sort(&access);
            text_add(&plain, text_slice(&access));
            access.len = 0;
        }
        text_add(&plain, line);
    }
    transcript_sort(&access);
    text_add(&plain, text_slice(&access));
    text_free(&access);
    text_free(t);
    *t = plain;
}

// ---- Comparing ----

bool transcript_equals(slice got, slice wanted)
{
    slice got_rest = got, wanted_rest = wanted;
    for (unsigned number = 1; got_rest.len || wanted_rest.len; number++) {
        slice got_line = next_line(&got_rest), wanted_line = next_line(&wanted_rest);
        if (slice_equal(got_line, wanted_line)) continue;
        fprintf(
            stderr,
            "line %u of the transcript was\n  %.*s\n, and is now\n  %.*s\n; the whole of it now:\n%.*s\n",
            number, (int)wanted_line.len, wanted_line.len ? wanted_line.ptr : "", (int)got_line.len,
            got_line.len ? got_line.ptr : "", (int)got.len, got.len ? got.ptr : "");
        return false;
    }
    return true;
}
