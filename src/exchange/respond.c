// SPDX-License-Identifier: MIT
//
// Responding: the one response path. Every response is a status, fields and a content source. They
// are checked here and given to the carrier, which makes its protocol's octets of them.

#include "exchange/respond.h"

#include "base/assert.h"
#include "base/memory.h"
#include "exchange/carrier.h"
#include "exchange/complaint.h"
#include "exchange/error.h"
#include "exchange/fields.h"
#include "exchange/filter.h"
#include "exchange/middleware.h"
#include "exchange/prepared.h"
#include "exchange/recorder.h"
#include "exchange/request.h"
#include "exchange/worker.h"
#include "http/syntax.h"

enum {
    RESPOND_PULL_MIN = 504 // room that a source is called with, at least
};

// ---- Giving ----

// Memory ran out with a head half written: only closing is left.
__attribute__((cold, noinline)) skua_status respond_out_of_memory(skua_request *r)
{
    complain(r, "no memory for the response; the connection is closed");
    carrier_break(r->carrier);
    request_set_responding(r, RESPONSE_FAILED);
    r->close = true;
    r->carrier->table->kick(r->carrier);
    return SKUA_ENOMEM;
}

// Enters the state that the head leads to: everything is queued, or a source goes on.
static inline void respond_enter(skua_request *r, const response *given)
{
    const response_source *source = &given->source;
    bool has_content = request_gets_content(r, given->status);
    if (source->kind == SOURCE_PUSH || (has_content && source->kind == SOURCE_PULL)) {
        request_set_responding(r, source->kind == SOURCE_PUSH ? RESPONSE_PUSHED : RESPONSE_PULLED);
        r->muted = !has_content;
        return;
    }
    request_set_responding(r, RESPONSE_QUEUED);
    if (has_content) return;
    r->muted = source->kind == SOURCE_PULL; // what belongs to the content is dropped with it
    if (source->release) source->release(source->user);
}

// Nobody has to look at what skua_respond returns: the client is told, and so is the log.
static skua_status respond_give_up(skua_request *r, skua_status why)
{
    if (!r->faulted) error_respond(r, 500, false);
    return why;
}

__attribute__((cold, noinline)) skua_status respond_decline(skua_request *r, const char *function,
                                                            skua_status why, const char *what)
{
    recorder *taken = recorder_here(r);
    if (taken) return taken->table->decline(taken, function, why, what, true);
    if (r->responding != RESPONSE_NONE) return complain_of_late(r, function, RESPOND_SECOND);
    if (!r->spoiled) complain_of_misuse(r, function, what);
    return respond_give_up(r, why);
}

__attribute__((cold, noinline)) skua_status respond_decline_words(skua_request *r, skua_status why,
                                                                  const char *what)
{
    recorder *taken = recorder_here(r);
    if (taken) return taken->table->decline(taken, NULL, why, what, false);
    SKUA_ASSERT(r->responding == RESPONSE_NONE);
    if (!r->spoiled) complain(r, what);
    return respond_give_up(r, why);
}

// The head was not queued, and so 500 may follow, unless memory ran out or the request was aborted.
__attribute__((cold, noinline)) static skua_status respond_fail(skua_request *r, skua_status why)
{
    if (filter_runs(r)) filter_cancel(r);
    if (why == SKUA_ENOMEM) return respond_out_of_memory(r);
    r->status = 0;
    if (request_is_answered(r)) return why;
    return respond_decline_words(r, why,
                                 "the head of the response is too large; the response is 500 now");
}

// Middleware is told of a head that fits, so that it hears of no response that is then refused, and
// of none twice. It may abort the request. Kept out of the way of requests that have none.
__attribute__((noinline)) static skua_status respond_tell_middleware(skua_request *r,
                                                                     const response *given)
{
    if (!r->carrier->table->head_fits(r, given, &r->head_left)) return SKUA_ELIMIT;
    if (r->headed) return SKUA_OK;
    r->headed = true;
    r->given = given;
    middleware_head(r, given->status);
    if (request_is_answered(r)) return request_refusal(r);
    return r->spoiled ? SKUA_ELIMIT : SKUA_OK;
}

