// SPDX-License-Identifier: MIT
//
// The response is the library's own: the request is played, so that nothing here can be wrong about it. The parts
// are looked up as the server does it for each request.

#include "conf/explain.h"

#include "conf/archive.h"
#include "conf/chosen.h"
#include "conf/guard.h"
#include "conf/lock.h"
#include "conf/method.h"
#include "conf/sites.h"
#include "conf/upload.h"
#include "conf/reason.h"
#include "common/say.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { EXPLAIN_OCTETS = 8192, EXPLAIN_HOST_OCTETS = 256 };

typedef struct explained {
    const char *method;
    bool is_https;
    char host[EXPLAIN_HOST_OCTETS]; // without its port, in lower case
    char authority[EXPLAIN_HOST_OCTETS];
    const char *target;        // begins with "/"
    char path[EXPLAIN_OCTETS]; // of it, decoded
    size_t path_len;
} explained;

// ---- The URL ----

static int explain_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Decodes as the server does: percent-encoding once, and several slashes are one. Returns: false for dot segments.
static bool explain_decode(explained *e)
{
    const char *at = e->target;
    while (*at && *at != '?' && *at != '#' && e->path_len < sizeof e->path - 1) {
        int high = *at == '%' ? explain_digit(at[1]) : -1;
        int low = high >= 0 ? explain_digit(at[2]) : -1;
        char c = low >= 0 ? (char)(high * 16 + low) : *at;
        bool doubles = c == '/' && e->path_len && e->path[e->path_len - 1] == '/';
        if (!doubles) e->path[e->path_len++] = c;
        at += low >= 0 ? 3 : 1;
    }
    e->path[e->path_len] = '\0';
    return !strstr(e->path, "/./") && !strstr(e->path, "/../");
}

static bool explain_read_authority(explained *e, const char *authority, size_t len)
{
    if (!len || len >= sizeof e->authority || authority[0] == '.') return false;
    (void)snprintf(e->authority, sizeof e->authority, "%.*s", (int)len, authority);
    if (strpbrk(e->authority, "@ \t")) return false;
    size_t host = strcspn(e->authority, ":");
    if (e->authority[0] == '[') host = strcspn(e->authority, "]") + 1;
    (void)snprintf(e->host, sizeof e->host, "%.*s", (int)host, e->authority);
    for (char *at = e->host; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return true;
}

static bool explain_read(explained *e, const char *url)
{
    const char *mark = strstr(url, "://"), *authority = mark ? mark + 3 : url;
    size_t scheme = mark ? (size_t)(mark - url) : 0, len = strcspn(authority, "/?#");
    e->is_https = scheme == 5 && strncasecmp(url, "https", 5) == 0;
    if (mark && !e->is_https && !(scheme == 4 && strncasecmp(url, "http", 4) == 0)) return false;
    e->target = authority[len] == '/' ? authority + len : "/";
    return !strpbrk(e->target, " \t\r\n") && explain_read_authority(e, authority, len) &&
           explain_decode(e);
}

// ---- The parts ----

static bool explain_names(const conf_site *site, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = site->hosts; *at;) {
        size_t here = strcspn(at, " ");
        if (here == len && strncmp(at, name, len) == 0) return true;
        at += here + (at[here] == ' ');
    }
    return false;
}

static const conf_site *explain_named(const conf *from, const char *name)
{
    const conf_site *site = from->sites;
    while (site && !explain_names(site, name))
        site = site->next;
    return site;
}

static const conf_site *explain_site(const conf *from, const char *host)
{
    char wild[EXPLAIN_HOST_OCTETS + 1];
    const conf_site *site = explain_named(from, host);
    const char *dot = strchr(host, '.');
    if (!site && dot) {
        (void)snprintf(wild, sizeof wild, "*%s", dot);
        site = explain_named(from, wild);
    }
    return site ? site : explain_named(from, "*");
}

static void explain_line(const char *label, conf_place at, const char *text)
{
    (void)printf("%-10s %-50s %s:%u\n", label, text, at.file, at.line);
}

__attribute__((format(printf, 3, 4))) static void explain(const char *label, conf_place at,
                                                          const char *format, ...)
{
    char text[EXPLAIN_OCTETS];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    explain_line(label, at, text);
}

