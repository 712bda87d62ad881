// SPDX-License-Identifier: MIT
//
// A server with a handler for each way of answering that goes on for a while or says something
// before the end, for the end-to-end tests: streams --port N [--backend NAME] [--files DIR]
// [MEMBER=NUMBER]..., where MEMBER is a number of skua_config.
#include "tls_options.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <skua/skua.h>

static skua_slice text_slice(const char *text)
{
    return (skua_slice){ text, strlen(text) };
}

static void must(skua_status status)
{
    if (status == SKUA_OK || status == SKUA_ECLOSED) return;
    fprintf(stderr, "streams: unexpected status: %s\n", skua_status_text(status));
    abort();
}

// Answers with the words for a status, so that a test sees what a function has returned.
static void tell_status(skua_request *request, skua_status status)
{
    must(skua_respond_text(request, 200, status ? skua_status_text(status) : "ok"));
}

static int64_t query_number(skua_request *request, const char *name, int64_t otherwise)
{
    skua_slice text = skua_request_query_param(request, name);
    char digits[24] = "";
    if (!text.ptr || text.len >= sizeof(digits)) return otherwise;
    memcpy(digits, text.ptr, text.len);
    return strtoll(digits, NULL, 10);
}

// A query parameter with a NUL behind it; NULL when absent.
static const char *query_text(skua_request *request, const char *name)
{
    skua_slice value = skua_request_query_param(request, name);
    char *text = value.ptr ? skua_request_alloc(request, value.len + 1) : NULL;
    if (!text) return NULL;
    if (value.len) memcpy(text, value.ptr, value.len);
    text[value.len] = 0;
    return text;
}

// ---- In one piece ----

static void answer_text(skua_request *request, void *user)
{
    (void)user;
    must(skua_respond_text(request, 200, "gr\xc3\xbc\xc3\x9f dich\n"));
}

static void answer_html(skua_request *request, void *user)
{
    (void)user;
    must(skua_respond_html(request, 201, "<!doctype html><title>t</title>"));
}

static void answer_json(skua_request *request, void *user)
{
    (void)user;
    must(skua_respond_json(request, 200, SKUA_SLICE("{\"a\":1}")));
}

// GET /redirect?status=N&to=LOCATION
static void answer_redirect(skua_request *request, void *user)
{
    (void)user;
    const char *to = query_text(request, "to");
    skua_redirect(request, (int)query_number(request, "status", 302), to ? to : "");
}

// GET /cookie?name=N&value=V&path=P&age=S&secure=1
static void answer_cookie(skua_request *request, void *user)
{
    (void)user;
    skua_cookie cookie = {
        .name = query_text(request, "name"),
        .value = skua_request_query_param(request, "value"),
        .path = query_text(request, "path"),
        .max_age_s = query_number(request, "age", 0),
        .secure = query_number(request, "secure", 0) != 0,
        .http_only = true,
        .same_site = SKUA_SAME_SITE_STRICT,
    };
    skua_cookie_set(request, &cookie);
    skua_respond_text(request, 200, "ok");
}

// ---- Before the answer ----

// GET /hints: 103, 102, and the answer.  GET /inform?status=N: what skua_inform makes of it.
static void answer_hints(skua_request *request, void *user)
{
    (void)user;
    skua_field links[] = { { SKUA_SLICE("Link"), SKUA_SLICE("</a.css>; rel=preload") },
                           { SKUA_SLICE("Link"), SKUA_SLICE("</b.js>; rel=preload") } };
    must(skua_inform(request, 103, links, 2));
    must(skua_inform(request, 102, NULL, 0));
    must(skua_respond_text(request, 200, "hinted"));
    if (skua_inform(request, 103, links, 2) != SKUA_ESTATE) abort();
}

static void answer_inform(skua_request *request, void *user)
{
    (void)user;
    const char *value = query_text(request, "value"), *name = query_text(request, "name");
    skua_field field = { text_slice(name ? name : "X-A"), text_slice(value ? value : "b") };
    int64_t times = query_number(request, "times", 1);
    skua_status status = SKUA_OK;
    for (int64_t i = 0; i < times && !status; i++)
        status = skua_inform(request, (int)query_number(request, "status", 103), &field, 1);
    tell_status(request, status);
}

static skua_request *waiting; // for another request to act on it

static void waiting_ended(skua_request *request, skua_end how, void *user)
{
    (void)how;
    (void)user;
    if (waiting == request) waiting = NULL;
}

// GET /wait is answered by GET /go, which informs it before that.
static void answer_wait(skua_request *request, void *user)
{
    (void)user;
    waiting = request;
    skua_on_end(request, waiting_ended, NULL);
}

