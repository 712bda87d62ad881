// SPDX-License-Identifier: MIT
//
// Set-Cookie. The grammar for servers (§4.1) is narrower than what user agents take (§5); whoever
// writes by it cannot have one value end another, or an attribute slip in.

#include "http/cookie.h"

#include "base/assert.h"
#include "http/h1_write.h"
#include "http/syntax.h"

enum { COOKIE_FIXED_OCTETS = 160 }; // names of all attributes, and an Expires date

// ---- Checking ----

// cookie-octet: what is visible but for DQUOTE, comma, semicolon and backslash.
static bool cookie_is_octet(char c)
{
    return c > ' ' && c < 0x7f && c != '"' && c != ',' && c != ';' && c != '\\';
}

static bool cookie_is_value(slice value)
{
    bool quoted = value.len >= 2 && value.ptr[0] == '"' && value.ptr[value.len - 1] == '"';
    if (quoted) value = slice_make(value.ptr + 1, value.len - 2);
    for (size_t i = 0; i < value.len; i++) {
        if (!cookie_is_octet(value.ptr[i])) return false;
    }
    return true;
}

// path-value. It starts with "/": with anything else user agents use a path of their own (§5.6.5).
static bool cookie_is_path(slice path)
{
    for (size_t i = 0; i < path.len; i++) {
        char c = path.ptr[i];
        if (c < ' ' || c >= 0x7f || c == ';') return false;
    }
    return path.len > 0 && path.ptr[0] == '/' && path.ptr[path.len - 1] != ' ';
}

static bool cookie_is_letter_or_digit(char c)
{
    return (octet_lower(c) >= 'a' && octet_lower(c) <= 'z') || (c >= '0' && c <= '9');
}

// Labels of letters, digits and inner hyphens: RFC 1034 §3.5 as RFC 1123 §2.1 has it.
static bool cookie_is_domain(slice domain)
{
    for (size_t i = 0; i < domain.len; i++) {
        char c = domain.ptr[i];
        bool first = i == 0 || domain.ptr[i - 1] == '.';
        bool last = i + 1 == domain.len || domain.ptr[i + 1] == '.';
        if (!cookie_is_letter_or_digit(c) && (first || last || (c != '-' && c != '.')))
            return false;
    }
    return domain.len > 0;
}

// The prefixes promise how a cookie was set; user agents compare them without case (§4.1.3, §5.6).
static bool cookie_keeps_prefix(const skua_cookie *cookie, slice name)
{
    slice host = SKUA_SLICE("__Host-"), secure = SKUA_SLICE("__Secure-");
    if (name.len >= secure.len && slice_equal_nocase(slice_make(name.ptr, secure.len), secure))
        return cookie->secure;
    if (name.len < host.len || !slice_equal_nocase(slice_make(name.ptr, host.len), host))
        return true;
    return cookie->secure && !cookie->domain && cookie->path && cookie->path[0] == '/' &&
           cookie->path[1] == 0;
}

// User agents drop cookies that ask for these without Secure.
static bool cookie_keeps_secure(const skua_cookie *cookie)
{
    return cookie->secure || (cookie->same_site != SKUA_SAME_SITE_NONE && !cookie->partitioned);
}

skua_status cookie_check(const skua_cookie *cookie)
{
    if (!cookie->name) return SKUA_EINVAL;
    slice name = slice_of(cookie->name);
    slice path = cookie->path ? slice_of(cookie->path) : SKUA_SLICE("/");
    slice domain = cookie->domain ? slice_of(cookie->domain) : SKUA_SLICE("a");
    if (name.len > COOKIE_PAIR_OCTETS_MAX || cookie->value.len > COOKIE_PAIR_OCTETS_MAX - name.len)
        return SKUA_ELIMIT;
    if (path.len > COOKIE_ATTRIBUTE_OCTETS_MAX || domain.len > COOKIE_ATTRIBUTE_OCTETS_MAX)
        return SKUA_ELIMIT;
    if (!syntax_is_token(name) || !cookie_is_value(cookie->value)) return SKUA_EINVAL;
    if (!cookie_is_path(path) || !cookie_is_domain(domain)) return SKUA_EINVAL;
    if ((unsigned)cookie->same_site > SKUA_SAME_SITE_NONE) return SKUA_EINVAL;
    return cookie_keeps_prefix(cookie, name) && cookie_keeps_secure(cookie) ? SKUA_OK : SKUA_EINVAL;
}

// ---- Writing ----

size_t cookie_room(const skua_cookie *cookie)
{
    size_t room = strlen(cookie->name) + cookie->value.len + COOKIE_FIXED_OCTETS;
    if (cookie->path) room += strlen(cookie->path);
    if (cookie->domain) room += strlen(cookie->domain);
    return room;
}

// The grammar has no Max-Age of zero: a cookie is deleted by a date that has passed.
static char *cookie_write_age(char *at, int64_t seconds)
{
    if (seconds == 0) return at;
    if (seconds < 0) return H1_WRITE(at, "; Expires=Thu, 01 Jan 1970 00:00:00 GMT");
    at = H1_WRITE(at, "; Max-Age=");
    return h1_write_number(at, (uint64_t)seconds);
}

static char *cookie_write_same_site(char *at, skua_same_site same_site)
{
    switch (same_site) {
    case SKUA_SAME_SITE_DEFAULT: return at;
    case SKUA_SAME_SITE_LAX: return H1_WRITE(at, "; SameSite=Lax");
    case SKUA_SAME_SITE_STRICT: return H1_WRITE(at, "; SameSite=Strict");
    case SKUA_SAME_SITE_NONE: return H1_WRITE(at, "; SameSite=None");
    }
    return at;
}

size_t cookie_write(const skua_cookie *cookie, char *out)
{
    char *at = h1_write_slice(out, slice_of(cookie->name));
    *at++ = '=';
    if (cookie->value.len) at = h1_write_slice(at, cookie->value);
    if (cookie->path) {
        at = H1_WRITE(at, "; Path=");
        at = h1_write_slice(at, slice_of(cookie->path));
    }
    if (cookie->domain) {
        at = H1_WRITE(at, "; Domain=");
        at = h1_write_slice(at, slice_of(cookie->domain));
    }
    at = cookie_write_age(at, cookie->max_age_s);
    if (cookie->secure) at = H1_WRITE(at, "; Secure");
    if (cookie->http_only) at = H1_WRITE(at, "; HttpOnly");
    at = cookie_write_same_site(at, cookie->same_site);
    if (cookie->partitioned) at = H1_WRITE(at, "; Partitioned");
    SKUA_ASSERT((size_t)(at - out) <= cookie_room(cookie));
    return (size_t)(at - out);
}
