// SPDX-License-Identifier: MIT
//
// Directives of sites, of their paths, and of the defaults.

#include "conf/files.h"
#include "conf/roots.h"
#include "conf/take.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define SITE_FAIL(c, word, ...) conf_find((c)->findings, (word)->at, __VA_ARGS__)

static const char *site_file(conf_checker *c, const conf_word *word)
{
    return conf_files_resolve(c->findings->memory, word->text, word->at.file);
}

// ---- Certificates ----

void conf_take_certificate(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    conf *to = c->conf;
    if (to->certificate_count == CONF_CERTIFICATES_MAX) {
        SITE_FAIL(c, &d->words[0], "all sites together may have %d of %s", CONF_CERTIFICATES_MAX,
                  kind->name);
        return;
    }
    to->certificates_at[to->certificate_count] = d->words[1].at;
    to->certificates[to->certificate_count++] = (skua_tls_certificate){
        .file = site_file(c, &d->words[1]),
        .key_file = d->count == 3 ? site_file(c, &d->words[2]) : NULL,
    };
}

void conf_take_clients(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    static const char *const names[] = { "optional", "required", NULL };
    static const skua_tls_asking asking[] = { SKUA_TLS_ASK, SKUA_TLS_REQUIRE };
    conf_why why;
    size_t at;
    skua_tls_clients *clients = conf_take(c->findings->memory, sizeof *clients);
    if (!conf_read_choice(d->words[2].text, names, &at, why)) {
        SITE_FAIL(c, &d->words[2], "%s: %s", kind->name, why);
    } else if (clients) {
        clients->asking = asking[at];
        clients->ca_file = site_file(c, &d->words[1]);
        c->site->clients = clients;
        c->site->clients_at = d->words[1].at;
    }
}

// ---- Redirects ----

// The octets of the scheme and "://" at the beginning; 0: there are none.
static size_t site_scheme(const char *url)
{
    return strncmp(url, "https://", 8) == 0 ? 8 : strncmp(url, "http://", 7) == 0 ? 7 : 0;
}

void conf_take_canonical(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    const conf_word *word = &d->words[1];
    size_t scheme = site_scheme(word->text);
    (void)kind;
    if (!scheme)
        SITE_FAIL(c, word,
                  "canonical takes a scheme and a host, as https://example.org, not \"%s\"",
                  word->text);
    else if (!word->text[scheme] || strpbrk(word->text + scheme, "/?#@{} \t*"))
        SITE_FAIL(c, word, "canonical takes a scheme and a host without a path; write %.*s",
                  (int)(scheme + strcspn(word->text + scheme, "/?#@{} \t*")), word->text);
    else c->site->canonical = word->text;
}

// Whether a pattern has {name} or {name...}.
static bool site_pattern_has(const char *pattern, const char *name, size_t len)
{
    for (const char *at = strchr(pattern, '{'); at; at = strchr(at + 1, '{')) {
        bool same = strncmp(at + 1, name, len) == 0;
        if (same && (at[1 + len] == '}' || strncmp(at + 1 + len, "...}", 4) == 0)) return true;
    }
    return false;
}

// Whether each {name} of to is one of from.
static bool site_has_parts(conf_checker *c, const conf_word *from, const conf_word *to)
{
    for (const char *at = strchr(to->text, '{'); at; at = strchr(at + 1, '{')) {
        size_t len = strcspn(at + 1, "}");
        if (len && at[1 + len] == '}' && site_pattern_has(from->text, at + 1, len)) continue;
        SITE_FAIL(c, to, "%.*s is not a part of %s", (int)len + 2, at, from->text);
        return false;
    }
    return true;
}

// A part that a client chooses must not choose the host.
static bool site_is_target(conf_checker *c, const conf_word *from, const conf_word *to)
{
    const char *text = to->text;
    size_t scheme = site_scheme(text), host = strcspn(text + scheme, "/?#");
    if (!scheme && text[0] != '/') {
        SITE_FAIL(c, to, "a redirect goes to /path or to https://host/path, not to \"%s\"", text);
        return false;
    }
    if (text[0] == '/' && text[1] == '/') {
        SITE_FAIL(c, to, "a path begins with one \"/\"; another host needs its scheme: https:%s",
                  text);
        return false;
    }
    if (scheme && memchr(text + scheme, '{', host)) {
        SITE_FAIL(c, to,
                  "a part of the path cannot stand in the host; put it behind the first \"/\"");
        return false;
    }
    return site_has_parts(c, from, to);
}

