// SPDX-License-Identifier: MIT
//
// Log lines. Everything that a peer chose is escaped, so that a line can neither end early, nor
// move a terminal's cursor, nor break a parser: C0, DEL, C1 (also as U+0080 to U+009F), what
// reorders text or separates lines, quotes, backslashes, and octets that are not UTF-8.

#include "log/log_line.h"

#include "base/assert.h"
#include "base/utf8.h"
#include "http/target.h"

#include <time.h>

// Appends to a buffer that is known to be large enough: each part has its own maximum.
typedef struct line_text {
    char *at, *end;
} line_text;

enum {
    LINE_METHOD_MAX = 64,
    LINE_PEER_MAX = 128,
    LINE_TARGET_MAX = 8192,
    LINE_FIELD_MAX = 2048, // Referer, User-Agent
    LINE_REASON_MAX = 256,
    LINE_ID_MAX = 128,
    LINE_TLS_MAX = 128,  // a version, a cipher
    LINE_NAME_MAX = 512, // a server name
    LINE_MESSAGE_MAX = 8192,
    LINE_ESCAPE_MAX = 16 // the longest escape of one character
};

// How text is made safe, by where it stands.
typedef enum line_place {
    LINE_BARE,   // between spaces: SP is escaped too
    LINE_QUOTED, // between quotes
    LINE_PROSE,  // a message: quotes may stay
    LINE_JSON    // inside a JSON string
} line_place;

static void line_put(line_text *text, const char *octets, size_t len)
{
    SKUA_ASSERT((size_t)(text->end - text->at) >= len);
    memcpy(text->at, octets, len);
    text->at += len;
}

static void line_puts(line_text *text, const char *octets)
{
    line_put(text, octets, strlen(octets));
}

static void line_putc(line_text *text, char c)
{
    line_put(text, &c, 1);
}

static void line_put_number(line_text *text, uint64_t n, size_t digits_min)
{
    char digits[20];
    size_t count = 0;
    do {
        digits[sizeof digits - ++count] = (char)('0' + n % 10);
        n /= 10;
    } while (n || count < digits_min);
    line_put(text, digits + sizeof digits - count, count);
}

// whole and tenths of n in units.
static void line_put_tenths(line_text *text, uint64_t n, uint64_t unit)
{
    line_put_number(text, n / unit, 1);
    line_putc(text, '.');
    line_put_number(text, n % unit / (unit / 10), 1);
}

// ---- Escaping ----

// Line and paragraph separators, and the characters that reorder what is shown: with them a peer
// could make a line read as another one (CVE-2021-42574).
static bool line_is_treacherous(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x61c || point == 0x200e ||
           point == 0x200f || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2066 && point <= 0x2069);
}

static void line_put_hex(line_text *text, uint32_t value, int digits)
{
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
        line_putc(text, "0123456789abcdef"[value >> shift & 15]);
    }
}

// Octets as \xNN. JSON has no such escape, so there it is the text \xNN, with its backslash
// escaped.
static void line_put_octets(line_text *text, slice s, line_place place)
{
    for (size_t i = 0; i < s.len; i++) {
        line_puts(text, place == LINE_JSON ? "\\\\x" : "\\x");
        line_put_hex(text, (unsigned char)s.ptr[i], 2);
    }
}

// One character, or one octet that begins none. Returns how many octets it took.
static size_t line_put_character(line_text *text, slice s, line_place place)
{
    uint32_t point = 0;
    size_t len = utf8_read(s, &point);
    slice character = slice_make(s.ptr, len ? len : 1);
    if (len == 0) {
        line_put_octets(text, character, place);
    } else if (point == '\\' || (point == '"' && place != LINE_PROSE)) {
        line_putc(text, '\\');
        line_putc(text, (char)point);
    } else if (line_is_treacherous(point) && place == LINE_JSON) {
        line_puts(text, "\\u");
        line_put_hex(text, point, 4);
    } else if (line_is_treacherous(point) || (point == ' ' && place == LINE_BARE)) {
        line_put_octets(text, character, place);
    } else {
        line_put(text, s.ptr, len);
    }
    return character.len;
}

// How many octets from the start of s, at most max, stand for themselves in every place.
static size_t line_span_harmless(slice s, size_t max)
{
    size_t n = 0, len = s.len < max ? s.len : max;
    while (n < len && s.ptr[n] > ' ' && s.ptr[n] < 0x7f && s.ptr[n] != '"' && s.ptr[n] != '\\')
        n++;
    return n;
}

