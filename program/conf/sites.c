// SPDX-License-Identifier: MIT

#include "conf/sites.h"

#include "conf/lock.h"
#include "conf/method.h"
#include "conf/rewrite.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <sys/socket.h>

enum { SITES_NAME_OCTETS_MAX = 253, SITES_LABEL_OCTETS_MAX = 63 };

bool conf_scope_has(const conf_scope *scope, const char *path, size_t len)
{
    if (scope->is_exact) return len == strlen(scope->path) && memcmp(path, scope->path, len) == 0;
    size_t own = strlen(scope->path) - 1; // without the "/" at its end
    return len >= own && memcmp(path, scope->path, own) == 0 && (len == own || path[own] == '/');
}

conf_scope *conf_scope_next(const conf_site *site, const conf_scope *at)
{
    return at == &site->scope ? site->paths : at->next;
}

const conf_scope *conf_scope_of(const conf_site *site, const char *path, size_t len)
{
    const conf_scope *found = &site->scope;
    for (const conf_scope *at = site->paths; at; at = at->next) {
        if (conf_scope_has(at, path, len)) found = at;
    }
    return found;
}

const conf_scope *conf_scope_root(const conf_site *site, const char *path, size_t len)
{
    const conf_scope *found = NULL;
    for (const conf_scope *at = &site->scope; at; at = conf_scope_next(site, at))
        if (at->root && conf_scope_has(at, path, len)) found = at;
    return found;
}

// ---- Hosts ----

static bool sites_is_label(const char *label, size_t len)
{
    if (len == 0 || len > SITES_LABEL_OCTETS_MAX) return false;
    for (size_t i = 0; i < len; i++) {
        bool plain = isalnum((unsigned char)label[i]) || label[i] == '-' || label[i] == '_';
        if (!plain) return false;
    }
    return true;
}

static bool sites_is_name(const char *name)
{
    size_t octets = strlen(name);
    if (strncmp(name, "*.", 2) == 0) name += 2;
    if (octets > SITES_NAME_OCTETS_MAX || !*name) return false;
    while (*name) {
        size_t len = strcspn(name, ".");
        if (!sites_is_label(name, len)) return false;
        name += len;
        if (*name == '.' && *++name == '\0') return false;
    }
    return true;
}

// An address of IPv6 stands in brackets, as in Host.
static bool sites_is_ip6(const char *name)
{
    char inner[64];
    unsigned char octets[16];
    size_t len = strlen(name);
    if (len < 3 || len >= sizeof inner || name[0] != '[' || name[len - 1] != ']') return false;
    memcpy(inner, name + 1, len - 2);
    inner[len - 2] = '\0';
    return inet_pton(AF_INET6, inner, octets) == 1;
}

static bool sites_is_address(const char *name)
{
    unsigned char octets[16];
    return inet_pton(AF_INET, name, octets) == 1 || sites_is_ip6(name);
}

static bool sites_is_host(conf_checker *c, const conf_word *word)
{
    const char *text = word->text, *scheme = strstr(text, "://"), *colon = strrchr(text, ':');
    unsigned char octets[16];
    if (strcmp(text, "*") == 0 || sites_is_name(text) || sites_is_ip6(text)) return true;
    if (scheme)
        conf_find(c->findings, word->at, "a site is named by its host alone; write %.*s",
                  (int)strcspn(scheme + 3, "/"), scheme + 3);
    else if (inet_pton(AF_INET6, text, octets) == 1)
        conf_find(c->findings, word->at, "an address of IPv6 stands in brackets: [%s]", text);
    else if (colon)
        conf_find(c->findings, word->at,
                  "a host is named without a port, which listen names; write %.*s",
                  (int)(colon - text), text);
    else
        conf_find(c->findings, word->at,
                  "\"%s\" is no host; there are example.org, *.example.org, an address, and * for "
                  "every other one",
                  text);
    return false;
}

static bool sites_have(const char *hosts, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = hosts; *at;) {
        size_t here = strcspn(at, " ");
        if (here == len && strncmp(at, name, len) == 0) return true;
        at += here;
        at += strspn(at, " ");
    }
    return false;
}

