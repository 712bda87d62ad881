// SPDX-License-Identifier: MIT
//
// Patterns. What could never match a normalised path or a host name is a mistake, and refused.

#include "route/pattern.h"

#include "http/syntax.h"

#include <stdarg.h>
#include <stdio.h>

// ---- Faults ----

__attribute__((cold, format(printf, 2, 3))) static bool pattern_wrong(char *fault,
                                                                      const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(fault, PATTERN_FAULT_OCTETS, format, arguments);
    va_end(arguments);
    return false;
}

// As much of a text as a sentence shows.
static int pattern_shown(slice text)
{
    return text.len < 60 ? (int)text.len : 60;
}

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

// The text of a literal is compared with decoded, normalised paths. A segment that is a parameter to
// other routers would silently never match.
static bool pattern_is_literal(slice text)
{
    if (slice_equal(text, SKUA_SLICE(".")) || slice_equal(text, SKUA_SLICE(".."))) return false;
    if (text.len && (text.ptr[0] == ':' || text.ptr[0] == '*')) return false; // of other routers
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

static bool pattern_explain_name(slice name, char *fault)
{
    int len = pattern_shown(name);
    return pattern_wrong(
        fault,
        "\"{%.*s}\" has a name that is none: write a letter or \"_\", and then letters, "
        "digits and \"_\"",
        len, name.ptr);
}

// Of a segment in braces, or with braces in it.
static bool pattern_explain_braces(slice segment, bool last, char *fault)
{
    int len = pattern_shown(segment);
    bool one = segment.ptr[0] == '{' && segment.ptr[segment.len - 1] == '}' &&
               !memchr(segment.ptr + 1, '{', segment.len - 1);
    if (!one)
        return pattern_wrong(fault,
                             "\"%.*s\" is partly a parameter: a parameter is a whole segment, "
                             "\"{name}\", and the handler looks at what it holds",
                             len, segment.ptr);
    slice name = slice_make(segment.ptr + 1, segment.len - 2);
    bool tail = pattern_ends_in(name, SKUA_SLICE("..."));
    if (!last && (tail || slice_equal(name, SKUA_SLICE("$"))))
        return pattern_wrong(fault, "\"%.*s\" can only be the last segment", len, segment.ptr);
    if (tail) name.len -= 3;
    return pattern_explain_name(name, fault);
}

// Tells what is wrong with a segment that is PIECE_WRONG.
__attribute__((cold)) static bool pattern_explain(slice segment, bool last, char *fault)
{
    int len = pattern_shown(segment);
    if (segment.len == 0)
        return pattern_wrong(fault, "\"//\" never comes in a path: write one \"/\"");
    if (segment.ptr[0] == ':')
        return pattern_wrong(fault, "\"%.*s\" is no parameter: write \"{%.*s}\"", len, segment.ptr,
                             len - 1, segment.ptr + 1);
    if (segment.ptr[0] == '*')
        return pattern_wrong(
            fault,
            "\"%.*s\" is no parameter: write \"{name...}\" for everything below, or "
            "\"{name}\" for one segment",
            len, segment.ptr);
    if (memchr(segment.ptr, '?', segment.len) || memchr(segment.ptr, '#', segment.len))
        return pattern_wrong(
            fault,
            "\"%.*s\" goes beyond the path: what comes behind \"?\" is looked up by "
            "skua_request_query_param",
            len, segment.ptr);
    if (memchr(segment.ptr, '{', segment.len) || memchr(segment.ptr, '}', segment.len))
        return pattern_explain_braces(segment, last, fault);
    return pattern_wrong(fault, "the segment \"%.*s\" never comes in a normalised path", len,
                         segment.ptr);
}

// ---- The whole ----

static bool pattern_add_param(route_pattern *p, slice name, char *fault)
{
    if (name.len == 0) return true;
    if (p->param_count == PATTERN_PARAMS_MAX)
        return pattern_wrong(fault, "there are more than %d parameters", PATTERN_PARAMS_MAX);
    for (unsigned i = 0; i < p->param_count; i++) {
        if (slice_equal(p->params[i], name))
            return pattern_wrong(fault,
                                 "\"{%.*s}\" comes twice: give each parameter a name of its own",
                                 pattern_shown(name), name.ptr);
    }
    p->params[p->param_count++] = name;
    return true;
}

static bool pattern_read_path(route_pattern *p, char *fault)
{
    slice rest = p->path;
    bool last = false;
    for (unsigned depth = 0; !last; depth++) {
        slice inside, segment = pattern_segment(&rest, &last);
        pattern_piece piece = pattern_piece_read(segment, last, &inside);
        if (piece == PIECE_WRONG) return pattern_explain(segment, last, fault);
        if (depth == PATTERN_DEPTH_MAX)
            return pattern_wrong(fault, "there are more than %d segments", PATTERN_DEPTH_MAX);
        if ((piece == PIECE_PARAM || piece == PIECE_TAIL) && !pattern_add_param(p, inside, fault))
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

static bool pattern_explain_host(slice host, char *fault)
{
    return pattern_wrong(fault,
                         "\"%.*s\" before the path is no host: write a name without port, "
                         "\"example.org\" or \"{name}.example.org\"",
                         pattern_shown(host), host.ptr);
}

// "{name}.example.com": one label, and at least one more behind it.
static bool pattern_read_host(route_pattern *p, slice host, char *fault)
{
    p->host = host;
    if (host.len == 0) return true;
    if (host.ptr[0] != '{') return pattern_is_host(host) || pattern_explain_host(host, fault);
    const char *end = memchr(host.ptr, '}', host.len);
    size_t len = end ? (size_t)(end - host.ptr) : 0;
    if (!end || host.len < len + 2 || end[1] != '.') return pattern_explain_host(host, fault);
    slice name = slice_make(host.ptr + 1, len - 1);
    p->host = slice_from(host, len + 2);
    p->host_param = true;
    if (p->host.len == 0 || p->host.ptr[0] == '[' || !pattern_is_host(p->host))
        return pattern_explain_host(host, fault);
    if (!pattern_is_name(name)) return pattern_explain_name(name, fault);
    return pattern_add_param(p, name, fault);
}

static bool pattern_is_known_method(slice method)
{
    static const char *const known[] = { "GET",     "HEAD",    "POST",  "PUT",  "DELETE",
                                         "CONNECT", "OPTIONS", "TRACE", "PATCH" };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (slice_equal_nocase(method, slice_of(known[i]))) return true;
    }
    return false;
}

// A method in the wrong case, or two of them, would silently never match.
static bool pattern_read_method(route_pattern *p, slice method, char *fault)
{
    int len = pattern_shown(method);
    bool has_lower = false;
    for (size_t i = 0; i < method.len; i++)
        has_lower = has_lower || (method.ptr[i] >= 'a' && method.ptr[i] <= 'z');
    p->method = method;
    if (method.len && (memchr(method.ptr, '|', method.len) || memchr(method.ptr, ',', method.len)))
        return pattern_wrong(
            fault,
            "\"%.*s\" is more than one method: add a route for each, or one without a "
            "method for all",
            len, method.ptr);
    if (has_lower && pattern_is_known_method(method))
        return pattern_wrong(fault,
                             "\"%.*s\" never comes: methods have upper case, as in \"GET /\"", len,
                             method.ptr);
    if (syntax_is_token(method)) return true;
    return pattern_wrong(fault, "\"%.*s\" is no method: write one token, as in \"GET /\"", len,
                         method.ptr);
}

__attribute__((cold)) bool pattern_read(slice text, route_pattern *p,
                                        char fault[PATTERN_FAULT_OCTETS])
{
    *p = (route_pattern){ .text = text };
    *fault = 0;
    const char *slash = text.len ? memchr(text.ptr, '/', text.len) : NULL;
    if (!slash) return false;
    if (text.len > PATTERN_OCTETS_MAX)
        return pattern_wrong(fault, "it has more than %d octets", PATTERN_OCTETS_MAX);
    slice before = slice_make(text.ptr, (size_t)(slash - text.ptr));
    const char *space = before.len ? memchr(before.ptr, ' ', before.len) : NULL;
    if (space) {
        slice method = slice_make(before.ptr, (size_t)(space - before.ptr));
        if (!pattern_read_method(p, method, fault)) return false;
        before = slice_from(before, method.len + 1);
    }
    p->path = slice_from(text, (size_t)(slash - text.ptr));
    return pattern_read_host(p, before, fault) && pattern_read_path(p, fault);
}
