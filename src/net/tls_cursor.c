// SPDX-License-Identifier: MIT
//
// Cursor in a session's queue.

#include "net/tls_cursor.h"

#ifdef SKUA_TLS

#include "base/assert.h"
#include "io/disk.h"

#include <string.h>

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

// ---- Copying ----

// Places that octets go to, from the first one's free part on.
typedef struct cursor_places {
    struct iovec at[TLS_PLACES_MAX];
    unsigned first, count;
    bool is_inside; // the first one has octets
} cursor_places;

static void places_init(cursor_places *p, const struct iovec *places, unsigned count)
{
    SKUA_ASSERT(count > 0 && count <= TLS_PLACES_MAX);
    memcpy(p->at, places, count * sizeof *places);
    p->first = 0;
    p->count = count;
    p->is_inside = false;
}

static void places_skip(cursor_places *p, size_t octets)
{
    for (; octets && octets >= p->at[p->first].iov_len; p->first++) {
        octets -= p->at[p->first].iov_len;
        p->is_inside = false;
    }
    if (octets == 0) return;
    p->at[p->first].iov_base = (char *)p->at[p->first].iov_base + octets;
    p->at[p->first].iov_len -= octets;
    p->is_inside = true;
}

// The free places, cut off behind *octets.  Returns: how many. *octets: what they hold.
static unsigned places_cut(const cursor_places *p, struct iovec *cut, size_t *octets)
{
    size_t left = *octets;
    unsigned n = 0;
    for (unsigned i = p->first; i < p->count && left; i++, n++) {
        cut[n] = p->at[i];
        if (cut[n].iov_len > left) cut[n].iov_len = left;
        left -= cut[n].iov_len;
    }
    *octets -= left;
    return n;
}

// Returns: how many octets; 0: they are being loaded; -1: they cannot be read.
static ssize_t cursor_read_file(const tls_cursor *c, io_loop *loop, io_stream *stream,
                                tls_flight *flight, const cursor_places *places)
{
    struct iovec cut[TLS_PLACES_MAX];
    const out_segment *segment = out_segment_at(c->queue, c->segment);
    uint64_t at = segment->offset + c->offset, left = segment->len - c->offset;
    bool loaded = flight->loaded_file == segment->file && at < flight->loaded_to;
    if (loaded && left > flight->loaded_to - at) left = flight->loaded_to - at;
    size_t len = left < SIZE_MAX ? (size_t)left : SIZE_MAX;
    unsigned count = places_cut(places, cut, &len);
    if (loaded) {
        ssize_t n = disk_read_waiting(segment->file, cut, count, at);
        return n > 0 ? n : -1;
    }
    if (disk_read_cached(loop, segment->file, cut, count, len, at)) return (ssize_t)len;
    flight->loaded_file = segment->file;
    flight->loaded_to = disk_load_for(loop, stream, segment->file, at, segment->len - c->offset);
    return stream->flags & IO_COLD ? 0 : cursor_read_file(c, loop, stream, flight, places);
}

static size_t cursor_copy_memory(const tls_cursor *c, const cursor_places *places)
{
    const out_segment *segment = out_segment_at(c->queue, c->segment);
    const struct iovec *to = &places->at[places->first];
    uint64_t left = segment->len - c->offset;
    size_t n = left < to->iov_len ? (size_t)left : to->iov_len;
    memcpy(to->iov_base, segment->ptr + c->offset, n);
    return n;
}

ssize_t tls_cursor_copy(tls_cursor *c, io_loop *loop, io_stream *stream, tls_flight *flight,
                        const struct iovec *to, unsigned count)
{
    cursor_places places;
    size_t total = 0;
    places_init(&places, to, count);
    while (places.first < places.count && c->segment < c->queue->count) {
        ssize_t n;
        if (out_segment_at(c->queue, c->segment)->kind == OUT_FILE) {
            n = cursor_read_file(c, loop, stream, flight, &places);
            if (n < 0) {
                out_segment_at(c->queue, c->segment)->failed = true;
                return -1;
            }
            if (n == 0) break;
        } else if (total && !places.is_inside) {
            break;
        } else {
            n = (ssize_t)cursor_copy_memory(c, &places);
        }
        total += (size_t)n;
        places_skip(&places, (size_t)n);
        tls_cursor_skip(c, (size_t)n);
    }
    return (ssize_t)total;
}

#endif