static void sites_add_host(conf_checker *c, conf_site *site, const conf_word *word)
{
    char *name = conf_copy(c->findings->memory, word->text, strlen(word->text));
    if (!name || !sites_is_host(c, word)) return;
    for (char *at = name; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    for (const conf_site *other = c->conf->sites; other; other = other->next) {
        if (!sites_have(other->hosts, name)) continue;
        conf_find(c->findings, word->at, "%s is a host of the site in line %u of %s already", name,
                  other->at.line, other->at.file);
        return;
    }
    const char *before = site->hosts;
    if (sites_have(before, name)) conf_find(c->findings, word->at, "%s is named twice", name);
    else site->hosts = conf_print(c->findings->memory, "%s%s%s", before, *before ? " " : "", name);
    if (!site->hosts) site->hosts = "";
}

// ---- Paths ----

// "path /a/" or "path = /a".
static bool sites_is_exact(const conf_directive *d)
{
    return d->count == 3;
}

static const conf_word *sites_path_word(const conf_directive *d)
{
    return &d->words[d->count - 1];
}

static bool sites_is_path(conf_checker *c, const conf_directive *d)
{
    const conf_word *word = sites_path_word(d);
    bool is_exact = sites_is_exact(d);
    const char *text = word->text;
    size_t len = strlen(text);
    if (is_exact && strcmp(d->words[1].text, "=") != 0)
        conf_find(c->findings, d->words[1].at,
                  "before a path there may be =, which is for that path alone");
    else if (text[0] != '/')
        conf_find(c->findings, word->at, "a path begins with \"/\": path /%s%s", text,
                  len && text[len - 1] == '/' ? "" : "/");
    else if (len == 1 && !is_exact)
        conf_find(c->findings, word->at,
                  "the path / is the whole site; put this into the site itself");
    else if (strpbrk(text, "{}?#%\\*") || strstr(text, "//") || strstr(text, "/./") ||
             strstr(text, "/../"))
        conf_find(c->findings, word->at,
                  "\"%s\" is no path; it is written decoded, without //, /../ and patterns", text);
    else if (text[len - 1] != '/' && !is_exact)
        conf_find(c->findings, word->at,
                  "a path has all that is below it, and ends with \"/\": path %s/", text);
    else return true;
    return false;
}

// Directives that say how a root is served.
static void sites_check_rootless(conf_checker *c, const conf_directive *first)
{
    static const char *const names[] = { "index",         "listing",   "dotfiles",
                                         "links",         "spa",       "clean_urls",
                                         "precompressed", "not_found", "type",
                                         "etag",          "try" };
    if (c->scope->root) return;
    for (const conf_directive *d = first; d; d = d->next) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            if (strcmp(d->words[0].text, names[i]) != 0) continue;
            conf_find(c->findings, d->words[0].at,
                      "%s is about the files of a root; this path needs a root of its own for it",
                      names[i]);
        }
        if (strcmp(d->words[0].text, "root") == 0) return; // it is there, and wrong
    }
}

static void sites_check_path(conf_checker *c, const conf_directive *d)
{
    conf_site *site = c->site;
    const conf_word *word = sites_path_word(d);
    conf_scope **end = &site->paths, *scope = conf_take(c->findings->memory, sizeof *scope);
    if (!scope || !sites_is_path(c, d)) return;
    for (; *end; end = &(*end)->next) {
        if (strcmp((*end)->path, word->text) != 0 || (*end)->is_exact != sites_is_exact(d))
            continue;
        conf_find(c->findings, word->at, "path %s of this site is in line %u of %s already",
                  word->text, (*end)->at.line, (*end)->at.file);
        return;
    }
    *scope = *conf_scope_of(site, word->text, strlen(word->text)); // of those that have been read
    scope->path = word->text;
    scope->is_exact = sites_is_exact(d);
    scope->at = word->at;
    scope->root = NULL;
    scope->limits = NULL;
    scope->next = NULL;
    *end = scope;
    c->scope = scope;
    conf_check_block(c, d->inner, CONF_IN_PATH);
    conf_check_methods(c, d->inner);
    sites_check_rootless(c, d->inner);
    if (scope->root && scope->is_exact)
        conf_find(c->findings, scope->root_at,
                  "a root has all that is below its path; leave out the \"=\" before %s",
                  scope->path);
}

// Inner paths have greater ranks, and one that is exact is inside of all others.
static size_t sites_rank(const conf_directive *d)
{
    return strlen(sites_path_word(d)->text) + (sites_is_exact(d) ? CONF_WORD_OCTETS_MAX : 0);
}

// The block of the least rank that is above that of after, or equal and behind it. after: NULL: the first.
static const conf_directive *sites_next_path(const conf_directive *first,
                                             const conf_directive *after)
{
    const conf_directive *found = NULL;
    size_t least = after ? sites_rank(after) : 0;
    bool is_behind = !after;
    for (const conf_directive *d = first; d; d = d->next) {
        if (!conf_is(d, "path") || d->count < 2 || d->count > 3) continue;
        size_t rank = sites_rank(d);
        bool comes = rank > least || (rank == least && is_behind);
        if (d == after) is_behind = true;
        else if (comes && (!found || rank < sites_rank(found))) found = d;
    }
    return found;
}

