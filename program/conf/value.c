// SPDX-License-Identifier: MIT
//
// Units are written one way, so that no two readers take a value for two things: "m" is minutes in one
// server's files, and mebibytes in the same file elsewhere.

#include "conf/value.h"

#include <stdio.h>
#include <string.h>

typedef struct conf_unit {
    const char *name;
    uint64_t factor;
} conf_unit;

static const conf_unit value_durations[] = {
    { "ms", 1000000 },      { "s", 1000000000 },     { "min", 60000000000 },
    { "h", 3600000000000 }, { "d", 86400000000000 },
};

static const conf_unit value_octets[] = {
    { "", 1 }, { "KiB", 1 << 10 }, { "MiB", 1 << 20 }, { "GiB", 1 << 30 }
};

static const conf_unit value_rates[] = { { "/s", 1 }, { "/min", 60 }, { "/h", 3600 } };

#define VALUE_COUNT(table) (sizeof(table) / sizeof *(table))

// ---- Numbers ----

// The digits at the beginning. Returns how many there are; 0 also for a number that is too large.
static size_t value_digits(const char *text, uint64_t *number)
{
    uint64_t n = 0;
    size_t len = 0;
    for (; text[len] >= '0' && text[len] <= '9'; len++) {
        unsigned digit = (unsigned)(text[len] - '0');
        if (n > (UINT64_MAX - digit) / 10) return 0;
        n = n * 10 + digit;
    }
    *number = n;
    return len;
}

static bool value_unit(const conf_unit *units, size_t count, const char *name, uint64_t *factor)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(units[i].name, name) != 0) continue;
        *factor = units[i].factor;
        return true;
    }
    return false;
}

static bool value_scale(uint64_t number, uint64_t factor, uint64_t *scaled)
{
    if (number > INT64_MAX / factor) return false;
    *scaled = number * factor;
    return true;
}

bool conf_read_number(const char *text, uint64_t min, uint64_t max, uint64_t *number, conf_why why)
{
    uint64_t n;
    size_t len = value_digits(text, &n);
    if (len && !text[len] && n >= min && n <= max) {
        *number = n;
        return true;
    }
    (void)snprintf(why, CONF_WHY_OCTETS, "use a number from %llu to %llu, not \"%s\"",
                   (unsigned long long)min, (unsigned long long)max, text);
    return false;
}

// ---- Durations ----

static void value_write_duration(char *text, size_t room, int64_t ns)
{
    size_t at = VALUE_COUNT(value_durations);
    while (at > 1 && (uint64_t)ns % value_durations[at - 1].factor)
        at--;
    const conf_unit *unit = ns ? &value_durations[at - 1] : &value_durations[1];
    (void)snprintf(text, room, "%llu%s", (unsigned long long)((uint64_t)ns / unit->factor),
                   unit->name);
}

static void value_explain_duration(const char *text, size_t len, conf_why why)
{
    const char *unit = text + len;
    if (!len || strchr(text, '-') || strchr(text, '.'))
        (void)snprintf(why, CONF_WHY_OCTETS,
                       "a duration is a whole number with a unit, as 10s is; "
                       "\"%s\" is none",
                       text);
    else if (!*unit)
        (void)snprintf(why, CONF_WHY_OCTETS,
                       "\"%s\" lacks a unit, one of ms, s, min, h and d: %ss are seconds", text,
                       text);
    else if (strcmp(unit, "m") == 0)
        (void)snprintf(why, CONF_WHY_OCTETS,
                       "\"%s\" can be read as minutes and as mebibytes; for minutes write %.*smin",
                       text, (int)len, text);
    else
        (void)snprintf(why, CONF_WHY_OCTETS,
                       "\"%s\" is no unit of time; there are ms, s, min, h and d", unit);
}

bool conf_read_duration(const char *text, int64_t min_ns, int64_t max_ns, int64_t *ns, conf_why why)
{
    uint64_t number, factor, scaled;
    char low[32], high[32];
    size_t len = value_digits(text, &number);
    bool is_zero = len == 1 && strcmp(text, "0") == 0;
    if (!is_zero &&
        (!len || !value_unit(value_durations, VALUE_COUNT(value_durations), text + len, &factor))) {
        value_explain_duration(text, len, why);
        return false;
    }
    if (is_zero) factor = 1;
    bool fits = value_scale(number, factor, &scaled);
    if (fits && (int64_t)scaled >= min_ns && (int64_t)scaled <= max_ns) {
        *ns = (int64_t)scaled;
        return true;
    }
    value_write_duration(low, sizeof low, min_ns);
    value_write_duration(high, sizeof high, max_ns);
    (void)snprintf(why, CONF_WHY_OCTETS, "use a duration from %s to %s, not %s", low, high, text);
    return false;
}

