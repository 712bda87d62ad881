// SPDX-License-Identifier: MIT
//
// Interim responses are sent where clients are known to take them: to browsers that open a page, by HTTP/2. Some old
// clients of HTTP/1.1 take a 103 for the response itself.

#include "conf/preload.h"

#include "conf/response.h"
#include "conf/take.h"

#include <string.h>

#define PRELOAD_FAIL(c, word, ...) conf_find((c)->findings, (word)->at, __VA_ARGS__)

// ---- Reading ----

// The characters that stand for themselves in a target, and do not end the reference in a Link (RFC 8288 §3).
static bool preload_is_path(const char *text)
{
    if (text[0] != '/' || text[1] == '/') return false;
    for (const char *at = text; *at; at++) {
        if (*at <= ' ' || *at > '~' || strchr("<>\"\\^`{|}", *at)) return false;
    }
    return true;
}

static unsigned preload_count(const conf_scope *scope)
{
    unsigned count = 0;
    for (const conf_preload *at = scope->preloads; at; at = at->next)
        count++;
    return count;
}

void conf_take_preload(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    static const char *const names[] = { "style", "script", "font", "image", "fetch", NULL };
    const conf_word *path = &d->words[1];
    conf_why why;
    size_t at;
    if (d->count == 2 && strcmp(path->text, "off") == 0) {
        c->scope->preloads = NULL;
    } else if (d->count == 2) {
        PRELOAD_FAIL(c, path, "it is written %s %s, as in: %s", kind->name, kind->arguments,
                     kind->example);
    } else if (!preload_is_path(path->text)) {
        PRELOAD_FAIL(c, path, "%s takes the path of a file as a page names it, encoded, not \"%s\"",
                     kind->name, path->text);
    } else if (!conf_read_choice(d->words[2].text, names, &at, why)) {
        PRELOAD_FAIL(c, &d->words[2], "%s: %s", kind->name, why);
    } else if (preload_count(c->scope) == CONF_PRELOADS_MAX) {
        PRELOAD_FAIL(c, path, "a scope has at most %d preloads", CONF_PRELOADS_MAX);
    } else {
        // browsers fetch fonts, and what scripts fetch, by CORS without credentials, and use only what came so
        bool is_anonymous = at == 2 || at == 4;
        conf_preload *added = conf_take(c->findings->memory, sizeof *added);
        const char *link = conf_print(c->findings->memory, "<%s>; rel=preload; as=%s%s", path->text,
                                      names[at], is_anonymous ? "; crossorigin" : "");
        if (!added || !link) return;
        *added = (conf_preload){ link, c->scope->preloads };
        c->scope->preloads = added;
    }
}

// ---- Serving ----

// Browsers name the navigation of a window or a frame so; RFC 8297 §3 warns of clients that know no 103.
static bool preload_is_wanted(const skua_request *request)
{
    return skua_request_version(request) == 20 &&
           skua_slice_is(skua_request_method(request), "GET") &&
           skua_slice_is(skua_request_field(request, "Sec-Fetch-Mode"), "navigate");
}

// Fills the list from its end, since the scope has the last one first.
static size_t preload_fields(const conf_scope *scope, skua_field fields[CONF_PRELOADS_MAX])
{
    size_t count = preload_count(scope), left = count;
    for (const conf_preload *at = scope->preloads; at; at = at->next)
        fields[--left] = (skua_field){ SKUA_SLICE("Link"), skua_slice_of(at->link) };
    return count;
}

// A hint that cannot be sent is none: the response has the same fields.
void conf_preload_before(skua_request *request, void *site)
{
    skua_field fields[CONF_PRELOADS_MAX];
    // a redirect is no page, and is not asked for a password
    if (preload_is_wanted(request) && !conf_response_is_redirect(request, site)) {
        size_t count = preload_fields(conf_response_scope(request, site), fields);
        if (count) (void)skua_inform(request, 103, fields, count);
    }
    skua_next(request);
}

void conf_preload_head(skua_request *request, int status, void *site)
{
    skua_field fields[CONF_PRELOADS_MAX];
    bool is_page = status == 200 &&
                   skua_slice_starts(skua_response_field(request, "Content-Type"), "text/html");
    if (!is_page) return;
    size_t count = preload_fields(conf_response_scope(request, site), fields);
    for (size_t i = 0; i < count; i++)
        skua_field_add(request, "Link", fields[i].value);
}
