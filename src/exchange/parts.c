// SPDX-License-Identifier: MIT
//
// Parts of multipart/form-data as they come. The parser sits between the content and the program:
// of what it is given, the program gives back the credit of what it was told, and this of the rest.

#include "exchange/parts.h"

#include "base/sized.h"
#include "exchange/carrier.h"
#include "exchange/content.h"
#include "exchange/request.h"
#include "exchange/error.h"
#include "exchange/respond.h"
#include "exchange/worker.h"
#include "http/multipart.h"

typedef struct parts_reader {
    multipart parser;
    multipart_limits limits;
    skua_part_fn *fn;
    void *user;
    bool over; // PARTS_END or PARTS_FAILED has been told
} parts_reader;

static void parts_tell(skua_request *r, parts_reader *parts, skua_part_event event, slice octets)
{
    bool last = event == SKUA_PARTS_END || event == SKUA_PARTS_FAILED;
    if (last) parts->over = true;
    parts->fn(r, event, last ? NULL : &parts->parser.part, octets, parts->user);
}

static void parts_fail(skua_request *r, parts_reader *parts)
{
    request_blame(r, parts->parser.fault.reason);
    error_refuse(r, parts->parser.fault.status);
    parts_tell(r, parts, SKUA_PARTS_FAILED, (slice){ 0 });
}

// Tells what the next event is. Returns whether there may be more.
static bool parts_step(skua_request *r, parts_reader *parts, slice *octets, size_t *told)
{
    slice data = { NULL, 0 };
    switch (multipart_next(&parts->parser, octets, &data)) {
    case MULTIPART_MORE: return false;
    case MULTIPART_BEGIN: parts_tell(r, parts, SKUA_PART_BEGIN, data); break;
    case MULTIPART_DATA:
        *told += data.len;
        parts_tell(r, parts, SKUA_PART_DATA, data);
        break;
    case MULTIPART_END: parts_tell(r, parts, SKUA_PART_END, data); break;
    case MULTIPART_FAULT: parts_fail(r, parts); return false;
    }
    return !request_is_answered(r) && !r->carrier->broken;
}

// Held octets may be the beginning of a delimiter. They are told, or their credit given back,
// later.
static void parts_take(skua_request *r, parts_reader *parts, slice octets)
{
    size_t told = 0, owed = parts->parser.held + octets.len;
    while (parts_step(r, parts, &octets, &told)) {
    }
    if (parts->over) return;
    skua_content_consume(r, owed - told - parts->parser.held - octets.len);
}

static void parts_read(skua_request *r, skua_content_event event, slice octets, void *user)
{
    parts_reader *parts = user;
    if (parts->over) return;
    switch (event) {
    case SKUA_CONTENT_DATA: parts_take(r, parts, octets); return;
    case SKUA_CONTENT_END:
        if (multipart_finish(&parts->parser)) parts_tell(r, parts, SKUA_PARTS_END, (slice){ 0 });
        else parts_fail(r, parts);
        return;
    case SKUA_CONTENT_LOST: parts_tell(r, parts, SKUA_PARTS_FAILED, (slice){ 0 }); return;
    }
}

bool request_is_multipart(const skua_request *r)
{
    char boundary[MULTIPART_BOUNDARY_MAX];
    size_t len;
    return multipart_boundary(skua_request_field(r, "content-type"), boundary, &len);
}

skua_status skua_multipart_read_sized(skua_request *r, skua_part_fn *fn, void *user,
                                      const skua_sizes *sizes)
{
    request_expect(r, __func__);
    CONTRACT_GIVEN(fn);
    CONTRACT_SIZES(sizes);
    CONTRACT_TOLD(sizes->part, sizeof(skua_part));
    char boundary[MULTIPART_BOUNDARY_MAX];
    size_t boundary_len;
    const skua_config *config = worker_config(r->worker);
    if (r->reader || request_is_answered(r)) return request_refusal(r);
    if (!multipart_boundary(skua_request_field(r, "content-type"), boundary, &boundary_len))
        return SKUA_EINVAL;
    parts_reader *parts = arena_alloc(&r->memory, sizeof *parts);
    char *head = arena_alloc(&r->memory, config->part_head_octets_max);
    if (!parts || !head) return SKUA_ENOMEM;
    parts->fn = fn;
    parts->user = user;
    parts->over = false;
    parts->limits = (multipart_limits){ .parts_max = config->parts_max,
                                        .head_octets_max = config->part_head_octets_max };
    multipart_init(&parts->parser, &parts->limits, slice_make(boundary, boundary_len), head);
    return skua_content_read(r, parts_read, parts);
}
