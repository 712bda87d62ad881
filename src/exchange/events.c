// SPDX-License-Identifier: MIT
//
// Server-Sent Events, HTML Living Standard §9.2: text/event-stream written so that every reader
// gets back the lines that were given.

#include "exchange/events.h"

#include "base/contract.h"
#include "base/memory.h"
#include "base/sized.h"
#include "exchange/push.h"
#include "exchange/recorder.h"
#include "exchange/request.h"
#include "http/h1_write.h"

// Where an event is written; at NULL: its length is only counted.
typedef struct event_cursor {
    char *at;
    size_t len;
} event_cursor;

static void event_put(event_cursor *c, slice octets)
{
    if (c->at && octets.len) c->at = h1_write_slice(c->at, octets);
    c->len += octets.len;
}

static void event_put_line(event_cursor *c, slice name, slice value)
{
    event_put(c, name);
    event_put(c, value);
    event_put(c, SKUA_SLICE("\n"));
}

// The next line of *rest, which ends at CRLF, CR or LF (§9.2.5). *more: another follows, if an
// empty one.
static slice event_next_line(slice *rest, bool *more)
{
    size_t len = 0;
    while (len < rest->len && rest->ptr[len] != '\r' && rest->ptr[len] != '\n')
        len++;
    slice line = slice_make(rest->ptr, len);
    *more = len < rest->len;
    if (*more) {
        bool both = rest->ptr[len] == '\r' && len + 1 < rest->len && rest->ptr[len + 1] == '\n';
        *rest = slice_from(*rest, len + (both ? 2 : 1));
    }
    return line;
}

static void event_put_lines(event_cursor *c, slice name, slice text)
{
    bool more = true;
    while (more) {
        slice line = event_next_line(&text, &more);
        event_put_line(c, name, line);
    }
}

static void event_put_retry(event_cursor *c, int64_t milliseconds)
{
    char digits[H1_NUMBER_OCTETS_MAX];
    char *end = h1_write_number(digits, (uint64_t)milliseconds);
    event_put_line(c, SKUA_SLICE("retry: "), slice_make(digits, (size_t)(end - digits)));
}

static void event_write(event_cursor *c, const skua_event *event)
{
    if (event->comment) {
        event_put_lines(c, SKUA_SLICE(": "), event->data);
    } else {
        if (event->name.len) event_put_line(c, SKUA_SLICE("event: "), event->name);
        if (event->id.ptr) event_put_line(c, SKUA_SLICE("id: "), event->id);
        if (event->retry_ms) event_put_retry(c, event->retry_ms);
        if (event->data.ptr) event_put_lines(c, SKUA_SLICE("data: "), event->data);
    }
    event_put(c, SKUA_SLICE("\n"));
}

size_t event_format(const skua_event *event, char *at)
{
    event_cursor cursor = { .at = at };
    event_write(&cursor, event);
    return cursor.len;
}

// A line end would begin another field; readers drop an id that has a NUL.
bool event_is_one_line(slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\r' || text.ptr[i] == '\n' || text.ptr[i] == 0) return false;
    }
    return true;
}

// In a blocking handler it is put together in memory, and written as octets.
static skua_status event_record(recorder *taken, const skua_event *event, size_t len)
{
    char *text = memory_alloc(len);
    if (!text) return SKUA_ENOMEM;
    (void)event_format(event, text);
    skua_status written = taken->table->write(taken, slice_make(text, len));
    memory_free(text);
    return written;
}

// The event is written twice: at first only to count its octets, then into the room that was
// reserved for so many.
skua_status skua_event_send_sized(skua_request *r, const skua_event *event, const skua_sizes *sizes)
{
    recorder *taken = request_is_here(r) ? NULL : recorder_of(r, __func__);
    CONTRACT_GIVEN(event);
    CONTRACT_SIZES(sizes);
    skua_event own;
    event = SIZED_GIVEN(event, sizes->event, &own);
    CONTRACT_SLICE(event->data);
    CONTRACT_SLICE(event->name);
    CONTRACT_SLICE(event->id);
    if (taken ? !taken->sends_events : r->push != PUSH_EVENTS)
        return taken ? SKUA_ESTATE : request_refusal(r);
    if (!event_is_one_line(event->name) || !event_is_one_line(event->id) || event->retry_ms < 0)
        return SKUA_EINVAL;
    size_t len = event_format(event, NULL);
    if (taken) return event_record(taken, event, len);
    stream_piece piece;
    skua_status reserved = stream_reserve(r, len, &piece);
    if (reserved || !piece.at) return reserved;
    (void)event_format(event, piece.at);
    return stream_commit(r, &piece);
}

// The worker looks at what kind the response is when it has begun, and a second one leaves the first as it is.
static skua_status events_record(recorder *taken, const char *function, skua_drained_fn *drained)
{
    if (drained)
        contract_broken(function,
                        "drained must be NULL in a blocking handler, where skua_event_send "
                        "waits");
    bool is_first = taken->table->status(taken) == 0;
    if (is_first) taken->sends_events = true;
    skua_status begun = taken->table->begin(taken, function, 200, "text/event-stream", -1);
    if (begun && is_first) taken->sends_events = false;
    return begun;
}

// Nothing will ever be heard of the events of a HEAD: its response is complete with the head.
skua_status skua_events_open(skua_request *r, skua_drained_fn *drained, void *user)
{
    recorder *taken = request_is_here(r) ? NULL : recorder_of(r, __func__);
    if (taken) return events_record(taken, __func__, drained);
    if (r->responding == RESPONSE_NONE)
        (void)skua_field_add(r, "Cache-Control", SKUA_SLICE("no-store"));
    skua_status begun = stream_begin(r, __func__, 200, "text/event-stream", -1, drained, user);
    if (begun) return begun;
    request_set_push(r, PUSH_EVENTS);
    if (r->muted) request_set_responding(r, RESPONSE_QUEUED);
    return SKUA_OK;
}
