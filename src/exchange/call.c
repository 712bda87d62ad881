// SPDX-License-Identifier: MIT
//
// Calls of blocking handlers, on their threads: what a handler says of its response is taken down.

#include "exchange/call.h"

#include "base/contract.h"
#include "base/memory.h"
#include "exchange/fields.h"
#include "exchange/respond.h"
#include "exchange/worker.h"

static inline blocking_call *call_of(const recorder *taken)
{
    union {
        const char *of;
        blocking_call *call;
    } at = { .of = (const char *)taken - offsetof(blocking_call, taken) };
    return at.call;
}

// ---- Handlers on the worker's own thread ----

void call_enter_inline(blocking_call *call)
{
    call->request->home = call;
    recorder_visit(call->request, &call->taken);
}

void call_leave_inline(blocking_call *call)
{
    call->request->home = thread_here();
    recorder_visit(NULL, NULL);
}

// ---- Complaints ----

// The first is the cause of those that follow.
static skua_status call_complain(blocking_call *call, skua_status why, const char *what)
{
    if (!call->complaint) call->complaint = what;
    return why;
}

// After a response that failed for a client's words the handler may try another: that is no misuse.
static skua_status call_misuse(blocking_call *call, const char *function, skua_status why,
                               const char *what)
{
    bool is_strict = function && call->saying != CALL_FAILED;
    if (is_strict && worker_config(call->request->worker)->strict) contract_broken(function, what);
    return call_complain(call, why, what);
}

// ---- Fields ----

static skua_status call_lose_field(recorder *taken, skua_status why)
{
    blocking_call *call = call_of(taken);
    if (call_is_over(call)) return SKUA_ECLOSED;
    if (call->saying != CALL_SILENT && call->saying != CALL_STREAMS) return SKUA_ESTATE;
    call->spoiled = true;
    return call_complain(call, why, fields_reason(why));
}

static bool call_append(blocking_call *call, call_fields *fields, slice name, slice value)
{
    call_field *field = arena_alloc(&call->memory, sizeof *field);
    slice name_copy = arena_copy(&call->memory, name);
    slice value_copy = arena_copy(&call->memory, value);
    if (!field || !name_copy.ptr || (value.len && !value_copy.ptr)) return false;
    *field = (call_field){ .name = name_copy.ptr, .value = value_copy };
    *fields->tail = field;
    fields->tail = &field->next;
    fields->octets += name.len + value.len + 4;
    return true;
}

static skua_status call_add(blocking_call *call, call_fields *fields, slice name, slice value)
{
    size_t left = FIELDS_OCTETS_MAX - fields->octets;
    if (name.len > left || value.len > left || name.len + value.len + 4 > left) return SKUA_ELIMIT;
    return call_append(call, fields, name, value) ? SKUA_OK : SKUA_ENOMEM;
}

static skua_status call_add_field(recorder *taken, slice name, slice value)
{
    blocking_call *call = call_of(taken);
    if (call_is_over(call)) return SKUA_ECLOSED;
    if (call->saying != CALL_SILENT)
        return call_misuse(call, "skua_field_add", SKUA_ESTATE,
                           "a field was added behind the response, and dropped");
    skua_status added = SKUA_EINVAL;
    if (fields_take(name, value)) added = call_add(call, &call->fields, name, value);
    return added ? call_lose_field(taken, added) : SKUA_OK;
}

// Trailers are read by the worker when the handler has finished.
static skua_status call_add_trailer(recorder *taken, slice name, slice value)
{
    blocking_call *call = call_of(taken);
    if (call_is_over(call)) return SKUA_ECLOSED;
    if (call->saying != CALL_SILENT && call->saying != CALL_STREAMS)
        return call_misuse(call, "skua_trailer_add", SKUA_ESTATE,
                           "a trailer was added behind the response, and dropped");
    skua_status added = SKUA_EINVAL;
    if (fields_take_trailer(name, value)) added = call_add(call, &call->trailers, name, value);
    return added ? call_lose_field(taken, added) : SKUA_OK;
}

static void call_mark_fields(recorder *taken)
{
    blocking_call *call = call_of(taken);
    call->marked = call->fields;
    call->marked_spoiled = call->spoiled;
}

static void call_drop_fields(recorder *taken)
{
    blocking_call *call = call_of(taken);
    call->fields = call->marked;
    *call->fields.tail = NULL;
    call->spoiled = call->marked_spoiled;
}

