// SPDX-License-Identifier: MIT
//
// Status. Probes name addresses and no hosts, so any Host will do for what they ask for. What names paths and clients is
// not for a page in a browser that reaches this listener by DNS rebinding.

#include "status/status.h"

#include "status/host.h"
#include "status/live.h"
#include "status/page.h"
#include "common/stop.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STATUS_OCTETS_MAX = 65536, STATUS_CONNECTIONS_MAX = 256 };

// An event stream that is open.
typedef struct status_reader {
    skua_request *request;
    struct status_reader *next, **back; // back: what points here
} status_reader;

struct status_listener {
    skua_server *server; // its own
    int64_t began_unix_s;
    char why[512];
    char *page;       // all of its lines
    status_live live; // its only worker's, as what follows
    char live_id[24];
    status_reader *readers;
    bool leaves; // streams are another process's
    struct {
        _Atomic(skua_server *) of; // NULL: it has not started
    } shared;
};

static void status_respond(skua_request *request, int status, skua_slice text)
{
    skua_field_add(request, "Cache-Control", SKUA_SLICE("no-store"));
    skua_respond(request, status, "text/plain; charset=utf-8", text);
}

// The process answers.
static void status_health(skua_request *request, void *user)
{
    (void)user;
    status_respond(request, 200, SKUA_SLICE("ok\n"));
}

// New clients are welcome: it has started, and has not been told to stop.
static void status_ready(skua_request *request, void *user)
{
    const status_listener *s = user;
    if (!atomic_load(&s->shared.of)) status_respond(request, 503, SKUA_SLICE("starting\n"));
    else if (stop_is_asked()) status_respond(request, 503, SKUA_SLICE("stopping\n"));
    else status_respond(request, 200, SKUA_SLICE("ready\n"));
}

static size_t status_write_process(const status_listener *s, char *text, size_t octets)
{
    int n = snprintf(text, octets,
                     "# HELP skua_build_info The version that runs.\n"
                     "# TYPE skua_build_info gauge\n"
                     "skua_build_info{version=\"%s\"} 1\n"
                     "# HELP skua_start_time_seconds When the process began to serve, since 1970.\n"
                     "# TYPE skua_start_time_seconds gauge\n"
                     "skua_start_time_seconds %lld\n",
                     skua_version(), (long long)s->began_unix_s);
    return n > 0 ? (size_t)n : 0;
}

static size_t status_write_reloads(char *text, size_t octets)
{
    conf_report r;
    conf_report_get(&r);
    int n = snprintf(
        text, octets,
        "# HELP skua_config_last_reload_successful Whether the last reload was accepted; 1 before "
        "the first.\n"
        "# TYPE skua_config_last_reload_successful gauge\n"
        "skua_config_last_reload_successful %d\n"
        "# HELP skua_config_last_reload_success_timestamp_seconds When the configuration in use was "
        "read, since 1970.\n"
        "# TYPE skua_config_last_reload_success_timestamp_seconds gauge\n"
        "skua_config_last_reload_success_timestamp_seconds %lld\n"
        "# HELP skua_config_reloads_total Reloads, by what became of them.\n"
        "# TYPE skua_config_reloads_total counter\n"
        "skua_config_reloads_total{outcome=\"accepted\"} %u\n"
        "skua_config_reloads_total{outcome=\"refused\"} %u\n",
        !r.is_refused, (long long)r.used_since_unix_s, r.accepted, r.refused);
    return n > 0 ? (size_t)n : 0;
}

// A value of a label, whose backslashes, quotes and ends of lines are escaped.
static size_t status_write_label(char *text, size_t octets, const char *name, const char *value)
{
    int n = snprintf(text, octets, "%s=\"", name);
    size_t len = n > 0 ? (size_t)n : 0;
    for (; *value && len + 3 < octets; value++) {
        bool is_special = *value == '"' || *value == '\\' || *value == '\n';
        if (is_special) text[len++] = '\\';
        text[len++] = *value == '\n' ? 'n' : *value;
    }
    text[len++] = '"';
    return len;
}

static size_t status_write_certificate(const expiry *one, char *text, size_t octets)
{
    const char *name = "skua_tls_certificate_expiry_timestamp_seconds{";
    size_t len = strlen(name);
    memcpy(text, name, len);
    len += status_write_label(text + len, octets - len, "names", one->name);
    text[len++] = ',';
    len += status_write_label(text + len, octets - len, "file", one->file);
    int n = snprintf(text + len, octets - len, "} %lld\n", (long long)one->unix_s);
    return len + (n > 0 ? (size_t)n : 0);
}