__attribute__((noinline)) static skua_status respond_tell_of_copied(skua_request *r, int status,
                                                                    slice type, slice content)
{
    return respond_tell_middleware(
        r, &(response){ .status = status,
                        .type = type,
                        .source = { .kind = SOURCE_COPIED, .length = (int64_t)content.len } });
}

// Gives a response that has been checked. What the source lends is released on success, once.
static inline skua_status respond_give(skua_request *r, response *given)
{
    r->status = (uint16_t)given->status;
    if (r->entered) {
        skua_status told = respond_tell_middleware(r, given);
        if (told) return respond_fail(r, told);
        if (r->typed == TYPE_BEHIND_RESPONSE) given->type = r->type;
    }
    if (r->filtering) {
        skua_status begun = filter_begin(r, given);
        if (begun) return respond_fail(r, begun);
    }
    skua_status queued = r->carrier->table->respond(r, given);
    if (queued) return respond_fail(r, queued);
    respond_enter(r, given);
    if (r->responding == RESPONSE_PULLED) r->carrier->table->kick(r->carrier);
    else carrier_kick(r->carrier, r);
    return SKUA_OK;
}

// ---- The ways to respond ----

skua_status respond_check_type(int status, slice type)
{
    if (!respond_takes_status(status) || !syntax_is_field_value(type)) return SKUA_EINVAL;
    return type.len > FIELDS_OCTETS_MAX / 2 ? SKUA_ELIMIT : SKUA_OK;
}

static inline skua_status respond_check(const skua_request *r, int status, slice type)
{
    return request_is_open(r) ? respond_check_type(status, type) : SKUA_ESTATE;
}

// Of a status and a media type that respond_check has refused. A type may be a client's words, and so
// never stops the process.
__attribute__((cold, noinline)) static skua_status
respond_decline_head(skua_request *r, const char *function, int status, skua_status why)
{
    if (r->responding != RESPONSE_NONE) return complain_of_late(r, function, RESPOND_SECOND);
    if (r->spoiled) return respond_give_up(r, SKUA_EINVAL);
    if (!respond_takes_status(status)) return respond_decline(r, function, why, RESPOND_STATUS);
    return respond_decline_words(r, why, RESPOND_TYPE);
}

// A copy that passes through a filter, or cannot be given.
__attribute__((cold, noinline)) static skua_status respond_copied_aside(skua_request *r, int status,
                                                                        slice type, slice content)
{
    skua_status checked = respond_check(r, status, type);
    if (checked) return respond_decline_head(r, "skua_respond", status, checked);
    return respond_give(r, &(response){ .status = status,
                                        .type = type,
                                        .source = { .kind = SOURCE_COPIED,
                                                    .octets = content,
                                                    .length = (int64_t)content.len,
                                                    .no_length = status == 304 } });
}

// The type that the response states, or else the one that was added.
static slice respond_type(const skua_request *r, const char *type)
{
    if (type) return slice_of(type);
    return r->typed ? r->type : (slice){ 0 };
}

skua_status skua_respond(skua_request *r, int status, const char *type, slice content)
{
    recorder *taken = request_is_here(r) ? NULL : recorder_of(r, __func__);
    CONTRACT_SLICE(content);
    if (taken) return taken->table->respond(taken, __func__, status, type, content);
    slice media = respond_type(r, type);
    if (!request_is_plain(r) || respond_check_type(status, media))
        return respond_copied_aside(r, status, media, content);
    r->status = (uint16_t)status;
    if (r->entered) {
        skua_status told = respond_tell_of_copied(r, status, media, content);
        if (told) return respond_fail(r, told);
        if (r->filtering) return respond_copied_aside(r, status, media, content);
        if (r->typed == TYPE_BEHIND_RESPONSE) media = r->type;
    }
    skua_status queued = r->carrier->table->respond_copied(r, status, media, content);
    if (queued) return respond_fail(r, queued);
    request_set_responding(r, RESPONSE_QUEUED);
    carrier_kick(r->carrier, r);
    return SKUA_OK;
}

