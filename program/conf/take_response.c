// SPDX-License-Identifier: MIT
//
// Directives of what responses have beside their content, and of pages for errors.

#include "conf/files.h"
#include "conf/take.h"
#include "common/source.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    RESPONSE_PAGE_OCTETS_MAX = 65536,
    RESPONSE_TYPES_MAX = 64 // of skua_directory_config, those of outer scopes among them
};

#define RESPONSE_FAIL(c, word, ...) conf_find((c)->findings, (word)->at, __VA_ARGS__)

// ---- Fields ----

typedef struct field_owner {
    const char *name;
    const char *directive; // that sets it; NULL: it is the server's
} field_owner;

static const field_owner response_owned[] = {
    { "Cache-Control", "cache" },
    { "Strict-Transport-Security", "hsts" },
    { "Location", "redirect" },
    { "Access-Control-Allow-Origin", "cors" },
    { "WWW-Authenticate", "basic_auth" },
    { "Accept-Ranges", NULL },
    { "Age", NULL },
    { "Allow", NULL },
    { "Connection", NULL },
    { "Content-Encoding", NULL },
    { "Content-Length", NULL },
    { "Content-Range", NULL },
    { "Content-Type", NULL },
    { "Date", NULL },
    { "ETag", NULL },
    { "Keep-Alive", NULL },
    { "Last-Modified", NULL },
    { "Proxy-Connection", NULL },
    { "Retry-After", NULL },
    { "TE", NULL },
    { "Trailer", NULL },
    { "Transfer-Encoding", NULL },
    { "Upgrade", NULL },
    { "Vary", NULL },
};

static bool response_is_free(conf_checker *c, const conf_word *name)
{
    for (size_t i = 0; i < sizeof response_owned / sizeof *response_owned; i++) {
        const field_owner *owner = &response_owned[i];
        if (strcasecmp(owner->name, name->text) != 0) continue;
        RESPONSE_FAIL(c, name, "%s is %s %s", owner->name,
                      owner->directive ? "set by" : "the server's to set,",
                      owner->directive ? owner->directive : "as the content demands");
        return false;
    }
    return true;
}

static bool response_is_token(const char *text)
{
    static const char octets[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return *text && !text[strspn(text, octets)];
}

// Whether a value has nothing that ends a field, or that RFC 9110 §5.5 forbids.
static bool response_is_value(const char *text)
{
    for (; *text; text++) {
        if (((unsigned char)*text < ' ' && *text != '\t') || *text == 0x7f) return false;
    }
    return true;
}

void conf_take_header(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    const conf_word *name = &d->words[1], *value = &d->words[2];
    (void)kind;
    if (!response_is_token(name->text)) {
        RESPONSE_FAIL(c, name, "\"%s\" is no name of a field; there is X-Robots-Tag", name->text);
    } else if (!response_is_value(value->text)) {
        RESPONSE_FAIL(c, value, "the value of %s has a control character", name->text);
    } else if (response_is_free(c, name)) {
        conf_field *added = conf_take(c->findings->memory, sizeof *added);
        if (!added) return;
        bool is_off = !value->is_quoted && strcmp(value->text, "off") == 0;
        *added = (conf_field){ name->text, is_off ? NULL : value->text, c->scope->fields };
        c->scope->fields = added;
    }
}

// ---- Pages for errors ----

static const char *response_page_type(const char *path)
{
    static const char *const types[][2] = { { ".html", "text/html; charset=utf-8" },
                                            { ".json", "application/json" },
                                            { ".txt", "text/plain; charset=utf-8" } };
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof types / sizeof *types; i++) {
        if (strcasecmp(dot, types[i][0]) == 0) return types[i][1];
    }
    return NULL;
}

// Reads a page. Returns: false when it cannot be read, or is too large.
static bool response_read_page(conf_checker *c, const char *path, skua_slice *content)
{
    struct stat info;
    int fd = source_open(path, false);
    bool fits = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
                info.st_size <= RESPONSE_PAGE_OCTETS_MAX;
    size_t room = fits ? (size_t)info.st_size : 0;
    char *octets = fits ? conf_take(c->findings->memory, room + 1) : NULL;
    ssize_t len = octets ? read(fd, octets, room) : -1;
    if (fd >= 0) (void)close(fd);
    if (len >= 0) *content = (skua_slice){ octets, (size_t)len };
    return len >= 0;
}