// Escapes s into at most max octets; "..." marks what was cut.
static void line_put_escaped(line_text *text, slice s, line_place place, size_t max)
{
    char *limit = text->at + max - LINE_ESCAPE_MAX;
    for (size_t i = 0; i < s.len;) {
        if (text->at >= limit) {
            line_puts(text, "...");
            return;
        }
        size_t run = line_span_harmless(slice_from(s, i), (size_t)(limit - text->at));
        line_put(text, s.ptr + i, run);
        i += run ? run : line_put_character(text, slice_from(s, i), place);
    }
}

static void line_put_or_dash(line_text *text, slice s, line_place place, size_t max)
{
    if (s.len) line_put_escaped(text, s, place, max);
    else line_putc(text, '-');
}

// A target is percent-encoded, so that what is copied from a line can be asked for again. Without a
// version it is what came in place of one.
static void line_put_target(line_text *text, const log_access *access, line_place place)
{
    slice asked = access->target;
    if (!access->version || asked.len == 0) {
        line_put_or_dash(text, asked, place, LINE_TARGET_MAX);
        return;
    }
    size_t used, room = LINE_TARGET_MAX - LINE_ESCAPE_MAX;
    text->at += target_escape(asked, text->at, room, &used);
    if (used < asked.len) line_puts(text, "...");
}

// ---- Time ----

static void clock_write_local(log_clock *clock, const struct tm *t)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    long minutes = (t->tm_gmtoff < 0 ? -t->tm_gmtoff : t->tm_gmtoff) / 60;
    line_text day = { clock->of_day, clock->of_day + sizeof clock->of_day };
    line_put_number(&day, (uint64_t)t->tm_hour, 2);
    line_putc(&day, ':');
    line_put_number(&day, (uint64_t)t->tm_min, 2);
    line_putc(&day, ':');
    line_put_number(&day, (uint64_t)t->tm_sec, 2);
    line_text common = { clock->common, clock->common + sizeof clock->common };
    line_put_number(&common, (uint64_t)t->tm_mday, 2);
    line_putc(&common, '/');
    line_put(&common, months + 3 * t->tm_mon, 3);
    line_putc(&common, '/');
    line_put_number(&common, (uint64_t)(t->tm_year + 1900) % 10000, 4);
    line_putc(&common, ':');
    line_put(&common, clock->of_day, 8);
    line_puts(&common, t->tm_gmtoff < 0 ? " -" : " +");
    line_put_number(&common, (uint64_t)(minutes / 60 * 100 + minutes % 60), 4);
}

static void clock_write_utc(log_clock *clock, const struct tm *t)
{
    line_text text = { clock->rfc3339, clock->rfc3339 + sizeof clock->rfc3339 };
    line_put_number(&text, (uint64_t)(t->tm_year + 1900) % 10000, 4);
    line_putc(&text, '-');
    line_put_number(&text, (uint64_t)t->tm_mon + 1, 2);
    line_putc(&text, '-');
    line_put_number(&text, (uint64_t)t->tm_mday, 2);
    line_putc(&text, 'T');
    line_put_number(&text, (uint64_t)t->tm_hour, 2);
    line_putc(&text, ':');
    line_put_number(&text, (uint64_t)t->tm_min, 2);
    line_putc(&text, ':');
    line_put_number(&text, (uint64_t)t->tm_sec, 2);
}

static int64_t clock_read(log_clock *clock, int64_t unix_ns)
{
    int64_t ns = unix_ns < 0 ? 0 : unix_ns;
    time_t second = (time_t)(ns / 1000000000);
    if (clock->second != second + 1) {
        struct tm t;
        if (localtime_r(&second, &t)) clock_write_local(clock, &t);
        if (gmtime_r(&second, &t)) clock_write_utc(clock, &t);
        clock->second = second + 1;
    }
    return ns % 1000000000;
}

// ---- Formats ----

static void line_put_status(line_text *text, int status)
{
    if (status > 0) line_put_number(text, (uint64_t)status, 3);
    else line_putc(text, '-');
}