static size_t status_write_certificates(char *text, size_t octets)
{
    static expiry all[EXPIRY_CERTIFICATES_MAX]; // the listener has one worker
    unsigned count = expiry_get(all, EXPIRY_CERTIFICATES_MAX);
    int n = snprintf(text, octets,
                     "# HELP skua_tls_certificate_expiry_timestamp_seconds Until when certificates "
                     "are valid, since 1970.\n"
                     "# TYPE skua_tls_certificate_expiry_timestamp_seconds gauge\n");
    size_t len = count && n > 0 ? (size_t)n : 0;
    for (unsigned i = 0; i < count; i++)
        len += status_write_certificate(&all[i], text + len, octets - len);
    return len;
}

static size_t status_write_limited(char *text, size_t octets)
{
    int n = snprintf(
        text, octets,
        "# HELP skua_requests_limited_total Requests that limit_requests, limit_connections "
        "or limit_bandwidth refused.\n"
        "# TYPE skua_requests_limited_total counter\n"
        "skua_requests_limited_total %llu\n",
        (unsigned long long)tops_limited());
    return n > 0 ? (size_t)n : 0;
}

static void status_metrics(skua_request *request, void *user)
{
    const status_listener *s = user;
    skua_server *of = atomic_load(&s->shared.of);
    char *text = skua_request_alloc(request, STATUS_OCTETS_MAX);
    if (!of || !text) {
        skua_respond_error(request, 503);
        return;
    }
    skua_stats stats;
    skua_server_stats(of, &stats);
    size_t len = status_write_process(s, text, STATUS_OCTETS_MAX);
    len += status_write_reloads(text + len, STATUS_OCTETS_MAX - len);
    len += status_write_limited(text + len, STATUS_OCTETS_MAX - len);
    len += status_write_certificates(text + len, STATUS_OCTETS_MAX - len);
    len += skua_stats_write(&stats, text + len, STATUS_OCTETS_MAX - len);
    skua_field_add(request, "Cache-Control", SKUA_SLICE("no-store"));
    skua_respond(request, 200, "text/plain; version=0.0.4; charset=utf-8",
                 (skua_slice){ text, len });
}

// ---- The page ----

static bool status_join_page(status_listener *s)
{
    size_t octets = 1;
    for (const char *const *line = status_page; *line; line++)
        octets += strlen(*line);
    char *at = s->page = malloc(octets);
    if (!at) return false;
    for (const char *const *line = status_page; *line; line++) {
        size_t len = strlen(*line);
        memcpy(at, *line, len);
        at += len;
    }
    *at = '\0';
    return true;
}

static bool status_may_see(skua_request *request)
{
    if (status_host_is_plain(skua_request_authority(request))) return true;
    (void)skua_refuse(request, 421,
                      SKUA_SLICE("This page answers to addresses and to localhost alone."));
    return false;
}

static void status_show(skua_request *request, void *user)
{
    const status_listener *s = user;
    if (!status_may_see(request)) return;
    skua_field_add(request, "Content-Security-Policy", skua_slice_of(status_page_policy));
    skua_field_add(request, "Cache-Control", SKUA_SLICE("no-store"));
    skua_field_add(request, "X-Content-Type-Options", SKUA_SLICE("nosniff"));
    skua_respond(request, 200, "text/html; charset=utf-8", skua_slice_of(s->page));
}

static void status_unlink(status_reader *reader)
{
    if (!reader->back) return;
    *reader->back = reader->next;
    if (reader->next) reader->next->back = reader->back;
    reader->back = NULL;
}

static void status_stream_ended(skua_request *request, skua_end how, void *user)
{
    (void)request, (void)how;
    status_unlink(user);
}

// A sample is named by its time, so that a browser that comes again, to whatever process, gets those that it lacks.
static void status_send_last(skua_request *request, const status_listener *s)
{
    skua_slice id = skua_slice_of(s->live_id);
    skua_slice seen = skua_request_field(request, "Last-Event-ID");
    if (!s->live.len) return;
    if (seen.len != id.len || memcmp(seen.ptr, id.ptr, id.len) != 0)
        (void)!skua_event_send(request,
                               &(skua_event){ .data = { s->live.event, s->live.len }, .id = id });
}