// ---- Whole responses ----

static skua_status call_fail(blocking_call *call, skua_status why)
{
    if (call->saying == CALL_SILENT) call->saying = CALL_FAILED;
    return why;
}

static skua_status call_decline(recorder *taken, const char *function, skua_status why,
                                const char *what, bool is_misuse)
{
    blocking_call *call = call_of(taken);
    if (call_is_over(call)) return SKUA_ECLOSED;
    if (call->saying != CALL_SILENT)
        return call_misuse(call, function, SKUA_ESTATE, RESPOND_SECOND);
    if (is_misuse) (void)call_misuse(call, function, why, what);
    else (void)call_complain(call, why, what);
    return call_fail(call, why);
}

// The part that all responses have in common.
static skua_status call_begin_response(blocking_call *call, const char *function, int status,
                                       const char *type)
{
    recorder *taken = &call->taken;
    if (call_is_over(call)) return SKUA_ECLOSED;
    if (call->saying != CALL_SILENT)
        return call_misuse(call, function, SKUA_ESTATE, RESPOND_SECOND);
    if (call->spoiled) return call_fail(call, SKUA_EINVAL);
    slice media = type ? slice_of(type) : (slice){ 0 };
    skua_status checked = respond_check_type(status, media);
    if (checked && !respond_takes_status(status))
        return call_decline(taken, function, checked, RESPOND_STATUS, true);
    if (checked) return call_decline(taken, function, checked, RESPOND_TYPE, false);
    slice copy = type ? arena_copy(&call->memory, media) : (slice){ 0 };
    if (type && !copy.ptr)
        return call_decline(taken, function, SKUA_ENOMEM, RESPOND_NO_MEMORY, false);
    call->status = status;
    call->type = copy.ptr;
    return SKUA_OK;
}

static skua_status call_respond(recorder *taken, const char *function, int status, const char *type,
                                slice content)
{
    blocking_call *call = call_of(taken);
    skua_status begun = call_begin_response(call, function, status, type);
    if (begun) return begun;
    call->octets = counted_alloc(NULL, content.len ? content.len : 1);
    if (!call->octets) return call_decline(taken, function, SKUA_ENOMEM, RESPOND_NO_MEMORY, false);
    if (content.len) memcpy(call->octets, content.ptr, content.len);
    call->octets_len = content.len;
    call->saying = CALL_GIVEN;
    return SKUA_OK;
}

static int call_status(const recorder *taken)
{
    const blocking_call *call = call_of(taken);
    if (call->saying == CALL_FAILED) return 500;
    return call->saying == CALL_SILENT ? 0 : call->status;
}

static bool call_tells_gone(const recorder *taken)
{
    return call_is_over(call_of(taken));
}

// ---- Content that the handler writes ----

// Tells the worker that there is something to send. The lock is held.
static void call_tell(blocking_call *call)
{
    call_stream *stream = &call->stream;
    if (stream->told) return;
    stream->told = true;
    if (!call->is_inline) worker_post(call->request->worker, &stream->letter);
}

// A handler that runs on the worker's own thread makes way for the worker meanwhile.
static void call_unlock(blocking_call *call)
{
    bool told = call->stream.told;
    pthread_mutex_unlock(&call->stream.lock);
    if (!call->is_inline || !told) return;
    call_leave_inline(call);
    call->stream.letter.deliver(&call->stream.letter, call->request->worker);
    call_enter_inline(call);
}

// Of a whole response the worker hears when the handler has returned, which is early enough.
static void call_close(recorder *taken)
{
    blocking_call *call = call_of(taken);
    if (call->saying != CALL_SILENT && call->saying != CALL_STREAMS) return;
    pthread_mutex_lock(&call->stream.lock);
    call->stream.closes = true;
    if (call->saying == CALL_STREAMS) call_tell(call);
    call_unlock(call);
}

// The worker is told at once, since the client may wait long for the handler's return.
static void call_abort(recorder *taken)
{
    blocking_call *call = call_of(taken);
    if (call->saying != CALL_SILENT && call->saying != CALL_STREAMS) return;
    pthread_mutex_lock(&call->stream.lock);
    call->stream.aborts = true;
    call_tell(call);
    call_unlock(call);
}