// A copy is taken down, since release may be called on the worker alone.
static skua_status respond_copy_borrowed(recorder *taken, int status, const char *type,
                                         slice content, skua_release_fn *release, void *user)
{
    skua_status given =
        taken->table->respond(taken, "skua_respond_borrowed", status, type, content);
    if (release) release(user);
    return given;
}

skua_status skua_respond_borrowed(skua_request *r, int status, const char *type, slice content,
                                  skua_release_fn *release, void *user)
{
    recorder *taken = request_is_here(r) ? NULL : recorder_of(r, __func__);
    CONTRACT_SLICE(content);
    if (taken) return respond_copy_borrowed(taken, status, type, content, release, user);
    slice media = respond_type(r, type);
    skua_status given = respond_check(r, status, media);
    if (given) given = respond_decline_head(r, __func__, status, given);
    else
        given = respond_give(r, &(response){ .status = status,
                                             .type = media,
                                             .source = { .kind = SOURCE_LENT,
                                                         .octets = content,
                                                         .length = (int64_t)content.len,
                                                         .release = release,
                                                         .user = user,
                                                         .no_length = status == 304 } });
    if (given && release)
        release(user); // who does not look at what this returns has no leak either
    return given;
}

static void respond_unref_file(void *user)
{
    skua_file_unref(user);
}

static void respond_unref_prepared(void *user)
{
    skua_prepared_unref(user);
}

skua_status skua_respond_file(skua_request *r, int status, const char *type, skua_file *file,
                              uint64_t offset, uint64_t length)
{
    request_expect(r, __func__);
    file_expect(file, __func__);
    slice media = respond_type(r, type);
    skua_status checked = respond_check(r, status, media);
    if (checked) return respond_decline_head(r, __func__, status, checked);
    if (length > INT64_MAX || offset > INT64_MAX - length)
        return respond_decline(r, __func__, SKUA_EINVAL, RESPOND_LENGTH);
    skua_status given = respond_give(r, &(response){ .status = status,
                                                     .type = media,
                                                     .source = { .kind = SOURCE_FILE,
                                                                 .file = file->fd,
                                                                 .offset = offset,
                                                                 .length = (int64_t)length,
                                                                 .release = respond_unref_file,
                                                                 .user = skua_file_ref(file) } });
    if (given) skua_file_unref(file);
    return given;
}

// A file and long content are lent to the queue, which keeps the prepared response until they have
// left. Short content is copied, to leave in one piece with the head.
skua_status skua_respond_prepared(skua_request *r, skua_prepared *prepared)
{
    request_expect(r, __func__);
    prepared_expect(prepared, __func__);
    if (!request_is_open(r)) return respond_decline_head(r, __func__, 0, SKUA_ESTATE);
    response given = { .status = prepared->status, .prepared = prepared };
    if (r->typed && !prepared->typed) given.type = r->type;
    response_source *source = &given.source;
    source->length = (int64_t)prepared->length;
    bool held = true;
    if (prepared->file) {
        source->kind = SOURCE_FILE;
        source->file = prepared->file->fd;
        source->offset = prepared->offset;
    } else {
        held = prepared->length > RESPONSE_COPY_MAX;
        source->kind = held ? SOURCE_LENT : SOURCE_COPIED;
        source->octets = slice_make(prepared->content, (size_t)prepared->length);
        source->headroom = prepared->headroom;
    }
    if (held) {
        source->release = respond_unref_prepared;
        source->user = skua_prepared_ref(prepared);
    }
    skua_status status = respond_give(r, &given);
    if (status && held) skua_prepared_unref(prepared);
    return status;
}

// An error is told where nobody goes on with a response afterwards: the connection may be about to end.
__attribute__((cold, noinline)) static skua_status respond_unfinished(const skua_request *r)
{
    complain(r, RESPOND_UNFINISHED);
    return SKUA_ESTATE;
}

// ---- Pulling ----