// Green, cyan, yellow and red for 2xx, 3xx, 4xx and 5xx.
static void line_put_coloured_status(line_text *text, int status)
{
    static const char *const colours[] = { "\033[32m", "\033[36m", "\033[33m", "\033[31m" };
    bool known = status >= 200 && status < 600;
    line_puts(text, known ? colours[status / 100 - 2] : "\033[2m");
    line_put_status(text, status);
    line_puts(text, "\033[0m");
}

static void line_put_size(line_text *text, uint64_t octets)
{
    static const char *const units[] = { " KB", " MB", " GB", " TB" };
    uint64_t unit = 1000;
    size_t i = 0;
    if (octets < 1000) {
        line_put_number(text, octets, 1);
        line_puts(text, " B");
        return;
    }
    while (i < 3 && octets / unit >= 1000) {
        unit *= 1000;
        i++;
    }
    line_put_tenths(text, octets, unit);
    line_puts(text, units[i]);
}

// 0.04 ms, 0.2 ms, 13 ms, 2.5 s
static void line_put_duration(line_text *text, int64_t duration_ns)
{
    uint64_t us = duration_ns < 0 ? 0 : (uint64_t)duration_ns / 1000;
    if (us < 100) {
        line_puts(text, "0.");
        line_put_number(text, us / 10, 2);
        line_puts(text, " ms");
    } else if (us < 10000) {
        line_put_tenths(text, us, 1000);
        line_puts(text, " ms");
    } else if (us < 1000000) {
        line_put_number(text, us / 1000, 1);
        line_puts(text, " ms");
    } else {
        line_put_tenths(text, us, 1000000);
        line_puts(text, " s");
    }
}

// How a response that was cut ended, and why a request was refused.
static void line_put_outcome(line_text *text, const log_access *access)
{
    if (*access->end) {
        line_putc(text, ' ');
        line_put_escaped(text, slice_of(access->end), LINE_BARE, LINE_METHOD_MAX);
    }
    if (!access->reason) return;
    line_puts(text, " (");
    line_put_escaped(text, slice_of(access->reason), LINE_PROSE, LINE_REASON_MAX);
    line_putc(text, ')');
}

static void line_short(line_text *text, const log_clock *clock, bool coloured,
                       const log_access *access)
{
    line_put(text, clock->of_day, 8);
    line_putc(text, ' ');
    if (coloured) line_put_coloured_status(text, access->status);
    else line_put_status(text, access->status);
    line_putc(text, ' ');
    line_put_or_dash(text, access->method, LINE_BARE, LINE_METHOD_MAX);
    line_putc(text, ' ');
    line_put_target(text, access, LINE_BARE);
    line_puts(text, coloured ? " \033[2m" : " ");
    line_put_size(text, access->octets);
    line_putc(text, ' ');
    line_put_duration(text, access->duration_ns);
    line_putc(text, ' ');
    line_put_or_dash(text, slice_of(access->peer), LINE_BARE, LINE_PEER_MAX);
    if (coloured) line_puts(text, "\033[0m");
    line_put_outcome(text, access);
}

static const char *line_version(int version)
{
    return version == 20 ? "2.0" : version == 10 ? "1.0" : "1.1";
}

// host ident authuser [date] "request" status octets; an unknown one is "-", and so are 0 octets.
// The form has no place for a cut or a reason: they come behind what its readers look for. A
// request line that could not be read is shown as it came.
static void line_common(line_text *text, const log_clock *clock, const log_access *access)
{
    line_put_or_dash(text, slice_of(access->peer), LINE_BARE, LINE_PEER_MAX);
    line_puts(text, " - - [");
    line_put(text, clock->common, 26);
    line_puts(text, "] \"");
    if (access->method.len) {
        line_put_escaped(text, access->method, LINE_QUOTED, LINE_METHOD_MAX);
        line_putc(text, ' ');
    }
    line_put_target(text, access, LINE_QUOTED);
    if (access->version) {
        line_puts(text, " HTTP/");
        line_puts(text, line_version(access->version));
    }
    line_puts(text, "\" ");
    line_put_status(text, access->status);
    line_putc(text, ' ');
    if (access->octets) line_put_number(text, access->octets, 1);
    else line_putc(text, '-');
    line_put_outcome(text, access);
}

