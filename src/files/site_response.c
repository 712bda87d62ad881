// SPDX-License-Identifier: MIT
//
// Preconditions, ranges, failures and redirects.

#include "files/site_response.h"

#include "files/byteranges.h"
#include "files/file_preconditions.h"
#include "files/media.h"
#include "http/date.h"
#include "http/target.h"

#include <stdio.h>

// Of the 8,192 octets that the fields of a response may have, with the name and 4 more.
enum { SITE_LOCATION_OCTETS_MAX = 8192 - 12 };

// ---- Decisions ----------------------------------------------------------------------------------

// Whether the program lets the file be sent; else there is another response, or will be. It is asked
// when nothing can come between any more, since it may add fields, and so once for a response.
static bool site_response_is_let(skua_request *request, const site *s, const cached *entry)
{
    if (!s->decide || entry->variant == CACHED_ERROR_PAGE) return true;
    int status = s->decide(request, cached_path(entry), &entry->origin.info, s->decide_user);
    bool is_status = status >= 400 && status <= 599;
    if (status > 0) skua_respond_error(request, is_status ? status : 500);
    return status == 0;
}

static void site_respond_with(skua_request *request, const site *s, const cached *entry,
                              skua_prepared *prepared)
{
    if (site_response_is_let(request, s, entry)) skua_respond_prepared(request, prepared);
}

__attribute__((cold)) void site_respond_unacceptable(skua_request *request, const site *s,
                                                     const cached *entry)
{
    if (!site_response_is_let(request, s, entry)) return;
    if (entry->varies) skua_field_add(request, "Vary", SKUA_SLICE("Accept-Encoding"));
    skua_respond_error(request, 406);
}

void site_respond_whole(skua_request *request, const site *s, const cached *entry)
{
    site_respond_with(request, s, entry, entry->ok);
}

// ---- Parts --------------------------------------------------------------------------------------

// Adds the fields that a 206 needs besides Content-Range and Content-Type. With If-Range the client
// has the rest already, RFC 9110 §15.3.7.
static void site_response_add_fields(skua_request *request, const site *s, const cached *entry,
                                     bool has_rest)
{
    if (entry->origin.etag_len)
        skua_field_add(request, "ETag", slice_make(entry->origin.etag, entry->origin.etag_len));
    skua_field guard;
    if (media_guard(entry->origin.type, &guard))
        skua_field_add(request, guard.name.ptr, guard.value);
    if (s->cache_control) skua_field_add(request, "Cache-Control", slice_of(s->cache_control));
    if (entry->varies) skua_field_add(request, "Vary", SKUA_SLICE("Accept-Encoding"));
    if (has_rest) return;
    if (entry->variant != CACHED_IDENTITY)
        skua_field_add(request, "Content-Encoding", coding_name((content_coding)entry->variant));
    if (entry->origin.last_modified >= 0) {
        char date[DATE_OCTETS];
        date_write(date, entry->origin.last_modified);
        skua_field_add(request, "Last-Modified", slice_make(date, sizeof date));
    }
    skua_field_add(request, "Accept-Ranges", SKUA_SLICE("bytes"));
}

