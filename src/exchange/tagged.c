// SPDX-License-Identifier: MIT
//
// Entity tags of what programs generate.

#include "exchange/request.h"
#include "exchange/respond.h"
#include "http/etag.h"
#include "http/preconditions.h"

// "name" or W/"name", of visible characters.  Spec: RFC 9110 §8.8.3
static bool tagged_is_tag(slice tag)
{
    size_t from = tag.len > 2 && memcmp(tag.ptr, "W/", 2) == 0 ? 3 : 1;
    if (tag.len <= from || tag.ptr[from - 1] != '"' || tag.ptr[tag.len - 1] != '"') return false;
    for (size_t i = from; i + 1 < tag.len; i++) {
        unsigned char c = (unsigned char)tag.ptr[i];
        if (c < 0x21 || c == '"' || c == 0x7f) return false;
    }
    return true;
}

static bool tagged_is_safe(slice method)
{
    return slice_equal(method, SKUA_SLICE("GET")) || slice_equal(method, SKUA_SLICE("HEAD"));
}

// The lines of a field are one list, and it matches when any of them does.
// Returns: whether there is such a field.
static bool tagged_judge(const skua_request *r, const char *name, const representation *selected,
                         precondition_outcome *outcome)
{
    bool
        requires
    = strcmp(name, "If-Match") == 0;
    bool safe = tagged_is_safe(skua_request_method(r)), any = false;
    size_t index = 0;
    slice value;
    while (skua_request_field_next(r, name, &index, &value)) {
        if (!value.ptr) value.ptr = "";
        const preconditions one = { .if_match = requires ? value : (slice){ 0 },
                                    .if_none_match = requires ? (slice){ 0 } : value };
        *outcome = precondition_evaluate(&one, selected, safe);
        any = true;
        if (requires == (*outcome == PRECONDITION_PROCEED)) break;
    }
    return any;
}

// tag: NULL: there is no representation. Then nothing matches, not even "*" (RFC 9110 §13.1.1).
static precondition_outcome tagged_outcome(const skua_request *r, slice tag)
{
    const representation selected = { .etag = tag, .last_modified = -1 };
    precondition_outcome outcome = PRECONDITION_PROCEED;
    if (tagged_judge(r, "If-Match", &selected, &outcome) &&
        (!tag.ptr || outcome != PRECONDITION_PROCEED))
        return PRECONDITION_FAILED;
    if (!tag.ptr || !tagged_judge(r, "If-None-Match", &selected, &outcome))
        return PRECONDITION_PROCEED;
    return outcome;
}

bool skua_etag(skua_request *r, slice tag)
{
    request_expect_reader(r, __func__);
    CONTRACT_SLICE(tag);
    if (tag.ptr && !tagged_is_tag(tag)) {
        (void)respond_decline_words(r, SKUA_EINVAL,
                                    "an entity tag has quotes, and visible characters between "
                                    "them; the response is 500 now");
        return false;
    }
    // A response to other methods is of what they have made, whose tag is another one.
    if (tag.ptr && tagged_is_safe(skua_request_method(r))) skua_field_add(r, "ETag", tag);
    if (!skua_request_is_conditional(r)) return true;
    switch (tagged_outcome(r, tag)) {
    case PRECONDITION_NOT_MODIFIED: skua_respond(r, 304, NULL, (slice){ 0 }); return false;
    case PRECONDITION_FAILED: skua_respond_error(r, 412); return false;
    case PRECONDITION_PROCEED: break;
    }
    return true;
}

skua_status skua_respond_tagged(skua_request *r, const char *type, slice content)
{
    char text[ETAG_OCTETS];
    request_expect_reader(r, __func__);
    CONTRACT_SLICE(content);
    slice tag = slice_make(text, etag_write(content, text));
    if (!skua_etag(r, tag)) return SKUA_OK;
    return skua_respond(r, 200, type, content);
}
