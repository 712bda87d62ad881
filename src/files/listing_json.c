// SPDX-License-Identifier: MIT
//
// Names of files are any octets, and a text of JSON is UTF-8: what is none becomes U+FFFD in "name", and "url" leads
// to the file all the same.

#include "files/listing_json.h"

#include "base/utf8.h"
#include "http/coding.h"
#include "http/syntax.h"

#include <stdio.h>
#include <time.h>

// ---- Values ----

// Controls of C1 and DEL may stand for themselves, RFC 8259 §7, and so does all else.
static void listing_json_text(markup *m, slice text)
{
    while (text.len && !m->failed) {
        uint32_t character = 0;
        char escape[8];
        size_t len = utf8_read(text, &character);
        if (len == 0) {
            markup_literal(m, "\xef\xbf\xbd");
        } else if (character < 0x20 || character == '"' || character == '\\') {
            (void)snprintf(escape, sizeof escape, "\\u%04x", (unsigned)character);
            markup_literal(m, escape);
        } else {
            markup_put(m, slice_make(text.ptr, len));
        }
        text = slice_from(text, len ? len : 1);
    }
}

// RFC 3339, in whole seconds.
static void listing_json_time(markup *m, int64_t time_ns)
{
    time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm utc;
    char text[64];
    if (!gmtime_r(&seconds, &utc) || utc.tm_year < 0 || utc.tm_year > 8099) return;
    size_t len = strftime(text, sizeof text, ",\"modified\":\"%Y-%m-%dT%H:%M:%SZ\"", &utc);
    markup_put(m, slice_make(text, len));
}

// A path with a backslash is never served.
static void listing_json_url(markup *m, const listing_entry *entry)
{
    if (entry->kind == SKUA_FILE_OTHER || strchr(entry->name, '\\')) return;
    markup_literal(m, ",\"url\":\"./");
    markup_segment(m, slice_of(entry->name));
    markup_literal(m, entry->kind == SKUA_FILE_DIRECTORY ? "/\"" : "\"");
}

static void listing_json_entry(markup *m, const listing_entry *entry)
{
    static const char *const kinds[] = { "file", "folder", "other" };
    markup_literal(m, "{\"name\":\"");
    listing_json_text(m, slice_of(entry->name));
    markup_literal(m, "\",\"type\":\"");
    markup_literal(m, kinds[entry->kind]);
    markup_literal(m, "\"");
    listing_json_url(m, entry);
    if (entry->kind == SKUA_FILE_REGULAR) {
        markup_literal(m, ",\"size\":");
        markup_number(m, entry->size);
    }
    if (entry->kind != SKUA_FILE_OTHER) listing_json_time(m, entry->mtime_ns);
    markup_literal(m, "}");
}

// ---- Steps ----

static void listing_json_begin(const listing *l, const listing_view *view, markup *m)
{
    markup_literal(m, "{\"path\":\"");
    listing_json_text(m, view->path);
    markup_literal(m, l->cut ? "\",\"cut\":true,\"entries\":[" : "\",\"cut\":false,\"entries\":[");
}

// A listing that was read again may have lost its last entries, so commas are written before entries, and not behind.
static size_t listing_json_write(const listing *l, const listing_view *view, size_t first,
                                 size_t octets, markup *m)
{
    bool follows = view->follows;
    while (first < l->count && m->len < octets && !m->failed) {
        if (follows) markup_literal(m, ",\n");
        listing_json_entry(m, &l->entries[first++]);
        follows = true;
    }
    return first;
}

static void listing_json_end(const listing_view *view, markup *m)
{
    (void)view;
    markup_literal(m, "]}\n");
}

const listing_form listing_json = { "application/json", listing_json_begin, listing_json_write,
                                    listing_json_end };

// ---- Accept ----

static bool listing_json_is_type(slice member, slice type)
{
    if (member.len < type.len) return false;
    if (!slice_equal_nocase(slice_make(member.ptr, type.len), type)) return false;
    slice rest = slice_trim(slice_from(member, type.len));
    return rest.len == 0 || rest.ptr[0] == ';';
}

// The weight of a member by its parameter q, RFC 9110 §12.5.1; one that cannot be read gives nothing.
static unsigned listing_json_weight(slice member)
{
    unsigned weight = 1000;
    const char *mark;
    while ((mark = memchr(member.ptr, ';', member.len)) != NULL) {
        member = slice_trim(slice_from(member, (size_t)(mark - member.ptr) + 1));
        if (member.len < 2 || octet_lower(member.ptr[0]) != 'q' || member.ptr[1] != '=') continue;
        const char *end = memchr(member.ptr, ';', member.len);
        size_t len = end ? (size_t)(end - member.ptr) : member.len;
        slice value = slice_trim(slice_make(member.ptr + 2, len - 2));
        return coding_read_qvalue(value, &weight) ? weight : 0;
    }
    return weight;
}

bool listing_json_is_wanted(const skua_request *request)
{
    unsigned json = 0, html = 0;
    size_t index = 0;
    slice line, member;
    while (skua_request_field_next(request, "Accept", &index, &line)) {
        while (syntax_list_next(&line, &member)) {
            unsigned weight = listing_json_weight(member);
            if (listing_json_is_type(member, SKUA_SLICE("application/json"))) json = weight;
            if (listing_json_is_type(member, SKUA_SLICE("text/html"))) html = weight;
        }
    }
    return json > html;
}