void conf_take_redirect(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    static const char *const names[] = { "301", "302", "303", "307", "308", NULL };
    static const int statuses[] = { 301, 302, 303, 307, 308 };
    conf_why why;
    size_t at = 1;
    if (d->words[1].text[0] != '/') {
        SITE_FAIL(c, &d->words[1], "the path of a redirect begins with \"/\", unlike \"%s\"",
                  d->words[1].text);
    } else if (d->count == 4 && !conf_read_choice(d->words[3].text, names, &at, why)) {
        SITE_FAIL(c, &d->words[3], "%s: %s", kind->name, why);
    } else if (site_is_target(c, &d->words[1], &d->words[2])) {
        conf_redirect **end = &c->site->redirects,
                      *added = conf_take(c->findings->memory, sizeof *added);
        if (!added) return;
        while (*end)
            end = &(*end)->next;
        *added = (conf_redirect){ d->words[1].text, d->words[2].text, statuses[at], d->words[1].at,
                                  NULL };
        *end = added;
    }
}

// ---- Rewrites ----

static bool site_is_file(conf_checker *c, const conf_word *to)
{
    const char *text = to->text;
    if (text[0] != '/')
        SITE_FAIL(c, to,
                  "a rewrite leads to files at another path of the site, /path, not to \"%s\"",
                  text);
    else if (strpbrk(text, "?#%\\"))
        SITE_FAIL(c, to, "a path is written decoded; the query stays that of the request");
    else if (strstr(text, "//") || strstr(text, "/./") || strstr(text, "/../"))
        SITE_FAIL(c, to, "\"%s\" is no path; it is written without // and /../", text);
    else return true;
    return false;
}

void conf_take_rewrite(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    const conf_word *from = &d->words[1], *to = &d->words[2];
    (void)kind;
    if (from->text[0] != '/') {
        SITE_FAIL(c, from, "the path of a rewrite begins with \"/\", unlike \"%s\"", from->text);
    } else if (site_is_file(c, to) && site_has_parts(c, from, to)) {
        conf_rewrite **end = &c->site->rewrites,
                     *added = conf_take(c->findings->memory, sizeof *added);
        if (!added) return;
        while (*end)
            end = &(*end)->next;
        *added = (conf_rewrite){ from->text, to->text, from->at, c->site, NULL };
        *end = added;
    }
}

// ---- Folders ----

static bool site_is_folder(conf_checker *c, const conf_word *word, const char *path)
{
    struct stat info;
    bool found = stat(path, &info) == 0;
    if (found && !S_ISDIR(info.st_mode))
        SITE_FAIL(c, word, "%s is a file; root takes a folder", path);
    else if (!found && errno != EACCES) SITE_FAIL(c, word, "there is no folder %s", path);
    else if (!found || access(path, X_OK) != 0)
        SITE_FAIL(c, word, "there is no permission to read in %s", path);
    else return true;
    return false;
}

void conf_take_root(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    const char *path = site_file(c, &d->words[1]);
    (void)kind;
    if (!path || !site_is_folder(c, &d->words[1], path)) return;
    c->scope->root = path;
    c->scope->root_at = d->words[1].at;
    conf_root_note(&c->scope->root_seen, path);
}

void conf_take_index(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    const conf_word *word = &d->words[1];
    (void)kind;
    if (!word->text[0] || strchr(word->text, '/') || word->text[0] == '.')
        SITE_FAIL(c, word,
                  "index takes the name of a file in each folder, as index.html, not \"%s\"",
                  word->text);
    else c->scope->directory.index = word->text;
}

// is_on: true where the directive has no argument.
static bool site_is_on(conf_checker *c, const conf_kind *kind, const conf_directive *d, bool *is_on)
{
    conf_why why;
    *is_on = true;
    if (d->count == 1 || conf_read_switch(d->words[1].text, is_on, why)) return true;
    SITE_FAIL(c, &d->words[1], "%s: %s", kind->name, why);
    return false;
}

// A path of a file that leads nowhere else.
static bool site_is_below(const char *path)
{
    for (const char *at = path; at; at = strchr(at, '/')) {
        at += at != path;
        size_t len = strcspn(at, "/");
        if (len == 0 || (len <= 2 && strncmp(at, "..", len) == 0)) return false;
    }
    return true;
}

void conf_take_listing(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    bool is_on;
    if (site_is_on(c, kind, d, &is_on)) c->scope->directory.list = is_on;
}

void conf_take_dotfiles(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    bool is_on;
    if (site_is_on(c, kind, d, &is_on)) c->scope->directory.dotfiles = is_on;
}

