// SPDX-License-Identifier: MIT

#include "conf/response.h"

#include "conf/method.h"
#include "conf/sites.h"

#include <skua/middleware/cors.h>
#include <skua/middleware/request_id.h>
#include <skua/middleware/security.h>

#include <string.h>
#include <strings.h>

enum {
    RESPONSE_LOCATION_OCTETS_MAX = 8000, // of the 8192 that a response has for its fields
    RESPONSE_NAME_OCTETS = 256,
    RESPONSE_PEER_OCTETS = 128
};

// ---- Fields and codings ----

const conf_scope *conf_response_scope(const skua_request *request, const conf_site *site)
{
    skua_slice path = skua_request_path(request);
    return conf_scope_of(site, path.ptr, path.len);
}

bool conf_response_is_redirect(const skua_request *request, const conf_site *site)
{
    const char *pattern = site->redirects ? skua_request_pattern(request) : NULL;
    for (const conf_redirect *at = site->redirects; pattern && at; at = at->next) {
        if (strcmp(at->pattern, pattern) == 0) return true;
    }
    return false;
}

static bool response_is_among(const conf_door *door, const char *peer)
{
    for (unsigned i = 0; i < door->count; i++) {
        if (conf_network_has(&door->networks[i], peer)) return true;
    }
    return false;
}

bool conf_response_may_come(const skua_request *request, const conf_scope *scope)
{
    char peer[RESPONSE_PEER_OCTETS];
    if (scope->doors) (void)skua_request_peer(request, peer, sizeof peer);
    for (const conf_door *at = scope->doors; at; at = at->outer) {
        bool holds = conf_method_is_of(at->methods, skua_request_method(request));
        if (holds && response_is_among(at, peer) != at->is_for_them) return false;
    }
    return true;
}

void conf_response_before(skua_request *request, void *user)
{
    conf_site *site = user;
    const conf_scope *scope = conf_response_scope(request, site);
    if (!conf_response_may_come(request, scope)) {
        skua_respond_error(request, 403);
        return;
    }
    if (atomic_load_explicit(&site->shared.is_closed, memory_order_relaxed)) {
        skua_field_add(request, "Retry-After", SKUA_SLICE("60"));
        skua_respond_error(request, 503);
        return;
    }
    if (!scope->compresses) skua_compress_off(request);
    skua_next(request);
}

void conf_response_end(skua_request *request, skua_end how, void *user)
{
    conf_logged logged = conf_response_scope(request, user)->logged;
    int status = skua_request_status(request);
    bool is_error = how != SKUA_END_SENT || status < 100 || status >= 400;
    if (logged == CONF_LOGGED_NONE || (logged == CONF_LOGGED_ERRORS && !is_error))
        skua_request_skip_log(request);
}

// A request whose head could not be read has no path, and the site's own pages.
void conf_response_error(skua_request *request, int status, skua_slice sentence, void *user)
{
    const conf_scope *scope = conf_response_scope(request, user);
    const conf_page *page = scope->pages;
    (void)sentence;
    while (page && page->status != status)
        page = page->next;
    if (page && scope->compresses) (void)skua_compress(request);
    if (page) (void)skua_respond_borrowed(request, status, page->type, page->content, NULL, NULL);
}

// The innermost of a name counts, also where it takes the field away.
static bool response_is_shadowed(const conf_field *field, const conf_field *first)
{
    const conf_field *at = first;
    while (at != field && strcasecmp(at->name, field->name) != 0)
        at = at->next;
    return at != field;
}

static void response_add_fields(skua_request *request, const conf_scope *scope)
{
    for (const conf_field *at = scope->fields; at; at = at->next) {
        if (at->value && !response_is_shadowed(at, scope->fields))
            skua_security_add(request, at->name, at->value, NULL);
    }
}

// An error, or a redirect, is not the file that the rule is about.
static bool response_may_be_kept(int status)
{
    return status == 200 || status == 206 || status == 304;
}

// Pages are asked for again each time, so that they name the assets of today; a 304 has no type to tell a page by, and
// what a browser has kept says so already.
static const char *response_cache(const skua_request *request, const conf_scope *scope)
{
    if (scope->cache || scope->is_cache_off) return scope->cache;
    skua_slice type = skua_response_field(request, "Content-Type");
    return skua_slice_starts(type, "text/html") ? "no-cache" : NULL;
}

void conf_response_head(skua_request *request, int status, void *user)
{
    static const skua_security fields = { 0 };
    const conf_scope *scope = conf_response_scope(request, user);
    response_add_fields(request, scope);
    // From then on the log has the id, too.
    if (scope->has_request_ids)
        skua_request_id_head(request, status, skua_words_user("X-Request-Id"));
    if (scope->has_security_fields) skua_security_head(request, status, skua_words_user(&fields));
    if (scope->origins) {
        const skua_cors cors = { .origins = scope->origins };
        skua_cors_head(request, status, skua_words_user(&cors));
    }
    if (scope->hsts && skua_request_is_secure(request)) // only there, RFC 6797 §7.2
        skua_security_add(request, "Strict-Transport-Security", scope->hsts, NULL);
    if (response_may_be_kept(status))
        skua_security_add(request, "Cache-Control", response_cache(request, scope), NULL);
}

