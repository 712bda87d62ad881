// SPDX-License-Identifier: MIT
//
// The redirect goes to the host that was asked, whom the server answers for, at the port of the
// first address that speaks HTTPS.

#include "redirect.h"

#include "common/address.h"

#include <stdio.h>
#include <string.h>

enum {
    REDIRECT_HOST_OCTETS_MAX = 256,
    REDIRECT_OCTETS_MAX = 16384,
    REDIRECT_LOCATION_OCTETS_MAX =
        8192 - 12 // of the fields of a response, with the name and 4 more
};

static unsigned redirect_port(const skua_server *server)
{
    const char *address;
    for (size_t i = 0; (address = skua_server_address(server, i)); i++) {
        unsigned port = skua_server_address_is_secure(server, i) ? address_port(address) : 0;
        if (port) return port;
    }
    return ADDRESS_PORT_HTTPS;
}

// Without its port, which is that of HTTP.
static skua_slice redirect_host(const skua_request *request)
{
    skua_slice host = skua_request_authority(request);
    for (size_t i = host.len; i > 0; i--) {
        char c = host.ptr[i - 1];
        if (c == ']') break;
        if (c != ':') continue;
        host.len = i - 1;
        break;
    }
    return host;
}

// The target without scheme and authority: RFC 9112 §3.2.2 has servers take it with them, too.
static skua_slice redirect_path(const skua_request *request)
{
    skua_slice target = skua_request_target(request);
    if (target.len && target.ptr[0] == '/') return target;
    const char *end = target.ptr + target.len;
    const char *mark = memmem(target.ptr, target.len, "://", 3);
    const char *at = mark ? mark + 3 : end;
    while (at < end && *at != '/' && *at != '?')
        at++;
    return (skua_slice){ at, (size_t)(end - at) };
}

static void redirect_refuse(skua_request *request, int status, const char *text)
{
    skua_respond(request, status, "text/plain", (skua_slice){ text, strlen(text) });
}

// Octets of a location as skua_redirect will send it, at most: three for each that may be encoded.
static size_t redirect_octets(const char *location)
{
    size_t octets = 0;
    for (const char *at = location; *at; at++)
        octets += *at > ' ' && *at < 127 && !strchr("\"%<>[\\]^`{|}", *at) ? 1 : 3;
    return octets;
}

static void redirect_send(skua_request *request, skua_slice host, skua_slice path)
{
    char location[REDIRECT_OCTETS_MAX], port[16] = "";
    unsigned number = redirect_port(skua_request_server(request));
    if (number != ADDRESS_PORT_HTTPS) (void)snprintf(port, sizeof port, ":%u", number);
    bool begins = path.len && path.ptr[0] == '/';
    int n = snprintf(location, sizeof location, "https://%.*s%s%s%.*s", (int)host.len, host.ptr,
                     port, begins ? "" : "/", (int)path.len, path.ptr);
    bool fits = n > 0 && (size_t)n < sizeof location;
    if (fits && redirect_octets(location) <= REDIRECT_LOCATION_OCTETS_MAX)
        skua_redirect(request, 308, location);
    else redirect_refuse(request, 414, "The target is too long to be sent on to HTTPS.\n");
}

static void redirect_before(skua_request *request, void *user)
{
    (void)user;
    if (skua_request_is_secure(request)) {
        skua_next(request);
        return;
    }
    skua_slice host = redirect_host(request);
    if (host.len && host.len <= REDIRECT_HOST_OCTETS_MAX)
        redirect_send(request, host, redirect_path(request));
    else redirect_refuse(request, 400, "This address sends to HTTPS, and needs a Host for that.\n");
}

// Only over TLS, where nobody can have put it in: RFC 6797 §7.2.
static void redirect_head(skua_request *request, int status, void *user)
{
    (void)status;
    (void)user;
    if (!skua_request_is_secure(request)) return;
    skua_field_add(request, "Strict-Transport-Security", SKUA_SLICE("max-age=31536000"));
}

skua_status redirect_add(skua_server *server, const options *o)
{
    const skua_middleware around = { .before = o->redirects ? redirect_before : NULL,
                                     .head = o->hsts ? redirect_head : NULL };
    if (!around.before && !around.head) return SKUA_OK;
    return skua_use(server, "/", &around);
}
