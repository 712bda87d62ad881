// SPDX-License-Identifier: MIT
//
// The tree of directives is looked through as it was read: outer blocks first, so that the last one found is the one
// that holds. Blocks for methods have rules alone, which are told by the scopes.

#include "conf/reason.h"

#include "conf/pattern.h"
#include "conf/sites.h"
#include "conf/table.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

// Which directive sets a field of that name.
typedef struct reason_owner {
    const char *field, *directive;
} reason_owner;

static const reason_owner reason_owners[] = {
    { "Access-Control-Allow-Credentials", "cors" },
    { "Access-Control-Allow-Headers", "cors" },
    { "Access-Control-Allow-Methods", "cors" },
    { "Access-Control-Allow-Origin", "cors" },
    { "Access-Control-Expose-Headers", "cors" },
    { "Access-Control-Max-Age", "cors" },
    { "Content-Security-Policy", "security_headers" },
    { "Cross-Origin-Opener-Policy", "security_headers" },
    { "Cross-Origin-Resource-Policy", "security_headers" },
    { "ETag", "etag" },
    { "Link", "preload" },
    { "Referrer-Policy", "security_headers" },
    { "Strict-Transport-Security", "hsts" },
    { "X-Content-Type-Options", "security_headers" },
    { "X-Frame-Options", "security_headers" },
    { "X-Request-Id", "request_id" },
};

static const conf_place reason_none = { .file = NULL };

// One that is off takes away, and gives nothing.
static bool reason_is_off(const conf_directive *d)
{
    const conf_word *last = &d->words[d->count - 1];
    return d->count > 1 && !last->is_quoted && strcmp(last->text, "off") == 0;
}

// argument: one of its words but the last, in letters of either case; NULL: it may have any.
static bool reason_is_of(const conf_directive *d, const char *name, const char *argument)
{
    if (strcmp(d->words[0].text, name) != 0) return false;
    for (unsigned i = 1; argument && i + 1 < d->count; i++)
        if (strcasecmp(d->words[i].text, argument) == 0) return true;
    return !argument;
}

// The last one in a block; found: that of an outer block, where this one has none.
static const conf_directive *reason_in(const conf_directive *first, const char *name,
                                       const char *argument, const conf_directive *found)
{
    for (const conf_directive *d = first; d; d = d->next)
        if (reason_is_of(d, name, argument)) found = d;
    return found;
}

// The block that begins on that line: a line has one at most.
static const conf_directive *reason_block(const conf_directive *first, const char *name,
                                          conf_place at)
{
    for (const conf_directive *d = first; d; d = d->next) {
        const conf_place here = d->words[0].at;
        if (conf_is(d, name) && here.line == at.line && strcmp(here.file, at.file) == 0) return d;
    }
    return NULL;
}

static const conf_directive *reason_found(const conf_reason *why, const char *name,
                                          const char *argument)
{
    const conf_directive *first = why->from->first, *found = NULL;
    for (const conf_directive *d = first; d; d = d->next)
        if (conf_is(d, "defaults")) found = reason_in(d->inner, name, argument, found);
    const conf_directive *site = why->site ? reason_block(first, "site", why->site->at) : NULL;
    if (!site) return found;
    found = reason_in(site->inner, name, argument, found);
    for (const conf_scope *at = why->site->paths; at; at = at->next) {
        if (!conf_scope_has(at, why->path, why->path_len)) continue;
        const conf_directive *path = reason_block(site->inner, "path", at->at);
        if (path) found = reason_in(path->inner, name, argument, found);
    }
    return found;
}

static conf_place reason_place(const conf_reason *why, const char *name, const char *argument)
{
    const conf_directive *found = why->site ? reason_found(why, name, argument) : NULL;
    return found && !reason_is_off(found) ? found->words[0].at : reason_none;
}

conf_place conf_reason_holds(const conf_reason *why, const char *name)
{
    return reason_place(why, name, NULL);
}

// ---- Patterns ----

// How much a part of a pattern says: 0 for a name, 1 for one part, 2 for all that comes.
static int reason_width(const char *part)
{
    if (*part != '{') return 0;
    size_t len = strcspn(part, "/");
    return len > 4 && strncmp(part + len - 4, "...}", 4) == 0 ? 2 : 1;
}

