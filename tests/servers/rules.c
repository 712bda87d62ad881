// SPDX-License-Identifier: MIT
//
// A server whose handlers do each thing the rules of the library speak of, so that the end-to-end
// tests can see on the wire what the engine makes of it: rules --port N [--files DIR]
// [MEMBER=NUMBER]..., where MEMBER is a number of skua_config, such as head_timeout_ns. DIR is
// served at /files/.
#include "tls_options.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <skua/skua.h>

// ---- Answers of every kind ----

static skua_slice text_slice(const char *text)
{
    return (skua_slice){ text, strlen(text) };
}

static void must(skua_status status)
{
    if (status == SKUA_OK || status == SKUA_ECLOSED) return;
    fprintf(stderr, "rules: unexpected status: %s\n", skua_status_text(status));
    abort();
}

static uint64_t param_number(const skua_request *request, const char *name)
{
    skua_slice text = skua_request_param(request, name);
    uint64_t n = 0;
    for (size_t i = 0;
         i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9' && n < UINT64_MAX / 16; i++)
        n = n * 10 + (unsigned)(text.ptr[i] - '0');
    return n;
}

static void answer_ok(skua_request *request, void *user)
{
    (void)user;
    must(skua_respond(request, 200, "text/plain", SKUA_SLICE("ok\n")));
}

// GET /status/{code}: that status, with content that some statuses must not send.
static void answer_status(skua_request *request, void *user)
{
    (void)user;
    uint64_t code = param_number(request, "code");
    skua_respond(request, (int)code, "text/plain", SKUA_SLICE("content\n"));
}

// GET /error/{code}: the page of that status.
static void answer_error(skua_request *request, void *user)
{
    (void)user;
    must(skua_respond_error(request, (int)param_number(request, "code")));
}

// Answers with the request as the server took it, one thing a line.
static void answer_echo(skua_request *request, void *user)
{
    (void)user;
    char text[4096];
    char peer[64];
    skua_request_peer(request, peer, sizeof(peer));
    skua_slice path = skua_request_path(request), query = skua_request_query(request);
    skua_slice target = skua_request_target(request), authority = skua_request_authority(request);
    skua_slice rest = skua_request_param(request, "rest"),
               q = skua_request_query_param(request, "q");
    skua_slice method = skua_request_method(request);
    int len = snprintf(
        text, sizeof(text),
        "method=%.*s\ntarget=%.*s\npath=%.*s\nquery=%.*s\nauthority=%.*s\nversion=%d\n"
        "plain=%d\nrest=%.*s\nq=%.*s\npeer=%s\n",
        (int)method.len, method.ptr, (int)target.len, target.ptr, (int)path.len, path.ptr,
        (int)query.len, query.ptr, (int)authority.len, authority.ptr, skua_request_version(request),
        skua_request_path_is_plain(request), (int)rest.len, rest.ptr, (int)q.len, q.ptr, peer);
    must(skua_respond(
        request, 200, "text/plain",
        (skua_slice){ text, len < (int)sizeof(text) ? (size_t)len : sizeof(text) - 1 }));
}

// ---- Content that is pulled ----

// The behaviour of a pulled answer: give octets octets, then end in its way.
typedef struct source {
    uint64_t left;
    skua_pulled then; // END, ERROR, or PENDING for ever
    bool trailer;
} source;

static skua_pulled source_pull(skua_request *request, char *buffer, size_t room, size_t *octets,
                               void *user)
{
    source *src = user;
    size_t n = src->left < room ? (size_t)src->left : room;
    memset(buffer, 'x', n);
    src->left -= n;
    *octets = n;
    if (n > 0) return SKUA_PULL_OCTETS;
    if (src->trailer) must(skua_trailer_add(request, "X-Sum", SKUA_SLICE("abc")));
    return src->then;
}

static void pull(skua_request *request, int64_t length, source what)
{
    source *src = skua_request_alloc(request, sizeof(*src));
    if (!src) {
        must(skua_respond_error(request, 503));
        return;
    }
    *src = what;
    must(skua_respond_pull(request, 200, "text/plain", length, source_pull, src));
}

// GET /pull/{n}: n octets of stated length.
static void answer_pull(skua_request *request, void *user)
{
    (void)user;
    uint64_t n = param_number(request, "n");
    pull(request, (int64_t)n, (source){ .left = n, .then = SKUA_PULL_END });
}

// GET /chunked/{n}: n octets of unknown length, and a trailer.
static void answer_chunked(skua_request *request, void *user)
{
    (void)user;
    pull(request, -1,
         (source){ .left = param_number(request, "n"), .then = SKUA_PULL_END, .trailer = true });
}

// GET /short/{n}: states n, ends after half of it.  GET /long/{n}: states n, gives twice as much.
static void answer_short(skua_request *request, void *user)
{
    (void)user;
    uint64_t n = param_number(request, "n");
    pull(request, (int64_t)n, (source){ .left = n / 2, .then = SKUA_PULL_END });
}

static void answer_long(skua_request *request, void *user)
{
    (void)user;
    uint64_t n = param_number(request, "n");
    pull(request, (int64_t)n, (source){ .left = n * 2, .then = SKUA_PULL_END });
}

// GET /aborted/{n}: n octets of unknown length, then the handler gives up.
static skua_pulled aborting_pull(skua_request *request, char *buffer, size_t room, size_t *octets,
                                 void *user)
{
    skua_pulled pulled = source_pull(request, buffer, room, octets, user);
    if (pulled == SKUA_PULL_PENDING) skua_request_abort(request);
    return pulled;
}

static void answer_aborted(skua_request *request, void *user)
{
    (void)user;
    source *src = skua_request_alloc(request, sizeof(*src));
    if (!src) {
        must(skua_respond_error(request, 503));
        return;
    }
    *src = (source){ .left = param_number(request, "n"), .then = SKUA_PULL_PENDING };
    must(skua_respond_pull(request, 200, "text/plain", -1, aborting_pull, src));
}

// GET /closing/{n}: n octets, and the connection ends behind them.
static void answer_closing(skua_request *request, void *user)
{
    skua_request_close(request);
    answer_pull(request, user);
}

// GET /nap: after half a second in which the worker does nothing else.
static void answer_nap(skua_request *request, void *user)
{
    (void)user;
    nanosleep(&(struct timespec){ .tv_nsec = 500000000 }, NULL);
    must(skua_respond(request, 200, "text/plain", SKUA_SLICE("awake\n")));
}

// GET /kept/{text}: answered at once; its path is read again on another thread, a while after the
// request has ended.
// GET /kept: what was read so the last time.
static char kept_text[64];

static void kept_wait(void *user)
{
    (void)user;
    nanosleep(&(struct timespec){ .tv_nsec = 200000000 }, NULL);
}

static void kept_read(skua_worker *worker, void *user)
{
    (void)worker;
    skua_slice text = skua_request_param(user, "text");
    snprintf(kept_text, sizeof(kept_text), "%.*s", (int)text.len, text.ptr);
    skua_request_drop(user);
}

static void answer_kept(skua_request *request, void *user)
{
    (void)user;
    skua_request_hold(request);
    must(skua_offload(skua_request_worker(request), kept_wait, kept_read, request));
    must(skua_respond(request, 200, "text/plain", SKUA_SLICE("holding\n")));
}

static void answer_kept_text(skua_request *request, void *user)
{
    (void)user;
    must(skua_respond(request, 200, "text/plain", text_slice(kept_text)));
}

// GET /fails/{n}: n octets of unknown length, then the source fails.
static void answer_fails(skua_request *request, void *user)
{
    (void)user;
    pull(request, -1, (source){ .left = param_number(request, "n"), .then = SKUA_PULL_ERROR });
}

// GET /stuck: a few octets, then none for ever, through no fault of the peer.
static void answer_stuck(skua_request *request, void *user)
{
    (void)user;
    pull(request, -1, (source){ .left = 5, .then = SKUA_PULL_PENDING });
}

// GET /silent: never answers.
static void answer_never(skua_request *request, void *user)
{
    (void)request;
    (void)user;
}

// ---- Responses that cannot be given ----

// GET /fields/{n}: number n of those below, and others that are good.
static void answer_fields(skua_request *request, void *user)
{
    (void)user;
    const struct {
        const char *name;
        skua_slice value;
    } bad[] = {
        { "Content-Length", SKUA_SLICE("1") },
        { "Transfer-Encoding", SKUA_SLICE("1") },
        { "Connection", SKUA_SLICE("1") },
        { "Trailer", SKUA_SLICE("1") },
        { "Date", SKUA_SLICE("1") },
        { "bad name", SKUA_SLICE("1") },
        { "", SKUA_SLICE("1") },
        { "keep-alive", SKUA_SLICE("1") },
        { "X-Value", SKUA_SLICE("a\r\nX: 1") },
        { "X-Value", SKUA_SLICE("a\nb") },
        { "X-Value", { "a\0b", 3 } },
    };
    size_t n = (size_t)param_number(request, "n");
    must(skua_field_add(request, "X-Good", SKUA_SLICE("yes")));
    must(skua_field_add(request, "Set-Cookie", SKUA_SLICE("a=1")));
    must(skua_field_add(request, "Set-Cookie", SKUA_SLICE("b=2")));
    if (n < sizeof bad / sizeof *bad) skua_field_add(request, bad[n].name, bad[n].value);
    skua_respond(request, 200, "text/plain", SKUA_SLICE("good\n"));
}

static void answer_twice(skua_request *request, void *user)
{
    (void)user;
    must(skua_respond(request, 200, "text/plain", SKUA_SLICE("first\n")));
    skua_respond(request, 200, "text/plain", SKUA_SLICE("second\n"));
}

// GET /cookie/{name}: that cookie.
static void answer_cookie(skua_request *request, void *user)
{
    (void)user;
    skua_slice param = skua_request_param(request, "name");
    char name[64] = "";
    if (param.len < sizeof(name)) memcpy(name, param.ptr, param.len);
    skua_slice cookie = skua_request_cookie(request, name);
    must(skua_respond(request, cookie.ptr ? 200 : 404, "text/plain", cookie));
}

// GET /large/{n}: a prepared response with n octets of fields, to which as many are added. More than
// a head may hold becomes 500.
static void answer_large(skua_request *request, void *user)
{
    (void)user;
    char value[8192];
    size_t n = (size_t)param_number(request, "n");
    if (n > sizeof(value)) n = sizeof(value);
    memset(value, 'v', sizeof(value));
    skua_field field = { SKUA_SLICE("X-Made"), { value, n } };
    skua_prepared *answer;
    must(skua_prepared_new(
        skua_request_worker(request),
        &(skua_prepared_desc){ .status = 200, .fields = &field, .fields_count = 1 }, &answer));
    skua_field_add(request, "X-Added", (skua_slice){ value, n });
    skua_respond_prepared(request, answer);
    skua_prepared_unref(answer);
}

// ---- Content that is read ----

static void collected(skua_request *request, skua_status status, skua_slice content, void *user)
{
    (void)user;
    if (status != SKUA_OK) return;
    skua_slice sum = skua_request_trailer(request, "X-Sum");
    if (sum.ptr) must(skua_field_add(request, "X-Trailer", sum));
    if (skua_request_field(request, "X-Sum").ptr)
        must(skua_field_add(request, "X-Merged", SKUA_SLICE("yes")));
    must(skua_respond(request, 200, "application/octet-stream", content));
}

// POST /collect: answers with the content.
static void answer_collected(skua_request *request, void *user)
{
    (void)user;
    must(skua_content_collect(request, 0, collected, NULL));
}

// POST /collect-later answers with its content when GET /collect-now comes. One at a time.
static skua_request *later_request;

static void later_ended(skua_request *request, skua_end how, void *user)
{
    (void)how;
    (void)user;
    if (later_request == request) later_request = NULL;
}

static void answer_collected_later(skua_request *request, void *user)
{
    (void)user;
    later_request = request;
    skua_on_end(request, later_ended, NULL);
}

static void answer_collect_now(skua_request *request, void *user)
{
    if (later_request) must(skua_content_collect(later_request, 0, collected, NULL));
    answer_ok(request, user);
}

typedef struct tally {
    uint64_t octets;
    uint64_t owed; // credit that has not been given back
    bool held;
} tally;

static void count_content(skua_request *request, skua_content_event event, skua_slice octets,
                          void *user)
{
    tally *sum = user;
    if (event == SKUA_CONTENT_DATA) {
        sum->octets += octets.len;
        if (sum->held) sum->owed += octets.len;
        else skua_content_consume(request, octets.len);
    } else if (event == SKUA_CONTENT_END) {
        char text[32];
        int len = snprintf(text, sizeof(text), "%" PRIu64 "\n", sum->octets);
        must(skua_respond(request, 200, "text/plain", (skua_slice){ text, (size_t)len }));
    }
}

static tally *tally_content(skua_request *request, bool held)
{
    tally *sum = skua_request_alloc(request, sizeof(*sum));
    if (!sum) {
        must(skua_respond_error(request, 503));
        return NULL;
    }
    *sum = (tally){ .held = held };
    must(skua_content_read(request, count_content, sum));
    return sum;
}

// POST /count: how many octets came.
static void answer_count(skua_request *request, void *user)
{
    (void)user;
    (void)tally_content(request, false);
}

// POST /hold gives no credit back until GET /release; GET /held tells how much it has got. One at a
// time.
static skua_request *held_request;
static tally *held_tally;

static void hold_ended(skua_request *request, skua_end how, void *user)
{
    (void)how;
    (void)user;
    if (held_request == request) {
        held_request = NULL;
        held_tally = NULL;
    }
}

static void answer_hold(skua_request *request, void *user)
{
    (void)user;
    held_request = request;
    skua_on_end(request, hold_ended, NULL);
    held_tally = tally_content(request, true);
}

static void answer_held(skua_request *request, void *user)
{
    (void)user;
    char text[32];
    int len = snprintf(text, sizeof(text), "%" PRIu64 "\n", held_tally ? held_tally->octets : 0);
    must(skua_respond(request, 200, "text/plain", (skua_slice){ text, (size_t)len }));
}

static void answer_release(skua_request *request, void *user)
{
    if (held_request) {
        uint64_t owed = held_tally->owed;
        held_tally->held = false;
        held_tally->owed = 0;
        skua_content_consume(held_request, (size_t)owed);
    }
    answer_ok(request, user);
}

// POST /sip/{n} takes n octets of content a millisecond at most; GET /sipped tells how many it has taken in
// all. One at a time.
static skua_request *sipping_request;
static skua_timer sipping_timer;
static uint64_t sip_octets, sip_owed, sipped;
static bool sip_came_whole;

static void sip(skua_worker *worker, void *user)
{
    (void)worker;
    (void)user;
    uint64_t octets = sip_owed < sip_octets ? sip_owed : sip_octets;
    sip_owed -= octets;
    sipped += octets;
    if (octets) skua_content_consume(sipping_request, (size_t)octets);
    if (!sip_came_whole || sip_owed) return;
    (void)skua_timer_stop(sipping_timer);
    must(skua_respond(sipping_request, 200, "text/plain", SKUA_SLICE("sipped\n")));
}

static void sip_ended(skua_request *request, skua_end how, void *user)
{
    (void)request;
    (void)how;
    (void)user;
    (void)skua_timer_stop(sipping_timer);
}

static void sip_content(skua_request *request, skua_content_event event, skua_slice octets,
                        void *user)
{
    (void)user;
    (void)request;
    if (event == SKUA_CONTENT_DATA) sip_owed += octets.len;
    sip_came_whole = event == SKUA_CONTENT_END;
}

static void answer_sip(skua_request *request, void *user)
{
    (void)user;
    sipping_request = request;
    sip_octets = param_number(request, "n");
    sip_owed = sipped = 0;
    sip_came_whole = false;
    must(skua_timer_start(skua_request_worker(request), 1000000, 1000000, sip, NULL,
                          &sipping_timer));
    skua_on_end(request, sip_ended, NULL);
    must(skua_content_read(request, sip_content, NULL));
}

static void answer_sipped(skua_request *request, void *user)
{
    (void)user;
    char text[32];
    int len = snprintf(text, sizeof(text), "%" PRIu64 "\n", sipped);
    must(skua_respond(request, 200, "text/plain", (skua_slice){ text, (size_t)len }));
}

// POST /keep never answers, and GET /keep lends a megabyte. Both hold their requests until GET /keep/drop.
// GET /keep/lent tells how many are lent.
enum { KEPT_MAX = 64, KEPT_OCTETS = 1 << 20 };
static skua_request *kept_requests[KEPT_MAX];
static unsigned kept_count, kept_lent;
static const char kept_octets[KEPT_OCTETS];

static void keep(skua_request *request)
{
    if (kept_count == KEPT_MAX) abort();
    skua_request_hold(request);
    kept_requests[kept_count++] = request;
}

static void answer_keep(skua_request *request, void *user)
{
    (void)user;
    keep(request);
}

static void kept_release(void *user)
{
    (void)user;
    kept_lent--;
}

static void answer_keep_lent(skua_request *request, void *user)
{
    (void)user;
    keep(request);
    kept_lent++;
    must(skua_respond_borrowed(request, 200, "text/plain", (skua_slice){ kept_octets, KEPT_OCTETS },
                               kept_release, NULL));
}

static void answer_kept_lent(skua_request *request, void *user)
{
    (void)user;
    char text[32];
    int len = snprintf(text, sizeof(text), "%u\n", kept_lent);
    must(skua_respond(request, 200, "text/plain", (skua_slice){ text, (size_t)len }));
}

static void answer_keep_drop(skua_request *request, void *user)
{
    while (kept_count)
        skua_request_drop(kept_requests[--kept_count]);
    answer_ok(request, user);
}

// GET /feed is an event stream, and GET /feed/send an event to each of them, which it counts.
enum { FEEDS_MAX = 1000 };
static skua_request *feeds[FEEDS_MAX];
static unsigned feed_count;

static void feed_ended(skua_request *request, skua_end how, void *user)
{
    (void)how;
    (void)user;
    for (unsigned i = 0; i < feed_count; i++) {
        if (feeds[i] == request) feeds[i] = feeds[--feed_count];
    }
}

static void answer_feed(skua_request *request, void *user)
{
    (void)user;
    if (feed_count == FEEDS_MAX) abort();
    must(skua_events_open(request, NULL, NULL));
    skua_on_end(request, feed_ended, NULL);
    feeds[feed_count++] = request;
}

static void answer_feed_send(skua_request *request, void *user)
{
    (void)user;
    char text[32];
    for (unsigned i = 0; i < feed_count; i++)
        must(skua_event_send(feeds[i], &(skua_event){ .data = SKUA_SLICE("news") }));
    int len = snprintf(text, sizeof(text), "%u\n", feed_count);
    must(skua_respond(request, 200, "text/plain", (skua_slice){ text, (size_t)len }));
}

// ---- How requests end ----

static unsigned ends[4];

static void count_end(skua_request *request, skua_end how, void *user)
{
    (void)request;
    (void)user;
    ends[how]++;
}

// GET /watched/{n}: n octets, and its end is counted.  GET /watched-silent: never answered.
static void answer_watched(skua_request *request, void *user)
{
    skua_on_end(request, count_end, NULL);
    answer_pull(request, user);
}

static void answer_watched_never(skua_request *request, void *user)
{
    (void)user;
    skua_on_end(request, count_end, NULL);
}

static void answer_ends(skua_request *request, void *user)
{
    (void)user;
    char text[80];
    int len =
        snprintf(text, sizeof(text), "sent=%u closed=%u timeout=%u error=%u\n", ends[SKUA_END_SENT],
                 ends[SKUA_END_CLOSED], ends[SKUA_END_TIMEOUT], ends[SKUA_END_ERROR]);
    must(skua_respond(request, 200, "text/plain", (skua_slice){ text, (size_t)len }));
}

// ---- The program ----

static const struct {
    const char *pattern;
    skua_handler *handler;
} routes[] = {
    { "GET /{$}", answer_ok },
    { "GET /status/{code}", answer_status },
    { "GET /error/{code}", answer_error },
    { "/echo/{rest...}", answer_echo },
    { "GET /pull/{n}", answer_pull },
    { "GET /chunked/{n}", answer_chunked },
    { "GET /short/{n}", answer_short },
    { "GET /long/{n}", answer_long },
    { "GET /aborted/{n}", answer_aborted },
    { "GET /closing/{n}", answer_closing },
    { "GET /nap", answer_nap },
    { "GET /kept/{text}", answer_kept },
    { "GET /kept", answer_kept_text },
    { "GET /fails/{n}", answer_fails },
    { "GET /stuck", answer_stuck },
    { "GET /silent", answer_never },
    { "GET /fields/{n}", answer_fields },
    { "GET /twice", answer_twice },
    { "GET /large/{n}", answer_large },
    { "GET /cookie/{name}", answer_cookie },
    { "POST /ignore", answer_ok },
    { "POST /collect", answer_collected },
    { "POST /collect-later", answer_collected_later },
    { "GET /collect-now", answer_collect_now },
    { "POST /count", answer_count },
    { "POST /hold", answer_hold },
    { "GET /held", answer_held },
    { "GET /release", answer_release },
    { "POST /sip/{n}", answer_sip },
    { "GET /sipped", answer_sipped },
    { "GET /feed", answer_feed },
    { "GET /feed/send", answer_feed_send },
    { "POST /keep", answer_keep },
    { "GET /keep", answer_keep_lent },
    { "GET /keep/lent", answer_kept_lent },
    { "GET /keep/drop", answer_keep_drop },
    { "GET /watched/{n}", answer_watched },
    { "GET /watched-silent", answer_watched_never },
    { "GET /ends", answer_ends },
    { "GET /stats", skua_respond_stats },
};

// Sets the member of config that "name=number" speaks of.
static bool config_set(skua_config *config, const char *word)
{
    const struct {
        const char *name;
        int64_t *time;
        uint64_t *count;
        size_t *size;
        unsigned *number;
        bool *flag;
    } members[] = {
        { .name = "connections_max", .number = &config->connections_max },
        { .name = "http2.streams_max", .number = &config->http2.streams_max },
        { .name = "head_octets_max", .size = &config->head_octets_max },
        { .name = "memory_max", .size = &config->memory_max },
        { .name = "target_octets_max", .size = &config->target_octets_max },
        { .name = "fields_max", .number = &config->fields_max },
        { .name = "params_max", .number = &config->params_max },
        { .name = "trailer_octets_max", .size = &config->trailer_octets_max },
        { .name = "chunk_ext_octets_max", .size = &config->chunk_ext_octets_max },
        { .name = "content_octets_max", .count = &config->content_octets_max },
        { .name = "content_window_octets", .size = &config->content_window_octets },
        { .name = "discard_octets_max", .count = &config->discard_octets_max },
        { .name = "out_octets_max", .count = &config->out_octets_max },
        { .name = "head_timeout_ns", .time = &config->head_timeout_ns },
        { .name = "keep_alive_timeout_ns", .time = &config->keep_alive_timeout_ns },
        { .name = "stall_timeout_ns", .time = &config->stall_timeout_ns },
        { .name = "rate_window_ns", .time = &config->rate_window_ns },
        { .name = "rate_octets_min", .count = &config->rate_octets_min },
        { .name = "handler_timeout_ns", .time = &config->handler_timeout_ns },
        { .name = "linger_timeout_ns", .time = &config->linger_timeout_ns },
        { .name = "linger_octets_max", .count = &config->linger_octets_max },
        { .name = "stats", .flag = &config->stats },
    };
    const char *equals = strchr(word, '=');
    if (!equals) return false;
    char *end;
    unsigned long long value = strtoull(equals + 1, &end, 10);
    if (end == equals + 1 || *end) return false;
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (strlen(members[i].name) != (size_t)(equals - word)) continue;
        if (memcmp(members[i].name, word, (size_t)(equals - word)) != 0) continue;
        if (members[i].time) *members[i].time = (int64_t)value;
        if (members[i].count) *members[i].count = value;
        if (members[i].size) *members[i].size = (size_t)value;
        if (members[i].number) *members[i].number = (unsigned)value;
        if (members[i].flag) *members[i].flag = value != 0;
        return true;
    }
    return false;
}

