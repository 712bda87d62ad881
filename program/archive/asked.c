// SPDX-License-Identifier: MIT
//
// The beginning of an archive: a query that asks for one, and the links that lead to it.

#include "archive/archive.h"

#include <stdio.h>
#include <string.h>

// The value of "archive" in a query; ptr NULL: there is none. It is a plain word, so that nothing is decoded.
static skua_slice asked_value(skua_slice query)
{
    static const char name[] = "archive=";
    const char *at = query.ptr, *end = query.ptr + query.len;
    while (at && at < end) {
        const char *mark = memchr(at, '&', (size_t)(end - at)), *last = mark ? mark : end;
        size_t len = (size_t)(last - at);
        if (len >= sizeof name - 1 && memcmp(at, name, sizeof name - 1) == 0)
            return (skua_slice){ at + sizeof name - 1, len - (sizeof name - 1) };
        at = mark ? mark + 1 : NULL;
    }
    return (skua_slice){ NULL, 0 };
}

// Others than GET and HEAD have no use for it, and a path without the "/" is a file's, or is redirected.
static bool asked_is_of_folder(const skua_request *request)
{
    skua_slice method = skua_request_method(request), path = skua_request_path(request);
    bool is_get = (method.len == 3 && memcmp(method.ptr, "GET", 3) == 0) ||
                  (method.len == 4 && memcmp(method.ptr, "HEAD", 4) == 0);
    return is_get && path.len && path.ptr[path.len - 1] == '/' &&
           skua_request_path_is_plain(request);
}

bool archive_asked(const skua_request *request, const archive_format *const *formats,
                   const archive_format **format)
{
    skua_slice value = asked_value(skua_request_query(request));
    *format = NULL;
    if (!value.ptr || !asked_is_of_folder(request)) return false;
    for (; *formats && !*format; formats++) {
        bool is_it = strlen((*formats)->name) == value.len &&
                     memcmp((*formats)->name, value.ptr, value.len) == 0;
        if (is_it) *format = *formats;
    }
    return true;
}

void archive_before(skua_request *request, void *user)
{
    const archive_place *place = user;
    const archive_format *format;
    const archive_desc desc = { .folder = place->folder,
                                .root_octets = 1,
                                .has_hidden = place->has_hidden };
    if (!archive_asked(request, archive_formats, &format)) skua_next(request);
    else if (format) archive_answer(request, format, &desc);
    else archive_refuse(request, archive_formats);
}

void archive_refuse(skua_request *request, const archive_format *const *formats)
{
    char sentence[64];
    (void)snprintf(sentence, sizeof sentence, "An archive of a folder is %s%s%s.", formats[0]->name,
                   formats[1] ? " or " : "", formats[1] ? formats[1]->name : "");
    skua_refuse(request, 400, skua_slice_of(sentence));
}

// Crawlers need not follow them: they would get everything twice.
size_t archive_markup(const archive_format *const *formats, char text[ARCHIVE_MARKUP_OCTETS])
{
    int len = snprintf(text, ARCHIVE_MARKUP_OCTETS, "<p>Download this folder:");
    for (; *formats; formats++)
        len += snprintf(text + len, (size_t)(ARCHIVE_MARKUP_OCTETS - len),
                        " <a href=\"?archive=%s\" rel=\"nofollow\" download>%s</a>",
                        (*formats)->name, (*formats)->name);
    len += snprintf(text + len, (size_t)(ARCHIVE_MARKUP_OCTETS - len), "</p>\n");
    return (size_t)len;
}
