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
    byteranges_from from; // a file: with a reference
} byteranges_job;

static void byteranges_ended(skua_request *request, skua_end how, void *user)
{
    (void)request, (void)how;
    byteranges_job *job = user;
    if (job->from.file) skua_file_unref(job->from.file);
}

// How much of a piece is written at once. Octets are copied, and no more than there is room for; without any one is
// tried, so that the request is told of room that comes.
static uint64_t byteranges_turn(skua_request *request, const byteranges_from *from,
                                const byteranges_piece *piece)
{
    if (piece->head || from->file) return piece->length;
    uint64_t room = skua_write_room(request);
    if (piece->length <= room) return piece->length;
    return room ? room : 1;
}

static skua_status byteranges_write_piece(skua_request *request, const byteranges_from *from,
                                          const byteranges_piece *piece, uint64_t n)
{
    if (!piece->head && from->file) return skua_write_file(request, from->file, piece->offset, n);
    const char *octets = piece->head ? piece->head : from->octets + piece->offset;
    return skua_write(request, slice_make(octets, (size_t)n));
}

// Writes what there is room for; called again when there is more.
static void byteranges_write(skua_request *request, void *user)
{
    byteranges_job *job = user;
    char head[BYTERANGES_PART_OCTETS];
    byteranges_piece piece = byteranges_next(&job->content, head);
    skua_status status = SKUA_OK;
    while (!status && piece.length) {
        uint64_t n = byteranges_turn(request, &job->from, &piece);
        status = byteranges_write_piece(request, &job->from, &piece, n);
        if (status) break;
        byteranges_advance(&job->content, n, &piece);
        piece = byteranges_next(&job->content, head);
    }
    if (!status) status = skua_finish(request);
    if (status && status != SKUA_ELIMIT) skua_request_abort(request);
}

static void byteranges_respond_one(skua_request *request, const byteranges_from *from, range r)
{
    char field[BYTERANGES_FIELD_OCTETS];
    int len = byteranges_write_field(field, sizeof field, r, from->size);
    skua_field_add(request, "Content-Range", slice_make(field, (size_t)len));
    if (from->file) skua_respond_file(request, 206, from->type, from->file, r.first, r.length);
    else
        skua_respond_borrowed(request, 206, from->type,
                              slice_make(from->octets + r.first, (size_t)r.length), NULL, NULL);
}

// The file is given back when the request ends, whether every range was written by then or not.
void byteranges_respond(skua_request *request, const byteranges_from *from, const range *list,
                        unsigned count, uint64_t boundary)
{
    if (count == 1) {
        byteranges_respond_one(request, from, list[0]);
        return;
    }
    byteranges_job *job = skua_request_alloc(request, sizeof *job);
    if (!job) {
        skua_respond_error(request, 503);
        return;
    }
    byteranges_init(&job->content, boundary, from->type, from->size, list, count);
    uint64_t length = byteranges_length(&job->content);
    if (length > INT64_MAX) {
        skua_respond_error(request, 416); // an address space full of overlapping ranges
        return;
    }
    char multipart[BYTERANGES_TYPE_OCTETS];
    byteranges_type(&job->content, multipart);
    job->from = *from;
    if (skua_request_follow(request, byteranges_ended, job)) {
        skua_respond_error(request, 503);
        return;
    }
    if (from->file) (void)skua_file_ref(from->file);
    skua_status status =
        skua_respond_stream(request, 206, multipart, (int64_t)length, byteranges_write, job);
    if (status) {
        skua_request_unfollow(request, byteranges_ended, job);
        byteranges_ended(request, SKUA_END_SENT, job);
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
