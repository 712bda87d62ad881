// SPDX-License-Identifier: MIT
//
// Responding: the one response path. Every response is a status, fields and a content source. They
// are checked here and given to the carrier, which makes its protocol's octets of them.

#include "exchange/respond.h"

#include "base/assert.h"
#include "base/memory.h"
#include "exchange/carrier.h"
#include "exchange/middleware.h"
#include "exchange/page.h"
#include "exchange/prepared.h"
#include "exchange/request.h"
#include "exchange/worker.h"
#include "http/syntax.h"

enum {
    RESPOND_PULL_MIN = 504 // room that a source is called with, at least
};

// ---- Fields ----

bool respond_takes_field(slice name, slice value)
{
    static const char *const reserved[] = { "content-length", "transfer-encoding", "connection",
                                            "keep-alive",     "trailer",           "date" };
    if (!syntax_is_token(name) || !syntax_is_field_value(value)) return false;
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
        if (slice_equal_nocase(name, slice_of(reserved[i]))) return false;
    }
    return true;
}

// Takes room of the head for what middleware adds to it. By then nobody else can make it fit again.
static bool head_take(skua_request *r, size_t octets)
{
    if (r->responding != RESPONSE_HEADING) return true;
    if (octets > r->head_left) return false;
    r->head_left -= octets;
    return true;
}

// A field's copy in the request's memory; the list grows there too.
static skua_status field_append(skua_request *r, response_fields *fields, slice name, slice value)
{
    size_t octets = name.len + value.len + 4;
    if (name.len > RESPOND_FIELDS_OCTETS_MAX || value.len > RESPOND_FIELDS_OCTETS_MAX ||
        fields->octets + octets > RESPOND_FIELDS_OCTETS_MAX) {
        return SKUA_ELIMIT;
    }
    if (fields == &r->fields && !head_take(r, octets)) return SKUA_ELIMIT;
    if (fields->count == fields->room) {
        unsigned room = fields->room ? fields->room * 2 : 8;
        response_field *grown = arena_alloc(&r->memory, room * sizeof *grown);
        if (!grown) return SKUA_ENOMEM;
        if (fields->count) memcpy(grown, fields->at, fields->count * sizeof *grown);
        fields->at = grown;
        fields->room = room;
    }
    char *text = arena_alloc(&r->memory, name.len + value.len + 1);
    if (!text) return SKUA_ENOMEM;
    memcpy(text, name.ptr, name.len);
    if (value.len) memcpy(text + name.len, value.ptr, value.len);
    fields->at[fields->count++] = (response_field){ .name = slice_make(text, name.len),
                                                    .value = slice_make(text + name.len, value.len),
                                                    .id = field_identify(name) };
    fields->octets += octets;
    return SKUA_OK;
}

// A response has one media type, so this replaces one that was added before.
static skua_status field_set_type(skua_request *r, slice value)
{
    if (value.len > RESPOND_FIELDS_OCTETS_MAX / 2 || !head_take(r, value.len)) return SKUA_ELIMIT;
    slice copy = arena_copy(&r->memory, value);
    if (value.len && !copy.ptr) return SKUA_ENOMEM;
    r->type = copy;
    r->typed = r->responding == RESPONSE_HEADING ? TYPE_BEHIND_RESPONSE : TYPE_BEFORE_RESPONSE;
    return SKUA_OK;
}

skua_status skua_field_add(skua_request *r, const char *name, slice value)
{
    request_expect(r, __func__);
    CONTRACT_GIVEN(name);
    CONTRACT_SLICE(value);
    if (r->responding > RESPONSE_HEADING) return request_refusal(r);
    slice key = slice_of(name);
    if (!respond_takes_field(key, value)) return SKUA_EINVAL;
    if (field_identify(key) == FIELD_CONTENT_TYPE) return field_set_type(r, value);
    return field_append(r, &r->fields, key, value);
}

skua_status skua_trailer_add(skua_request *r, const char *name, slice value)
{
    request_expect(r, __func__);
    CONTRACT_GIVEN(name);
    CONTRACT_SLICE(value);
    slice key = slice_of(name);
    if (request_is_answered(r)) return request_refusal(r);
    if (!syntax_is_token(key) || !syntax_is_field_value(value) || !chunk_trailer_allowed(key))
        return SKUA_EINVAL;
    if (!r->trailers) {
        response_fields *made = arena_alloc(&r->memory, sizeof *made);
        if (!made) return SKUA_ENOMEM;
        *made = (response_fields){ 0 };
        r->trailers = made;
    }
    return field_append(r, r->trailers, key, value);
}

// ---- Giving ----

// Memory ran out with a head half written: only closing is left.
__attribute__((cold, noinline)) skua_status respond_out_of_memory(skua_request *r)
{
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
    if (!has_content && source->release) source->release(source->user);
}

// Nothing was answered. Another response may follow, unless memory ran out or the request was
// aborted.
__attribute__((cold, noinline)) static skua_status respond_fail(skua_request *r, skua_status why)
{
    if (why == SKUA_ENOMEM) return respond_out_of_memory(r);
    r->status = 0;
    return why;
}