static void response_add_page(conf_checker *c, const conf_word *code, conf_page page)
{
    conf_why why;
    uint64_t status;
    conf_page *added = conf_take(c->findings->memory, sizeof *added);
    if (!conf_read_number(code->text, 400, 599, &status, why)) {
        RESPONSE_FAIL(c, code, "error_page: %s", why);
    } else if (added) {
        *added = page;
        added->status = (int)status;
        added->next = c->scope->pages;
        c->scope->pages = added;
    }
}

void conf_take_error_page(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    const conf_word *file = &d->words[d->count - 1];
    const char *path = conf_files_resolve(c->findings->memory, file->text, file->at.file);
    conf_page page = { .type = response_page_type(file->text) };
    if (!path) return;
    if (!page.type) {
        RESPONSE_FAIL(c, file,
                      "%s: the page is a file that ends with .html, .json or .txt, not \"%s\"",
                      kind->name, file->text);
    } else if (!response_read_page(c, path, &page.content)) {
        RESPONSE_FAIL(c, file, "the page %s cannot be read, or has more than %d octets%s", path,
                      RESPONSE_PAGE_OCTETS_MAX,
                      file->text[0] == '/' ? "; a path from / is one of the file system" : "");
    } else {
        for (unsigned i = 1; i < d->count - 1; i++)
            response_add_page(c, &d->words[i], page);
    }
}

// ---- Closing ----

void conf_take_maintenance(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    const conf_word *word = &d->words[1];
    (void)kind;
    c->site->closed_by = conf_files_resolve(c->findings->memory, word->text, word->at.file);
}

// ---- Logging ----

void conf_take_log(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    static const char *const names[] = { "on", "errors", "off", NULL };
    static const conf_logged logged[] = { CONF_LOGGED_ALL, CONF_LOGGED_ERRORS, CONF_LOGGED_NONE };
    conf_why why;
    size_t at;
    if (conf_read_choice(d->words[1].text, names, &at, why)) c->scope->logged = logged[at];
    else RESPONSE_FAIL(c, &d->words[1], "%s: %s", kind->name, why);
}

// ---- Media types and entity tags ----

// A type, with parameters perhaps.
static bool response_is_type(const char *text)
{
    size_t len = strcspn(text, "/"), all = strcspn(text, ";");
    return len > 0 && len + 1 < all && !strpbrk(text, "\r\n") && response_is_value(text) &&
           strcspn(text, " \t,") >= all;
}

void conf_take_type(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    const conf_word *ending = &d->words[1], *type = &d->words[2];
    unsigned count = 0;
    for (const conf_media *at = c->scope->types; at; at = at->next)
        count++;
    if (ending->text[0] != '.' || !ending->text[1] || strchr(ending->text, '/')) {
        RESPONSE_FAIL(c, ending, "%s takes the ending of names, as .md, not \"%s\"", kind->name,
                      ending->text);
    } else if (!response_is_type(type->text)) {
        RESPONSE_FAIL(c, type, "\"%s\" is no media type; there is text/markdown", type->text);
    } else if (count == RESPONSE_TYPES_MAX) {
        RESPONSE_FAIL(c, ending, "a scope has at most %d types", RESPONSE_TYPES_MAX);
    } else {
        conf_media *added = conf_take(c->findings->memory, sizeof *added);
        if (!added) return;
        *added = (conf_media){ ending->text, type->text, c->scope->types };
        c->scope->types = added;
    }
}

void conf_take_etag(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    static const char *const names[] = { "auto", "content", "stat", "off", NULL };
    static const skua_etags etags[] = { SKUA_ETAGS_AUTO, SKUA_ETAGS_CONTENT, SKUA_ETAGS_STAT,
                                        SKUA_ETAGS_OFF };
    conf_why why;
    size_t at;
    if (conf_read_choice(d->words[1].text, names, &at, why)) c->scope->directory.etags = etags[at];
    else RESPONSE_FAIL(c, &d->words[1], "%s: %s", kind->name, why);
}
