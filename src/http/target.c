// SPDX-License-Identifier: MIT
//
// Request target: one pass that checks, splits, and notices whether there is anything to normalise,
// so that a plain path costs nothing more.
// The normal form is made once and everything else looks only at that: a path that the router reads
// one way and the file system another is how files outside the root are served.

#include "http/target.h"

#include "base/inline.h"
#include "base/utf8.h"
#include "http/syntax.h"

__attribute__((cold)) static fault target_fault(const char *reason)
{
    return fault_request(400, reason);
}

// ---- Percent-encoding -------------------------------------------------------------------------

static unsigned target_digit(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
}

// Whether text, which starts with "%", starts with a percent-encoded octet.
static bool target_is_encoded(slice text)
{
    return text.len >= 3 && syntax_is(text.ptr[1], SYNTAX_HEX) &&
           syntax_is(text.ptr[2], SYNTAX_HEX);
}

static char target_decoded(const char *encoded)
{
    return (char)(target_digit(encoded[1]) << 4 | target_digit(encoded[2]));
}

// ---- Path and query ---------------------------------------------------------------------------

static bool target_is_dots(const char *segment, size_t len)
{
    if (len == 0 || len > 2 || segment[0] != '.') return false;
    return len == 1 || segment[1] == '.';
}

// The length of what stands for one octet or character of a path at the start of rest; 0 at "/" and
// "?", and where nothing does that may stand there. A backslash never does: some systems take it
// for a slash. strict: by RFC 3986 alone; else also what browsers leave as it is.
static size_t target_path_piece(slice rest, bool strict)
{
    char c = rest.ptr[0];
    uint32_t point;
    if (syntax_is(c, SYNTAX_PATH_PLAIN)) return 1;
    if (c == '%') return target_is_encoded(rest) ? 3 : 0;
    if (strict || c == '/' || c == '?' || c == '\\') return 0;
    if (c & 0x80) return utf8_read(rest, &point);
    return syntax_is(c, SYNTAX_TARGET) ? 1 : 0;
}

// Whether a segment in front of a "/" is in the normal form as it is.
static inline bool target_stays(const char *segment, size_t len)
{
    return len > 2 || (len > 0 && !target_is_dots(segment, len));
}

// Reads a path that is not all plain. A NUL would end it early for the file system.
__attribute__((noinline)) static fault target_read_any_path(slice text, bool strict, target *out)
{
    size_t start = 1, i = 1, len = 0;
    bool as_is = true;
    for (; i < text.len; i += len) {
        len = target_path_piece(slice_from(text, i), strict);
        if (text.ptr[i] == '/') {
            if (!target_stays(text.ptr + start, i - start)) as_is = false;
            start = i + 1;
            len = 1;
        } else if (len == 0) {
            break;
        } else if (text.ptr[i] == '%') {
            if (target_decoded(text.ptr + i) == '\0') return target_fault("%00 in the path");
            as_is = false;
        }
    }
    if (i < text.len && text.ptr[i] == '%') return target_fault("broken percent-encoding");
    out->raw_path = slice_make(text.ptr, i);
    out->clean = as_is && !target_is_dots(text.ptr + start, i - start);
    return FAULT_NONE;
}

// Reads the path that text starts with. Most are plain: the first look takes just those.
// out->clean: true before.
static BASE_INLINE_ALWAYS fault target_read_path(slice text, bool strict, target *out)
{
    size_t i = 0, start;
    for (;;) {
        start = ++i;
        while (i < text.len && syntax_is(text.ptr[i], SYNTAX_PATH_PLAIN))
            i++;
        if (i == text.len || text.ptr[i] != '/') break;
        if (!target_stays(text.ptr + start, i - start)) out->clean = false;
    }
    if (i < text.len && text.ptr[i] != '?') return target_read_any_path(text, strict, out);
    if (target_is_dots(text.ptr + start, i - start)) out->clean = false;
    out->raw_path = slice_make(text.ptr, i);
    return FAULT_NONE;
}

// RFC 3986 §3.4, to the letter.
static fault target_check_strict_query(slice query)
{
    while (query.len) {
        bool slash = query.ptr[0] == '/' || query.ptr[0] == '?';
        size_t len = slash ? 1 : target_path_piece(query, true);
        if (len == 0) return target_fault("octet outside RFC 3986 in the query");
        query = slice_from(query, len);
    }
    return FAULT_NONE;
}