static void answer_go(skua_request *request, void *user)
{
    (void)user;
    if (waiting) {
        must(skua_inform(waiting, 102, NULL, 0));
        if (query_number(request, "end", 0)) must(skua_respond_text(waiting, 200, "gone"));
    }
    must(skua_respond_text(request, 200, waiting ? "went" : "nobody"));
}

// POST /continue: says 100 three times, then collects and answers with the content.
static void echo_collected(skua_request *request, skua_status status, skua_slice content,
                           void *user)
{
    (void)user;
    if (status == SKUA_OK) must(skua_respond(request, 200, "text/plain", content));
}

static void answer_continue(skua_request *request, void *user)
{
    (void)user;
    for (int i = 0; i < 3; i++)
        must(skua_inform(request, 100, NULL, 0));
    must(skua_content_collect(request, 0, echo_collected, NULL));
}

// ---- How requests end ----

static unsigned ends[4];
static skua_status noted; // what a function returned whose request could not be answered with it

static void count_end(skua_request *request, skua_end how, void *user)
{
    (void)user;
    ends[how]++;
    if (waiting == request) waiting = NULL;
}

static void answer_ends(skua_request *request, void *user)
{
    (void)user;
    char text[80];
    snprintf(text, sizeof(text), "sent=%u closed=%u timeout=%u error=%u", ends[SKUA_END_SENT],
             ends[SKUA_END_CLOSED], ends[SKUA_END_TIMEOUT], ends[SKUA_END_ERROR]);
    must(skua_respond_text(request, 200, text));
}

static void answer_noted(skua_request *request, void *user)
{
    (void)user;
    tell_status(request, noted);
}

// ---- Content that is written as fast as it is taken ----

typedef struct writer {
    uint64_t at, len, piece;
    int64_t length;
    bool trailer, abort, writing;
    unsigned refused, drained;
} writer;

static char writer_octet(uint64_t i)
{
    return (char)('a' + (i + i / 26) % 26);
}

static skua_status writer_write(skua_request *request, writer *w)
{
    static char buffer[1 << 20];
    uint64_t n = w->len - w->at < w->piece ? w->len - w->at : w->piece;
    for (uint64_t i = 0; i < n; i++)
        buffer[i] = writer_octet(w->at + i);
    uint64_t room = skua_write_room(request);
    skua_status status = skua_write(request, (skua_slice){ buffer, (size_t)n });
    if ((status == SKUA_OK) != (n <= room) && status != SKUA_EINVAL) abort();
    if (status == SKUA_OK) w->at += n;
    return status;
}

static void writer_end(skua_request *request, writer *w)
{
    if (w->abort) {
        skua_request_abort(request);
        return;
    }
    char counts[64];
    snprintf(counts, sizeof(counts), "%u %u", w->refused, w->drained);
    if (w->trailer) must(skua_trailer_add(request, "X-Refused", text_slice(counts)));
    noted = skua_finish(request);
    if (skua_finish(request) != SKUA_ESTATE || skua_write_room(request)) abort();
    if (skua_write(request, SKUA_SLICE("x")) != SKUA_ESTATE) abort();
}

static void writer_go(skua_request *request, writer *w)
{
    if (w->writing) abort(); // drained was called from within skua_write
    w->writing = true;
    skua_status status = SKUA_OK;
    while (w->at < w->len && !status)
        status = writer_write(request, w);
    w->writing = false;
    if (status == SKUA_ELIMIT) {
        w->refused++;
        return;
    }
    noted = status;
    if (status == SKUA_OK) writer_end(request, w);
    else if (status == SKUA_EINVAL) skua_request_abort(request);
}

static void writer_drained(skua_request *request, void *user)
{
    writer *w = user;
    w->drained++;
    writer_go(request, w);
}

// GET /stream?len=N&piece=N&length=N&trailer=1&abort=1&status=N
static void answer_stream(skua_request *request, void *user)
{
    (void)user;
    writer *w = skua_request_alloc(request, sizeof(*w));
    if (!w) {
        must(skua_respond_error(request, 503));
        return;
    }
    *w = (writer){
        .len = (uint64_t)query_number(request, "len", 0),
        .piece = (uint64_t)query_number(request, "piece", 1000),
        .length = query_number(request, "length", -1),
        .trailer = query_number(request, "trailer", 0) != 0,
        .abort = query_number(request, "abort", 0) != 0,
    };
    skua_on_end(request, count_end, NULL);
    int status = (int)query_number(request, "status", 200);
    skua_status begun =
        skua_respond_stream(request, status, "text/plain", w->length, writer_drained, w);
    if (begun) {
        tell_status(request, begun);
        return;
    }
    writer_go(request, w);
}