// Of two patterns that have the same path: whether the router prefers the first one.
static bool reason_is_closer(const char *a, const char *b)
{
    while (*a && *b) {
        int width = reason_width(a), other = reason_width(b);
        if (width != other) return width < other;
        a += strcspn(a, "/");
        b += strcspn(b, "/");
        a += *a == '/';
        b += *b == '/';
    }
    return !*a && *b;
}

static const conf_redirect *reason_redirect(const conf_reason *why)
{
    const conf_redirect *found = NULL;
    for (const conf_redirect *at = why->site->redirects; at; at = at->next) {
        if (conf_pattern_has(at->pattern, why->path, why->path_len) &&
            (!found || reason_is_closer(at->pattern, found->pattern)))
            found = at;
    }
    return found;
}

const conf_rewrite *conf_reason_rewrite(const conf_reason *why)
{
    const conf_rewrite *found = NULL;
    for (const conf_rewrite *at = why->site ? why->site->rewrites : NULL; at; at = at->next) {
        if (conf_pattern_has(at->pattern, why->path, why->path_len) &&
            (!found || reason_is_closer(at->pattern, found->pattern)))
            found = at;
    }
    return found;
}

// ---- Fields ----

// Another host or scheme is answered before a redirect is.
static conf_place reason_location(const conf_reason *why)
{
    const conf_site *site = why->site;
    if (site && site->canonical && strcasecmp(site->canonical, why->origin) != 0)
        return conf_reason_holds(why, "canonical");
    const conf_redirect *redirect = site ? reason_redirect(why) : NULL;
    return redirect ? redirect->at : reason_none;
}

// Content that was compressed here has a weak tag, and a compressed file beside the file has a strong one.
static conf_place reason_coding(const conf_reason *why, skua_slice tag)
{
    return conf_reason_holds(why, skua_slice_starts(tag, "W/") ? "compress" : "precompressed");
}

// The type of what the path ends with, if the path names a file.
static conf_place reason_type(const conf_reason *why)
{
    const char *dot = strrchr(why->path, '.');
    return dot && !strchr(dot, '/') ? reason_place(why, "type", dot) : reason_none;
}

// Some responses are not to be kept whatever the configuration says: their value is another.
static conf_place reason_cache(const conf_reason *why, skua_slice value)
{
    if (!why->site) return reason_none;
    const conf_scope *inner = conf_scope_of(why->site, why->path, why->path_len);
    bool is_its = inner->cache && skua_slice_is(value, inner->cache);
    return is_its ? conf_reason_holds(why, "cache") : reason_none;
}

conf_place conf_reason_field(const conf_reason *why, int status, skua_slice field, skua_slice value,
                             skua_slice tag)
{
    char name[128];
    if (field.len >= sizeof name) return reason_none;
    memcpy(name, field.ptr, field.len);
    name[field.len] = '\0';
    if (strcasecmp(name, "Location") == 0) return reason_location(why);
    if (strcasecmp(name, "Content-Encoding") == 0) return reason_coding(why, tag);
    if (strcasecmp(name, "Content-Type") == 0 && status < 300) return reason_type(why);
    if (strcasecmp(name, "Cache-Control") == 0) return reason_cache(why, value);
    conf_place found = reason_place(why, "header", name);
    // pages that the server makes have stricter ones of their own
    if (strcasecmp(name, "Content-Security-Policy") == 0 &&
        !skua_slice_starts(value, "default-src 'self'"))
        return found;
    for (size_t i = 0; !found.file && i < sizeof reason_owners / sizeof *reason_owners; i++)
        if (strcasecmp(reason_owners[i].field, name) == 0)
            found = conf_reason_holds(why, reason_owners[i].directive);
    return found;
}

conf_place conf_reason_status(const conf_reason *why, int status)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%d", status);
    if (status == 503 && why->site && why->site->closed_by &&
        access(why->site->closed_by, F_OK) == 0)
        return conf_reason_holds(why, "maintenance");
    conf_place page = reason_place(why, "error_page", text);
    return !page.file && status == 404 ? conf_reason_holds(why, "not_found") : page;
}
