// SPDX-License-Identifier: MIT
//
// Ranges as responses. The multipart content is never put together in memory: it is written part by
// part, and the parts leave from the file.

#include "files/byteranges.h"

#include "base/assert.h"

#include <stdio.h>

// ---- The multipart content, octets only ---------------------------------------------------------

void byteranges_init(byteranges *b, uint64_t boundary, const char *type, uint64_t size,
                     const range *list, unsigned count)
{
    SKUA_ASSERT(count >= 2);
    SKUA_ASSERT(count <= RANGES_MAX);
    *b = (byteranges){
        .boundary = boundary, .size = size, .type = type, .count = count, .in_head = true
    };
    memcpy(b->list, list, count * sizeof *list);
}

static int byteranges_write_field(char *text, size_t room, range r, uint64_t size)
{
    return snprintf(text, room, "bytes %llu-%llu/%llu", (unsigned long long)r.first,
                    (unsigned long long)(r.first + r.length - 1), (unsigned long long)size);
}

// The delimiter before part number i and its fields, or the closing one. Every delimiter but the
// first begins with the CRLF that ends the part before it, RFC 2046 §5.1.1.
static size_t byteranges_write_head(const byteranges *b, unsigned i, char *head)
{
    int len;
    if (i == b->count) {
        len = snprintf(head, BYTERANGES_PART_OCTETS, "\r\n--skua-%016llx--\r\n",
                       (unsigned long long)b->boundary);
    } else {
        char field[BYTERANGES_FIELD_OCTETS];
        (void)byteranges_write_field(field, sizeof field, b->list[i], b->size);
        len = snprintf(head, BYTERANGES_PART_OCTETS,
                       "%s--skua-%016llx\r\nContent-Type: %s\r\nContent-Range: %s\r\n\r\n",
                       i ? "\r\n" : "", (unsigned long long)b->boundary, b->type, field);
    }
    SKUA_ASSERT(len > 0 && len < BYTERANGES_PART_OCTETS);
    return (size_t)len;
}

uint64_t byteranges_length(const byteranges *b)
{
    char head[BYTERANGES_PART_OCTETS];
    uint64_t length = byteranges_write_head(b, b->count, head);
    for (unsigned i = 0; i < b->count; i++) {
        length += byteranges_write_head(b, i, head) + b->list[i].length;
    }
    return length;
}

byteranges_piece byteranges_next(const byteranges *b, char *head)
{
    if (b->part > b->count) return (byteranges_piece){ .length = 0 };
    if (!b->in_head) {
        range r = b->list[b->part];
        return (byteranges_piece){ .offset = r.first + b->at, .length = r.length - b->at };
    }
    size_t len = byteranges_write_head(b, b->part, head);
    return (byteranges_piece){ .head = head + b->at, .length = len - b->at };
}

void byteranges_advance(byteranges *b, uint64_t n, const byteranges_piece *piece)
{
    SKUA_ASSERT(n <= piece->length);
    b->at += n;
    if (n < piece->length) return;
    b->at = 0;
    if (b->in_head && b->part < b->count) {
        b->in_head = false;
    } else {
        b->in_head = true;
        b->part++;
    }
}

void byteranges_type(const byteranges *b, char text[BYTERANGES_TYPE_OCTETS])
{
    (void)snprintf(text, BYTERANGES_TYPE_OCTETS, "multipart/byteranges; boundary=skua-%016llx",
                   (unsigned long long)b->boundary);
}

// ---- Responses ----------------------------------------------------------------------------------

// Lives in the request's memory.
typedef struct byteranges_job {
    byteranges content;
    skua_file *file; // a reference
} byteranges_job;

static void byteranges_ended(skua_request *request, skua_end how, void *user)
{
    (void)request, (void)how;
    byteranges_job *job = user;
    skua_file_unref(job->file);
}

// Writes what there is room for; called again when there is more.
static void byteranges_write(skua_request *request, void *user)
{
    byteranges_job *job = user;
    char head[BYTERANGES_PART_OCTETS];
    byteranges_piece piece = byteranges_next(&job->content, head);
    skua_status status = SKUA_OK;
    while (!status && piece.length) {
        status = piece.head ? skua_write(request, slice_make(piece.head, (size_t)piece.length))
                            : skua_write_file(request, job->file, piece.offset, piece.length);
        if (status) break;
        byteranges_advance(&job->content, piece.length, &piece);
        piece = byteranges_next(&job->content, head);
    }
    if (!status) status = skua_finish(request);
    if (status && status != SKUA_ELIMIT) skua_request_abort(request);
}

static void byteranges_respond_one(skua_request *request, skua_file *file, const char *type,
                                   uint64_t size, range r)
{
    char field[BYTERANGES_FIELD_OCTETS];
    int len = byteranges_write_field(field, sizeof field, r, size);
    skua_field_add(request, "Content-Range", slice_make(field, (size_t)len));
    skua_respond_file(request, 206, type, file, r.first, r.length);
}

// The file is given back when the request ends, whether every range was written by then or not.
void byteranges_respond(skua_request *request, skua_file *file, const char *type, uint64_t size,
                        const range *list, unsigned count, uint64_t boundary)
{
    if (count == 1) {
        byteranges_respond_one(request, file, type, size, list[0]);
        return;
    }
    byteranges_job *job = skua_request_alloc(request, sizeof *job);
    if (!job) {
        skua_respond_error(request, 503);
        return;
    }
    byteranges_init(&job->content, boundary, type, size, list, count);
    uint64_t length = byteranges_length(&job->content);
    if (length > INT64_MAX) {
        skua_respond_error(request, 416); // an address space full of overlapping ranges
        return;
    }
    char multipart[BYTERANGES_TYPE_OCTETS];
    byteranges_type(&job->content, multipart);
    job->file = skua_file_ref(file);
    skua_on_end(request, byteranges_ended, job);
    skua_status status =
        skua_respond_stream(request, 206, multipart, (int64_t)length, byteranges_write, job);
    if (status) {
        skua_on_end(request, NULL, NULL);
        skua_file_unref(file);
        return;
    }
    byteranges_write(request, job);
}

void byteranges_refuse(skua_request *request, uint64_t size)
{
    char field[BYTERANGES_FIELD_OCTETS];
    int len = snprintf(field, sizeof field, "bytes */%llu", (unsigned long long)size);
    skua_field_add(request, "Content-Range", slice_make(field, (size_t)len));
    skua_respond_error(request, 416);
}