// A "%" needs no digits behind it: the URL standard leaves it as it is, and whoever decodes takes
// it for itself.
__attribute__((noinline)) static fault target_check_query(slice query, bool strict)
{
    if (strict) return target_check_strict_query(query);
    for (;;) {
        query = slice_from(query, syntax_span_target(query.ptr, query.len));
        if (query.len == 0) return FAULT_NONE;
        uint32_t point;
        size_t len = query.ptr[0] & 0x80 ? utf8_read(query, &point) : 0;
        if (len == 0) return target_fault("bad octet in the target");
        query = slice_from(query, len);
    }
}

// text: what follows the authority, or a whole origin-form; starts with "/" or "?", or is empty.
static BASE_INLINE_ALWAYS fault target_read_rest(slice text, bool strict, target *out)
{
    size_t len = 0;
    if (text.len && text.ptr[0] == '/') {
        fault f = target_read_path(text, strict, out);
        if (f.status) return f;
        len = out->raw_path.len;
    } else {
        out->raw_path = slice_make("/", 1); // RFC 9110 §4.2.3: an empty path is "/"
    }
    if (len == text.len) return FAULT_NONE;
    if (text.ptr[len] != '?') return target_fault("bad octet in the target");
    out->query = slice_from(text, len + 1);
    return target_check_query(out->query, strict);
}

// ---- Forms ------------------------------------------------------------------------------------

// The authority without a host is valid in a Host field, but not in a target, RFC 9110 §4.2.1.
static fault target_check_authority(slice authority)
{
    if (authority.len == 0 || authority.ptr[0] == ':') return target_fault("no host in the target");
    // "user@" makes a person read another host than the machine does, RFC 9110 §4.2.4.
    if (memchr(authority.ptr, '@', authority.len)) return target_fault("userinfo in the target");
    return syntax_is_host(authority) ? FAULT_NONE : target_fault("bad authority in the target");
}

static size_t target_authority_len(slice text)
{
    size_t len = 0;
    while (len < text.len && text.ptr[len] != '/' && text.ptr[len] != '?' && text.ptr[len] != '#') {
        len++;
    }
    return len;
}

// The length of "http://" or "https://" at the start of text; 0 when it is neither.
static size_t target_scheme_len(slice text)
{
    static const char *const schemes[] = { "http://", "https://" };
    for (size_t i = 0; i < 2; i++) {
        slice scheme = slice_of(schemes[i]);
        if (text.len < scheme.len) continue;
        if (slice_equal_nocase(slice_make(text.ptr, scheme.len), scheme)) return scheme.len;
    }
    return 0;
}

// Reads scheme and authority; *text is then what follows them.
__attribute__((cold, noinline)) static fault target_read_origin(slice *text, target *out)
{
    size_t scheme_len = target_scheme_len(*text);
    if (!scheme_len) return target_fault("target of no known form");
    slice rest = slice_from(*text, scheme_len);
    out->form = TARGET_ABSOLUTE;
    out->authority = slice_make(rest.ptr, target_authority_len(rest));
    *text = slice_from(rest, out->authority.len);
    return target_check_authority(out->authority);
}

// A port of CONNECT: RFC 9110 §9.3.6 has no default, and refuses an empty or invalid one.
static bool target_ends_in_port(slice authority)
{
    size_t start = authority.len;
    unsigned long port = 0, scale = 1;
    while (start && authority.ptr[start - 1] >= '0' && authority.ptr[start - 1] <= '9') {
        if (authority.len - start == 5) return false;
        port += scale * (unsigned long)(authority.ptr[--start] - '0');
        scale *= 10;
    }
    return start && authority.ptr[start - 1] == ':' && port >= 1 && port <= 65535;
}

__attribute__((cold)) static fault target_read_authority(slice text, target *out)
{
    out->form = TARGET_AUTHORITY;
    out->authority = text;
    fault f = target_check_authority(text);
    if (f.status) return f;
    return target_ends_in_port(text) ? FAULT_NONE : target_fault("no valid port for CONNECT");
}

static fault target_read_asterisk(slice method, slice text, target *out)
{
    if (!slice_equal(method, slice_make("OPTIONS", 7))) {
        return target_fault("* for another method than OPTIONS");
    }
    out->form = TARGET_ASTERISK;
    out->raw_path = text;
    return FAULT_NONE;
}

static BASE_INLINE_ALWAYS fault target_read(slice method, slice text, bool strict, target *out)
{
    if (text.len == 0) return target_fault("empty target");
    if (slice_equal(method, slice_make("CONNECT", 7))) return target_read_authority(text, out);
    if (text.ptr[0] != '/') {
        if (text.len == 1 && text.ptr[0] == '*') return target_read_asterisk(method, text, out);
        fault f = target_read_origin(&text, out);
        if (f.status) return f;
    }
    return target_read_rest(text, strict, out);
}

