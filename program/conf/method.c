// SPDX-License-Identifier: MIT
//
// GET has HEAD with it: it asks for the same, and a rule that only one of them had to keep would be walked around.

#include "conf/method.h"

#include "common/suggest.h"

#include <string.h>

// Those that servers see: RFC 9110, and what WebDAV adds to it.
static const char *const method_known[] = {
    "GET",      "HEAD",      "POST", "PUT",  "DELETE", "OPTIONS", "PATCH",  "TRACE",
    "PROPFIND", "PROPPATCH", "COPY", "MOVE", "MKCOL",  "LOCK",    "UNLOCK", "REPORT",
};

bool conf_method_is_of(const char *methods, skua_slice method)
{
    if (!methods) return true;
    for (const char *at = methods; *at; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        if (len == method.len && memcmp(at, method.ptr, len) == 0) return true;
        at += len;
    }
    return false;
}

// The one that may be meant; NULL: none is near.
static const char *method_nearest(const char *text)
{
    char upper[32];
    size_t len = strlen(text);
    if (len >= sizeof upper) return NULL;
    for (size_t i = 0; i < len; i++)
        upper[i] = (char)(text[i] >= 'a' && text[i] <= 'z' ? text[i] - 'a' + 'A' : text[i]);
    suggestion near = suggestion_begin(upper, len);
    for (size_t i = 0; i < sizeof method_known / sizeof *method_known; i++)
        suggestion_offer(&near, method_known[i]);
    return near.meant;
}

// Methods are case-sensitive, RFC 9110 §9.1. Any in capital letters may be one, unless it looks like one that is
// known and is not it: a rule for a method that nobody sends would protect nothing.
static bool method_is_right(conf_checker *c, const conf_word *word)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
    const char *near = method_nearest(word->text);
    bool has_letters = word->text[0] && !word->text[strspn(word->text, letters)];
    if (near && strcmp(near, word->text) == 0) return true;
    if (has_letters && !near) return true;
    conf_find(c->findings, word->at, "\"%s\" is no method%s%s%s", word->text,
              near ? "; did you mean " : "; it has capital letters alone, as PUT", near ? near : "",
              near ? "?" : "");
    return false;
}

static bool method_names(const conf_directive *d, const char *method)
{
    for (unsigned i = 1; i < d->count; i++) {
        bool is_head = strcmp(method, "HEAD") == 0 && strcmp(d->words[i].text, "GET") == 0;
        if (is_head || strcmp(d->words[i].text, method) == 0) return true;
    }
    return false;
}

// Two blocks for one method would depend on the order in which they stand.
static bool method_is_first(conf_checker *c, const conf_directive *first, const conf_directive *d,
                            const conf_word *word)
{
    bool is_get = strcmp(word->text, "GET") == 0;
    for (const conf_directive *at = first; at != d; at = at->next) {
        if (!conf_is(at, "method")) continue;
        if (!method_names(at, word->text) && !(is_get && method_names(at, "HEAD"))) continue;
        conf_find(c->findings, word->at, "%s has a block in line %u of %s already%s", word->text,
                  at->words[0].at.line, at->words[0].at.file,
                  method_names(at, word->text) && strcmp(word->text, "HEAD") != 0
                      ? ""
                      : "; GET has HEAD with it");
        return false;
    }
    return true;
}

static const char *method_add(conf_checker *c, const char *all, const char *name)
{
    if (*all && conf_method_is_of(all, skua_slice_of(name))) return all;
    const char *more = conf_print(c->findings->memory, "%s%s%s", all, *all ? " " : "", name);
    return more ? more : all;
}

// Returns: NULL when there are findings.
static const char *method_read(conf_checker *c, const conf_directive *first,
                               const conf_directive *d)
{
    const char *all = "";
    for (unsigned i = 1; i < d->count; i++) {
        const conf_word *word = &d->words[i];
        if (!method_is_right(c, word) || !method_is_first(c, first, d, word)) return NULL;
        all = method_add(c, all, word->text);
        if (strcmp(word->text, "GET") == 0) all = method_add(c, all, "HEAD");
    }
    return all;
}

void conf_check_methods(conf_checker *c, const conf_directive *first)
{
    for (const conf_directive *d = first; d; d = d->next) {
        if (!conf_is(d, "method") || d->count < 2) continue;
        c->methods = method_read(c, first, d);
        if (c->methods) conf_check_block(c, d->inner, CONF_IN_METHOD);
        c->methods = NULL;
    }
}
