// SPDX-License-Identifier: MIT
//
// Dates by arithmetic on the proleptic Gregorian calendar: libc's would ask the environment for a
// time zone and a locale, and its tables cost a lock.

#include "http/date.h"

enum { DATE_DAY_SECONDS = 86400 };

static const int64_t DATE_SECONDS_MAX = 253402300799; // 31 December 9999, 23:59:59

static const char date_weekdays[7][10] = { "Sunday",   "Monday", "Tuesday", "Wednesday",
                                           "Thursday", "Friday", "Saturday" };
static const char date_months[12][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };

typedef struct date_fields {
    int year, month, day; // month and day from 1
    int hour, minute, second;
} date_fields;

// ---- The calendar -----------------------------------------------------------------------------
// Years are counted from March, so that the leap day is a year's last, and in eras of 400 years,
// after which the calendar repeats.

static int64_t date_days(int year, int month, int day)
{
    int64_t y = (int64_t)year - (month <= 2);
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468; // 719468 days from 1 March 0 to 1970
}

static int64_t date_seconds(const date_fields *f)
{
    int64_t minutes = (int64_t)f->hour * 60 + f->minute;
    return date_days(f->year, f->month, f->day) * DATE_DAY_SECONDS + minutes * 60 + f->second;
}

// days: since 1970, not negative.
static date_fields date_civil(int64_t days)
{
    int64_t z = days + 719468;
    int64_t era = z / 146097;
    int64_t day_of_era = z % 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month_from_march = (5 * day_of_year + 2) / 153;
    int month = (int)(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
    return (date_fields){ .year = (int)(year_of_era + era * 400) + (month <= 2),
                          .month = month,
                          .day = (int)(day_of_year - (153 * month_from_march + 2) / 5) + 1 };
}

static int64_t date_clamp(int64_t seconds)
{
    if (seconds < 0) return 0;
    return seconds > DATE_SECONDS_MAX ? DATE_SECONDS_MAX : seconds;
}

// ---- Writing ----------------------------------------------------------------------------------

static void date_put(char *out, unsigned value, unsigned digits)
{
    for (; digits; value /= 10)
        out[--digits] = (char)('0' + value % 10);
}

void date_write(char *out, int64_t unix_seconds)
{
    int64_t seconds = date_clamp(unix_seconds);
    int64_t days = seconds / DATE_DAY_SECONDS;
    unsigned in_day = (unsigned)(seconds % DATE_DAY_SECONDS);
    date_fields f = date_civil(days);
    memcpy(out, "Thu, 01 Jan 1970 00:00:00 GMT", DATE_OCTETS);
    memcpy(out, date_weekdays[(days + 4) % 7], 3); // 1 January 1970 was a Thursday
    date_put(out + 5, (unsigned)f.day, 2);
    memcpy(out + 8, date_months[f.month - 1], 3);
    date_put(out + 12, (unsigned)f.year, 4);
    date_put(out + 17, in_day / 3600, 2);
    date_put(out + 20, in_day / 60 % 60, 2);
    date_put(out + 23, in_day % 60, 2);
}

// ---- Reading ----------------------------------------------------------------------------------
// Each reader takes its piece off the front of *text, or returns false.

static bool date_take_text(slice *text, const char *expected, size_t len)
{
    if (text->len < len || memcmp(text->ptr, expected, len) != 0) return false;
    *text = slice_from(*text, len);
    return true;
}

static bool date_take_char(slice *text, char expected)
{
    return date_take_text(text, &expected, 1);
}

static bool date_take_number(slice *text, size_t digits, int *number)
{
    if (text->len < digits) return false;
    int n = 0;
    for (size_t i = 0; i < digits; i++) {
        char c = text->ptr[i];
        if (c < '0' || c > '9') return false;
        n = n * 10 + (c - '0');
    }
    *text = slice_from(*text, digits);
    *number = n;
    return true;
}

// Whether it is the right weekday is not asked: to ignore a date for that would drop the condition
// that hangs on it, and If-Unmodified-Since is there to stop a write.
static bool date_take_weekday(slice *text, bool whole)
{
    for (size_t i = 0; i < 7; i++) {
        size_t len = whole ? strlen(date_weekdays[i]) : 3;
        if (date_take_text(text, date_weekdays[i], len)) return true;
    }
    return false;
}

static bool date_take_month(slice *text, int *month)
{
    for (int i = 0; i < 12; i++) {
        if (!date_take_text(text, date_months[i], 3)) continue;
        *month = i + 1;
        return true;
    }
    return false;
}

static bool date_take_time(slice *text, date_fields *f)
{
    return date_take_number(text, 2, &f->hour) && date_take_char(text, ':') &&
           date_take_number(text, 2, &f->minute) && date_take_char(text, ':') &&
           date_take_number(text, 2, &f->second);
}

// Sun, 06 Nov 1994 08:49:37 GMT
static bool date_read_imf(slice text, date_fields *f)
{
    return date_take_weekday(&text, false) && date_take_text(&text, ", ", 2) &&
           date_take_number(&text, 2, &f->day) && date_take_char(&text, ' ') &&
           date_take_month(&text, &f->month) && date_take_char(&text, ' ') &&
           date_take_number(&text, 4, &f->year) && date_take_char(&text, ' ') &&
           date_take_time(&text, f) && date_take_text(&text, " GMT", 4) && text.len == 0;
}

// Sunday, 06-Nov-94 08:49:37 GMT; year is left at two digits.
static bool date_read_rfc850(slice text, date_fields *f)
{
    return date_take_weekday(&text, true) && date_take_text(&text, ", ", 2) &&
           date_take_number(&text, 2, &f->day) && date_take_char(&text, '-') &&
           date_take_month(&text, &f->month) && date_take_char(&text, '-') &&
           date_take_number(&text, 2, &f->year) && date_take_char(&text, ' ') &&
           date_take_time(&text, f) && date_take_text(&text, " GMT", 4) && text.len == 0;
}

// Sun Nov  6 08:49:37 1994
static bool date_read_asctime(slice text, date_fields *f)
{
    if (!date_take_weekday(&text, false) || !date_take_char(&text, ' ')) return false;
    if (!date_take_month(&text, &f->month) || !date_take_char(&text, ' ')) return false;
    size_t digits = date_take_char(&text, ' ') ? 1 : 2;
    return date_take_number(&text, digits, &f->day) && date_take_char(&text, ' ') &&
           date_take_time(&text, f) && date_take_char(&text, ' ') &&
           date_take_number(&text, 4, &f->year) && text.len == 0;
}

static bool date_is_ahead(date_fields f, int years, int64_t now)
{
    f.year -= years;
    return date_seconds(&f) > now;
}

// A two-digit year is the latest that is not more than 50 years ahead, RFC 9110 §5.6.7.
static void date_add_century(date_fields *f, int64_t now)
{
    int year_now = date_civil(now / DATE_DAY_SECONDS).year;
    f->year += year_now - year_now % 100 + 100;
    while (date_is_ahead(*f, 50, now))
        f->year -= 100;
}

static bool date_is_valid(const date_fields *f)
{
    static const int8_t days[12] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    if (f->day < 1 || f->day > days[f->month - 1]) return false;
    bool leap = f->year % 4 == 0 && (f->year % 100 != 0 || f->year % 400 == 0);
    if (f->month == 2 && f->day == 29 && !leap) return false;
    return f->hour <= 23 && f->minute <= 59 && f->second <= 60; // 60: a leap second
}

bool date_read(slice text, int64_t now, int64_t *unix_seconds)
{
    date_fields f = { 0 };
    if (!date_read_imf(text, &f) && !date_read_asctime(text, &f)) {
        if (!date_read_rfc850(text, &f)) return false;
        date_add_century(&f, date_clamp(now));
    }
    if (!date_is_valid(&f)) return false;
    *unix_seconds = date_seconds(&f);
    return true;
}