skua_status skua_respond_pull(skua_request *r, int status, const char *type, int64_t length,
                              skua_pull_fn *pull, void *user)
{
    request_expect(r, __func__);
    CONTRACT_GIVEN(pull);
    slice media = respond_type(r, type);
    skua_status checked = respond_check(r, status, media);
    if (checked) return respond_decline_head(r, __func__, status, checked);
    if (length < -1) return respond_decline(r, __func__, SKUA_EINVAL, RESPOND_LENGTH);
    if (r->erring) return respond_unfinished(r);
    r->pull = pull;
    r->pull_user = user;
    r->pull_left = length;
    return respond_give(
        r, &(response){
               .status = status,
               .type = media,
               .source = { .kind = SOURCE_PULL, .length = length, .no_length = status == 304 } });
}

// ---- Pushing ----

skua_status respond_push(skua_request *r, const char *function, int status, const char *type,
                         int64_t length)
{
    slice media = respond_type(r, type);
    skua_status checked = respond_check(r, status, media);
    if (checked) return respond_decline_head(r, function, status, checked);
    if (length < -1) return respond_decline(r, function, SKUA_EINVAL, RESPOND_LENGTH);
    if (r->erring) return respond_unfinished(r);
    r->pull_left = length;
    r->wanted = 0;
    return respond_give(
        r, &(response){
               .status = status,
               .type = media,
               .source = { .kind = SOURCE_PUSH, .length = length, .no_length = status == 304 } });
}

// ---- What pulled and pushed content share ----

void skua_wake(skua_request *r)
{
    request_expect(r, __func__);
    if (r->life != LIFE_GOES_ON) return;
    if (r->responding == RESPONSE_PENDING) request_set_responding(r, RESPONSE_PULLED);
    r->carrier->table->kick(r->carrier);
}

// A response that has left the protocol already is complete.
__attribute__((cold)) void skua_request_abort(skua_request *r)
{
    if (!request_is_here(r)) {
        recorder *taken = recorder_of(r, __func__);
        taken->table->abort(taken);
        return;
    }
    if (r->life != LIFE_GOES_ON || r != r->carrier->current || request_is_answered(r)) return;
    request_break(r);
    r->carrier->table->kick(r->carrier);
}

void respond_finish(skua_request *r)
{
    SKUA_ASSERT(r->responding >= RESPONSE_PULLED && !request_is_answered(r));
    if (r->pull_left > 0) {
        complain(r, "less content was given than the response states; it is cut off");
        request_break(r);
        return;
    }
    if (r->carrier->table->finish(r)) request_set_responding(r, RESPONSE_QUEUED);
    else request_break(r);
}

// The program's source has a contract too. One that gives nothing would be asked for ever.
static inline void respond_check_pulled(skua_pulled pulled, size_t room, size_t octets)
{
    if (octets > room) contract_broken("skua_pull_fn", "gave more octets than there was room for");
    if (octets == 0 && pulled == SKUA_PULL_OCTETS)
        contract_broken("skua_pull_fn",
                        "returned SKUA_PULL_OCTETS without any; return "
                        "SKUA_PULL_PENDING, and call skua_wake when there are some");
}

bool respond_pull(skua_request *r)
{
    size_t room, octets = 0;
    char *at = r->carrier->table->reserve(r, RESPOND_PULL_MIN, &room);
    if (!at) {
        request_break(r);
        return false;
    }
    request_set_responding(r, RESPONSE_PENDING); // a wake from within the source counts
    skua_pulled pulled = r->pull(r, at, room, &octets, r->pull_user);
    respond_check_pulled(pulled, room, octets);
    if (request_is_answered(r)) return false; // the source aborted the request
    if (pulled == SKUA_PULL_ERROR || r->carrier->broken) {
        request_break(r);
        return false;
    }
    bool too_long = r->pull_left >= 0 && octets > (uint64_t)r->pull_left;
    if (too_long) {
        complain(r, "more content was given than the response states; the rest is cut off");
        octets = (size_t)r->pull_left;
    }
    if (octets) r->carrier->table->commit(r, octets);
    r->sent_octets += octets;
    if (r->pull_left >= 0) r->pull_left -= (int64_t)octets;
    if (pulled == SKUA_PULL_END || too_long) {
        respond_finish(r);
        return false;
    }
    if (pulled == SKUA_PULL_PENDING) return r->responding == RESPONSE_PULLED;
    if (r->responding == RESPONSE_PENDING) request_set_responding(r, RESPONSE_PULLED);
    return true;
}