BASE_INLINE_ALWAYS fault target_parse(slice method, slice text, bool strict, target *out)
{
    *out = (target){ .form = TARGET_ORIGIN, .clean = true };
    return target_read(method, text, strict, out);
}

// ---- The normal form --------------------------------------------------------------------------

// Writes a segment decoded; moves *text to the "/" behind it or to the end. Returns its length.
static size_t target_decode_segment(slice *text, char *out, bool *plain)
{
    size_t i = 0, n = 0;
    while (i < text->len && text->ptr[i] != '/') {
        char c = text->ptr[i] == '%' ? target_decoded(text->ptr + i) : text->ptr[i];
        if (c == '/' || c == '\\') *plain = false;
        if (c == '/') {
            memcpy(out + n, "%2F", 3);
            n += 3;
        } else {
            out[n++] = c;
        }
        i += text->ptr[i] == '%' ? 3 : 1;
    }
    *text = slice_from(*text, i);
    return n;
}

// The length of path, which ends in "/", without its last segment; "/" stays "/".
static size_t target_parent(const char *path, size_t len)
{
    if (len > 1) len--;
    while (path[len - 1] != '/')
        len--;
    return len;
}

// Slashes are merged before dot segments are removed, as file systems do: "/a//../b" is "/b".
static size_t target_write_normal(slice text, char *out, bool *plain)
{
    size_t len = 1;
    out[0] = '/';
    while (text.len) {
        text = slice_from(text, 1); // the "/"
        size_t segment = target_decode_segment(&text, out + len, plain);
        if (segment == 0) continue;
        if (target_is_dots(out + len, segment)) {
            if (segment == 2) len = target_parent(out, len);
            continue;
        }
        len += segment;
        if (text.len) out[len++] = '/';
    }
    return len;
}

size_t target_normalise(slice raw_path, char *out, bool *plain)
{
    *plain = true;
    if (raw_path.len && raw_path.ptr[0] == '/') return target_write_normal(raw_path, out, plain);
    // "*" is no path, and has no other form.
    if (raw_path.len) memcpy(out, raw_path.ptr, raw_path.len);
    return raw_path.len;
}

// ---- What leaves again ------------------------------------------------------------------------

static size_t target_encode_octet(char c, char *out)
{
    out[0] = '%';
    out[1] = "0123456789ABCDEF"[(unsigned char)c >> 4];
    out[2] = "0123456789ABCDEF"[(unsigned char)c & 15];
    return 3;
}

static size_t target_encode_path_octet(char c, char *out)
{
    if (c != '/' && !syntax_is(c, SYNTAX_PATH_PLAIN)) return target_encode_octet(c, out);
    out[0] = c;
    return 1;
}

// A Location of "//host" names another server: whatever path is, what is written has one slash in
// front.
size_t target_encode(slice path, char *out)
{
    size_t n = 1;
    out[0] = '/';
    while (path.len && path.ptr[0] == '/')
        path = slice_from(path, 1);
    for (size_t i = 0; i < path.len; i++)
        n += target_encode_path_octet(path.ptr[i], out + n);
    return n;
}

// The length of the scheme and authority that text begins with. An authority is the one place for
// brackets, around an IPv6 address; CONNECT sends it alone.
static size_t target_origin_len(slice text)
{
    size_t first = target_authority_len(text);
    bool has_scheme = first > 0 && text.len - first >= 2 && text.ptr[first - 1] == ':' &&
                      text.ptr[first] == '/' && text.ptr[first + 1] == '/';
    if (has_scheme) return first + 2 + target_authority_len(slice_from(text, first + 2));
    return text.len && text.ptr[0] == '[' ? first : 0;
}

static bool target_keeps(slice rest, bool in_origin)
{
    char c = rest.ptr[0];
    if (c == '%') return target_is_encoded(rest);
    if (c == '[' || c == ']') return in_origin;
    return c == '/' || c == '?' || c == '#' || syntax_is(c, SYNTAX_PATH_PLAIN);
}

size_t target_escape(slice text, char *out, size_t room, size_t *used)
{
    size_t origin = target_origin_len(text), n = 0, i = 0;
    for (; i < text.len && room - n >= 3; i++) {
        if (target_keeps(slice_from(text, i), i < origin)) out[n++] = text.ptr[i];
        else n += target_encode_octet(text.ptr[i], out + n);
    }
    *used = i;
    return n;
}
