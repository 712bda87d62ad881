// SPDX-License-Identifier: MIT
//
// Frames of the ceilings over HTTP/2.
#include "ceiling_frames.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PREFACE_OCTETS = 24,
    FRAME_HEADER_OCTETS = 9,
    FRAME_STREAM_AT = 5, // within a header
    FRAME_OCTETS_MAX = 16384,
    FRAME_DATA = 0,
    FRAME_HEADERS = 1,
    FRAME_SETTINGS = 4,
    FLAG_ACK = 1,
    FLAG_END_STREAM = 1,
    FLAG_END_HEADERS = 4,
    STAGE_OCTETS = 65536,
    PIECES_MAX = 64
};

typedef struct frames_conn {
    size_t skipped; // octets that are passed over before the next header
    size_t lead_end, lead_left;
    uint32_t asked; // how many requests have come
    unsigned char header_len;
    char header[FRAME_HEADER_OCTETS]; // that has not all come
    char *stage;
} frames_conn;

static struct {
    char *lead; // SETTINGS, an acknowledgement, the first answer
    size_t settings_octets, lead_octets;
    frames_conn conns[CEILING_CONNS_MAX]; // by descriptor
} frames;

static frames_conn *conn_of(const ceiling_conn *c)
{
    return &frames.conns[c - the.conns];
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

// ---- Loading ----

static char *header_put(char *to, size_t len, int type, int flags, uint32_t stream)
{
    const unsigned char header[] = { (unsigned char)(len >> 16),
                                     (unsigned char)(len >> 8),
                                     (unsigned char)len,
                                     (unsigned char)type,
                                     (unsigned char)flags,
                                     0,
                                     0,
                                     0,
                                     (unsigned char)stream };
    memcpy(to, header, sizeof header);
    return to + sizeof header;
}

static char *answer_put(char *to, const ceiling_octets *block, const ceiling_octets *content)
{
    to = header_put(to, block->len, FRAME_HEADERS, FLAG_END_HEADERS, 1);
    memcpy(to, block->octets, block->len);
    to += block->len;
    for (size_t at = 0; at < content->len;) {
        size_t len = least(content->len - at, FRAME_OCTETS_MAX);
        bool ends = at + len == content->len;
        to = header_put(to, len, FRAME_DATA, ends ? FLAG_END_STREAM : 0, 1);
        memcpy(to, content->octets + at, len);
        to += len;
        at += len;
    }
    return to;
}

static size_t answer_octets(const ceiling_octets *block, const ceiling_octets *content)
{
    size_t count = (content->len + FRAME_OCTETS_MAX - 1) / FRAME_OCTETS_MAX;
    return block->len + content->len + (1 + count) * FRAME_HEADER_OCTETS;
}

static char *octets_new(size_t octets)
{
    char *room = malloc(octets);
    if (!room) ceiling_die("malloc");
    return room;
}

void ceiling_frames_load(const char *first, const char *head, const char *content)
{
    ceiling_octets opening = ceiling_file_load(first), block = ceiling_file_load(head);
    ceiling_octets body = ceiling_file_load(content);
    if (!body.len || block.len > FRAME_OCTETS_MAX || opening.len > FRAME_OCTETS_MAX)
        ceiling_usage();
    the.head = FRAME_HEADER_OCTETS + block.len;
    the.answer = answer_octets(&block, &body);
    the.canned = octets_new(the.answer);
    (void)answer_put(the.canned, &block, &body);
    frames.lead = octets_new(2 * FRAME_HEADER_OCTETS + answer_octets(&opening, &body));
    char *at = header_put(frames.lead, 0, FRAME_SETTINGS, 0, 0);
    at = header_put(at, 0, FRAME_SETTINGS, FLAG_ACK, 0);
    frames.settings_octets = (size_t)(at - frames.lead);
    frames.lead_octets = (size_t)(answer_put(at, &opening, &body) - frames.lead);
    free(opening.octets);
    free(block.octets);
    free(body.octets);
}

// ---- Reading ----

void ceiling_frames_begin(ceiling_conn *c)
{
    frames_conn *f = conn_of(c);
    *f = (frames_conn){ .stage = f->stage, .skipped = PREFACE_OCTETS };
}

static void lead_owe(ceiling_conn *c, size_t end)
{
    frames_conn *f = conn_of(c);
    c->owed += end - f->lead_end;
    f->lead_left += end - f->lead_end;
    f->lead_end = end;
}

static void frame_on_header(ceiling_conn *c, const char *octets)
{
    const unsigned char *header = (const unsigned char *)octets;
    frames_conn *f = conn_of(c);
    f->skipped = (size_t)header[0] << 16 | (size_t)header[1] << 8 | header[2];
    if (header[3] == FRAME_HEADERS) {
        if (f->asked++ == 0) lead_owe(c, frames.lead_octets);
        else c->owed += the.answer;
    } else if (header[3] == FRAME_SETTINGS && !(header[4] & FLAG_ACK)) {
        if (f->lead_end == 0) lead_owe(c, frames.settings_octets);
    }
}

// Returns the octets used up.
static size_t frame_header_take(ceiling_conn *c, const char *octets, size_t len)
{
    frames_conn *f = conn_of(c);
    if (f->header_len == 0 && len >= FRAME_HEADER_OCTETS) {
        frame_on_header(c, octets);
        return FRAME_HEADER_OCTETS;
    }
    size_t n = least(len, FRAME_HEADER_OCTETS - (size_t)f->header_len);
    memcpy(f->header + f->header_len, octets, n);
    f->header_len = (unsigned char)(f->header_len + n);
    if (f->header_len == FRAME_HEADER_OCTETS) {
        f->header_len = 0;
        frame_on_header(c, f->header);
    }
    return n;
}

void ceiling_frames_count(ceiling_conn *c, const char *octets, size_t len)
{
    frames_conn *f = conn_of(c);
    while (len) {
        size_t n = least(len, f->skipped);
        f->skipped -= n;
        if (n == 0) n = frame_header_take(c, octets, len);
        octets += n;
        len -= n;
    }
}

// ---- Answering ----

size_t ceiling_frames_run(const ceiling_conn *c)
{
    const frames_conn *f = conn_of(c);
    if (f->lead_left) return f->lead_left;
    if (!the.by_sendfile || !c->owed) return c->owed;
    return (c->owed - 1) % the.answer + 1;
}

// A part of one answer, and its stream.
typedef struct answer_part {
    char *to;
    size_t place, len; // within the answer
    uint32_t stream;
} answer_part;

static size_t frame_place(size_t number)
{
    return number ? the.head + (number - 1) * (FRAME_HEADER_OCTETS + FRAME_OCTETS_MAX) : 0;
}

static size_t frame_number(size_t place)
{
    if (place < the.head) return 0;
    return 1 + (place - the.head) / (FRAME_HEADER_OCTETS + FRAME_OCTETS_MAX);
}

// A header may lie across the end of a part.
static void stream_put(const answer_part *part, size_t place)
{
    for (size_t i = 0; i < sizeof part->stream; i++) {
        size_t at = place + i - part->place;
        if (at < part->len) part->to[at] = (char)(part->stream >> (24 - 8 * i));
    }
}

static void streams_put(const answer_part *part)
{
    size_t end = part->place + part->len, place;
    for (size_t n = frame_number(part->place); (place = frame_place(n)) < end; n++)
        stream_put(part, place + FRAME_STREAM_AT);
}

static void part_copy(const answer_part *part)
{
    memcpy(part->to, the.canned + part->place, part->len);
    streams_put(part);
}

// Octets of content that are to be read, in order.
typedef struct content_list {
    size_t octets, begins;
    int count;
    struct iovec pieces[PIECES_MAX];
} content_list;

static void content_add(content_list *list, size_t number, size_t within, struct iovec piece)
{
    if (list->count == PIECES_MAX) ceiling_die("too many pieces");
    if (list->octets == 0) list->begins = (number - 1) * FRAME_OCTETS_MAX + within;
    list->octets += piece.iov_len;
    list->pieces[list->count++] = piece;
}

// Everything but the content, which is listed.
static void part_copy_heads(const answer_part *part, content_list *list)
{
    for (size_t done = 0; done < part->len;) {
        size_t place = part->place + done, number = frame_number(place);
        size_t within = place - frame_place(number);
        bool is_content = number && within >= FRAME_HEADER_OCTETS;
        size_t end = number == 0 || is_content ? frame_place(number + 1)
                                               : frame_place(number) + FRAME_HEADER_OCTETS;
        size_t n = least(end - place, part->len - done);
        if (is_content)
            content_add(list, number, within - FRAME_HEADER_OCTETS,
                        (struct iovec){ part->to + done, n });
        else memcpy(part->to + done, the.canned + place, n);
        done += n;
    }
    streams_put(part);
}

static void content_read(const content_list *list)
{
    if (list->count == 0) return;
    ssize_t n = preadv(the.file, list->pieces, list->count, (off_t)list->begins);
    if (n != (ssize_t)list->octets) ceiling_die("preadv");
}

// Puts answers of which so many octets are left to be put, and returns how many are left then.
static size_t answers_put(uint32_t asked, size_t left, struct iovec room, content_list *list)
{
    while (room.iov_len) {
        size_t answers = (left - 1) / the.answer + 1, place = answers * the.answer - left;
        answer_part part = { .to = room.iov_base,
                             .place = place,
                             .len = least(room.iov_len, the.answer - place),
                             .stream = 2 * (asked - (uint32_t)answers) + 1 };
        if (the.by_sendfile) part_copy_heads(&part, list);
        else part_copy(&part);
        room.iov_base = (char *)room.iov_base + part.len;
        room.iov_len -= part.len;
        left -= part.len;
    }
    return left;
}

static void lead_put(const frames_conn *f, const struct iovec *pieces, int count)
{
    const char *from = frames.lead + f->lead_end - f->lead_left;
    for (int i = 0; i < count; i++) {
        memcpy(pieces[i].iov_base, from, pieces[i].iov_len);
        from += pieces[i].iov_len;
    }
}

void ceiling_frames_put(const ceiling_conn *c, const struct iovec *pieces, int count)
{
    const frames_conn *f = conn_of(c);
    content_list list;
    list.octets = 0;
    list.count = 0;
    size_t left = c->owed;
    if (f->lead_left) {
        lead_put(f, pieces, count);
        return;
    }
    for (int i = 0; i < count; i++)
        left = answers_put(f->asked, left, pieces[i], &list);
    content_read(&list);
}

const char *ceiling_frames_stage(ceiling_conn *c, size_t *len)
{
    frames_conn *f = conn_of(c);
    if (!f->stage) f->stage = octets_new(STAGE_OCTETS);
    *len = least(ceiling_frames_run(c), STAGE_OCTETS);
    ceiling_frames_put(c, &(struct iovec){ f->stage, *len }, 1);
    return f->stage;
}

void ceiling_frames_sent(ceiling_conn *c, size_t octets)
{
    frames_conn *f = conn_of(c);
    f->lead_left -= least(f->lead_left, octets);
}