void conf_take_links(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    static const char *const names[] = { "inside", "none", "all", NULL };
    static const skua_links links[] = { SKUA_LINKS_INSIDE, SKUA_LINKS_NONE, SKUA_LINKS_ALL };
    conf_why why;
    size_t at;
    if (conf_read_choice(d->words[1].text, names, &at, why)) c->scope->directory.links = links[at];
    else SITE_FAIL(c, &d->words[1], "%s: %s", kind->name, why);
}

void conf_take_spa(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    bool is_on;
    if (site_is_on(c, kind, d, &is_on)) c->scope->is_app = is_on;
}

void conf_take_clean_urls(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    bool is_on;
    if (site_is_on(c, kind, d, &is_on)) c->scope->directory.clean_urls = is_on;
}

void conf_take_precompressed(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    bool is_on;
    if (site_is_on(c, kind, d, &is_on)) c->scope->directory.precompressed = is_on;
}

static bool site_is_try(conf_checker *c, const conf_directive *d, const conf_word *word)
{
    const char *text = word->text, *brace = strchr(text, '{');
    bool has_path = brace && strncmp(brace, "{path}", 6) == 0;
    if (strcmp(text, "off") == 0)
        SITE_FAIL(c, word, "off stands alone: it takes the place of all paths");
    else if (brace && (!has_path || strchr(brace + 1, '{')))
        SITE_FAIL(c, word, "in \"%s\" there may be {path} once, and no other part", text);
    else if (strcmp(text, "{path}") == 0)
        SITE_FAIL(c, word, "{path} itself comes first always; leave it out%s",
                  word == &d->words[1] ? "" : ", or put something behind it");
    else if (text[0] != '/' && !has_path)
        SITE_FAIL(c, word, "what is tried begins with \"/\" or {path}: /%s", text);
    else if (!site_is_below(text + (text[0] == '/')))
        SITE_FAIL(c, word, "%s takes paths of files below the root, as /index.html, not \"%s\"",
                  d->words[0].text, text);
    else return true;
    return false;
}

void conf_take_try(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    bool is_off = d->count == 2 && strcmp(d->words[1].text, "off") == 0;
    const char **tries = conf_take(c->findings->memory, d->count * sizeof *tries);
    size_t count = 0;
    (void)kind;
    for (unsigned i = 1; i < d->count && !is_off && tries; i++) {
        if (!site_is_try(c, d, &d->words[i])) return;
        tries[count++] = d->words[i].text + (d->words[i].text[0] == '/');
    }
    c->scope->tries = tries;
    c->scope->tries_count = count;
}

void conf_take_not_found(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    const conf_word *word = &d->words[1];
    if (strcmp(word->text, "off") == 0) c->scope->directory.not_found = "";
    else if (!site_is_below(word->text))
        SITE_FAIL(c, word, "%s takes the path of a page below the root, as %s, not \"%s\"",
                  kind->name, strchr(kind->example, ' ') + 1, word->text);
    else c->scope->directory.not_found = word->text;
}

// ---- Responses ----

static void site_take_codings(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    static const char *const names[] = { "br", "zstd", "gzip", NULL };
    const char *all = "";
    bool seen[3] = { false };
    for (unsigned i = 1; i < d->count && all; i++) {
        conf_why why;
        size_t at;
        bool is_name = conf_read_choice(d->words[i].text, names, &at, why);
        if (!is_name) SITE_FAIL(c, &d->words[i], "%s: %s", kind->name, why);
        else if (seen[at]) SITE_FAIL(c, &d->words[i], "%s is named twice", names[at]);
        if (!is_name || seen[at]) return;
        seen[at] = true;
        all = conf_print(c->findings->memory, "%s%s%s", all, i > 1 ? " " : "", names[at]);
    }
    c->scope->compresses = true;
    c->scope->directory.codings = all;
}

void conf_take_compress(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    bool is_on;
    bool is_switch = d->count == 1 || strcmp(d->words[1].text, "on") == 0 ||
                     strcmp(d->words[1].text, "off") == 0;
    if (!is_switch) site_take_codings(c, kind, d);
    else if (d->count > 2)
        SITE_FAIL(c, &d->words[2], "behind %s %s stands nothing more", kind->name,
                  d->words[1].text);
    else if (site_is_on(c, kind, d, &is_on)) c->scope->compresses = is_on;
}

void conf_take_security(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    bool is_on;
    if (site_is_on(c, kind, d, &is_on)) c->scope->has_security_fields = is_on;
}