static void line_put_time_member(line_text *text, const log_clock *clock, int64_t ns)
{
    line_puts(text, "{\"time\":\"");
    line_put(text, clock->rfc3339, 19);
    line_putc(text, '.');
    line_put_number(text, (uint64_t)ns / 1000, 6);
    line_puts(text, "Z\"");
}

// prefix: with the name, up to the value's opening quote.
static void line_put_member(line_text *text, const char *prefix, slice value, size_t max)
{
    line_puts(text, prefix);
    line_put_escaped(text, value, LINE_JSON, max);
    line_putc(text, '"');
}

static void line_put_tls_members(line_text *text, const log_access *access)
{
    line_puts(text, ",\"scheme\":\"https\"");
    line_put_member(text, ",\"tls\":\"", slice_of(access->tls_version), LINE_TLS_MAX);
    line_put_member(text, ",\"cipher\":\"", slice_of(access->tls_cipher), LINE_TLS_MAX);
    if (access->server_name.len)
        line_put_member(text, ",\"server_name\":\"", access->server_name, LINE_NAME_MAX);
}

static void line_json(line_text *text, const log_clock *clock, int64_t ns, const log_access *access)
{
    line_put_time_member(text, clock, ns);
    line_put_member(text, ",\"peer\":\"", slice_of(access->peer), LINE_PEER_MAX);
    line_put_member(text, ",\"method\":\"", access->method, LINE_METHOD_MAX);
    line_puts(text, ",\"target\":\"");
    if (access->target.len) line_put_target(text, access, LINE_JSON);
    line_putc(text, '"');
    if (access->version)
        line_put_member(text, ",\"version\":\"", slice_of(line_version(access->version)),
                        LINE_TLS_MAX);
    if (access->stream) {
        line_puts(text, ",\"stream\":");
        line_put_number(text, access->stream, 1);
    }
    line_puts(text, ",\"status\":");
    line_put_number(text, access->status > 0 ? (uint64_t)access->status : 0, 1);
    line_puts(text, ",\"octets\":");
    line_put_number(text, access->octets, 1);
    line_puts(text, ",\"duration_ns\":");
    line_put_number(text, access->duration_ns > 0 ? (uint64_t)access->duration_ns : 0, 1);
    if (access->referer.len) {
        line_put_member(text, ",\"referer\":\"", access->referer, LINE_FIELD_MAX);
    }
    if (access->user_agent.len) {
        line_put_member(text, ",\"user_agent\":\"", access->user_agent, LINE_FIELD_MAX);
    }
    if (access->id.len) line_put_member(text, ",\"request_id\":\"", access->id, LINE_ID_MAX);
    if (access->tls_version) line_put_tls_members(text, access);
    if (*access->end) line_put_member(text, ",\"end\":\"", slice_of(access->end), LINE_METHOD_MAX);
    if (access->reason)
        line_put_member(text, ",\"reason\":\"", slice_of(access->reason), LINE_REASON_MAX);
    line_putc(text, '}');
}

size_t log_line_request(skua_log_format format, bool coloured, log_clock *clock,
                        const log_access *access, char *out, size_t room)
{
    SKUA_ASSERT(room >= LOG_LINE_OCTETS_MAX);
    SKUA_ASSERT(format != SKUA_LOG_NONE);
    line_text text = { out, out + room };
    int64_t ns = clock_read(clock, access->unix_ns);
    switch (format) {
    case SKUA_LOG_NONE: break;
    case SKUA_LOG_SHORT: line_short(&text, clock, coloured, access); break;
    case SKUA_LOG_COMMON: line_common(&text, clock, access); break;
    case SKUA_LOG_JSON: line_json(&text, clock, ns, access); break;
    }
    line_putc(&text, '\n');
    return (size_t)(text.at - out);
}

size_t log_line_message(bool json, log_clock *clock, int64_t unix_ns, slice message, char *out,
                        size_t room)
{
    SKUA_ASSERT(room >= LOG_LINE_OCTETS_MAX);
    line_text text = { out, out + room };
    if (json) {
        line_put_time_member(&text, clock, clock_read(clock, unix_ns));
        line_put_member(&text, ",\"message\":\"", message, LINE_MESSAGE_MAX);
        line_putc(&text, '}');
    } else {
        line_puts(&text, "skua: ");
        line_put_escaped(&text, message, LINE_PROSE, LINE_MESSAGE_MAX);
    }
    line_putc(&text, '\n');
    return (size_t)(text.at - out);
}