// ---- Sites ----

static void sites_name_certificates(conf_checker *c, conf_site *site)
{
    conf *to = c->conf;
    const char *names = "";
    bool takes_rest = false, is_given = false;
    for (const char *at = site->hosts; *at && names;) {
        size_t len = strcspn(at, " ");
        const char *name = conf_copy(c->findings->memory, at, len);
        if (!name) return;
        if (strcmp(name, "*") == 0 || sites_is_address(name)) takes_rest = true;
        else names = conf_print(c->findings->memory, "%s%s%s", names, *names ? " " : "", name);
        at += len + (at[len] == ' ');
    }
    for (unsigned i = 0; i < site->first_certificate; i++)
        is_given = is_given || to->certificates[i].is_default;
    for (unsigned i = site->first_certificate; i < to->certificate_count; i++) {
        to->certificates[i].names = names && *names ? names : NULL;
        to->certificates[i].is_default = takes_rest && !is_given;
        to->certificates[i].clients = site->clients;
        is_given = is_given || takes_rest;
    }
    if (site->clients && site->first_certificate == to->certificate_count)
        conf_find(c->findings, site->clients_at,
                  "client certificates need a certificate of the site, and this site has none");
}

// The octets of a pattern that stands for all that is below a path, "/a/" or "/a/{rest...}", up to the "/"; 0: it
// stands for less.
static size_t sites_below(const char *pattern)
{
    size_t len = strcspn(pattern, "{"), all = strlen(pattern);
    bool ends = !pattern[len] ||
                (all > 4 && strcmp(pattern + all - 4, "...}") == 0 && !strchr(pattern + len, '/'));
    return ends && len && pattern[len - 1] == '/' ? len : 0;
}

// The route of a root is for GET, and so more specific than a redirect for the same paths.
static void sites_check_shadow(conf_checker *c, const conf_site *site, const conf_scope *scope)
{
    for (const conf_redirect *at = site->redirects; at && scope->root; at = at->next) {
        size_t len = sites_below(at->pattern);
        if (len != strlen(scope->path) || memcmp(at->pattern, scope->path, len) != 0) continue;
        conf_find(
            c->findings, at->at,
            "this redirect is for the same paths as the root in line %u, which gets their requests",
            scope->root_at.line);
    }
}

static void sites_check_content(conf_checker *c, const conf_site *site)
{
    sites_check_shadow(c, site, &site->scope);
    for (const conf_scope *at = site->paths; at; at = at->next)
        sites_check_shadow(c, site, at);
    bool has_root = site->scope.root || site->redirects || site->canonical;
    for (const conf_scope *at = site->paths; at; at = at->next)
        has_root = has_root || at->root;
    if (!has_root)
        conf_find(c->findings, site->at,
                  "this site has nothing to serve: a root or a redirect is missing");
}

void conf_check_site(conf_checker *c, const conf_directive *d)
{
    conf_site **end = &c->conf->sites, *site = conf_take(c->findings->memory, sizeof *site);
    if (!site || d->count < 2) return;
    unsigned before = c->findings->count;
    *site = (conf_site){ .at = d->words[0].at,
                         .hosts = "",
                         .scope = c->conf->defaults,
                         .first_certificate = c->conf->certificate_count };
    for (unsigned i = 1; i < d->count; i++)
        sites_add_host(c, site, &d->words[i]);
    c->site = site;
    c->scope = &site->scope;
    conf_check_block(c, d->inner, CONF_IN_SITE);
    conf_check_methods(c, d->inner);
    const conf_directive *path = NULL;
    while ((path = sites_next_path(d->inner, path)))
        sites_check_path(c, path);
    sites_name_certificates(c, site);
    if (c->findings->count == before) sites_check_content(c, site);
    if (c->findings->count == before) conf_check_rewrites(c, site);
    for (const conf_scope *at = &site->scope; at;
         at = at == &site->scope ? site->paths : at->next) {
        site->has_log_rules = site->has_log_rules || at->logged != CONF_LOGGED_ALL;
        site->has_pages = site->has_pages || at->pages;
        site->has_origins = site->has_origins || at->origins;
        site->has_preloads = site->has_preloads || at->preloads;
        conf_check_locks(c, at);
    }
    c->site = NULL;
    c->scope = NULL;
    while (*end)
        end = &(*end)->next;
    *end = site;
    c->conf->site_count++;
}
