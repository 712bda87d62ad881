// SPDX-License-Identifier: MIT
//
// Log lines: the formats for people, and of the NCSA server.

#include "log/log_line.h"

#include "base/assert.h"
#include "log/line_json.h"
#include "log/line_target.h"
#include "log/mask.h"

#include <time.h>

// whole and tenths of n in units.
static void line_put_tenths(line_text *text, uint64_t n, uint64_t unit)
{
    line_put_number(text, n / unit, 1);
    line_putc(text, '.');
    line_put_number(text, n % unit / (unit / 10), 1);
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

static void clock_read(log_clock *clock, int64_t unix_ns)
{
    time_t second = unix_ns < 0 ? 0 : (time_t)(unix_ns / 1000000000);
    if (clock->second != second + 1) {
        struct tm t;
        if (localtime_r(&second, &t)) clock_write_local(clock, &t);
        clock->second = second + 1;
    }
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

static void line_short(line_text *text, const log_clock *clock, const log_style *style,
                       const log_access *access)
{
    bool coloured = style->coloured;
    line_put(text, clock->of_day, 8);
    line_putc(text, ' ');
    if (coloured) line_put_coloured_status(text, access->status);
    else line_put_status(text, access->status);
    line_putc(text, ' ');
    line_put_or_dash(text, access->method, LINE_BARE, LINE_METHOD_MAX);
    line_putc(text, ' ');
    line_put_target(text, access, style->secrets, LINE_BARE);
    line_puts(text, coloured ? " \033[2m" : " ");
    line_put_size(text, access->octets);
    line_putc(text, ' ');
    line_put_duration(text, access->duration_ns);
    line_putc(text, ' ');
    line_put_or_dash(text, slice_of(access->peer), LINE_BARE, LINE_PEER_MAX);
    if (coloured) line_puts(text, "\033[0m");
    line_put_outcome(text, access);
}

// The two fields that the combined format adds.
static void line_put_fields(line_text *text, const log_style *style, const log_access *access)
{
    char masked[LINE_FIELD_MAX];
    slice referer = mask_secrets(access->referer, style->secrets, masked, sizeof masked);
    line_puts(text, " \"");
    line_put_or_dash(text, referer, LINE_QUOTED, LINE_FIELD_MAX);
    line_puts(text, "\" \"");
    line_put_or_dash(text, access->user_agent, LINE_QUOTED, LINE_FIELD_MAX);
    line_putc(text, '"');
}

// host ident authuser [date] "request" status octets; an unknown one is "-", and so are 0 octets.
// The form has no place for a cut or a reason: they come behind what its readers look for. A
// request line that could not be read is shown as it came.
static void line_common(line_text *text, const log_clock *clock, const log_style *style,
                        const log_access *access)
{
    line_put_or_dash(text, slice_of(access->peer), LINE_BARE, LINE_PEER_MAX);
    line_puts(text, " - - [");
    line_put(text, clock->common, 26);
    line_puts(text, "] \"");
    if (access->method.len) {
        line_put_escaped(text, access->method, LINE_QUOTED, LINE_METHOD_MAX);
        line_putc(text, ' ');
    }
    line_put_target(text, access, style->secrets, LINE_QUOTED);
    if (access->version) {
        line_puts(text, " HTTP/");
        line_puts(text, line_version(access->version));
    }
    line_puts(text, "\" ");
    line_put_status(text, access->status);
    line_putc(text, ' ');
    if (access->octets) line_put_number(text, access->octets, 1);
    else line_putc(text, '-');
    if (style->format == SKUA_LOG_COMBINED) line_put_fields(text, style, access);
    line_put_outcome(text, access);
}

size_t log_line_request(const log_style *style, log_clock *clock, const log_access *access,
                        char *out, size_t room)
{
    SKUA_ASSERT(room >= LOG_LINE_OCTETS_MAX);
    SKUA_ASSERT(style->format != SKUA_LOG_NONE);
    line_text text = { out, out + room };
    clock_read(clock, access->unix_ns);
    switch (style->format) {
    case SKUA_LOG_NONE: break;
    case SKUA_LOG_SHORT: line_short(&text, clock, style, access); break;
    case SKUA_LOG_COMMON:
    case SKUA_LOG_COMBINED: line_common(&text, clock, style, access); break;
    case SKUA_LOG_JSON: line_json_request(&text, access, style->secrets); break;
    }
    line_putc(&text, '\n');
    return (size_t)(text.at - out);
}

size_t log_line_message(bool json, int64_t unix_ns, slice message, char *out, size_t room)
{
    SKUA_ASSERT(room >= LOG_LINE_OCTETS_MAX);
    line_text text = { out, out + room };
    if (json) {
        line_json_message(&text, unix_ns, message);
    } else {
        line_puts(&text, "skua: ");
        line_put_escaped(&text, message, LINE_PROSE, LINE_MESSAGE_MAX);
    }
    line_putc(&text, '\n');
    return (size_t)(text.at - out);
}