void conf_take_request_id(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    bool is_on;
    if (site_is_on(c, kind, d, &is_on)) c->scope->has_request_ids = is_on;
}

// Seconds of a duration; browsers know no parts of them.
static const char *site_max_age(conf_checker *c, const conf_kind *kind, const conf_word *word)
{
    enum { SECOND_NS = 1000000000 };
    const int64_t years_ns = (int64_t)10 * 365 * 86400 * SECOND_NS;
    conf_why why = "browsers know whole seconds alone";
    int64_t ns;
    if (conf_read_duration(word->text, SECOND_NS, years_ns, &ns, why) && ns % SECOND_NS == 0)
        return conf_print(c->findings->memory, "max-age=%lld", (long long)(ns / SECOND_NS));
    if (strpbrk(word->text, "0123456789") == word->text) // a duration is meant
        SITE_FAIL(c, word, "%s: %s", kind->name, why);
    else
        SITE_FAIL(c, word, "%s is written %s, not \"%s\"", kind->name, kind->arguments, word->text);
    return NULL;
}

void conf_take_hsts(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    bool is_off = strcmp(d->words[1].text, "off") == 0;
    c->scope->hsts = is_off ? NULL : site_max_age(c, kind, &d->words[1]);
}

void conf_take_cache(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    const conf_word *word = &d->words[1];
    c->scope->is_cache_off = strcmp(word->text, "off") == 0;
    if (c->scope->is_cache_off) c->scope->cache = NULL;
    else if (strcmp(word->text, "immutable") == 0)
        c->scope->cache = "public, max-age=31536000, immutable";
    else if (strcmp(word->text, "no-cache") == 0 || strcmp(word->text, "no-store") == 0)
        c->scope->cache = word->text;
    else c->scope->cache = site_max_age(c, kind, word);
}

// Browsers name an origin by its scheme, host and port, without a path.
static bool site_is_origin(conf_checker *c, const conf_word *word, bool is_alone)
{
    const char *text = word->text, *mark = strstr(text, "://");
    size_t host = mark ? strcspn(mark + 3, "/?#@*, \t") : 0;
    if (strcmp(text, "*") == 0 && is_alone) return true;
    if (strcmp(text, "*") == 0 || strcmp(text, "off") == 0)
        SITE_FAIL(c, word, "%s stands alone: it takes the place of all origins", text);
    else if (!host)
        SITE_FAIL(c, word,
                  "an origin has a scheme and a host, as https://app.example.org, not \"%s\"",
                  text);
    else if (mark[3 + host])
        SITE_FAIL(c, word, "an origin ends behind its host and port; write %.*s",
                  (int)(mark + 3 + host - text), text);
    else return true;
    return false;
}

void conf_take_cors(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    const char *all = "";
    (void)kind;
    if (d->count == 2 && strcmp(d->words[1].text, "off") == 0) {
        c->scope->origins = NULL;
        return;
    }
    for (unsigned i = 1; i < d->count && all; i++) {
        if (!site_is_origin(c, &d->words[i], d->count == 2)) return;
        all = conf_print(c->findings->memory, "%s%s%s", all, i > 1 ? " " : "", d->words[i].text);
    }
    c->scope->origins = all;
}

// ---- Doors ----

static bool site_read_networks(conf_checker *c, const conf_directive *d, conf_network *networks)
{
    for (unsigned i = 1; i < d->count; i++) {
        if (conf_network_read(d->words[i].text, &networks[i - 1])) continue;
        SITE_FAIL(c, &d->words[i],
                  "\"%s\" is no network; there are 10.0.0.0/8, 192.0.2.7, fd00::/8 and unix%s",
                  d->words[i].text, strcmp(d->words[0].text, "deny") == 0 ? ", and all alone" : "");
        return false;
    }
    return true;
}

void conf_take_door(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    bool allows = strcmp(kind->name, "allow") == 0;
    bool is_shut = !allows && d->count == 2 && strcmp(d->words[1].text, "all") == 0;
    conf_door *door = conf_take(c->findings->memory, sizeof *door);
    conf_network *networks = conf_take(c->findings->memory, d->count * sizeof *networks);
    if (!door || !networks || (!is_shut && !site_read_networks(c, d, networks))) return;
    // nobody is among those who alone may come
    *door = (conf_door){ .is_for_them = allows || is_shut,
                         .networks = networks,
                         .count = is_shut ? 0 : d->count - 1,
                         .methods = c->methods,
                         .at = d->words[0].at,
                         .outer = c->scope->doors };
    c->scope->doors = door;
}
