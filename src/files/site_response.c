// SPDX-License-Identifier: MIT
//
// Preconditions, ranges and redirects.

#include "files/site_response.h"

#include "files/byteranges.h"
#include "files/file_preconditions.h"
#include "files/media.h"
#include "http/date.h"
#include "http/target.h"

void site_response_check(skua_request *request, skua_status status)
{
    // Answered already, by a deadline perhaps; or out of memory, and then the connection is closed.
    if (status == SKUA_OK || status == SKUA_ESTATE || status == SKUA_ENOMEM) return;
    if (skua_respond_error(request, 500)) return;
}

void site_respond_error(skua_request *request, int status)
{
    site_response_check(request, skua_respond_error(request, status));
}

// ---- Parts --------------------------------------------------------------------------------------

// Adds the fields that a 206 needs besides Content-Range and Content-Type. With If-Range the client
// has the rest already, RFC 9110 §15.3.7.
static skua_status site_response_add_fields(skua_request *request, const site *s,
                                            const cached *entry, bool has_rest)
{
    skua_status status = SKUA_OK;
    if (entry->etag_len)
        status = skua_field_add(request, "ETag", slice_make(entry->etag, entry->etag_len));
    skua_field guard;
    if (!status && media_guard(entry->type, &guard))
        status = skua_field_add(request, guard.name.ptr, guard.value);
    if (!status && s->cache_control) {
        status = skua_field_add(request, "Cache-Control", slice_of(s->cache_control));
    }
    if (status || has_rest) return status;
    if (entry->last_modified >= 0) {
        char date[DATE_OCTETS];
        date_write(date, entry->last_modified);
        status = skua_field_add(request, "Last-Modified", slice_make(date, sizeof date));
    }
    return status ? status : skua_field_add(request, "Accept-Ranges", SKUA_SLICE("bytes"));
}

static site_response_outcome site_respond_parts(skua_request *request, cache *c,
                                                const cached *entry, skua_file *file,
                                                const preconditions *conditions)
{
    range list[RANGES_MAX];
    unsigned count = 0;
    uint64_t size = entry->info.size;
    skua_status status = SKUA_OK;
    switch (range_read(conditions->range, size, c->site->ranges_max, list, &count)) {
    case RANGE_WHOLE: status = skua_respond_answer(request, entry->ok); break;
    case RANGE_UNSATISFIABLE: status = byteranges_refuse(request, size); break;
    case RANGE_PARTIAL:
        if (entry->file) file = entry->file;
        if (!file) return SITE_RESPONSE_NEEDS_FILE;
        status =
            site_response_add_fields(request, c->site, entry, conditions->if_range.ptr != NULL);
        if (status) break;
        status = byteranges_respond(request, file, entry->type, size, list, count, cache_draw(c));
        break;
    }
    site_response_check(request, status);
    return SITE_RESPONSE_DONE;
}

// ---- Conditions ---------------------------------------------------------------------------------

// Range is defined for GET alone, RFC 9110 §14.2.
static bool site_response_wants_parts(const skua_request *request, const preconditions *conditions,
                                      const representation *selected)
{
    return conditions->range.ptr && slice_equal(skua_request_method(request), SKUA_SLICE("GET")) &&
           precondition_range_applies(conditions, selected);
}

static site_response_outcome site_respond_conditional(skua_request *request, cache *c,
                                                      const cached *entry, skua_file *file)
{
    preconditions conditions;
    if (file_preconditions_gather(request, &conditions)) {
        site_respond_error(request, 503);
        return SITE_RESPONSE_DONE;
    }
    representation selected = {
        .etag = slice_make(entry->etag, entry->etag_len),
        .last_modified = entry->last_modified,
        .now = skua_worker_unix_ns(skua_request_worker(request)) / 1000000000,
    };
    switch (precondition_evaluate(&conditions, &selected, true)) {
    case PRECONDITION_NOT_MODIFIED:
        site_response_check(request, skua_respond_answer(request, entry->not_modified));
        return SITE_RESPONSE_DONE;
    case PRECONDITION_FAILED: site_respond_error(request, 412); return SITE_RESPONSE_DONE;
    case PRECONDITION_PROCEED: break;
    }
    if (site_response_wants_parts(request, &conditions, &selected)) {
        return site_respond_parts(request, c, entry, file, &conditions);
    }
    site_response_check(request, skua_respond_answer(request, entry->ok));
    return SITE_RESPONSE_DONE;
}

site_response_outcome site_respond_file(skua_request *request, cache *c, const cached *entry,
                                        skua_file *file)
{
    if (skua_request_is_conditional(request))
        return site_respond_conditional(request, c, entry, file);
    site_response_check(request, skua_respond_answer(request, entry->ok));
    return SITE_RESPONSE_DONE;
}

// ---- Redirects ----------------------------------------------------------------------------------

void site_respond_slash(skua_request *request)
{
    slice path = skua_request_path(request);
    slice query = skua_request_query(request);
    size_t room = 3 * path.len + 3 * query.len + 3, used;
    char *location = skua_request_alloc(request, room);
    if (!location) {
        site_respond_error(request, 503);
        return;
    }
    size_t len = target_encode(path, location);
    location[len++] = '/';
    if (query.ptr) {
        location[len++] = '?';
        len += target_escape(query, location + len, room - len, &used);
    }
    skua_status status = skua_field_add(request, "Location", slice_make(location, len));
    if (!status) status = skua_respond(request, 301, NULL, slice_make(NULL, 0));
    if (status == SKUA_ELIMIT)
        site_respond_error(request, 414); // so would the request be that follows it
    else site_response_check(request, status);
}