// ---- Octets ----

static void value_write_octets(char *text, size_t room, uint64_t octets)
{
    size_t at = VALUE_COUNT(value_octets);
    while (at > 1 && octets % value_octets[at - 1].factor)
        at--;
    if (octets == 0) at = 1;
    (void)snprintf(text, room, "%llu%s", (unsigned long long)(octets / value_octets[at - 1].factor),
                   value_octets[at - 1].name);
}

static void value_explain_octets(const char *text, size_t len, conf_why why)
{
    const char *unit = text + len;
    if (!len || strchr(text, '-') || strchr(text, '.'))
        (void)snprintf(why, CONF_WHY_OCTETS,
                       "a size is a whole number with a unit, as 16KiB is; \"%s\" is none", text);
    else if (strcmp(unit, "m") == 0)
        (void)snprintf(
            why, CONF_WHY_OCTETS,
            "\"%s\" can be read as mebibytes and as minutes; for mebibytes write %.*sMiB", text,
            (int)len, text);
    else if (strchr("kKmMgG", *unit) && unit[strcspn(unit, "i")] == '\0')
        (void)snprintf(why, CONF_WHY_OCTETS,
                       "\"%s\" can be read with 1000 and with 1024; for 1024 write %.*s%ciB", text,
                       (int)len, text, *unit & ~0x20);
    else
        (void)snprintf(
            why, CONF_WHY_OCTETS,
            "\"%s\" is no unit of sizes; there are KiB, MiB and GiB, and octets without one", unit);
}

bool conf_read_octets(const char *text, uint64_t min, uint64_t max, uint64_t *octets, conf_why why)
{
    uint64_t number, factor, scaled;
    char low[32], high[32];
    size_t len = value_digits(text, &number);
    if (!len || !value_unit(value_octets, VALUE_COUNT(value_octets), text + len, &factor)) {
        value_explain_octets(text, len, why);
        return false;
    }
    bool fits = value_scale(number, factor, &scaled);
    if (fits && scaled >= min && scaled <= max) {
        *octets = scaled;
        return true;
    }
    value_write_octets(low, sizeof low, min);
    value_write_octets(high, sizeof high, max);
    (void)snprintf(why, CONF_WHY_OCTETS, "use a size from %s to %s, not %s", low, high, text);
    return false;
}

// ---- Others ----

bool conf_read_switch(const char *text, bool *is_on, conf_why why)
{
    bool on = strcmp(text, "on") == 0;
    if (on || strcmp(text, "off") == 0) {
        *is_on = on;
        return true;
    }
    (void)snprintf(why, CONF_WHY_OCTETS, "use on or off, not \"%s\"", text);
    return false;
}

bool conf_read_rate(const char *text, double *per_s, conf_why why)
{
    uint64_t number, factor;
    size_t len = value_digits(text, &number);
    bool known = len && value_unit(value_rates, VALUE_COUNT(value_rates), text + len, &factor);
    if (known && number >= 1 && number <= 1000000) {
        *per_s = (double)number / (double)factor;
        return true;
    }
    if (len && strcmp(text + len, "/m") == 0)
        (void)snprintf(
            why, CONF_WHY_OCTETS,
            "\"%s\" can be read as for a minute and for a month; for a minute write %.*s/min", text,
            (int)len, text);
    else
        (void)snprintf(
            why, CONF_WHY_OCTETS,
            "a rate is a number from 1 to 1000000 with /s, /min or /h, as 50/s is; \"%s\" "
            "is none",
            text);
    return false;
}

static void value_list(const char *const *words, char *text, size_t room)
{
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; words[i] && at < room; i++) {
        const char *between = i == 0 ? "" : words[i + 1] ? ", " : " or ";
        int n = snprintf(text + at, room - at, "%s%s", between, words[i]);
        at += n > 0 ? (size_t)n : 0;
    }
}

bool conf_read_choice(const char *text, const char *const *words, size_t *place, conf_why why)
{
    char all[CONF_WHY_OCTETS / 2];
    for (size_t i = 0; words[i]; i++) {
        if (strcmp(words[i], text) != 0) continue;
        *place = i;
        return true;
    }
    value_list(words, all, sizeof all);
    (void)snprintf(why, CONF_WHY_OCTETS, "use %s, not \"%.200s\"", all, text);
    return false;
}