static void explain_limit(const conf_limit *limit)
{
    double burst = limit->burst > 0 ? limit->burst : limit->per_s;
    if (limit->running_max)
        explain("limit", limit->at, "%u requests under way", limit->running_max);
    else if (limit->octets_per_s > 0)
        explain("limit", limit->at, "%g octets per second", limit->octets_per_s);
    else
        explain("limit", limit->at, "%g requests per second, %g at once", limit->per_s,
                burst < 1 ? 1 : burst);
}

static bool explain_is_of(const explained *e, const char *methods)
{
    return conf_method_is_of(methods, skua_slice_of(e->method));
}

static void explain_limits(const explained *e, const conf_scope *scope)
{
    for (const conf_limit *at = scope->limits; at; at = at->next) {
        if (explain_is_of(e, at->methods)) explain_limit(at);
    }
}

static void explain_doors(const explained *e, const conf_door *door)
{
    if (!door) return;
    explain_doors(e, door->outer);
    if (!explain_is_of(e, door->methods)) return;
    explain(door->is_for_them ? "allow" : "deny", door->at, "%u network%s%s", door->count,
            door->count == 1 ? "" : "s", door->is_for_them ? " alone" : "");
}

// first: the innermost one, from which it is decided which hold.
static void explain_locks(const explained *e, const conf_lock *first, const conf_lock *lock)
{
    if (!lock) return;
    explain_locks(e, first, lock->outer);
    const conf_guard *guard = lock->guard;
    if (guard && conf_lock_holds(first, guard, skua_slice_of(e->method)))
        explain(guard->secret == CONF_TOKEN ? "token" : "password", guard->at, "\"%s\", of %s",
                guard->authentication.realm, guard->file);
}

// The formats that a folder is sent in, and the blocks that are then left out.
static void explain_archives(const conf_site *site, const explained *e, const conf_scope *inner)
{
    const conf_archive_formats formats = conf_archive_formats_of(inner);
    if (!formats.at[0] || e->path[e->path_len - 1] != '/') return;
    explain("archive", inner->archives_at, "%s%s%s", formats.at[0]->name, formats.at[1] ? ", " : "",
            formats.at[1] ? formats.at[1]->name : "");
    for (const conf_scope *at = site->paths; at; at = at->next) {
        const char *gap = conf_archive_gap(site, inner, at);
        if (gap && strncmp(at->path, e->path, e->path_len) == 0)
            explain("  without", at->at, "%s: %s", at->path, gap);
    }
}

// The bounds of a PUT or DELETE of a file. One that is played changes nothing.
static void explain_upload(const explained *e, const conf_scope *inner)
{
    const conf_upload *upload = inner->upload;
    bool is_put = strcmp(e->method, "PUT") == 0;
    if (!upload || (!is_put && strcmp(e->method, "DELETE") != 0)) return;
    if (is_put)
        explain("upload", upload->at, "into %s, %llu octets at most, %s", upload->folder,
                (unsigned long long)upload->place.octets_max,
                upload->place.overwrites ? "and what is there is replaced"
                                         : "and nothing is replaced");
    else
        explain("upload", upload->at, "in %s %s is removed", upload->folder,
                upload->place.deletes ? "what is there" : "nothing");
}

// The scopes that contain the path, from the outer to the inner one.
static void explain_scopes(const conf_site *site, const explained *e)
{
    const conf_scope *inner = &site->scope, *root = site->scope.root ? inner : NULL;
    explain("site", site->at, "%s", site->hosts);
    explain_limits(e, inner);
    for (const conf_scope *at = site->paths; at; at = at->next) {
        if (!conf_scope_has(at, e->path, e->path_len)) continue;
        explain("path", at->at, "%s%s", at->is_exact ? "= " : "", at->path);
        explain_limits(e, at);
        if (at->root) root = at;
        inner = at;
    }
    explain_doors(e, inner->doors);
    explain_locks(e, inner->locks, inner->locks);
    if (root) {
        size_t skip = strlen(root->path);
        bool is_below = e->path_len > skip;
        explain("root", root->root_at, "%s, in it %.*s", root->root,
                is_below ? (int)(e->path_len - skip) : 1, is_below ? e->path + skip : ".");
        explain_archives(site, e, inner);
        explain_upload(e, inner);
    }
}

// ---- The response ----