// ---- Content that other requests write ----

static void opened(skua_request *request, skua_status begun)
{
    if (begun) {
        tell_status(request, begun);
        return;
    }
    waiting = request;
    skua_on_end(request, count_end, NULL);
}

static void answer_open(skua_request *request, void *user)
{
    (void)user;
    opened(request, skua_respond_stream(request, 200, "text/plain",
                                        query_number(request, "length", -1), NULL, NULL));
}

static void answer_events(skua_request *request, void *user)
{
    (void)user;
    opened(request, skua_events_open(request, NULL, NULL));
}

// GET /write?data=D&times=N, /finish, /abort, /room, /event?data=D&name=N&id=I&retry=R&comment=1:
// what comes of it.
static void answer_write(skua_request *request, void *user)
{
    (void)user;
    int64_t times = query_number(request, "times", 1);
    skua_status status = waiting ? SKUA_OK : SKUA_ENOENT;
    for (int64_t i = 0; i < times && !status; i++)
        status = skua_write(waiting, skua_request_query_param(request, "data"));
    tell_status(request, status);
}

static void answer_finish(skua_request *request, void *user)
{
    (void)user;
    tell_status(request, waiting ? skua_finish(waiting) : SKUA_ENOENT);
}

static void answer_abort(skua_request *request, void *user)
{
    (void)user;
    if (waiting) skua_request_abort(waiting);
    tell_status(request, waiting ? SKUA_OK : SKUA_ENOENT);
}

static void answer_room(skua_request *request, void *user)
{
    (void)user;
    char text[32];
    snprintf(text, sizeof(text), "%" PRIu64, waiting ? skua_write_room(waiting) : 0);
    must(skua_respond_text(request, 200, text));
}

static skua_event query_event(skua_request *request)
{
    return (skua_event){
        .data = skua_request_query_param(request, "data"),
        .name = skua_request_query_param(request, "name"),
        .id = skua_request_query_param(request, "id"),
        .retry_ms = query_number(request, "retry", 0),
        .comment = query_number(request, "comment", 0) != 0,
    };
}

static void answer_event(skua_request *request, void *user)
{
    (void)user;
    skua_event event = query_event(request);
    tell_status(request, waiting ? skua_event_send(waiting, &event) : SKUA_ENOENT);
}

// GET /ticks: three events at once, and the end.
static void answer_ticks(skua_request *request, void *user)
{
    (void)user;
    skua_on_end(request, count_end, NULL);
    must(skua_events_open(request, NULL, NULL));
    must(skua_event_send(request,
                         &(skua_event){ .data = SKUA_SLICE("one"), .id = SKUA_SLICE("7") }));
    must(
        skua_event_send(request, &(skua_event){ .data = SKUA_SLICE("be quiet"), .comment = true }));
    must(skua_event_send(
        request, &(skua_event){ .data = SKUA_SLICE("two\nlines"), .name = SKUA_SLICE("tick") }));
    must(skua_event_send(request, &(skua_event){ .data = SKUA_SLICE("last"), .retry_ms = 600000 }));
    must(skua_finish(request));
}

// GET /page: a page in a browser that listens to /ticks and ends loading when it has heard the
// last.
static void answer_page(skua_request *request, void *user)
{
    (void)user;
    must(skua_respond_html(
        request, 200,
        "<!doctype html><title>events</title><body><img src='/wait'><script>\n"
        "const heard = [], source = new EventSource('/ticks');\n"
        "const hear = (e) => { heard.push(e.type + ':' + e.data.replace('\\n', '|') + ':' +"
        " e.lastEventId);\n"
        "  if (e.data != 'last') return;\n"
        "  source.close(); document.body.append(heard.join(' ')); fetch('/go?end=1'); };\n"
        "source.onmessage = hear; source.addEventListener('tick', hear);\n"
        "</script></body>"));
}

// ---- Both ways at once ----

enum { ECHO_ROOM = 98304 }; // more than a window and what one read may bring beyond it

typedef struct echo_state {
    size_t owed;
    uint64_t octets;
    bool lost;
} echo_state;

// Credit is given back only while all that may come can be written, so that no write is refused.
static void echo_credit(skua_request *request, echo_state *e)
{
    if (e->owed == 0 || skua_write_room(request) < ECHO_ROOM) return;
    size_t owed = e->owed;
    e->owed = 0;
    skua_content_consume(request, owed);
}

static void echo_drained(skua_request *request, void *user)
{
    echo_credit(request, user);
}

