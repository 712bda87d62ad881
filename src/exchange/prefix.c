// SPDX-License-Identifier: MIT
//
// Prefixes.

#include "exchange/prefix.h"

#include "base/memory.h"
#include "http/syntax.h"

#include <stdio.h>

__attribute__((cold)) skua_status prefix_refuse(skua_status status, char *why, size_t room,
                                                const char *owner, const char *text,
                                                const char *reason)
{
    (void)snprintf(why, room, "%s \"%.200s\": %s", owner, text, reason);
    return status;
}

__attribute__((cold)) skua_status prefix_read(prefix *p, const char *text, const char *owner,
                                              char *why, size_t room)
{
    p->text = memory_text(text);
    if (!p->text) return prefix_refuse(SKUA_ENOMEM, why, room, owner, text, "memory ran out");
    char wrong[PATTERN_FAULT_OCTETS];
    if (pattern_read(slice_of(p->text), &p->pattern, wrong)) {
        slice path = p->pattern.path;
        p->open = path.ptr[path.len - 1] == '/';
        if (!memchr(path.ptr, '{', path.len)) return SKUA_OK;
    }
    prefix_free(p);
    const char *reason = *wrong ? wrong : "is not \"[METHOD ][HOST]/PREFIX\"";
    return prefix_refuse(SKUA_EINVAL, why, room, owner, text, reason);
}

void prefix_free(prefix *p)
{
    memory_free(p->text);
    p->text = NULL;
}

static bool prefix_takes_method(const route_pattern *p, slice method)
{
    if (p->method.len == 0 || slice_equal(p->method, method)) return true;
    return slice_equal(p->method, SKUA_SLICE("GET")) && slice_equal(method, SKUA_SLICE("HEAD"));
}

static bool prefix_takes_host(const route_pattern *p, slice authority)
{
    if (p->host.len == 0) return true;
    slice name = syntax_host_name(authority);
    if (!p->host_param) return slice_equal_nocase(p->host, name);
    const char *dot = name.len ? memchr(name.ptr, '.', name.len) : NULL;
    return dot && dot > name.ptr &&
           slice_equal_nocase(p->host, slice_from(name, (size_t)(dot - name.ptr) + 1));
}

// "*" and the empty path of CONNECT are below "/" too: they concern the server as a whole.
static bool prefix_takes_path(const prefix *p, slice path)
{
    slice start = p->pattern.path;
    if (start.len == 1) return true;
    if (path.len < start.len || memcmp(path.ptr, start.ptr, start.len) != 0) return false;
    return p->open || path.len == start.len || path.ptr[start.len] == '/';
}

bool prefix_takes(const prefix *p, const skua_request *r)
{
    return prefix_takes_method(&p->pattern, r->method) &&
           prefix_takes_host(&p->pattern, r->authority) && prefix_takes_path(p, r->path);
}