// A field of the received head; empty: it is not there.
static skua_slice explain_received(const char *received, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = received; *at && *at != '\r'; at += strcspn(at, "\r") + 2)
        if (strncasecmp(at, name, len) == 0 && at[len] == ':')
            return (skua_slice){ at + len + 2, strcspn(at + len + 2, "\r") };
    return (skua_slice){ "", 0 };
}

static void explain_received_line(const char *label, const char *line, size_t len, conf_place why)
{
    if (why.file) (void)printf("%-10s %-50.*s %s:%u\n", label, (int)len, line, why.file, why.line);
    else (void)printf("%-10s %.*s\n", label, (int)len, line);
}

// Each line of the head with the directive that gave it. Times are those of a played world, and so is its connection.
static void explain_response(const conf_reason *why, const char *received)
{
    int status = (int)strtol(received + sizeof "HTTP/1.1", NULL, 10);
    const skua_slice tag = explain_received(received, "ETag");
    size_t len = strcspn(received, "\r");
    explain_received_line("response", received, len, conf_reason_status(why, status));
    for (const char *at = received + len + 2; *at && *at != '\r'; at += len + 2) {
        len = strcspn(at, "\r");
        const skua_slice field = { at, strcspn(at, ":") };
        const skua_slice value = { at + field.len + 2, len - field.len - 2 };
        bool is_of_play = skua_slice_is(field, "Date") || skua_slice_is(field, "Last-Modified") ||
                          skua_slice_is(field, "Connection");
        if (!is_of_play)
            explain_received_line("", at, len, conf_reason_field(why, status, field, value, tag));
    }
}

// The directives by which a file is chosen, when the path alone does not name one, or a page where there is none.
static void explain_choice(const conf_reason *why)
{
    static const char *const names[] = { "index",   "try",   "clean_urls", "spa",
                                         "listing", "links", "dotfiles" };
    const conf_rewrite *rewrite = conf_reason_rewrite(why);
    if (rewrite) explain("rewrite", rewrite->at, "%s to %s", rewrite->pattern, rewrite->to);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const conf_place at = conf_reason_holds(why, names[i]);
        if (at.file) explain_line("files", at, names[i]);
    }
}

static bool explain_play(const conf_reason *why, skua_server *server, const explained *e)
{
    char request[EXPLAIN_OCTETS];
    skua_slice received;
    int n = snprintf(
        request, sizeof request,
        "%s %.*s HTTP/1.1\r\nHost: %s\r\nAccept-Encoding: zstd, br, gzip\r\n%s"
        "Forwarded: for=" CONF_EXPLAIN_CLIENT ";proto=%s\r\nConnection: close\r\n\r\n",
        e->method, (int)strcspn(e->target, "#"), e->target, e->authority,
        conf_method_is_of("GET HEAD", skua_slice_of(e->method)) ? "" : "Content-Length: 0\r\n",
        e->is_https ? "https" : "http");
    skua_status status = SKUA_ELIMIT;
    if (n > 0 && (size_t)n < sizeof request)
        status = skua_test_request(server, (skua_slice){ request, (size_t)n }, &received);
    if (status) {
        say_error("the request cannot be played: %s", skua_status_text(status));
        return false;
    }
    const conf_scope *keeper = conf_chosen_keeper();
    if (keeper)
        explain("kept", keeper->at, "the file has the rules of %s, which are not open here",
                keeper->path);
    explain_response(why, received.ptr);
    skua_test_free(received);
    return true;
}

bool conf_explain(const conf *from, skua_server *server, const char *method, const char *url)
{
    explained e = { .method = method };
    if (!*method || method[strspn(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_")]) {
        say_error("\"%s\" is not a method; methods have capital letters only, such as PUT", method);
        return false;
    }
    if (!explain_read(&e, url)) {
        say_error("\"%s\" is not a URL; write https://example.org/path, without /../", url);
        return false;
    }
    const conf_site *site = explain_site(from, e.host);
    char origin[EXPLAIN_HOST_OCTETS + sizeof "https://"];
    (void)snprintf(origin, sizeof origin, "http%s://%s", e.is_https ? "s" : "", e.authority);
    const conf_reason why = { from, site, origin, e.path, e.path_len };
    if (site) explain_scopes(site, &e);
    else (void)printf("%-10s none has the host %s\n", "site", e.host);
    explain_choice(&why);
    return explain_play(&why, server, &e);
}