// Middleware is told of a head that fits, so that it hears of no response that is then refused, and
// of none twice. It may abort the request. Kept out of the way of requests that have none.
__attribute__((noinline)) static skua_status respond_tell_middleware(skua_request *r,
                                                                     const response *given)
{
    if (!r->carrier->table->head_fits(r, given, &r->head_left)) return SKUA_ELIMIT;
    middleware_head(r, given->status);
    return request_is_answered(r) ? request_refusal(r) : SKUA_OK;
}

__attribute__((noinline)) static skua_status respond_tell_of_copied(skua_request *r, int status,
                                                                    slice type)
{
    return respond_tell_middleware(r, &(response){ .status = status, .type = type });
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
    if (status < 200 || status > 599 || !syntax_is_field_value(type)) return SKUA_EINVAL;
    return type.len > RESPOND_FIELDS_OCTETS_MAX / 2 ? SKUA_ELIMIT : SKUA_OK;
}

static skua_status respond_check(const skua_request *r, int status, slice type)
{
    return r->responding != RESPONSE_NONE ? request_refusal(r) : respond_check_type(status, type);
}

// The type that the response states, or else the one that was added.
static slice respond_type(const skua_request *r, const char *type)
{
    if (type) return slice_of(type);
    return r->typed ? r->type : (slice){ 0 };
}

skua_status skua_respond(skua_request *r, int status, const char *type, slice content)
{
    request_expect(r, __func__);
    CONTRACT_SLICE(content);
    slice media = respond_type(r, type);
    skua_status checked = respond_check(r, status, media);
    if (checked) return checked;
    r->status = (uint16_t)status;
    if (r->entered) {
        skua_status told = respond_tell_of_copied(r, status, media);
        if (told) return respond_fail(r, told);
        if (r->typed == TYPE_BEHIND_RESPONSE) media = r->type;
    }
    skua_status queued = r->carrier->table->respond_copied(r, status, media, content);
    if (queued) return respond_fail(r, queued);
    request_set_responding(r, RESPONSE_QUEUED);
    carrier_kick(r->carrier, r);
    return SKUA_OK;
}

skua_status skua_respond_borrowed(skua_request *r, int status, const char *type, slice content,
                                  skua_release_fn *release, void *user)
{
    request_expect(r, __func__);
    CONTRACT_SLICE(content);
    slice media = respond_type(r, type);
    skua_status checked = respond_check(r, status, media);
    if (checked) return checked;
    return respond_give(r, &(response){ .status = status,
                                        .type = media,
                                        .source = { .kind = SOURCE_LENT,
                                                    .octets = content,
                                                    .length = (int64_t)content.len,
                                                    .release = release,
                                                    .user = user,
                                                    .no_length = status == 304 } });
}

static void respond_unref_file(void *user)
{
    skua_file_unref(user);
}

static void respond_unref_prepared(void *user)
{
    skua_answer_unref(user);
}

