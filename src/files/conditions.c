// SPDX-License-Identifier: MIT
//
// Gathering of precondition and range fields, in one pass over the field section.

#include "files/conditions.h"

typedef struct conditions_target {
    const char *name;
    bool is_list; // its lines are one list, RFC 9110 §5.3; of the others a second line is a mistake
    size_t offset;
} conditions_target;

static const conditions_target conditions_targets[] = {
    { "If-Match", true, offsetof(preconditions, if_match) },
    { "If-None-Match", true, offsetof(preconditions, if_none_match) },
    { "If-Modified-Since", false, offsetof(preconditions, if_modified_since) },
    { "If-Unmodified-Since", false, offsetof(preconditions, if_unmodified_since) },
    { "If-Range", false, offsetof(preconditions, if_range) },
    { "Range", false, offsetof(preconditions, range) },
};

enum { CONDITIONS_TARGETS = sizeof conditions_targets / sizeof *conditions_targets };

static const conditions_target *conditions_find(slice name)
{
    for (size_t i = 0; i < CONDITIONS_TARGETS; i++) {
        if (slice_equal_nocase(name, slice_of(conditions_targets[i].name)))
            return &conditions_targets[i];
    }
    return NULL;
}

static skua_status conditions_join(skua_request *request, slice *list, slice more)
{
    char *joined = skua_request_alloc(request, list->len + 2 + more.len);
    if (!joined) return SKUA_ENOMEM;
    if (list->len) memcpy(joined, list->ptr, list->len);
    memcpy(joined + list->len, ", ", 2);
    if (more.len) memcpy(joined + list->len + 2, more.ptr, more.len);
    *list = slice_make(joined, list->len + 2 + more.len);
    return SKUA_OK;
}

// A field that says "nothing" is still a field: it must not look absent.
static slice conditions_present(slice value)
{
    return value.ptr ? value : slice_make("", 0);
}

skua_status conditions_gather(skua_request *request, preconditions *conditions)
{
    preconditions found = { 0 };
    bool repeated[CONDITIONS_TARGETS] = { false };
    skua_field field;
    for (size_t i = 0; skua_request_field_at(request, i, &field); i++) {
        const conditions_target *target = conditions_find(field.name);
        if (!target) continue;
        slice *value = (slice *)(void *)((char *)&found + target->offset);
        if (!value->ptr) {
            *value = conditions_present(field.value);
        } else if (target->is_list) {
            if (conditions_join(request, value, field.value)) return SKUA_ENOMEM;
        } else {
            repeated[target - conditions_targets] = true;
        }
    }
    for (size_t i = 0; i < CONDITIONS_TARGETS; i++) {
        slice *value = (slice *)(void *)((char *)&found + conditions_targets[i].offset);
        if (!repeated[i]) continue;
        if (value == &found.if_range)
            found.range = slice_make(NULL, 0); // nobody knows which one it depends on
        *value = slice_make(NULL, 0);
    }
    *conditions = found;
    return SKUA_OK;
}
