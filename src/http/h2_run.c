// SPDX-License-Identifier: MIT
//
// Runs of fields that come again. A run is taken as it was only where each of its fields would be read
// in the same way: behind the same pseudo-fields, and within all limits.

#include "http/h2_run.h"

#ifndef SKUA_NO_HTTP2

#include "base/assert.h"
#include "base/inline.h"
#include "http/octets.h"

enum { H2_RUN_OCTETS_MIN = 2 }; // one field is as soon read

// A place in a block where a run may begin, and how far the head had come there.
typedef struct h2_run_mark {
    const unsigned char *at;
    size_t used;
    uint64_t list_octets;
    unsigned seen;
    uint32_t head_seen;
    uint16_t count, cookie, cookie_len;
    bool host_seen;
} h2_run_mark;

static inline h2_run_mark h2_run_begin(const hpack_decoder *d, const h2_head_reader *in)
{
    const request_head *head = in->head;
    return (h2_run_mark){ .at = d->at,
                          .used = in->used,
                          .list_octets = in->list_octets,
                          .seen = in->seen,
                          .head_seen = head->seen,
                          .count = head->count,
                          .cookie = in->cookie,
                          .cookie_len = in->cookie ? head->fields[in->cookie - 1].value_len : 0,
                          .host_seen = in->host_seen };
}

// ---- Remembering ----

// Lines that do more than to be there.
static bool h2_run_is_plain_line(const head_field *line)
{
    return line->id != FIELD_CONTENT_LENGTH && line->id != FIELD_EXPECT;
}

// Whether what the run has done to the head depends on nothing that h2_run_take does not look at.
static bool h2_run_is_plain(const h2_run_mark *mark, const h2_head_reader *in)
{
    const request_head *head = in->head;
    if (in->fault.status || in->used - mark->used > H2_RUN_TEXT_MAX) return false;
    if (in->host_seen != mark->host_seen || in->protocol_len) return false;
    if (mark->cookie && head->fields[mark->cookie - 1].value_len != mark->cookie_len) return false;
    for (size_t i = mark->count; i < head->count; i++) {
        if (!h2_run_is_plain_line(&head->fields[i])) return false;
    }
    return true;
}

// The number of a line from the beginning of the run; 0: it is before it, or there is none.
static uint16_t h2_run_line_number(const h2_run_mark *mark, uint16_t number)
{
    return number > mark->count ? (uint16_t)(number - mark->count) : 0;
}

// Whether there is room for what is to be remembered, which is taken if it is more than there is at hand.
static bool h2_run_has_room(h2_run *run, const hpack_decoder *d, size_t octets)
{
    if (octets <= sizeof run->at_hand || run->lines != run->at_hand) return true;
    void *lines = counted_alloc(d->table.memory, H2_RUN_ROOM_MAX);
    if (lines) run->lines = lines;
    return lines != NULL;
}

static void h2_run_remember(h2_run *run, const h2_run_mark *mark, const hpack_decoder *d,
                            const h2_head_reader *in)
{
    const request_head *head = in->head;
    size_t from = mark->used, lines = (size_t)head->count - mark->count;
    if (!h2_run_has_room(run, d, lines * sizeof *run->lines + in->used - from)) return;
    run->from_seen = mark->seen;
    run->seen = in->seen & ~mark->seen;
    run->head_seen = head->seen & ~mark->head_seen;
    run->list_octets = (uint32_t)(in->list_octets - mark->list_octets);
    run->text_octets = (uint16_t)(in->used - from);
    run->count = (uint16_t)lines;
    run->start = (uint16_t)(head->start - from);
    run->method_len = head->method_len;
    run->target = (uint16_t)(head->target - from);
    run->target_len = head->target_len;
    run->host = h2_run_line_number(mark, head->host);
    run->cookie = h2_run_line_number(mark, in->cookie);
    run->priority = h2_run_line_number(mark, in->priority);
    memcpy(run->lines + lines, in->text + from, run->text_octets);
    for (size_t i = 0; i < run->count; i++) {
        head_field line = head->fields[mark->count + i];
        line.name = (uint16_t)(line.name - from);
        line.value = (uint16_t)(line.value - from);
        run->lines[i] = line;
        // It may have stood before the run, too, and not the next time.
        run->head_seen |= 1u << line.id & ~(1u << FIELD_OTHER);
    }
    run->is_known = true;
}

