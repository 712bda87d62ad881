// SPDX-License-Identifier: MIT
//
// Metrics: statistics as the text format of Prometheus. Names end in their unit, and counters in _total, as its
// rules want it; the bounds of durations are those of OpenTelemetry's conventions for HTTP, and finer ones
// below them.

#include "base/contract.h"
#include "base/sized.h"
#include "exchange/request.h"

#include <stdarg.h>
#include <stdio.h>

enum { METRICS_OCTETS_MAX = 20480 };

typedef struct metrics {
    char *text;
    size_t octets; // room
    size_t len;    // of the whole
} metrics;

static const char *const metrics_classes[SKUA_STATS_CLASSES] = { "none", "1xx", "2xx",
                                                                 "3xx",  "4xx", "5xx" };

// Every bound is one of skua_stats_bound_ns, too.
static const struct {
    int64_t ns;
    const char *text; // in seconds
} metrics_bounds[] = {
    { 10000, "0.00001" },  { 25000, "0.000025" }, { 50000, "0.00005" },  { 100000, "0.0001" },
    { 250000, "0.00025" }, { 500000, "0.0005" },  { 1000000, "0.001" },  { 2500000, "0.0025" },
    { 5000000, "0.005" },  { 10000000, "0.01" },  { 25000000, "0.025" }, { 50000000, "0.05" },
    { 75000000, "0.075" }, { 100000000, "0.1" },  { 250000000, "0.25" }, { 500000000, "0.5" },
    { 750000000, "0.75" }, { 1000000000, "1" },   { 2500000000, "2.5" }, { 5000000000, "5" },
    { 7500000000, "7.5" }, { 10000000000, "10" },
};

__attribute__((format(printf, 2, 3))) static void metrics_add(metrics *m, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t room = m->octets > m->len ? m->octets - m->len : 0;
    int n = vsnprintf(room ? m->text + m->len : NULL, room, format, arguments);
    va_end(arguments);
    if (n > 0) m->len += (size_t)n;
}

static void metrics_head(metrics *m, const char *name, const char *type, const char *help)
{
    metrics_add(m, "# HELP skua_%s %s\n# TYPE skua_%s %s\n", name, help, name, type);
}

static void metrics_number(metrics *m, const char *name, const char *type, const char *help,
                           uint64_t value)
{
    metrics_head(m, name, type, help);
    metrics_add(m, "skua_%s %llu\n", name, (unsigned long long)value);
}

static void metrics_durations_of(metrics *m, const skua_stats *stats, unsigned class)
{
    const char *name = "http_server_request_duration_seconds", *label = metrics_classes[class];
    uint64_t sum = 0;
    unsigned place = 0;
    for (size_t i = 0; i < sizeof metrics_bounds / sizeof metrics_bounds[0]; i++) {
        while (skua_stats_bound_ns(place) <= metrics_bounds[i].ns)
            sum += stats->durations[class][place++];
        metrics_add(m, "skua_%s_bucket{status=\"%s\",le=\"%s\"} %llu\n", name, label,
                    metrics_bounds[i].text, (unsigned long long)sum);
    }
    sum += stats->durations[class][SKUA_STATS_DURATIONS - 1];
    metrics_add(m, "skua_%s_bucket{status=\"%s\",le=\"+Inf\"} %llu\n", name, label,
                (unsigned long long)sum);
    metrics_add(m, "skua_%s_sum{status=\"%s\"} %.9f\n", name, label,
                (double)stats->duration_ns[class] / 1e9);
    metrics_add(m, "skua_%s_count{status=\"%s\"} %llu\n", name, label, (unsigned long long)sum);
}

static void metrics_state(metrics *m, const char *state, uint64_t value)
{
    metrics_add(m, "skua_connections{state=\"%s\"} %llu\n", state, (unsigned long long)value);
}

static void metrics_topics(metrics *m, const skua_stats *s)
{
    metrics_number(m, "topics_carried_total", "counter",
                   "Publications that the store of skua_topic_bridge has taken.",
                   s->topics_carried);
    metrics_number(m, "topics_dropped_total", "counter", "Publications that waited for it in vain.",
                   s->topics_dropped);
    metrics_number(m, "topics_received_total", "counter", "Publications of other servers.",
                   s->topics_received);
    metrics_number(m, "topics_ignored_total", "counter",
                   "Entries of its stream that are none of a bridge's.", s->topics_ignored);
    metrics_number(m, "topics_gaps_total", "counter", "Gaps in the publications of other servers.",
                   s->topics_gaps);
}

static void metrics_caches(metrics *m, const skua_stats *s)
{
    metrics_number(m, "file_cache_hits_total", "counter", "Responses by files that were ready.",
                   s->cache_hits);
    metrics_number(m, "file_cache_misses_total", "counter", "Files that were made ready.",
                   s->cache_misses);
    metrics_number(m, "file_cache_evictions_total", "counter", "Files that had to make room.",
                   s->cache_evictions);
    metrics_number(m, "file_cache_entries", "gauge", "Files that are ready.", s->cache_entries);
    metrics_number(m, "file_cache_bytes", "gauge", "Memory of their content and names.",
                   s->cache_octets);
    metrics_number(m, "compressed_cache_hits_total", "counter",
                   "Responses by files that had been compressed.", s->compressed_hits);
    metrics_number(m, "compressed_cache_misses_total", "counter",
                   "Compressed files that were made or taken from another worker.",
                   s->compressed_misses);
    metrics_number(m, "compressed_cache_evictions_total", "counter",
                   "Compressed files that had to make room.", s->compressed_evictions);
    metrics_number(m, "compressed_cache_entries", "gauge", "Compressed files, of each worker.",
                   s->compressed_entries);
    metrics_number(m, "compressed_cache_bytes", "gauge", "Their content, of each worker.",
                   s->compressed_octets);
}

