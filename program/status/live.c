// SPDX-License-Identifier: MIT
//
// Live status. Rates are of the last second, quantiles of the last ten; counts are those of the server.

#include "status/live.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const live_names[LIVE_MEASURES] = { "rps", "e4",  "e5",  "p50",
                                                       "p95", "p99", "full" };

// ---- Measuring ----

static uint64_t live_responses(const skua_stats *stats)
{
    uint64_t sum = 0;
    for (unsigned class = 0; class < SKUA_STATS_CLASSES; class ++)
        sum += stats->responses[class];
    return sum;
}

static double live_quantile(const skua_stats *now, const skua_stats *before, double quantile)
{
    skua_stats since = { .memory_octets = 0 };
    for (unsigned class = 0; class < SKUA_STATS_CLASSES; class ++) {
        for (unsigned i = 0; i < SKUA_STATS_DURATIONS; i++)
            since.durations[class][i] = now->durations[class][i] - before->durations[class][i];
    }
    return (double)skua_stats_quantile_ns(&since, quantile);
}

static double live_fullness(const skua_stats *stats)
{
    double memory = (double)stats->memory_octets / (double)stats->memory_max;
    double connections = (double)stats->connections_open / (double)stats->connections_max;
    return memory > connections ? memory : connections;
}

static void live_measure(status_live *live, const skua_stats *stats, int64_t now_ns)
{
    unsigned last = (live->samples - 1) % LIVE_SPAN;
    unsigned oldest = live->samples < LIVE_SPAN ? 0 : live->samples % LIVE_SPAN;
    const skua_stats *before = &live->past[last], *first = &live->past[oldest];
    double seconds = (double)(now_ns - live->past_ns[last]) / 1e9;
    live->now[0] = (double)(live_responses(stats) - live_responses(before)) / seconds;
    live->now[1] = (double)(stats->responses[4] - before->responses[4]) / seconds;
    live->now[2] = (double)(stats->responses[5] - before->responses[5]) / seconds;
    live->now[3] = live_quantile(stats, first, 0.5);
    live->now[4] = live_quantile(stats, first, 0.95);
    live->now[5] = live_quantile(stats, first, 0.99);
    live->now[6] = live_fullness(stats);
}

// Minutes in which nothing was measured, since the process was stopped, have no peak.
static void live_keep_peaks(status_live *live, int64_t minute)
{
    int64_t passed = minute - live->minute;
    for (int64_t i = 1; i <= passed && i <= LIVE_MINUTES; i++)
        memset(live->peaks[(live->minute + i) % LIVE_MINUTES], 0, sizeof live->peaks[0]);
    live->minute = minute;
    double *peaks = live->peaks[minute % LIVE_MINUTES];
    for (unsigned i = 0; i < LIVE_MEASURES; i++)
        if (live->now[i] > peaks[i]) peaks[i] = live->now[i];
}

static double live_peak(const status_live *live, unsigned measure)
{
    double peak = 0;
    for (unsigned i = 0; i < LIVE_MINUTES; i++)
        if (live->peaks[i][measure] > peak) peak = live->peaks[i][measure];
    return peak;
}

// ---- Writing ----

__attribute__((format(printf, 2, 3))) static void live_add(status_live *live, const char *format,
                                                           ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t room = sizeof live->event - live->len;
    int n = vsnprintf(live->event + live->len, room, format, arguments);
    va_end(arguments);
    if (n > 0) live->len += (size_t)n < room ? (size_t)n : room - 1;
}

static void live_add_count(status_live *live, const char *before, const char *name, uint64_t count)
{
    live_add(live, "%s\"%s\":%llu", before, name, (unsigned long long)count);
}

static void live_add_connections(status_live *live, const skua_stats *s)
{
    live_add_count(live, ",\"connections\":{", "open", s->connections_open);
    live_add_count(live, ",", "idle", s->connections_idle);
    live_add_count(live, ",", "handshake", s->connections_shaking);
    live_add_count(live, ",", "receiving", s->connections_receiving);
    live_add_count(live, ",", "handling", s->connections_handling);
    live_add_count(live, ",", "sending", s->connections_sending);
    live_add_count(live, ",", "streaming", s->connections_streaming);
    live_add_count(live, ",", "closing", s->connections_closing);
    live_add_count(live, ",", "accepted", s->connections_accepted);
}

static void live_add_limits(status_live *live, const skua_stats *s)
{
    live_add_count(live, "},\"limits\":{", "connections refused", s->connections_refused);
    live_add_count(live, ",", "head too long", s->refused_head);
    live_add_count(live, ",", "content too long", s->refused_content);
    live_add_count(live, ",", "too slow", s->refused_slow + s->requests_timed_out);
    live_add_count(live, ",", "too busy", s->refused_busy);
    live_add_count(live, ",", "log lines lost", s->log_lines_lost);
}

static void live_add_files(status_live *live, const skua_stats *s)
{
    live_add_count(live, "},\"files\":{", "ready", s->cache_entries);
    live_add_count(live, ",", "hits", s->cache_hits);
    live_add_count(live, ",", "made ready", s->cache_misses);
    live_add_count(live, ",", "made room", s->cache_evictions);
    live_add_count(live, ",", "compressed", s->compressed_entries);
    live_add_count(live, ",", "hits of compressed", s->compressed_hits);
}