static skua_status call_begin(recorder *taken, const char *function, int status, const char *type,
                              int64_t length)
{
    blocking_call *call = call_of(taken);
    if (taken->is_erring) return call_complain(call, SKUA_ESTATE, RESPOND_UNFINISHED);
    skua_status begun = call_begin_response(call, function, status, type);
    if (begun) return begun;
    if (length < -1) return call_decline(taken, function, SKUA_EINVAL, RESPOND_LENGTH, true);
    call->length = call->left = length;
    call->saying = CALL_STREAMS;
    pthread_mutex_lock(&call->stream.lock);
    call_tell(call);
    call_unlock(call);
    return SKUA_OK;
}

// Where there is one thread nobody could make room, so what does not fit is kept.
static bool call_must_wait(const blocking_call *call, size_t len)
{
    const call_stream *stream = &call->stream;
    return !call->is_inline && !call_is_gone(call) && stream->waiting_len > 0 &&
           stream->waiting_len + len > CALL_AHEAD_OCTETS;
}

static bool call_make_room(call_stream *stream, size_t len)
{
    size_t need = stream->waiting_len + len;
    size_t room = stream->waiting_room ? stream->waiting_room : 4096;
    if (need <= stream->waiting_room) return true;
    while (room < need)
        room *= 2;
    char *grown = counted_resize(NULL, stream->waiting, room);
    if (!grown) return false;
    stream->waiting = grown;
    stream->waiting_room = room;
    return true;
}

static skua_status call_write_piece(blocking_call *call, slice octets)
{
    call_stream *stream = &call->stream;
    skua_status status = SKUA_OK;
    pthread_mutex_lock(&stream->lock);
    while (call_must_wait(call, octets.len))
        pthread_cond_wait(&stream->moved, &stream->lock);
    if (call_is_gone(call)) {
        status = SKUA_ECLOSED;
    } else if (!call_make_room(stream, octets.len)) {
        status = SKUA_ENOMEM;
    } else {
        memcpy(stream->waiting + stream->waiting_len, octets.ptr, octets.len);
        stream->waiting_len += octets.len;
        call_tell(call);
    }
    call_unlock(call);
    return status;
}

static skua_status call_write(recorder *taken, slice octets)
{
    blocking_call *call = call_of(taken);
    if (call_is_over(call)) return SKUA_ECLOSED;
    if (call->saying != CALL_STREAMS) return SKUA_ESTATE;
    if (call->left >= 0 && octets.len > (uint64_t)call->left) return SKUA_EINVAL;
    for (slice rest = octets; rest.len;) {
        size_t n = rest.len < CALL_AHEAD_OCTETS ? rest.len : CALL_AHEAD_OCTETS;
        skua_status written = call_write_piece(call, slice_make(rest.ptr, n));
        if (written) return written;
        if (call->left >= 0) call->left -= (int64_t)n;
        rest = slice_from(rest, n);
    }
    return SKUA_OK;
}

static uint64_t call_room(recorder *taken)
{
    blocking_call *call = call_of(taken);
    call_stream *stream = &call->stream;
    if (call->saying != CALL_STREAMS || call_is_gone(call)) return 0;
    pthread_mutex_lock(&stream->lock);
    size_t used = stream->waiting_len;
    pthread_mutex_unlock(&stream->lock);
    return used < CALL_AHEAD_OCTETS ? CALL_AHEAD_OCTETS - used : 0;
}

static skua_status call_finish(recorder *taken)
{
    blocking_call *call = call_of(taken);
    if (call_is_over(call)) return SKUA_ECLOSED;
    if (call->saying != CALL_STREAMS) return SKUA_ESTATE;
    call->saying = CALL_FINISHED;
    pthread_mutex_lock(&call->stream.lock);
    call->stream.finished = true;
    call_tell(call);
    call_unlock(call);
    return call->left > 0 ? SKUA_EINVAL : SKUA_OK;
}

const recorder_table call_table = {
    .add_field = call_add_field,
    .add_trailer = call_add_trailer,
    .lose_field = call_lose_field,
    .mark_fields = call_mark_fields,
    .drop_fields = call_drop_fields,
    .respond = call_respond,
    .begin = call_begin,
    .write = call_write,
    .room = call_room,
    .finish = call_finish,
    .decline = call_decline,
    .close = call_close,
    .abort = call_abort,
    .status = call_status,
    .is_gone = call_tells_gone,
};
