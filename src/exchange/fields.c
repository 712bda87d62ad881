// SPDX-License-Identifier: MIT
//
// Fields of a response. One that cannot be sent is never left out in silence: without it the response
// could mean something else, so it becomes 500, or is cut off if its head has left.

#include "exchange/fields.h"

#include "exchange/carrier.h"
#include "exchange/complaint.h"
#include "exchange/recorder.h"
#include "http/chunk.h"
#include "http/syntax.h"

bool fields_take(slice name, slice value)
{
    static const char *const reserved[] = { "content-length", "transfer-encoding", "connection",
                                            "keep-alive",     "trailer",           "date" };
    if (!syntax_is_token(name) || !syntax_is_field_value(value)) return false;
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
        if (slice_equal_nocase(name, slice_of(reserved[i]))) return false;
    }
    return true;
}

// ---- Fields that are lost ----

const char *fields_reason(skua_status why)
{
    if (why == SKUA_ELIMIT) return "a field did not fit into the response's head, which is 500 now";
    if (why == SKUA_ENOMEM) return "no memory for a field of the response, which is 500 now";
    return "a field was not one that a program may add (its name or value, or a field that the server "
           "sets); the response is 500 now";
}

__attribute__((cold)) skua_status fields_lose(skua_request *r, skua_status why)
{
    recorder *taken = recorder_here(r);
    if (taken) return taken->table->lose_field(taken, why);
    r->spoiled = true;
    complain(r, fields_reason(why));
    return why;
}

// Octets of a response that has begun cannot be taken back; an end without the trailer would tell that
// all is well.
__attribute__((cold)) static skua_status field_lose_trailer(skua_request *r, skua_status why)
{
    if (r->responding <= RESPONSE_HEADING) return fields_lose(r, why);
    complain(r, "a trailer field could not be added; the response is cut off");
    request_break(r);
    r->carrier->table->kick(r->carrier);
    return why;
}

// ---- Adding ----

// Takes room of the head for what middleware adds to it. By then nobody else can make it fit again.
static bool field_take_room(skua_request *r, size_t octets)
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
    if (name.len > FIELDS_OCTETS_MAX || value.len > FIELDS_OCTETS_MAX ||
        fields->octets + octets > FIELDS_OCTETS_MAX) {
        return SKUA_ELIMIT;
    }
    if (fields == &r->fields && !field_take_room(r, octets)) return SKUA_ELIMIT;
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

skua_status fields_append(skua_request *r, slice name, slice value)
{
    return field_append(r, &r->fields, name, value);
}

// A response has one media type, so this replaces one that was added before.
static skua_status field_set_type(skua_request *r, slice value)
{
    if (value.len > FIELDS_OCTETS_MAX / 2 || !field_take_room(r, value.len)) return SKUA_ELIMIT;
    slice copy = arena_copy(&r->memory, value);
    if (value.len && !copy.ptr) return SKUA_ENOMEM;
    r->type = copy;
    r->typed = r->responding == RESPONSE_HEADING ? TYPE_BEHIND_RESPONSE : TYPE_BEFORE_RESPONSE;
    return SKUA_OK;
}

skua_status skua_field_add(skua_request *r, const char *name, slice value)
{
    recorder *taken = request_is_here(r) ? NULL : recorder_of(r, __func__);
    CONTRACT_GIVEN(name);
    CONTRACT_SLICE(value);
    if (taken) return taken->table->add_field(taken, slice_of(name), value);
    if (r->responding > RESPONSE_HEADING)
        return complain_of_late(r, __func__, "a field was added behind the response, and dropped");
    slice key = slice_of(name);
    skua_status added = SKUA_EINVAL;
    if (fields_take(key, value)) {
        bool is_type = field_identify(key) == FIELD_CONTENT_TYPE;
        added = is_type ? field_set_type(r, value) : field_append(r, &r->fields, key, value);
    }
    return added ? fields_lose(r, added) : SKUA_OK;
}

bool fields_take_trailer(slice name, slice value)
{
    return syntax_is_token(name) && syntax_is_field_value(value) && chunk_trailer_allowed(name);
}

static skua_status trailer_append(skua_request *r, slice key, slice value)
{
    if (!fields_take_trailer(key, value)) return SKUA_EINVAL;
    if (!r->trailers) {
        response_fields *made = arena_alloc(&r->memory, sizeof *made);
        if (!made) return SKUA_ENOMEM;
        *made = (response_fields){ 0 };
        r->trailers = made;
    }
    return field_append(r, r->trailers, key, value);
}

skua_status skua_trailer_add(skua_request *r, const char *name, slice value)
{
    recorder *taken = request_is_here(r) ? NULL : recorder_of(r, __func__);
    CONTRACT_GIVEN(name);
    CONTRACT_SLICE(value);
    if (taken) return taken->table->add_trailer(taken, slice_of(name), value);
    if (request_is_answered(r) && r->muted && r->life == LIFE_GOES_ON)
        return SKUA_OK; // of content that nobody gets
    if (request_is_answered(r))
        return complain_of_late(r, __func__,
                                "a trailer was added behind the response, and dropped");
    skua_status added = trailer_append(r, slice_of(name), value);
    return added ? field_lose_trailer(r, added) : SKUA_OK;
}
