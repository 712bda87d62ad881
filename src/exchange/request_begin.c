// SPDX-License-Identifier: MIT
//
// The beginning of requests: from a complete head to a handler.
//
// Every request goes through the functions here and in the router, the target and the head. Each is
// called in one place and defined inline, so that there is no call left where the caller is
// compiled together with it (one header, all files at once, at link time).

#include "exchange/request_begin.h"

#include "base/inline.h"
#include "exchange/carrier.h"
#include "exchange/middleware.h"
#include "exchange/error.h"
#include "exchange/respond.h"
#include "exchange/sites.h"
#include "exchange/worker.h"
#include "http/octets.h"
#include "http/syntax.h"

// The record that every connection of TLS begins with, RFC 8446 §5.1: somebody wrote https.
static bool request_is_tls(slice octets)
{
    return octets.len >= 2 && octets.ptr[0] == 0x16 && octets.ptr[1] == 0x03;
}

// The part of the line, as far as it has come, that begins at octet number at.
static slice request_rest_of_line(slice octets, size_t at)
{
    size_t end = at;
    while (end < octets.len && octets.ptr[end] != '\r' && octets.ptr[end] != '\n')
        end++;
    return slice_make(octets.ptr + at, end - at);
}

// Finds what was asked, for the log. Where the request line could not be read to its end, what
// follows the method is shown as it came.
static void request_keep_asked(skua_request *r, slice octets)
{
    enum { ASKED_OCTETS_MAX = 1024 };
    request_head *head = &r->head;
    slice asked = head_target(head, octets.ptr);
    if (!head->version) {
        size_t at = (size_t)head->start + head->method_len + (head->method_len > 0);
        asked = request_rest_of_line(octets, at < octets.len ? at : octets.len);
        if (asked.len > ASKED_OCTETS_MAX) asked.len = ASKED_OCTETS_MAX;
    }
    r->method = arena_copy(&r->memory, head_method(head, octets.ptr));
    r->target_text = arena_copy(&r->memory, asked);
}

__attribute__((cold)) static void request_drop_head(skua_request *r, slice octets,
                                                    const char *reason)
{
    request_set_reading(r, READING_DONE);
    request_blame(r, request_is_tls(octets) ? "a TLS handshake, which is not spoken here" : reason);
    if (octets.len) request_keep_asked(r, octets);
    r->is_head = slice_equal(r->method, SKUA_SLICE("HEAD"));
    r->head.count = 0;
    r->head.seen = 0;
    r->head.keep_alive = false;
    request_set_reading(r, READING_HEAD); // nothing behind it is looked at
}

__attribute__((cold)) void request_refuse(skua_request *r, slice octets, fault why)
{
    request_drop_head(r, octets, why.reason);
    error_respond(r, why.status, true);
}

__attribute__((cold)) void request_refuse_saying(skua_request *r, slice octets, fault why,
                                                 slice sentence)
{
    request_drop_head(r, octets, why.reason);
    r->close = true;
    if (skua_refuse(r, why.status, sentence)) error_refuse(r, why.status);
}

// Finds method, target, path and authority. Responds with a fault.
static BASE_INLINE_ALWAYS bool request_read_target(skua_request *r)
{
    target parts;
    fault why =
        target_parse(r->method, r->target_text, worker_config(r->worker)->strict_target, &parts);
    if (why.status) {
        request_blame(r, why.reason);
        error_respond(r, why.status, true);
        return false;
    }
    r->query = parts.query;
    r->authority = parts.authority;
    if (!parts.authority.ptr && r->head.host)
        r->authority = head_value(&r->head, r->base, r->head.host - 1u);
    r->plain = true;
    r->path = parts.raw_path; // none of CONNECT
    if (parts.clean || parts.form == TARGET_ASTERISK) return true;
    char *normal = arena_alloc(&r->memory, parts.raw_path.len + 1);
    if (!normal) {
        error_respond(r, 503, true);
        return false;
    }
    r->path = slice_make(normal, target_normalise(parts.raw_path, normal, &r->plain));
    return true;
}

__attribute__((noinline)) static bool request_host_is_a_sites(const skua_request *r)
{
    return r->worker->sites && site_view_find(r->worker->sites, r->authority);
}

// A page in a browser must not reach a server on this machine under a name of the page's choosing
// (DNS rebinding).
static BASE_INLINE_ALWAYS bool request_host_is_served(skua_request *r)
{
    skua_worker *w = r->worker;
    if (w->hosts->kind == HOSTS_ANY_BY_TRANSPORT) return true;
    if (w->host_len && r->authority.len == w->host_len &&
        memcmp(w->host, r->authority.ptr, w->host_len) == 0) {
        return true;
    }
    // No page in a browser comes this way, and a proxy that does may keep any Host.
    const io_address *peer = session_peer(r->carrier->session);
    if (peer->family == IO_FAMILY_UNIX || peer->facts & IO_ADDRESS_OVER_UNIX) return true;
    if (!hosts_take(w->hosts, r->authority) && !request_host_is_a_sites(r)) return false;
    if (r->authority.len <= sizeof w->host) {
        w->host_len = (uint8_t)r->authority.len;
        memcpy(w->host, r->authority.ptr, r->authority.len);
    }
    return true;
}

__attribute__((cold)) static bool request_method_is_known(slice method)
{
    static const char *const known[] = { "GET",     "HEAD",    "POST",  "PUT",  "DELETE",
                                         "CONNECT", "OPTIONS", "TRACE", "PATCH" };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (slice_equal(method, slice_of(known[i]))) return true;
    }
    return false;
}