static site_response_outcome site_respond_parts(skua_request *request, cache *c,
                                                const cached *entry, skua_file *file,
                                                const preconditions *conditions)
{
    range list[RANGES_MAX];
    unsigned count = 0;
    uint64_t size = entry->origin.info.size;
    switch (range_read(conditions->range, size, c->site->ranges_max, list, &count)) {
    case RANGE_WHOLE: site_respond_whole(request, c->site, entry); break;
    case RANGE_UNSATISFIABLE:
        if (site_response_is_let(request, c->site, entry)) byteranges_refuse(request, size);
        break;
    case RANGE_PARTIAL:
        if (entry->file) file = entry->file;
        if (!file) return SITE_RESPONSE_NEEDS_FILE;
        if (!site_response_is_let(request, c->site, entry)) break;
        site_response_add_fields(request, c->site, entry, conditions->if_range.ptr != NULL);
        byteranges_respond(
            request, &(byteranges_from){ .file = file, .size = size, .type = entry->origin.type },
            list, count, cache_draw(c));
        break;
    }
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
        skua_respond_error(request, 503);
        return SITE_RESPONSE_DONE;
    }
    representation selected = {
        .etag = slice_make(entry->origin.etag, entry->origin.etag_len),
        .last_modified = entry->origin.last_modified,
        .now = skua_worker_unix_ns(skua_request_worker(request)) / 1000000000,
    };
    switch (precondition_evaluate(&conditions, &selected, true)) {
    case PRECONDITION_NOT_MODIFIED:
        site_respond_with(request, c->site, entry, entry->not_modified);
        return SITE_RESPONSE_DONE;
    case PRECONDITION_FAILED:
        if (site_response_is_let(request, c->site, entry)) skua_respond_error(request, 412);
        return SITE_RESPONSE_DONE;
    case PRECONDITION_PROCEED: break;
    }
    if (!entry->is_made && site_response_wants_parts(request, &conditions, &selected)) {
        return site_respond_parts(request, c, entry, file, &conditions);
    }
    site_respond_whole(request, c->site, entry);
    return SITE_RESPONSE_DONE;
}

site_response_outcome site_respond_file(skua_request *request, cache *c, const cached *entry,
                                        skua_file *file)
{
    // Conditions are about a resource that there is, RFC 9110 §13.2.1.
    if (skua_request_is_conditional(request) && entry->variant != CACHED_ERROR_PAGE)
        return site_respond_conditional(request, c, entry, file);
    site_respond_whole(request, c->site, entry);
    return SITE_RESPONSE_DONE;
}

// ---- Failures -----------------------------------------------------------------------------------

void site_response_log(const site *s, slice path, skua_status why, const char *then)
{
    char line[512];
    int shown = path.len < 400 ? (int)path.len : 400;
    int len = snprintf(line, sizeof line, "cannot read %.*s: %s%s", shown, shown ? path.ptr : "",
                       skua_status_text(why), then);
    if (len < 0) return;
    skua_log(s->server,
             slice_make(line, (size_t)len < sizeof line ? (size_t)len : sizeof line - 1));
}

void site_respond_failure(skua_request *request, const site *s, slice path, skua_status why)
{
    switch (why) {
    case SKUA_ENOENT: skua_respond_error(request, 404); return;
    case SKUA_EACCES: skua_respond_error(request, 403); return;
    case SKUA_ENOMEM:
    case SKUA_ENOFILE:
    case SKUA_ESTATE: // it shrank under every attempt
    case SKUA_ELIMIT:
        site_response_log(s, path, why, "");
        skua_respond_error(request, 503);
        return;
    case SKUA_OK:
    case SKUA_EINVAL:
    case SKUA_EPROTOCOL:
    case SKUA_ECLOSED:
    case SKUA_EEXIST:
    case SKUA_EADDRINUSE:
    case SKUA_EADDRNOTAVAIL:
    case SKUA_EIO:
    case SKUA_EUNSUPPORTED:
        site_response_log(s, path, why, "");
        skua_respond_error(request, 500);
        return;
    }
}

// ---- Redirects ----------------------------------------------------------------------------------

void site_respond_slash(skua_request *request)
{
    slice path = skua_request_path(request);
    slice query = skua_request_query(request);
    size_t room = 3 * path.len + 3 * query.len + 3, used;
    char *location = skua_request_alloc(request, room);
    if (!location) {
        skua_respond_error(request, 503);
        return;
    }
    size_t len = target_encode(path, location);
    location[len++] = '/';
    if (query.ptr) {
        location[len++] = '?';
        len += target_escape(query, location + len, room - len, &used);
    }
    if (len > SITE_LOCATION_OCTETS_MAX) {
        skua_respond_error(request, 414); // so would the request be that follows it
        return;
    }
    skua_field_add(request, "Location", slice_make(location, len));
    skua_respond(request, 301, NULL, slice_make(NULL, 0));
}
