// SPDX-License-Identifier: MIT
//
// Gathering of precondition and range fields, in one pass over the field section.

#include "files/file_preconditions.h"

typedef struct file_preconditions_target {
    const char *name;
    bool is_list; // its lines are one list, RFC 9110 §5.3; of the others a second line is a mistake
    size_t offset;
} file_preconditions_target;

static const file_preconditions_target file_preconditions_targets[] = {
    { "If-Match", true, offsetof(preconditions, if_match) },
    { "If-None-Match", true, offsetof(preconditions, if_none_match) },
    { "If-Modified-Since", false, offsetof(preconditions, if_modified_since) },
    { "If-Unmodified-Since", false, offsetof(preconditions, if_unmodified_since) },
    { "If-Range", false, offsetof(preconditions, if_range) },
    { "Range", false, offsetof(preconditions, range) },
};

enum {
    FILE_PRECONDITIONS_TARGETS =
        sizeof file_preconditions_targets / sizeof *file_preconditions_targets
};

static const file_preconditions_target *file_preconditions_find(slice name)
{
    for (size_t i = 0; i < FILE_PRECONDITIONS_TARGETS; i++) {
        if (slice_equal_nocase(name, slice_of(file_preconditions_targets[i].name)))
            return &file_preconditions_targets[i];
    }
    return NULL;
}

// The octets that all lines of that name have together, each with ", " behind it.
static size_t file_preconditions_octets(const skua_request *request, const char *name)
{
    size_t octets = 0;
    skua_field field;
    for (size_t i = 0; skua_request_field_at(request, i, &field); i++) {
        if (slice_equal_nocase(field.name, slice_of(name))) octets += field.value.len + 2;
    }
    return octets;
}

// All lines of that name as one list. Made at once: line by line, a thousand lines would copy half
// a million.
static skua_status file_preconditions_join(skua_request *request, const char *name, slice *list)
{
    char *joined = skua_request_alloc(request, file_preconditions_octets(request, name));
    if (!joined) return SKUA_ENOMEM;
    char *at = joined;
    skua_field field;
    for (size_t i = 0; skua_request_field_at(request, i, &field); i++) {
        if (!slice_equal_nocase(field.name, slice_of(name))) continue;
        if (field.value.len) memcpy(at, field.value.ptr, field.value.len);
        memcpy(at + field.value.len, ", ", 2);
        at += field.value.len + 2;
    }
    *list = slice_make(joined, (size_t)(at - joined) - 2);
    return SKUA_OK;
}

// A field that says "nothing" is still a field: it must not look absent.
static slice file_preconditions_present(slice value)
{
    return value.ptr ? value : slice_make("", 0);
}

skua_status file_preconditions_gather(skua_request *request, preconditions *conditions)
{
    preconditions found = { 0 };
    bool repeated[FILE_PRECONDITIONS_TARGETS] = { false };
    skua_field field;
    for (size_t i = 0; skua_request_field_at(request, i, &field); i++) {
        const file_preconditions_target *target = file_preconditions_find(field.name);
        if (!target) continue;
        slice *value = (slice *)(void *)((char *)&found + target->offset);
        if (value->ptr) repeated[target - file_preconditions_targets] = true;
        else *value = file_preconditions_present(field.value);
    }
    for (size_t i = 0; i < FILE_PRECONDITIONS_TARGETS; i++) {
        const file_preconditions_target *target = &file_preconditions_targets[i];
        slice *value = (slice *)(void *)((char *)&found + target->offset);
        if (!repeated[i]) continue;
        if (target->is_list) {
            if (file_preconditions_join(request, target->name, value)) return SKUA_ENOMEM;
            continue;
        }
        if (value == &found.if_range)
            found.range = slice_make(NULL, 0); // nobody knows which one it depends on
        *value = slice_make(NULL, 0);
    }
    *conditions = found;
    return SKUA_OK;
}
