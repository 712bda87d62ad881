// SPDX-License-Identifier: MIT
//
// Cursor in a session's queue.

#include "net/tls_cursor.h"

#ifdef SKUA_TLS

#include "io/disk.h"

void tls_cursor_skip(tls_cursor *c, uint64_t octets)
{
    while (octets) {
        uint64_t left = out_segment_at(c->queue, c->segment)->len - c->offset;
        if (octets < left) {
            c->offset += octets;
            return;
        }
        octets -= left;
        c->segment++;
        c->offset = 0;
    }
}

size_t tls_cursor_pieces(const tls_cursor *c, size_t room, slice *pieces, size_t pieces_max,
                         size_t *octets)
{
    size_t count = 0;
    uint64_t offset = c->offset;
    *octets = 0;
    for (unsigned i = c->segment; i < c->queue->count && count < pieces_max && *octets < room;
         i++) {
        const out_segment *segment = out_segment_at(c->queue, i);
        if (segment->kind == OUT_FILE) break;
        uint64_t left = segment->len - offset;
        size_t n = left < room - *octets ? (size_t)left : room - *octets;
        pieces[count++] = slice_make(segment->ptr + offset, n);
        *octets += n;
        offset = 0;
    }
    return count;
}

bool tls_cursor_is_at_file(const tls_cursor *c, size_t skipped)
{
    tls_cursor at = *c;
    tls_cursor_skip(&at, skipped);
    return at.segment < at.queue->count && out_segment_at(at.queue, at.segment)->kind == OUT_FILE;
}

// Returns: how many octets; 0: they are being loaded; -1: they cannot be read.
static ssize_t cursor_read_file(const tls_cursor *c, io_loop *loop, io_stream *stream,
                                tls_flight *flight, char *to, size_t len)
{
    const out_segment *segment = out_segment_at(c->queue, c->segment);
    uint64_t at = segment->offset + c->offset;
    bool loaded = flight->loaded_file == segment->file && at < flight->loaded_to;
    if (loaded && len > flight->loaded_to - at) len = (size_t)(flight->loaded_to - at);
    if (loaded) {
        ssize_t n = disk_read_waiting(segment->file, to, len, at);
        return n > 0 ? n : -1;
    }
    if (disk_read_cached(segment->file, to, len, at)) return (ssize_t)len;
    flight->loaded_file = segment->file;
    flight->loaded_to = disk_load_for(loop, stream, segment->file, at, segment->len - c->offset);
    return stream->flags & IO_COLD ? 0 : cursor_read_file(c, loop, stream, flight, to, len);
}

ssize_t tls_cursor_copy(tls_cursor *c, io_loop *loop, io_stream *stream, tls_flight *flight,
                        char *to, size_t room)
{
    size_t total = 0;
    while (total < room && c->segment < c->queue->count) {
        const out_segment *segment = out_segment_at(c->queue, c->segment);
        uint64_t left = segment->len - c->offset;
        size_t n = left < room - total ? (size_t)left : room - total;
        if (segment->kind == OUT_FILE) {
            ssize_t got = cursor_read_file(c, loop, stream, flight, to + total, n);
            if (got < 0) return -1;
            if (got == 0) break;
            n = (size_t)got;
        } else {
            memcpy(to + total, segment->ptr + c->offset, n);
        }
        total += n;
        tls_cursor_skip(c, n);
    }
    return (ssize_t)total;
}

#endif