void conf_preflight_before(skua_request *request, void *user)
{
    const skua_cors cors = { .origins = conf_response_scope(request, user)->origins };
    if (cors.origins) skua_cors_before(request, skua_words_user(&cors));
    else skua_next(request);
}

// ---- Locations ----

typedef struct location {
    char text[RESPONSE_LOCATION_OCTETS_MAX];
    size_t len;
    bool is_cut;
} location;

static void location_add(location *to, const char *text, size_t len)
{
    to->is_cut = to->is_cut || len >= sizeof to->text - to->len;
    if (to->is_cut) return;
    memcpy(to->text + to->len, text, len);
    to->len += len;
}

// A decoded part of a path. Whatever could mean something else where it is put is encoded again: a "?" must not
// begin a query, nor an "&" another parameter.
static void location_add_encoded(location *to, skua_slice part, bool is_in_query)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *plain = is_in_query ? "-._~" : "-._~!$&'()*+,;=:@/";
    for (size_t i = 0; i < part.len; i++) {
        unsigned char c = (unsigned char)part.ptr[i];
        bool is_word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        const char triplet[] = { '%', digits[c >> 4], digits[c & 15] };
        if (is_word || (c && strchr(plain, c))) location_add(to, part.ptr + i, 1);
        else location_add(to, triplet, sizeof triplet);
    }
}

// A "}" of the name of a part is there: the checker has seen to it.
static const char *location_add_part(location *to, const skua_request *request, const char *at,
                                     bool is_in_query)
{
    char name[RESPONSE_NAME_OCTETS];
    size_t len = strcspn(at, "}");
    if (len < sizeof name) {
        memcpy(name, at, len);
        name[len] = '\0';
        location_add_encoded(to, skua_request_param(request, name), is_in_query);
    }
    return at + len + 1;
}

static void location_send(skua_request *request, location *to, int status)
{
    if (to->is_cut) {
        skua_refuse(request, 414, SKUA_SLICE("The target is too long to be sent on."));
        return;
    }
    to->text[to->len] = '\0';
    (void)skua_redirect(request, status, to->text);
}

void conf_redirect_handle(skua_request *request, void *user)
{
    const conf_redirect *redirect = user;
    location to = { .len = 0 };
    skua_slice query = skua_request_query(request);
    const char *mark = strchr(redirect->to, '?');
    for (const char *at = redirect->to; *at;) {
        size_t len = strcspn(at, "{");
        location_add(&to, at, len);
        at += len;
        if (*at == '{') at = location_add_part(&to, request, at + 1, mark && at > mark);
    }
    if (query.len) {
        location_add(&to, mark ? "&" : "?", 1);
        location_add(&to, query.ptr, query.len);
    }
    location_send(request, &to, redirect->status);
}

// ---- Hosts ----

// Without the port that the scheme has anyway.
static skua_slice response_authority(const skua_request *request, bool is_https)
{
    skua_slice host = skua_request_authority(request);
    const char *port = is_https ? ":443" : ":80";
    size_t len = strlen(port);
    if (host.len > len && memcmp(host.ptr + host.len - len, port, len) == 0) host.len -= len;
    return host;
}

static bool response_is_canonical(const skua_request *request, const char *canonical)
{
    bool is_https = strncmp(canonical, "https:", 6) == 0;
    const char *host = canonical + (is_https ? 8 : 7);
    skua_slice asked = response_authority(request, is_https);
    return is_https == skua_request_is_secure(request) && asked.len == strlen(host) &&
           strncasecmp(asked.ptr, host, asked.len) == 0;
}

// The target without scheme and authority: RFC 9112 §3.2.2 has servers take it with them, too.
static skua_slice response_target(const skua_request *request)
{
    skua_slice target = skua_request_target(request);
    if (target.len && target.ptr[0] == '/') return target;
    const char *end = target.ptr + target.len, *mark = memmem(target.ptr, target.len, "://", 3);
    const char *at = mark ? mark + 3 : end;
    while (at < end && *at != '/' && *at != '?')
        at++;
    return (skua_slice){ at, (size_t)(end - at) };
}

void conf_canonical_before(skua_request *request, void *user)
{
    const conf_site *site = user;
    location to = { .len = 0 };
    if (response_is_canonical(request, site->canonical)) {
        skua_next(request);
        return;
    }
    skua_slice target = response_target(request);
    location_add(&to, site->canonical, strlen(site->canonical));
    if (!target.len || target.ptr[0] != '/') location_add(&to, "/", 1);
    location_add(&to, target.ptr, target.len);
    location_send(request, &to, 308);
}

void conf_misdirected_before(skua_request *request, void *user)
{
    (void)user;
    skua_respond_error(request, 421);
}
