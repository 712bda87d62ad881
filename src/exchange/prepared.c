// SPDX-License-Identifier: MIT
//
// Responses made in advance: everything that does not change from request to request, in one piece.

#include "exchange/prepared.h"

#include "base/memory.h"
#include "base/sized.h"
#include "exchange/fields.h"
#include "exchange/worker.h"

enum { PREPARED_FIELDS_OCTETS_MAX = 8192 };

static size_t prepared_fields_octets(const skua_prepared_desc *desc)
{
    size_t octets = 0;
    for (size_t i = 0; i < desc->fields_count; i++) {
        octets += desc->fields[i].name.len + desc->fields[i].value.len + 4;
    }
    return octets;
}

static bool prepared_fields_are_valid(const skua_prepared_desc *desc)
{
    for (size_t i = 0; i < desc->fields_count; i++) {
        if (!fields_take(desc->fields[i].name, desc->fields[i].value)) return false;
    }
    return true;
}

static bool prepared_states_length(const skua_prepared_desc *desc)
{
    if (desc->status == 204) return false;
    return desc->status != 304 || desc->has_length;
}

// Before content that is copied here, and long enough to be lent.
static size_t prepared_own_headroom(const skua_prepared_desc *desc)
{
    return desc->content.len > RESPONSE_COPY_MAX ? RESPONSE_HEADROOM_OCTETS : 0;
}

static size_t prepared_room(const skua_prepared_desc *desc, bool in_memory)
{
    bool is_copied = in_memory && !desc->release;
    return desc->fields_count * sizeof(response_field) + prepared_fields_octets(desc) +
           (is_copied ? prepared_own_headroom(desc) + desc->content.len : 0);
}

static char *prepared_put(char *at, slice octets, slice *kept)
{
    if (octets.len) memcpy(at, octets.ptr, octets.len);
    *kept = slice_make(at, octets.len);
    return at + octets.len;
}

// The fields' slices come first, then the text that they are slices of, then the content with its headroom.
static void prepared_keep(skua_prepared *a, const skua_prepared_desc *desc, bool in_memory)
{
    char *at = (char *)&a->fields[desc->fields_count];
    for (size_t i = 0; i < desc->fields_count; i++) {
        at = prepared_put(at, desc->fields[i].name, &a->fields[i].name);
        at = prepared_put(at, desc->fields[i].value, &a->fields[i].value);
        a->fields[i].id = field_identify(desc->fields[i].name);
        if (a->fields[i].id == FIELD_CONTENT_TYPE) a->typed = true;
    }
    size_t headroom = desc->release ? desc->headroom : prepared_own_headroom(desc);
    a->headroom = (uint16_t)(headroom < UINT16_MAX ? headroom : UINT16_MAX);
    a->content = desc->release ? desc->content.ptr : at + headroom;
    if (in_memory && !desc->release) memcpy(at + headroom, desc->content.ptr, desc->content.len);
}

skua_status skua_prepared_new_sized(skua_worker *worker, const skua_prepared_desc *desc,
                                    skua_prepared **prepared, const skua_sizes *sizes)
{
    home_expect(worker, __func__);
    CONTRACT_GIVEN(desc);
    CONTRACT_SIZES(sizes);
    skua_prepared_desc own;
    desc = SIZED_GIVEN(desc, sizes->prepared_desc, &own);
    CONTRACT(desc->fields || !desc->fields_count, "desc->fields must not be NULL");
    CONTRACT_SLICE(desc->content);
    CONTRACT_GIVEN(prepared);
    if (desc->status < 200 || desc->status > 599 || !prepared_fields_are_valid(desc))
        return SKUA_EINVAL;
    if (prepared_fields_octets(desc) > PREPARED_FIELDS_OCTETS_MAX) return SKUA_EINVAL;
    bool in_memory = !desc->file && desc->content.len;
    skua_prepared *a = memory_alloc(sizeof *a + prepared_room(desc, in_memory));
    if (!a) return SKUA_ENOMEM;
    uint64_t length = in_memory ? desc->content.len : desc->length;
    *a = (skua_prepared){
        .worker = worker,
        .refs = 1,
        .status = (uint16_t)desc->status,
        .file = desc->file ? skua_file_ref(desc->file) : NULL,
        .number = ++worker->prepared_made,
        .offset = desc->offset,
        .length = in_memory || desc->file ? length : 0,
        .stated_length = prepared_states_length(desc) ? (int64_t)length : -1,
        .fields_count = (unsigned)desc->fields_count,
        .fields_octets = prepared_fields_octets(desc),
        .release = desc->release,
        .release_user = desc->release_user,
    };
    prepared_keep(a, desc, in_memory);
    *prepared = a;
    return SKUA_OK;
}

skua_prepared *skua_prepared_ref(skua_prepared *prepared)
{
    prepared_expect(prepared, __func__);
    prepared->refs++;
    return prepared;
}

void skua_prepared_unref(skua_prepared *prepared)
{
    prepared_expect(prepared, __func__);
    CONTRACT(prepared->refs > 0, "called more often than there are references");
    if (--prepared->refs) return;
    if (prepared->file) skua_file_unref(prepared->file);
    if (prepared->release) prepared->release(prepared->release_user);
    memory_free(prepared->h1);
    memory_free(prepared);
}