static skua_server *running;

static void stop(int signal_number)
{
    (void)signal_number;
    static volatile sig_atomic_t signals;
    signals = signals + 1;
    skua_stop(running, signals > 1 ? 0 : INT64_C(5000000000));
}

static void drain(int signal_number)
{
    (void)signal_number;
    skua_drain(running);
}

static bool serve(const skua_config *config, const char *files)
{
    running = skua_server_new(config);
    if (!running) return false;
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
        must(skua_route(running, routes[i].pattern, routes[i].handler, NULL));
    if (files) must(skua_route_directory(running, "/files/", files, NULL));
    struct sigaction action = { .sa_handler = stop };
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    action.sa_handler = drain;
    sigaction(SIGUSR1, &action, NULL);
    skua_status status = skua_run(running);
    if (status) fprintf(stderr, "rules: %s\n", skua_server_error(running));
    skua_server_free(running);
    return status == SKUA_OK;
}

int main(int argc, char **argv)
{
    char listen[64] = "127.0.0.1:0";
    const char *files = NULL;
    skua_config config = { .hosts = "*", .workers = 1 };
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--port") == 0 && i + 1 < argc) {
            snprintf(listen, sizeof(listen), "127.0.0.1:%s", argv[++i]);
        } else if (strcmp(argv[i], "--files") == 0 && i + 1 < argc) {
            files = argv[++i];
        } else if (strcmp(argv[i], "--backend") == 0 && i + 1 < argc) {
            config.backend = argv[++i];
        } else if (i + 1 < argc && tls_option(argv[i], argv[i + 1], &config)) {
            i++;
        } else if (!config_set(&config, argv[i])) {
            fprintf(stderr, "rules: not understood: %s\n", argv[i]);
            return 2;
        }
    }
    if (!config.tls.listen) config.listen = listen;
    return serve(&config, files) ? 0 : 1;
}
