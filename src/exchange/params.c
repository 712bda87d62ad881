// SPDX-License-Identifier: MIT
//
// Parameters of a query or a form by number. All are decoded at the first question and kept, since
// asking for one after the other would otherwise cost the square of what a client has sent.

#include "exchange/request.h"
#include "exchange/worker.h"
#include "http/form.h"

struct param_list {
    slice source; // what was decoded
    unsigned count;
    skua_field pairs[];
};

static param_list *param_list_new(const skua_request *r, slice source)
{
    arena *memory = request_decoding_here(r)->memory;
    unsigned count = form_count(source, worker_config(r->worker)->params_max);
    param_list *list = arena_alloc(memory, sizeof *list + count * sizeof list->pairs[0]);
    char *text = arena_alloc(memory, source.len + 1);
    if (!list || !text) return NULL;
    *list = (param_list){ .source = source, .count = count };
    form_decode(source, list->pairs, count, text);
    return list;
}

static const param_list *param_list_of(const skua_request *r, param_list **kept, slice source)
{
    bool same = *kept && (*kept)->source.ptr == source.ptr && (*kept)->source.len == source.len;
    if (!same) *kept = param_list_new(r, source);
    return *kept;
}

static bool param_at(const param_list *list, size_t index, skua_field *param)
{
    if (!list || index >= list->count) return false;
    *param = list->pairs[index];
    return true;
}

bool skua_request_query_at(const skua_request *r, size_t index, skua_field *param)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(param);
    return param_at(param_list_of(r, &request_decoding_here(r)->query, r->query), index, param);
}

bool skua_form_at(const skua_request *r, slice content, size_t index, skua_field *param)
{
    request_expect_reader(r, __func__);
    CONTRACT_SLICE(content);
    CONTRACT_GIVEN(param);
    return param_at(param_list_of(r, &request_decoding_here(r)->form, content), index, param);
}

slice skua_form_param(const skua_request *r, slice content, const char *name)
{
    request_expect_reader(r, __func__);
    CONTRACT_SLICE(content);
    CONTRACT_GIVEN(name);
    const param_list *list = param_list_of(r, &request_decoding_here(r)->form, content);
    slice wanted = slice_of(name);
    for (unsigned i = 0; list && i < list->count; i++) {
        if (slice_equal(list->pairs[i].name, wanted)) return list->pairs[i].value;
    }
    return (slice){ 0 };
}

// Parameters of a media type, such as charset, say nothing about a form: WHATWG URL §5.
static bool form_is_sent(const skua_request *r)
{
    static const char wanted[] = "application/x-www-form-urlencoded";
    slice type = skua_request_field(r, "content-type");
    size_t len = 0;
    while (len < type.len && !strchr("; \t", type.ptr[len]))
        len++;
    return slice_equal_nocase(slice_make(type.ptr, len), slice_of(wanted));
}

slice skua_form(const skua_request *r, const char *name)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(name);
    slice content = skua_request_content(r);
    return content.len && form_is_sent(r) ? skua_form_param(r, content, name) : (slice){ 0 };
}
