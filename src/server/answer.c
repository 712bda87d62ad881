// SPDX-License-Identifier: MIT
//
// Answers made in advance: everything that does not change from request to request, in one piece.

#include "server/answer.h"

#include "base/assert.h"
#include "base/memory.h"
#include "http/h1_write.h"
#include "http/syntax.h"
#include "server/page.h"
#include "server/respond.h"

enum { ANSWER_FIELDS_OCTETS_MAX = 8192 };

static size_t answer_fields_octets(const skua_answer_desc *desc)
{
    size_t octets = 0;
    for (size_t i = 0; i < desc->fields_count; i++) {
        octets += desc->fields[i].name.len + desc->fields[i].value.len + 4;
    }
    return octets;
}

static bool answer_fields_are_valid(const skua_answer_desc *desc)
{
    for (size_t i = 0; i < desc->fields_count; i++) {
        if (!respond_takes_field(desc->fields[i].name, desc->fields[i].value)) return false;
    }
    return true;
}

static bool answer_states_length(const skua_answer_desc *desc)
{
    if (desc->status == 204) return false;
    return desc->status != 304 || desc->has_length;
}

skua_status skua_answer_new(skua_worker *worker, const skua_answer_desc *desc, skua_answer **answer)
{
    if (desc->status < 200 || desc->status > 599 || !answer_fields_are_valid(desc))
        return SKUA_EINVAL;
    if (answer_fields_octets(desc) > ANSWER_FIELDS_OCTETS_MAX) return SKUA_EINVAL;
    bool in_memory = !desc->file && desc->content.len;
    size_t room = H1_STATUS_LINE_OCTETS_MAX + answer_fields_octets(desc) + 64 + desc->content.len;
    skua_answer *a = memory_alloc(sizeof *a + room);
    if (!a) return SKUA_ENOMEM;
    uint64_t length = in_memory ? desc->content.len : desc->length;
    *a = (skua_answer){
        .worker = worker,
        .refs = 1,
        .status = (uint16_t)desc->status,
        .file = desc->file ? skua_file_ref(desc->file) : NULL,
        .offset = desc->offset,
        .length = in_memory || desc->file ? length : 0,
        .has_length = answer_states_length(desc),
    };
    char *at = h1_write_status(a->text, desc->status, slice_of(page_reason(desc->status)));
    a->status_line = slice_make(a->text, (size_t)(at - a->text));
    char *fields = at;
    for (size_t i = 0; i < desc->fields_count; i++)
        at = h1_write_field(at, desc->fields[i].name, desc->fields[i].value);
    if (a->has_length) {
        at = H1_WRITE(at, "Content-Length: ");
        at = h1_write_number(at, length);
        at = H1_WRITE(at, "\r\n");
    }
    a->fields = slice_make(fields, (size_t)(at - fields));
    a->content = at;
    if (in_memory) memcpy(at, desc->content.ptr, desc->content.len);
    *answer = a;
    return SKUA_OK;
}

skua_answer *skua_answer_ref(skua_answer *answer)
{
    answer->refs++;
    return answer;
}

void skua_answer_unref(skua_answer *answer)
{
    SKUA_ASSERT(answer->refs > 0);
    if (--answer->refs) return;
    if (answer->file) skua_file_unref(answer->file);
    memory_free(answer);
}