// Texts are of files, and of clients: an octet that is not of ASCII's characters stands as its number, "%FF", since it
// may be a part of no character, or of one that deceives the eye.
static void live_add_octets(status_live *live, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\' || c == '<') live_add(live, "\\u%04x", c);
        else if (c < ' ' || c > '~') live_add(live, "%%%02X", c);
        else live_add(live, "%c", c);
    }
}

static void live_add_text(status_live *live, const char *text)
{
    live_add_octets(live, text, strlen(text));
}

// As pairs of a name and a number, the greatest first.
static void live_add_top(status_live *live, const char *before, const char *name, tops_kind kind,
                         int64_t minute)
{
    top *sum = &live->sum;
    tops_get(kind, minute, sum);
    live_add(live, "%s\"%s\":[", before, name);
    for (unsigned i = 0; i < sum->count && i < LIVE_TOP; i++) {
        live_add(live, i ? ",[\"" : "[\"");
        live_add_octets(live, sum->entries[i].name, sum->entries[i].len);
        live_add(live, "\",%llu]", (unsigned long long)sum->entries[i].weight);
    }
    live_add(live, "]");
}

static void live_add_tops(status_live *live, int64_t now_ns)
{
    int64_t minute = tops_minute(now_ns);
    live_add_top(live, ",\"tops\":{", "asked", TOPS_ASKED, minute);
    live_add_top(live, ",", "missed", TOPS_MISSED, minute);
    live_add_top(live, ",", "limited", TOPS_LIMITED, minute);
    live_add_top(live, ",", "slow", TOPS_SLOW, minute);
    live_add_top(live, ",", "big", TOPS_BIG, minute);
}

// As triples of names, a file, and the seconds that are left.
static void live_add_certificates(status_live *live, int64_t unix_s)
{
    expiry all[LIVE_CERTIFICATES];
    unsigned count = expiry_get(all, LIVE_CERTIFICATES);
    live_add(live, "},\"certificates\":[");
    for (unsigned i = 0; i < count; i++) {
        live_add(live, i ? ",[\"" : "[\"");
        live_add_text(live, all[i].name);
        live_add(live, "\",\"");
        live_add_text(live, all[i].file);
        live_add(live, "\",%lld]", (long long)(all[i].unix_s - unix_s));
    }
    live_add(live, "]");
}

static void live_add_report(status_live *live, const conf_report *r, int64_t unix_s)
{
    live_add(live, ",\"configuration\":{\"age\":%lld,\"tried\":%lld",
             (long long)(unix_s - r->used_since_unix_s),
             r->last_tried_unix_s ? (long long)(unix_s - r->last_tried_unix_s) : -1);
    live_add_count(live, ",", "accepted", r->accepted);
    live_add_count(live, ",", "refused", r->refused);
    live_add(live, ",\"fault\":\"");
    live_add_text(live, r->sentence);
    live_add(live, "\"}");
}

static void live_write(status_live *live, const skua_stats *s, const conf_report *r,
                       const live_clock *clock)
{
    live->len = 0;
    for (unsigned i = 0; i < LIVE_MEASURES; i++)
        live_add(live, "%s\"%s\":%.3f", i ? "," : "{", live_names[i], live->now[i]);
    for (unsigned i = 0; i < LIVE_MEASURES; i++)
        live_add(live, "%s\"%s\":%.3f", i ? "," : ",\"peak\":{", live_names[i], live_peak(live, i));
    for (unsigned i = 0; i < SKUA_STATS_CLASSES; i++)
        live_add(live, "%s%llu", i ? "," : "},\"responses\":[",
                 (unsigned long long)s->responses[i]);
    live_add_count(live, "],", "sent", s->content_sent);
    live_add_count(live, ",", "received", s->content_received);
    live_add_count(live, ",", "memory", s->memory_octets);
    live_add_count(live, ",", "memory_max", s->memory_max);
    live_add_connections(live, s);
    live_add_limits(live, s);
    live_add_files(live, s);
    live_add(live, "}");
    live_add_report(live, r, clock->unix_s);
    live_add_tops(live, clock->now_ns);
    live_add_certificates(live, clock->unix_s);
    live_add(live, ",\"uptime\":%lld,\"version\":\"%s\"}",
             (long long)(clock->unix_s - clock->began_unix_s), skua_version());
}

void status_live_take(status_live *live, const skua_stats *stats, const conf_report *report,
                      live_clock clock)
{
    int64_t now_ns = clock.now_ns;
    bool is_first = live->samples == 0;
    if (!is_first && now_ns == live->past_ns[(live->samples - 1) % LIVE_SPAN]) return;
    if (!is_first) live_measure(live, stats, now_ns);
    else live->minute = now_ns / 60000000000;
    live->past[live->samples % LIVE_SPAN] = *stats;
    live->past_ns[live->samples % LIVE_SPAN] = now_ns;
    live->samples++;
    if (is_first) return;
    live_keep_peaks(live, now_ns / 60000000000);
    live_write(live, stats, report, &clock);
}