static void echo_content(skua_request *request, skua_content_event event, skua_slice octets,
                         void *user)
{
    echo_state *e = user;
    if (event == SKUA_CONTENT_DATA) {
        must(skua_write(request, octets));
        e->owed += octets.len;
        e->octets += octets.len;
        echo_credit(request, e);
    } else if (event == SKUA_CONTENT_END) {
        skua_slice sum = skua_request_trailer(request, "X-Sum");
        if (sum.ptr) must(skua_trailer_add(request, "X-Sum", sum));
        must(skua_finish(request));
    }
}

// POST /duplex: the content comes back while it is still coming; ?early=1: the answer begins before
// the reading.
static void answer_duplex(skua_request *request, void *user)
{
    (void)user;
    echo_state *e = skua_request_alloc(request, sizeof(*e));
    if (!e) {
        must(skua_respond_error(request, 503));
        return;
    }
    *e = (echo_state){ .owed = 0 };
    skua_on_end(request, count_end, NULL);
    if (query_number(request, "early", 0)) {
        must(skua_respond_stream(request, 200, "text/plain", -1, echo_drained, e));
        must(skua_content_read(request, echo_content, e));
    } else {
        must(skua_content_read(request, echo_content, e));
        if (skua_respond_stream(request, 200, "text/plain", -1, echo_drained, e)) abort();
    }
}

// ---- Tunnels ----

static void refuse_upgrade(skua_request *request, skua_status status)
{
    if (status != SKUA_EPROTOCOL) {
        tell_status(request, status);
        return;
    }
    must(skua_field_add(request, "Upgrade", SKUA_SLICE("echo")));
    must(skua_respond_error(request, 426));
}

// /tunnel: echoes what comes through it, and ends when the client does.
static void answer_tunnel(skua_request *request, void *user)
{
    (void)user;
    const char *protocol = query_text(request, "protocol");
    echo_state *e = skua_request_alloc(request, sizeof(*e));
    if (!e) {
        must(skua_respond_error(request, 503));
        return;
    }
    *e = (echo_state){ .owed = 0 };
    must(skua_field_add(request, "X-Tunnel", SKUA_SLICE("yes")));
    skua_status status = skua_upgrade(request, protocol ? protocol : "echo", echo_drained, e);
    if (status) {
        refuse_upgrade(request, status);
        return;
    }
    skua_on_end(request, count_end, NULL);
    must(skua_content_read(request, echo_content, e));
}

// GET /quiet-tunnel: one that other requests write to; what comes through it is counted.
static uint64_t quiet_octets;
static unsigned quiet_ends;

static void quiet_content(skua_request *request, skua_content_event event, skua_slice octets,
                          void *user)
{
    (void)user;
    quiet_octets += octets.len;
    if (event == SKUA_CONTENT_DATA) skua_content_consume(request, octets.len);
    if (event == SKUA_CONTENT_END) quiet_ends++;
}

static void answer_quiet_tunnel(skua_request *request, void *user)
{
    (void)user;
    quiet_octets = quiet_ends = 0;
    skua_status status = skua_upgrade(request, "echo", NULL, NULL);
    if (!status && query_number(request, "read", 1))
        must(skua_content_read(request, quiet_content, NULL));
    opened(request, status);
}

static void answer_quiet(skua_request *request, void *user)
{
    (void)user;
    char text[64];
    snprintf(text, sizeof(text), "octets=%" PRIu64 " ends=%u", quiet_octets, quiet_ends);
    must(skua_respond_text(request, 200, text));
}

// POST /after: the content first, then the tunnel, which begins with it.
static void after_collected(skua_request *request, skua_status status, skua_slice content,
                            void *user)
{
    (void)user;
    if (status) return;
    skua_status upgraded = skua_upgrade(request, "echo", NULL, NULL);
    if (upgraded) {
        refuse_upgrade(request, upgraded);
        return;
    }
    echo_state *e = skua_request_alloc(request, sizeof(*e));
    if (!e) {
        skua_request_abort(request);
        return;
    }
    *e = (echo_state){ .owed = 0 };
    must(skua_write(request, content));
    must(skua_content_read(request, echo_content, e));
}

static void answer_after(skua_request *request, void *user)
{
    (void)user;
    must(skua_content_collect(request, 0, after_collected, NULL));
}

// ---- Files ----

static skua_root *root;

static void file_opened(skua_worker *worker, skua_status status, skua_file *file,
                        const skua_file_info *info, void *user)
{
    (void)worker;
    skua_request *request = user;
    if (status) {
        tell_status(request, status);
        return;
    }
    must(skua_respond_stream(request, 200, "text/plain", query_number(request, "length", -1), NULL,
                             NULL));
    must(skua_write(request, SKUA_SLICE("<")));
    must(skua_write_file(request, file, 0, info->size));
    must(skua_write_file(request, file, 0, 0));
    noted = skua_write(request, SKUA_SLICE("late"));
    skua_file_unref(file);
    if (noted == SKUA_ELIMIT) waiting = request; // ended by /finish
    else must(skua_finish(request));
}