static void metrics_connections(metrics *m, const skua_stats *s)
{
    metrics_number(m, "connections_accepted_total", "counter",
                   "Connections that were accepted, refused ones among them.",
                   s->connections_accepted);
    metrics_number(m, "connections_refused_total", "counter",
                   "Connections that were closed at once, because of a limit or by the program.",
                   s->connections_refused);
    metrics_number(m, "connections_open", "gauge", "Connections that are open.",
                   s->connections_open);
    metrics_number(m, "connections_max", "gauge", "The limit of connections_open.",
                   s->connections_max);
    metrics_number(m, "tls_handshakes_total", "counter", "TLS handshakes that were completed.",
                   s->handshakes);
    metrics_number(m, "tls_handshakes_resumed_total", "counter",
                   "TLS handshakes that resumed a session.", s->handshakes_resumed);
    metrics_topics(m, s);
    metrics_number(m, "memory_bytes", "gauge", "Memory that clients make the server hold.",
                   s->memory_octets);
    metrics_number(m, "memory_max_bytes", "gauge", "The limit of memory_bytes.", s->memory_max);
    metrics_number(m, "log_lines_lost_total", "counter",
                   "Lines of the access log for which there was no room.", s->log_lines_lost);
}

static void metrics_limit(metrics *m, const char *limit, uint64_t value)
{
    metrics_add(m, "skua_requests_refused_total{limit=\"%s\"} %llu\n", limit,
                (unsigned long long)value);
}

static void metrics_cut(metrics *m, const char *cause, uint64_t value)
{
    metrics_add(m, "skua_responses_cut_total{cause=\"%s\"} %llu\n", cause,
                (unsigned long long)value);
}

static void metrics_requests(metrics *m, const skua_stats *s)
{
    metrics_head(m, "connections", "gauge", "Connections that are open, by what they wait for.");
    metrics_state(m, "handshake", s->connections_shaking);
    metrics_state(m, "idle", s->connections_idle);
    metrics_state(m, "receiving", s->connections_receiving);
    metrics_state(m, "handling", s->connections_handling);
    metrics_state(m, "sending", s->connections_sending);
    metrics_state(m, "streaming", s->connections_streaming);
    metrics_state(m, "closing", s->connections_closing);
    metrics_number(m, "content_sent_bytes_total", "counter", "Content of responses.",
                   s->content_sent);
    metrics_number(m, "content_received_bytes_total", "counter", "Content of requests.",
                   s->content_received);
    metrics_head(m, "requests_refused_total", "counter",
                 "Requests that were refused because of a limit.");
    metrics_limit(m, "head", s->refused_head);
    metrics_limit(m, "content", s->refused_content);
    metrics_limit(m, "time", s->refused_slow);
    metrics_limit(m, "load", s->refused_busy);
    metrics_head(m, "responses_cut_total", "counter", "Responses that were not sent whole.");
    metrics_cut(m, "client", s->requests_closed);
    metrics_cut(m, "deadline", s->requests_timed_out);
    metrics_cut(m, "error", s->requests_failed);
    metrics_head(m, "http_server_request_duration_seconds", "histogram",
                 "Time from the head of a request to the last octet of its response.");
    for (unsigned class = 0; class < SKUA_STATS_CLASSES; class ++)
        metrics_durations_of(m, s, class);
}

size_t skua_stats_write_sized(const skua_stats *stats, char *text, size_t octets,
                              const skua_sizes *sizes)
{
    CONTRACT_GIVEN(stats);
    CONTRACT_SIZES(sizes);
    skua_stats own;
    stats = SIZED_GIVEN(stats, sizes->stats, &own);
    CONTRACT(text || octets == 0, "text must not be NULL");
    metrics m = { .text = text, .octets = octets };
    metrics_connections(&m, stats);
    metrics_caches(&m, stats);
    if (stats->counts_requests) metrics_requests(&m, stats);
    return m.len;
}

void skua_respond_stats(skua_request *request, void *user)
{
    (void)user;
    request_expect(request, __func__);
    skua_stats stats;
    skua_server_stats(skua_worker_server(skua_request_worker(request)), &stats);
    char *text = skua_request_alloc(request, METRICS_OCTETS_MAX);
    size_t len = text ? skua_stats_write(&stats, text, METRICS_OCTETS_MAX) : 0;
    if (!text) {
        skua_respond_error(request, 503);
        return;
    }
    skua_field_add(request, "Cache-Control", SKUA_SLICE("no-store"));
    skua_respond(request, 200, "text/plain; version=0.0.4; charset=utf-8", slice_make(text, len));
}
