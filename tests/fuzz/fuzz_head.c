// SPDX-License-Identifier: MIT
//
// A request's head, held to what h1_head.h promises:
// - whole, in two pieces and octet by octet it comes to the same outcome with the same parts;
// - that outcome comes with the octet that makes it: no octet less has it, and none more changes
// it;
// - the portable reader and the wide one agree;
// - nothing past the input is touched: it ends at a forbidden page.

#include "http/h1_head.h"

#include "base/assert.h"
#include "support/support.h"

#include <stdint.h>

// The portable twin, under names of its own.
field_id portable_identify(slice name);
void portable_init(request_head *head, const head_limits *limits, head_field *fields);
h1_result portable_read(request_head *head, slice octets);

#define SKUA_PORTABLE 1
#define field_identify portable_identify
#define head_init portable_init
#define h1_head_read portable_read
#include "http/h1_head.c"
#undef field_identify
#undef head_init
#undef h1_head_read

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FIELDS = 100, SMALL_FIELDS = 3, INPUT_MAX = 4096 };

static const head_limits usual = {
    .head_octets_max = 2048, .target_octets_max = 512, .method_octets_max = 17, .fields_max = FIELDS
};
static const head_limits small = { .head_octets_max = 90,
                                   .target_octets_max = 9,
                                   .method_octets_max = 5,
                                   .fields_max = SMALL_FIELDS };

typedef struct outcome {
    h1_result result;
    request_head head;
    head_field fields[FIELDS];
} outcome;

typedef h1_result read_fn(request_head *head, slice octets);

static void check_parts(const request_head *a, const request_head *b)
{
    SKUA_ASSERT(a->version == b->version && a->content == b->content);
    SKUA_ASSERT(a->keep_alive == b->keep_alive && a->expect_continue == b->expect_continue);
    SKUA_ASSERT(a->start == b->start && a->method_len == b->method_len);
    SKUA_ASSERT(a->target == b->target && a->target_len == b->target_len);
    SKUA_ASSERT(a->count == b->count && a->host == b->host && a->octets == b->octets);
    SKUA_ASSERT(a->content_length == b->content_length && a->seen == b->seen);
}

static void check_same(const outcome *a, const outcome *b)
{
    SKUA_ASSERT(a->result == b->result);
    SKUA_ASSERT(a->head.at == b->head.at);
    SKUA_ASSERT(a->head.fault.status == b->head.fault.status);
    SKUA_ASSERT(a->head.fault.scope == b->head.fault.scope);
    SKUA_ASSERT(strcmp(a->head.fault.reason ? a->head.fault.reason : "",
                       b->head.fault.reason ? b->head.fault.reason : "") == 0);
    check_parts(&a->head, &b->head);
    for (size_t i = 0; i < a->head.count; i++) {
        SKUA_ASSERT(memcmp(&a->fields[i], &b->fields[i], sizeof(a->fields[i])) == 0);
    }
}

// Checks what holds of any complete head, whatever it says.
static void check_done(const outcome *one, const head_limits *limits, slice octets)
{
    const request_head *head = &one->head;
    SKUA_ASSERT(head->octets <= octets.len);
    SKUA_ASSERT(head->octets - head->start <= limits->head_octets_max);
    SKUA_ASSERT(memcmp(octets.ptr + head->octets - 4, "\r\n\r\n", 4) == 0);
    SKUA_ASSERT(head->target_len <= limits->target_octets_max && head->target_len > 0);
    SKUA_ASSERT(head->count <= limits->fields_max);
    SKUA_ASSERT(syntax_is_token(head_method(head, octets.ptr)));
    for (size_t i = 0; i < head->count; i++) {
        slice name = slice_make(octets.ptr + one->fields[i].name, one->fields[i].name_len);
        slice value = slice_make(octets.ptr + one->fields[i].value, one->fields[i].value_len);
        SKUA_ASSERT(syntax_is_token(name) && syntax_is_field_value(value));
        SKUA_ASSERT(slice_trim(value).len == value.len);
        SKUA_ASSERT(one->fields[i].id == field_identify(name));
    }
    if (!head->host) {
        SKUA_ASSERT(head->version == 10);
        return;
    }
    const head_field *host = &one->fields[head->host - 1];
    SKUA_ASSERT(syntax_is_host(slice_make(octets.ptr + host->value, host->value_len)));
}

static void read_once(outcome *one, const head_limits *limits, read_fn *read, slice octets)
{
    head_init(&one->head, limits, one->fields);
    one->result = read(&one->head, octets);
}

static void read_in_two(outcome *one, const head_limits *limits, slice octets, size_t split)
{
    head_init(&one->head, limits, one->fields);
    char *part = guarded_copy(octets.ptr, split);
    one->result = h1_head_read(&one->head, slice_make(part, split));
    guarded_free(part, split);
    if (one->result == H1_MORE) one->result = h1_head_read(&one->head, octets);
}

// Returns after how many octets the outcome was there.
static size_t read_by_octets(outcome *one, const head_limits *limits, slice octets)
{
    head_init(&one->head, limits, one->fields);
    for (size_t n = 0; n <= octets.len; n++) {
        one->result = h1_head_read(&one->head, slice_make(octets.ptr, n));
        if (one->result != H1_MORE) return n;
    }
    return octets.len;
}

static void check_prompt(const outcome *whole, const head_limits *limits, slice octets, size_t n)
{
    static outcome part;
    if (whole->result == H1_MORE) return;
    char *text = guarded_copy(octets.ptr, n);
    read_once(&part, limits, h1_head_read, slice_make(text, n));
    check_same(whole, &part);
    read_once(&part, limits, h1_head_read, slice_make(text, n - 1));
    SKUA_ASSERT(part.result == H1_MORE);
    guarded_free(text, n);
}

static void check(const head_limits *limits, slice octets, size_t split)
{
    static outcome whole, other;
    read_once(&whole, limits, h1_head_read, octets);
    if (whole.result == H1_DONE) check_done(&whole, limits, octets);
    read_once(&other, limits, portable_read, octets);
    check_same(&whole, &other);
    read_in_two(&other, limits, octets, split);
    check_same(&whole, &other);
    size_t n = read_by_octets(&other, limits, octets);
    check_same(&whole, &other);
    check_prompt(&whole, limits, octets, n);
}

static size_t hash(const uint8_t *data, size_t size)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < size; i++)
        h = (h ^ data[i]) * 16777619u;
    return h;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INPUT_MAX) return 0;
    char *text = guarded_copy((const char *)data, size);
    slice octets = slice_make(text, size);
    size_t split = hash(data, size) % (size + 1);
    check(&usual, octets, split);
    check(&small, octets, split);
    guarded_free(text, size);
    return 0;
}