skua_status skua_respond_file(skua_request *r, int status, const char *type, skua_file *file,
                              uint64_t offset, uint64_t length)
{
    request_expect(r, __func__);
    file_expect(file, __func__);
    slice media = respond_type(r, type);
    skua_status checked = respond_check(r, status, media);
    if (checked) return checked;
    if (length > INT64_MAX || offset > INT64_MAX - length) return SKUA_EINVAL;
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
skua_status skua_respond_answer(skua_request *r, skua_answer *answer)
{
    request_expect(r, __func__);
    prepared_expect(answer, __func__);
    if (r->responding != RESPONSE_NONE) return request_refusal(r);
    response given = { .status = answer->status, .prepared = answer };
    if (r->typed && !answer->typed) given.type = r->type;
    response_source *source = &given.source;
    source->length = (int64_t)answer->length;
    bool held = true;
    if (answer->file) {
        source->kind = SOURCE_FILE;
        source->file = answer->file->fd;
        source->offset = answer->offset;
    } else {
        held = answer->length > RESPONSE_COPY_MAX;
        source->kind = held ? SOURCE_LENT : SOURCE_COPIED;
        source->octets = slice_make(answer->content, (size_t)answer->length);
    }
    if (held) {
        source->release = respond_unref_prepared;
        source->user = skua_answer_ref(answer);
    }
    skua_status status = respond_give(r, &given);
    if (status && held) skua_answer_unref(answer);
    return status;
}

// ---- Pulling ----

skua_status skua_respond_pull(skua_request *r, int status, const char *type, int64_t length,
                              skua_pull_fn *pull, void *user)
{
    request_expect(r, __func__);
    CONTRACT_GIVEN(pull);
    slice media = respond_type(r, type);
    skua_status checked = respond_check(r, status, media);
    if (checked) return checked;
    if (length < -1) return SKUA_EINVAL;
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

skua_status respond_push(skua_request *r, int status, const char *type, int64_t length)
{
    slice media = respond_type(r, type);
    skua_status checked = respond_check(r, status, media);
    if (checked) return checked;
    if (length < -1) return SKUA_EINVAL;
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

__attribute__((cold)) void respond_break(skua_request *r)
{
    r->close = true;
    request_set_responding(r, RESPONSE_FAILED);
}

// A response that has left the protocol already is complete.
__attribute__((cold)) void skua_request_abort(skua_request *r)
{
    request_expect(r, __func__);
    if (r->life != LIFE_GOES_ON || r != r->carrier->current || request_is_answered(r)) return;
    respond_break(r);
    r->carrier->table->kick(r->carrier);
}

__attribute__((cold)) static void respond_log_too_long(skua_request *r)
{
    worker_log(
        r->worker,
        SKUA_SLICE("a content source gave more octets than it had stated; the rest was cut"));
}

void respond_finish(skua_request *r)
{
    SKUA_ASSERT(r->responding >= RESPONSE_PULLED && !request_is_answered(r));
    if (r->pull_left > 0) {
        respond_break(r);
        return;
    }
    if (r->carrier->table->finish(r)) request_set_responding(r, RESPONSE_QUEUED);
    else respond_break(r);
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
        respond_break(r);
        return false;
    }
    request_set_responding(r, RESPONSE_PENDING); // a wake from within the source counts
    skua_pulled pulled = r->pull(r, at, room, &octets, r->pull_user);
    respond_check_pulled(pulled, room, octets);
    if (request_is_answered(r)) return false; // the source aborted the request
    if (pulled == SKUA_PULL_ERROR || r->carrier->broken) {
        respond_break(r);
        return false;
    }
    bool too_long = r->pull_left >= 0 && octets > (uint64_t)r->pull_left;
    if (too_long) {
        respond_log_too_long(r);
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

// ---- Errors ----

// A request that could not be read has not told what it accepts either.
static bool respond_is_unread(const skua_request *r)
{
    return r->reading == READING_HEAD;
}

static bool respond_wants_html(const skua_request *r)
{
    if (respond_is_unread(r)) return false;
    slice rest = request_known_field(r, FIELD_ACCEPT), member;
    while (syntax_list_next(&rest, &member)) {
        if (member.len >= 9 &&
            slice_equal_nocase(slice_make(member.ptr, 9), SKUA_SLICE("text/html")))
            return true;
    }
    return false;
}

static skua_status respond_page(skua_request *r, int status, slice sentence)
{
    char page[PAGE_OCTETS_MAX];
    skua_status added = SKUA_OK;
    if (!respond_is_unread(r)) added = skua_field_add(r, "Vary", SKUA_SLICE("Accept"));
    if (added) return added;
    if (!respond_wants_html(r)) {
        size_t len = page_write_text(status, r->method, sentence, page, sizeof page);
        return skua_respond(r, status, "text/plain; charset=utf-8", slice_make(page, len));
    }
    size_t len = page_write(status, r->method, sentence, page, sizeof page);
    added = skua_field_add(r, "Content-Security-Policy", slice_of(page_policy));
    if (!added) added = skua_field_add(r, "X-Content-Type-Options", SKUA_SLICE("nosniff"));
    if (added) return added;
    return skua_respond(r, status, "text/html; charset=utf-8", slice_make(page, len));
}

skua_status skua_refuse(skua_request *r, int status, slice sentence)
{
    request_expect(r, __func__);
    CONTRACT_SLICE(sentence);
    if (status < 400 || status > 599) return SKUA_EINVAL;
    if (r->responding == RESPONSE_HEADING || r->life != LIFE_GOES_ON) return request_refusal(r);
    response_fields before = r->fields;
    skua_status given = respond_page(r, status, sentence);
    if (given == SKUA_ELIMIT) r->fields = before; // the response that is given instead is no page
    return given;
}

skua_status skua_respond_error(skua_request *r, int status)
{
    request_expect(r, __func__);
    return skua_refuse(r, status, (slice){ 0 });
}

// Allow belongs to a 405 that request.c has just added it for; anything else a handler added is
// dropped.
__attribute__((cold)) void respond_fault(skua_request *r, int status, bool close)
{
    SKUA_ASSERT(r->responding == RESPONSE_NONE);
    if (status != 405) r->fields = (response_fields){ 0 };
    bool short_of_memory = status == 503 && r->worker->pressure >= BUDGET_SCARCE;
    if (short_of_memory && skua_field_add(r, "Retry-After", SKUA_SLICE("5")))
        r->fields = (response_fields){ 0 };
    r->typed = TYPE_OF_RESPONSE;
    if (close) r->close = true;
    if (skua_respond_error(r, status) != SKUA_OK && r->responding == RESPONSE_NONE)
        (void)respond_out_of_memory(r);
}

__attribute__((cold)) void respond_refuse(skua_request *r, int status)
{
    if (r->responding == RESPONSE_NONE) respond_fault(r, status, true);
    else if (!request_is_answered(r)) carrier_break(r->carrier);
}