// A reader that is slow is ended, and its browser comes again.
static void status_stream(skua_request *request, void *user)
{
    status_listener *s = user;
    if (!status_may_see(request)) return;
    status_reader *reader = skua_request_alloc(request, sizeof *reader);
    if (!reader || skua_events_open(request, NULL, NULL)) return;
    *reader = (status_reader){ request, s->readers, &s->readers };
    if (reader->next) reader->next->back = &reader->next;
    s->readers = reader;
    skua_on_end(request, status_stream_ended, reader);
    status_send_last(request, s);
    (void)!skua_topic_join(request, SKUA_SLICE("live"));
    if (s->leaves) (void)!skua_finish(request);
}

static void status_end_streams(skua_worker *worker, void *user)
{
    status_listener *s = user;
    (void)worker;
    s->leaves = true;
    while (s->readers) {
        status_reader *reader = s->readers;
        status_unlink(reader);
        (void)!skua_finish(reader->request);
    }
}

static void status_tick(skua_worker *worker, void *user)
{
    status_listener *s = user;
    skua_server *of = atomic_load(&s->shared.of);
    skua_stats stats;
    if (!of) return;
    conf_report report;
    skua_server_stats(of, &stats);
    conf_report_get(&report);
    status_live_take(&s->live, &stats, &report,
                     (live_clock){ .now_ns = skua_worker_now_ns(worker),
                                   .unix_s = skua_worker_unix_ns(worker) / 1000000000,
                                   .began_unix_s = s->began_unix_s });
    (void)snprintf(s->live_id, sizeof s->live_id, "%lld",
                   (long long)(skua_worker_unix_ns(worker) / 1000000));
    const skua_publication sample = { .octets = { s->live.event, s->live.len },
                                      .id = skua_slice_of(s->live_id) };
    if (s->live.len) (void)!skua_topic_publish(s->server, SKUA_SLICE("live"), &sample);
}

static void status_worker_start(skua_worker *worker, void *user)
{
    (void)!skua_timer_start(worker, 0, 1000000000, status_tick, user, NULL);
}

// ---- Opening ----

static skua_status status_route(status_listener *s)
{
    skua_status status = skua_route(s->server, "GET /{$}", status_show, s);
    if (!status) status = skua_route(s->server, "GET /live", status_stream, s);
    if (!status) status = skua_route(s->server, "GET /health", status_health, s);
    if (!status) status = skua_route(s->server, "GET /ready", status_ready, s);
    if (!status) status = skua_route(s->server, "GET /metrics", status_metrics, s);
    return status;
}

status_listener *status_open(const char *address, int fd, const char **why)
{
    static status_listener one; // a process has one
    const skua_config config = { .listen = fd < 0 ? address : NULL,
                                 .hosts = "*",
                                 .workers = 1,
                                 .connections_max = STATUS_CONNECTIONS_MAX,
                                 .accepts_from_reserve =
                                     true, // asked just when there are no others
                                 .on_worker_start = status_worker_start,
                                 .hook_user = &one };
    one = (status_listener){ .server = skua_server_new(&config), .began_unix_s = time(NULL) };
    bool is_made = one.server && status_join_page(&one);
    skua_status status = is_made ? status_route(&one) : SKUA_ENOMEM;
    if (!status && fd >= 0) status = skua_listen_fd(one.server, fd);
    if (!status) status = skua_start(one.server);
    if (!status) return &one;
    const char *sentence = one.server ? skua_server_error(one.server) : "";
    (void)snprintf(one.why, sizeof one.why, "%s", *sentence ? sentence : skua_status_text(status));
    *why = one.why;
    status_close(&one);
    return NULL;
}

void status_of(status_listener *s, skua_server *server)
{
    atomic_store(&s->shared.of, server);
}

void status_leave(status_listener *s)
{
    if (!s) return;
    skua_leave(s->server);
    (void)!skua_post(s->server, 0, status_end_streams, s);
}

unsigned status_connections(const status_listener *s)
{
    skua_stats stats = { 0 };
    if (s) skua_server_stats(s->server, &stats);
    return (unsigned)stats.connections_open;
}

void status_close(status_listener *s)
{
    if (!s) return;
    skua_server_free(s->server);
    free(s->page);
}

const char *status_address(const status_listener *s)
{
    return skua_server_address(s->server, 0);
}