__attribute__((cold)) static void request_refuse_method(skua_request *r)
{
    const router *routes = request_parts(r)->router;
    if (!request_method_is_known(r->method) && !router_knows_method(routes, r->method)) {
        error_respond(r, 501, false);
        return;
    }
    slice allow = slice_make(r->match.allow, r->match.allow_len);
    if (skua_field_add(r, "Allow", allow)) error_respond(r, 503, true);
    else error_respond(r, 405, false);
}

// OPTIONS * is answered for the server as a whole; CONNECT has no path, and this server is no
// proxy.
__attribute__((cold)) static bool request_respond_pathless(skua_request *r)
{
    if (r->path.len > 0 && r->path.ptr[0] == '/') return false;
    if (r->path.len == 0) {
        r->match.allow_len = 0;
        request_refuse_method(r);
    } else if (skua_respond(r, 204, NULL, (slice){ 0 })) {
        carrier_break(r->carrier);
    }
    return true;
}

void request_handle(skua_request *r)
{
    switch ((router_outcome)r->outcome) {
    case ROUTER_FOUND: r->match.route->handler(r, r->match.route->user); return;
    case ROUTER_NO_PATH:
        if (!request_respond_pathless(r)) error_respond(r, 404, false);
        return;
    case ROUTER_NO_METHOD: request_refuse_method(r); return;
    }
}

static BASE_INLINE_ALWAYS void request_route(skua_request *r, const router *routes)
{
    router_query query = { .method = r->method, .authority = r->authority, .path = r->path };
    r->outcome = (uint8_t)router_find(routes, &query, &r->match);
}

// Out of the way of servers that have no sites.
__attribute__((noinline)) static void request_dispatch_to_site(skua_request *r)
{
    site_seat *seat = site_view_find(r->worker->sites, r->authority);
    if (seat) site_seat_take(seat, r);
    request_route(r, request_parts(r)->router);
    if (request_parts(r)->middleware) middleware_begin(r);
    else request_handle(r);
}

static BASE_INLINE_ALWAYS void request_dispatch(skua_request *r)
{
    const skua_worker *w = r->worker;
    if (w->sites) {
        request_dispatch_to_site(r);
        return;
    }
    request_route(r, w->own.router);
    if (w->own.middleware) middleware_begin(r);
    else request_handle(r);
}

// The log is told once a second at most: what a page in a browser can send over and over shall not
// fill it.
__attribute__((cold)) static void request_misdirect(skua_request *r)
{
    skua_worker *w = r->worker;
    char text[HOSTS_SENTENCE_OCTETS];
    slice sentence = slice_make(text, hosts_explain(r->authority, text));
    request_blame(r, "a host that is not served");
    if (w->host_told_ns == 0 || w->loop.now_ns - w->host_told_ns >= 1000000000) {
        w->host_told_ns = w->loop.now_ns;
        worker_log(w, sentence);
    }
    if (skua_refuse(r, 421, sentence)) carrier_break(r->carrier);
}

// A client that came for one name may reach another's by the same connection only where the
// certificate is good for both, and both ask the same of clients.
__attribute__((noinline)) static bool request_is_misdirected(skua_request *r, const transport *t)
{
    if (!t->table->misdirects(t, syntax_host_name(r->authority))) return false;
    request_blame(r, "a host that this connection was not opened for");
    if (skua_refuse(r, 421, SKUA_SLICE("This host needs a connection of its own.")))
        carrier_break(r->carrier);
    return true;
}

// Most ask for what they came for, which is found out here, with a port or without.
static BASE_INLINE_ALWAYS bool request_is_for(slice authority, slice host)
{
    if (authority.len != host.len && (authority.len < host.len || authority.ptr[host.len] != ':'))
        return false;
    return octets_equal(authority.ptr, host.ptr, host.len);
}

// Responds itself if the host is not served, or not by this connection.
static BASE_INLINE_ALWAYS bool request_host_is_right(skua_request *r)
{
    const transport *t = r->carrier->session->link.transport;
    if (!request_host_is_served(r)) {
        request_misdirect(r);
        return false;
    }
    return !t || request_is_for(r->authority, *t->host) || !request_is_misdirected(r, t);
}

static bool request_may_become_tunnel(const skua_request *r, const char *octets)
{
    if (r->head.version < 20) return r->head.seen & 1u << FIELD_UPGRADE;
    return slice_equal(head_method(&r->head, octets), SKUA_SLICE("CONNECT"));
}

// That of a tunnel stays as long as the program keeps the request: a block for it would be empty for the most part.
__attribute__((noinline)) static char *request_room_for_long(skua_request *r, const char *octets)
{
    return request_may_become_tunnel(r, octets) ? arena_alloc_apart(&r->memory, r->head.octets)
                                                : arena_alloc(&r->memory, r->head.octets);
}

// The head is copied first: the octets are lent only while this runs, and the request outlives
// that.
BASE_INLINE_ALWAYS void request_begin(skua_request *r, const char *octets)
{
    char *base = arena_has_room(&r->memory, r->head.octets)
                     ? arena_alloc(&r->memory, r->head.octets)
                     : request_room_for_long(r, octets);
    if (!base) {
        carrier_break(r->carrier);
        return;
    }
    if (base != octets) memcpy(base, octets, r->head.octets);
    r->base = base;
    // The log tells what each took by itself. For figures alone a look at the clock is saved, and what came
    // before it in the same turn counts, too.
    r->began_ns = r->worker->lane ? io_loop_clock_ns(&r->worker->loop) : r->worker->loop.now_ns;
    r->method = head_method(&r->head, base);
    r->target_text = head_target(&r->head, base);
    r->is_head = r->method.len == 4 && memcmp(r->method.ptr, "HEAD", 4) == 0;
    if (!request_read_target(r)) return;
    bool any = r->worker->hosts->kind == HOSTS_ANY || !r->authority.ptr;
    if (any || request_host_is_right(r)) request_dispatch(r);
}