static BASE_INLINE_ALWAYS bool h2_run_is_last(const h2_run *run, const hpack_decoder *d,
                                              const unsigned char *at, size_t len)
{
    return len == run->len && run->changes == d->changes &&
           octets_equal_at_once((const char *)at, run->octets, len);
}

// The block has ended, and all since the mark were indexed fields. They are remembered when they come
// for the second time: many never do.
static void h2_run_end(h2_run *run, const h2_run_mark *mark, const hpack_decoder *d,
                       const h2_head_reader *in)
{
    size_t len = (size_t)(d->end - mark->at);
    if (len < H2_RUN_OCTETS_MIN || len > H2_RUN_OCTETS_MAX) return;
    if (h2_run_is_last(run, d, mark->at, len)) {
        if (h2_run_is_plain(mark, in)) h2_run_remember(run, mark, d, in);
        return;
    }
    run->is_known = false;
    run->changes = d->changes;
    run->len = (uint8_t)len;
    memcpy(run->octets, mark->at, len);
}

// ---- Taking ----

static inline void h2_run_apply(const h2_run *run, h2_head_reader *in)
{
    request_head *head = in->head;
    size_t at = in->used;
    unsigned count = head->count;
    SKUA_ASSERT(run->text_octets <= in->room - at);
    memcpy(in->text + at, run->lines + run->count, run->text_octets);
    in->used = at + run->text_octets;
    in->list_octets += run->list_octets;
    in->seen |= run->seen;
    head->seen |= run->head_seen;
    for (size_t i = 0; i < run->count; i++) {
        head_field *line = &head->fields[count + i];
        *line = run->lines[i];
        line->name = (uint16_t)(line->name + at);
        line->value = (uint16_t)(line->value + at);
    }
    head->count = (uint16_t)(count + run->count);
    if (run->seen & 1u << HPACK_TOKEN_METHOD) {
        head->start = (uint16_t)(run->start + at);
        head->method_len = run->method_len;
    }
    if (run->seen & 1u << HPACK_TOKEN_PATH) {
        head->target = (uint16_t)(run->target + at);
        head->target_len = run->target_len;
    }
    if (run->host) head->host = (uint16_t)(count + run->host);
    if (run->cookie) in->cookie = (uint16_t)(count + run->cookie);
    if (run->priority) in->priority = (uint16_t)(count + run->priority);
}

// Takes the rest of the block, if it is the run. A cookie in it is joined with one before it, and so is
// no line of its own. Returns: whether it was taken.
static inline bool h2_run_take(const h2_run *run, hpack_decoder *d, h2_head_reader *in)
{
    const request_head *head = in->head;
    size_t left = (size_t)(d->end - d->at);
    if (!run->is_known || in->seen != run->from_seen || !h2_run_is_last(run, d, d->at, left))
        return false;
    if (in->fault.status || (run->cookie && in->cookie) ||
        (unsigned)head->count + run->count > head->limits->fields_max ||
        in->list_octets + run->list_octets > in->list_fits)
        return false;
    h2_run_apply(run, in);
    d->at = d->end;
    if (d->text_room) hpack_decoder_end(d);
    return true;
}

// ---- Blocks ----

static inline bool h2_run_is_far_too_large(const h2_head_reader *in)
{
    return in->fault.status && in->list_octets > 2 * in->list_octets_max;
}

// Most fields are indexed, and those that end a block have often come before.
hpack_event h2_run_read(h2_run *run, hpack_decoder *d, h2_head_reader *in)
{
    hpack_field room;
    const hpack_field *indexed;
    for (;;) {
        if (h2_run_take(run, d, in)) return HPACK_END;
        h2_run_mark mark = h2_run_begin(d, in);
        while ((indexed = hpack_decoder_next_indexed(d, &room))) {
            h2_head_take(in, indexed);
            if (h2_run_is_far_too_large(in)) return HPACK_FIELD;
        }
        hpack_event event = hpack_decoder_next(d, &room);
        if (event == HPACK_END) h2_run_end(run, &mark, d, in);
        if (event != HPACK_FIELD) return event;
        h2_head_take(in, &room);
        if (h2_run_is_far_too_large(in)) return HPACK_FIELD;
    }
}

#endif
