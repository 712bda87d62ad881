// SPDX-License-Identifier: MIT
//
// Patterns. What could never match a normalised path or a host name is a mistake, and refused.

#include "route/pattern.h"

#include "http/syntax.h"

// ---- Segments ----

static bool pattern_is_name(slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = octet_lower(name.ptr[i]);
        bool digit = c >= '0' && c <= '9';
        if (!(c >= 'a' && c <= 'z') && c != '_' && !(digit && i > 0)) return false;
    }
    return name.len > 0;
}

// The text of a literal is compared with decoded, normalised paths.
static bool pattern_is_literal(slice text)
{
    if (slice_equal(text, SKUA_SLICE(".")) || slice_equal(text, SKUA_SLICE(".."))) return false;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c < 0x20 || c == 0x7f || strchr("{}?#", c)) return false;
    }
    return text.len > 0;
}

static bool pattern_ends_in(slice text, slice end)
{
    return text.len >= end.len && memcmp(text.ptr + text.len - end.len, end.ptr, end.len) == 0;
}

static pattern_piece pattern_piece_read(slice segment, bool last, slice *inside)
{
    *inside = (slice){ NULL, 0 };
    if (last && segment.len == 0) return PIECE_TAIL;
    if (segment.len == 0 || segment.ptr[0] != '{') {
        *inside = segment;
        return pattern_is_literal(segment) ? PIECE_LITERAL : PIECE_WRONG;
    }
    if (segment.ptr[segment.len - 1] != '}') return PIECE_WRONG;
    slice name = slice_make(segment.ptr + 1, segment.len - 2);
    if (slice_equal(name, SKUA_SLICE("$"))) return last ? PIECE_SLASH : PIECE_WRONG;
    bool tail = pattern_ends_in(name, SKUA_SLICE("..."));
    if (tail) name.len -= 3;
    *inside = name;
    if (!pattern_is_name(name) || (tail && !last)) return PIECE_WRONG;
    return tail ? PIECE_TAIL : PIECE_PARAM;
}

slice pattern_segment(slice *rest, bool *last)
{
    *rest = slice_from(*rest, 1);
    const char *slash = rest->len ? memchr(rest->ptr, '/', rest->len) : NULL;
    size_t len = slash ? (size_t)(slash - rest->ptr) : rest->len;
    slice segment = slice_make(rest->ptr, len);
    *rest = slice_from(*rest, len);
    *last = !slash;
    return segment;
}

pattern_piece pattern_next(slice *rest, bool *last, slice *inside)
{
    slice segment = pattern_segment(rest, last);
    return pattern_piece_read(segment, *last, inside);
}

// ---- The whole ----

static bool pattern_add_param(route_pattern *p, slice name)
{
    if (name.len == 0) return true;
    if (p->param_count == PATTERN_PARAMS_MAX) return false;
    for (unsigned i = 0; i < p->param_count; i++) {
        if (slice_equal(p->params[i], name)) return false;
    }
    p->params[p->param_count++] = name;
    return true;
}

static bool pattern_read_path(route_pattern *p)
{
    slice rest = p->path;
    bool last = false;
    for (unsigned depth = 0; !last; depth++) {
        slice inside;
        pattern_piece piece = pattern_next(&rest, &last, &inside);
        if (piece == PIECE_WRONG || depth == PATTERN_DEPTH_MAX) return false;
        if ((piece == PIECE_PARAM || piece == PIECE_TAIL) && !pattern_add_param(p, inside))
            return false;
    }
    return true;
}

static bool pattern_is_label_octet(char c)
{
    char lower = octet_lower(c);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

// Labels with single dots between them; or an IPv6 address in brackets.
static bool pattern_is_host(slice host)
{
    if (host.len == 0 || host.len > 253) return false;
    if (host.ptr[0] == '[') return host.ptr[host.len - 1] == ']' && syntax_is_host(host);
    char before = '.';
    for (size_t i = 0; i < host.len; i++) {
        char c = host.ptr[i];
        if (c == '.' ? before == '.' : !pattern_is_label_octet(c)) return false;
        before = c;
    }
    return before != '.';
}

// "{name}.example.com": one label, and at least one more behind it.
static bool pattern_read_host(route_pattern *p, slice host)
{
    p->host = host;
    if (host.len == 0) return true;
    if (host.ptr[0] != '{') return pattern_is_host(host);
    const char *end = memchr(host.ptr, '}', host.len);
    size_t len = end ? (size_t)(end - host.ptr) : 0;
    if (!end || host.len < len + 2 || end[1] != '.') return false;
    slice name = slice_make(host.ptr + 1, len - 1);
    p->host = slice_from(host, len + 2);
    p->host_param = true;
    return pattern_is_name(name) && pattern_add_param(p, name) && p->host.len &&
           p->host.ptr[0] != '[' && pattern_is_host(p->host);
}

__attribute__((cold)) bool pattern_read(slice text, route_pattern *p)
{
    *p = (route_pattern){ .text = text };
    const char *slash = text.len ? memchr(text.ptr, '/', text.len) : NULL;
    if (!slash || text.len > PATTERN_OCTETS_MAX) return false;
    slice before = slice_make(text.ptr, (size_t)(slash - text.ptr));
    const char *space = before.len ? memchr(before.ptr, ' ', before.len) : NULL;
    if (space) {
        p->method = slice_make(before.ptr, (size_t)(space - before.ptr));
        if (!syntax_is_token(p->method)) return false;
        before = slice_from(before, p->method.len + 1);
    }
    p->path = slice_from(text, (size_t)(slash - text.ptr));
    return pattern_read_host(p, before) && pattern_read_path(p);
}