// GET /file: "<", the file, and, if that leaves room, "late".
static void answer_file(skua_request *request, void *user)
{
    (void)user;
    skua_on_end(request, count_end, NULL);
    skua_file_open(skua_request_worker(request), root, SKUA_SLICE("file"), file_opened, request);
}

// ---- The program ----

static const struct {
    const char *pattern;
    skua_handler *handler;
} routes[] = {
    { "GET /text", answer_text },
    { "GET /html", answer_html },
    { "GET /json", answer_json },
    { "GET /redirect", answer_redirect },
    { "GET /cookie", answer_cookie },
    { "GET /hints", answer_hints },
    { "GET /inform", answer_inform },
    { "GET /wait", answer_wait },
    { "GET /go", answer_go },
    { "POST /continue", answer_continue },
    { "GET /ends", answer_ends },
    { "GET /noted", answer_noted },
    { "GET /stream", answer_stream },
    { "GET /open", answer_open },
    { "GET /events", answer_events },
    { "GET /write", answer_write },
    { "GET /finish", answer_finish },
    { "GET /abort", answer_abort },
    { "GET /room", answer_room },
    { "GET /event", answer_event },
    { "GET /ticks", answer_ticks },
    { "GET /page", answer_page },
    { "POST /duplex", answer_duplex },
    { "/tunnel", answer_tunnel },
    { "GET /quiet-tunnel", answer_quiet_tunnel },
    { "GET /quiet", answer_quiet },
    { "POST /after", answer_after },
    { "GET /file", answer_file },
};

// Sets the member of config that "name=number" speaks of.
static bool config_set(skua_config *config, const char *word)
{
    const struct {
        const char *name;
        int64_t *time;
        uint64_t *count;
    } members[] = {
        { "content_octets_max", NULL, &config->content_octets_max },
        { "out_octets_max", NULL, &config->out_octets_max },
        { "keep_alive_timeout_ns", &config->keep_alive_timeout_ns, NULL },
        { "stall_timeout_ns", &config->stall_timeout_ns, NULL },
        { "rate_window_ns", &config->rate_window_ns, NULL },
        { "linger_timeout_ns", &config->linger_timeout_ns, NULL },
        { "stream_idle_timeout_ns", &config->stream_idle_timeout_ns, NULL },
    };
    const char *equals = strchr(word, '=');
    for (size_t i = 0; equals && i < sizeof(members) / sizeof(members[0]); i++) {
        size_t len = (size_t)(equals - word);
        if (strlen(members[i].name) != len || memcmp(members[i].name, word, len) != 0) continue;
        if (members[i].time) *members[i].time = strtoll(equals + 1, NULL, 10);
        if (members[i].count) *members[i].count = strtoull(equals + 1, NULL, 10);
        return true;
    }
    return false;
}

static skua_server *running;

static void stop(int signal_number)
{
    (void)signal_number;
    skua_stop(running, 0);
}

static int serve(const skua_config *config)
{
    running = skua_server_new(config);
    if (!running) return 1;
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
        must(skua_route(running, routes[i].pattern, routes[i].handler, NULL));
    struct sigaction action = { .sa_handler = stop };
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    skua_status status = skua_run(running);
    if (status) fprintf(stderr, "streams: %s\n", skua_server_error(running));
    skua_server_free(running);
    skua_root_close(root);
    return status ? 1 : 0;
}

int main(int argc, char **argv)
{
    char listen[64] = "127.0.0.1:0";
    skua_config config = { .hosts = "*", .workers = 1, .http2.tunnels = true };
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--port") == 0 && i + 1 < argc) {
            snprintf(listen, sizeof(listen), "127.0.0.1:%s", argv[++i]);
        } else if (strcmp(argv[i], "--files") == 0 && i + 1 < argc) {
            must(skua_root_open(argv[++i], &root));
        } else if (strcmp(argv[i], "--backend") == 0 && i + 1 < argc) {
            config.backend = argv[++i];
        } else if (i + 1 < argc && tls_option(argv[i], argv[i + 1], &config)) {
            i++;
        } else if (!config_set(&config, argv[i])) {
            fprintf(stderr, "streams: not understood: %s\n", argv[i]);
            return 2;
        }
    }
    if (!config.tls.listen) config.listen = listen;
    return serve(&config);
}
