// SPDX-License-Identifier: MIT
//
// A server written to the interface of httpserver.h, for the end-to-end tests: compat --port N
// [--poll]. With --poll it has a loop of its own; without, http_server_listen has it. Its settings
// are small, so that tests reach them.
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <skua/compat/httpserver.h>
#undef HTTP_REQUEST_TIMEOUT
#define HTTP_REQUEST_TIMEOUT 3
#undef HTTP_MAX_REQUEST_BUF_SIZE
#define HTTP_MAX_REQUEST_BUF_SIZE 262144
#undef HTTP_MAX_TOTAL_EST_MEM_USAGE
#define HTTP_MAX_TOTAL_EST_MEM_USAGE 4194304
#define HTTPSERVER_IMPL
#include <skua/compat/httpserver.h>

static struct http_server_s *the_server;
static unsigned handled; // requests shown to handle_request

// The state that a handler keeps with a request.
typedef struct job job;
struct job {
    ev_cb_t event; // of its timer
    job **place;
    int timer;
    struct http_request_s *request;
    long left, done;
    unsigned sum;
};

static bool is_under(struct http_string_s target, const char *prefix)
{
    size_t len = strlen(prefix);
    return (size_t)target.len >= len && memcmp(target.buf, prefix, len) == 0;
}

// The number at the end of a target.
static long last_number(struct http_string_s target)
{
    char text[64] = "";
    memcpy(text, target.buf,
           (size_t)target.len < sizeof(text) - 1 ? (size_t)target.len : sizeof(text) - 1);
    const char *slash = strrchr(text, '/');
    return slash ? strtol(slash + 1, NULL, 10) : 0;
}

static void respond(struct http_request_s *request, int status, const char *octets, size_t len)
{
    struct http_response_s *response = http_response_init();
    http_response_status(response, status);
    http_response_header(response, "Content-Type", "text/plain");
    http_response_body(response, octets, (int)len);
    http_respond(request, response);
}

static void respond_text(struct http_request_s *request, int status, const char *text)
{
    respond(request, status, text, strlen(text));
}

// Those whose client went in between are never told, and stay here; as it always was.
static job *jobs[4096];

static job *job_new(struct http_request_s *request, long left)
{
    job *j = calloc(1, sizeof(*j));
    if (!j) abort();
    size_t i = 0;
    while (jobs[i])
        i++;
    jobs[i] = j;
    j->place = &jobs[i];
    j->request = request;
    j->left = left;
    j->timer = -1;
    http_request_set_userdata(request, j);
    return j;
}

static job *job_of(struct http_request_s *request)
{
    job *j = http_request_userdata(request);
    if (!j) abort();
    return j;
}

static void job_free(job *j)
{
    if (j->timer >= 0) close(j->timer);
    *j->place = NULL;
    free(j);
}

// ---- At once ----

static void answer_headers(struct http_request_s *request)
{
    char text[4096];
    size_t len = 0;
    int iter = 0;
    struct http_string_s key, value;
    while (http_request_iterate_headers(request, &key, &value, &iter))
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%.*s=%.*s\n", key.len, key.buf,
                                value.len, value.buf);
    respond(request, 200, text, len);
}

// Answers with the request as it is seen: method, target, a field, the octets of its body, whether
// it is streamed.
static void answer_seen(struct http_request_s *request)
{
    char text[512];
    struct http_string_s method = http_request_method(request),
                         target = http_request_target(request);
    struct http_string_s field = http_request_header(request, "x-seen"),
                         body = http_request_body(request);
    int len =
        snprintf(text, sizeof(text), "%.*s %.*s [%.*s] %d %s%d %d", method.len, method.buf,
                 target.len, target.buf, field.len, field.buf ? field.buf : "", body.len,
                 body.buf ? "" : "NULL ", http_request_has_flag(request, HTTP_FLG_STREAMED),
                 http_request_has_flag(request, HTTP_KEEP_ALIVE | HTTP_AUTOMATIC | HTTP_CLOSE));
    respond(request, 200, text, (size_t)len);
}

static void answer_fields(struct http_request_s *request)
{
    struct http_response_s *response = http_response_init();
    http_response_header(response, "Content-Length", "999");
    http_response_header(response, "Transfer-Encoding", "gzip");
    http_response_header(response, "Connection", "keep-alive");
    http_response_header(response, "X-Good", "1");
    http_response_header(response, "X-Bad", "a\r\nInjected: yes");
    http_response_header(response, "X-Good", "2");
    http_response_body(response, "fields", 6);
    http_respond(request, response);
}

static void answer_huge_field(struct http_request_s *request)
{
    static char value[400000];
    memset(value, 'x', sizeof(value) - 1);
    struct http_response_s *response = http_response_init();
    http_response_header(response, "X-Huge", value);
    http_respond(request, response);
}

static void answer_twice(struct http_request_s *request)
{
    respond_text(request, 200, "once");
    respond_text(request, 200, "twice");
    struct http_response_s *response = http_response_init();
    http_response_body(response, "thrice", 6);
    http_respond_chunk(request, response, NULL);
    http_respond_chunk_end(request, http_response_init());
}

static void answer_informed(struct http_request_s *request)
{
    struct http_response_s *hints = http_response_init();
    http_response_status(hints, 103);
    http_response_header(hints, "Link", "</a.css>; rel=preload");
    http_respond(request, hints);
    respond_text(request, 200, "informed");
}

// How many requests have not been let go of, this one among them; and how many were handled.
static void answer_alive(struct http_request_s *request)
{
    char text[64];
    unsigned alive = 0;
    for (size_t i = 0; i < hsk_handles.count; i++)
        alive += hsk_handles.slots[i].request != NULL;
    int len = snprintf(text, sizeof(text), "%u %u %llu", alive, handled,
                       (unsigned long long)the_server->memory);
    respond(request, 200, text, (size_t)len);
}

// The strings are gone then, and what the program has kept itself is not.
static void answer_freed(struct http_request_s *request)
{
    job *j = job_new(request, 0);
    http_request_free_buffer(request);
    bool empty = http_request_body(request).len == 0 && http_request_target(request).len == 0 &&
                 http_request_header(request, "Host").len == 0;
    bool kept =
        http_request_userdata(request) == j && http_request_server_userdata(request) == &the_server;
    respond_text(request, 200, empty && kept ? "freed" : "not freed");
    job_free(j);
}

// A handler that polls has nothing handled in between.
static void answer_polling(struct http_request_s *request)
{
    while (http_server_poll(the_server) > 0) {
    }
    respond_text(request, 200, "polled");
}

// ---- In pieces ----

// /chunks/N: N numbered pieces, a trailer.
static void next_chunk(struct http_request_s *request)
{
    job *j = job_of(request);
    struct http_response_s *response = http_response_init();
    if (j->done == j->left) {
        http_response_header(response, "X-Chunks", "all");
        http_response_header(response, "Content-Length", "0");
        http_respond_chunk_end(request, response);
        job_free(j);
        return;
    }
    char text[32];
    int len = snprintf(text, sizeof(text), "%ld,", j->done++);
    http_response_header(response, "X-First", "only");
    http_response_body(response, text, len);
    http_respond_chunk(request, response, next_chunk);
    memset(text, '!', sizeof(text));
}

// /bulk/N: N pieces of 1 MiB, each larger than the output queue, from memory that is reused at
// once.
static void next_bulk(struct http_request_s *request)
{
    static char octets[1 << 20];
    job *j = job_of(request);
    struct http_response_s *response = http_response_init();
    if (j->done == j->left) {
        http_respond_chunk_end(request, response);
        job_free(j);
        return;
    }
    memset(octets, 'a' + (int)(j->done++ % 26), sizeof(octets));
    http_response_body(response, octets, sizeof(octets));
    http_respond_chunk(request, response, next_bulk);
    memset(octets, '!', sizeof(octets));
}

// /heedless: two pieces and the end without waiting to be told, and a complete answer to end
// others.
static void answer_heedless(struct http_request_s *request)
{
    static char octets[600000];
    memset(octets, 'h', sizeof(octets));
    for (int i = 0; i < 2; i++) {
        struct http_response_s *response = http_response_init();
        http_response_body(response, octets, sizeof(octets));
        http_respond_chunk(request, response, NULL);
    }
    respond_text(request, 200, "end");
}

// ---- Content in pieces ----

static void next_content(struct http_request_s *request)
{
    job *j = job_of(request);
    struct http_string_s chunk = http_request_chunk(request);
    for (int i = 0; i < chunk.len; i++)
        j->sum = j->sum * 31 + (unsigned char)chunk.buf[i];
    j->done += chunk.len;
    if (chunk.len) {
        http_request_read_chunk(request, next_content);
        return;
    }
    char text[64];
    int len = snprintf(text, sizeof(text), "%ld %u %d", j->done, j->sum,
                       http_request_has_flag(request, HTTP_FLAG_STREAMED));
    respond(request, 200, text, (size_t)len);
    job_free(j);
}

// ---- Later ----

static void on_timer(struct epoll_event *event)
{
    job *j = event->data.ptr;
    uint64_t beats;
    if (read(j->timer, &beats, sizeof(beats)) < 0) return;
    struct http_string_s field = http_request_header(j->request, "X-Seen");
    bool same = http_request_userdata(j->request) == j && field.len == 4 &&
                memcmp(field.buf, "seen", 4) == 0;
    struct http_string_s body = http_request_body(j->request);
    const char *gone = http_request_has_flag(j->request, HTTP_FLG_GONE) ? "gone" : "here";
    fprintf(stderr, "compat: later, %s, %s, %d\n", gone, same ? "same" : "not the same", body.len);
    respond_text(j->request, 200, "later");
    respond_text(j->request, 200, "again");
    job_free(j);
}

// Answers a ticking event with pieces; to a request that has ended they go nowhere, however many.
// /beats/MS
static void on_beat(struct epoll_event *event)
{
    job *j = event->data.ptr;
    uint64_t beats;
    if (read(j->timer, &beats, sizeof(beats)) < 0) return;
    struct http_response_s *response = http_response_init();
    if (j->done++ == 9) {
        http_respond_chunk_end(j->request, response);
        job_free(j);
        return;
    }
    http_response_body(response, "beat,", 5);
    http_respond_chunk(j->request, response, http_request_free_buffer);
}

static void later(struct http_request_s *request, long ms, epoll_cb_t handler, bool repeat)
{
    job *j = job_new(request, 0);
    struct itimerspec spec = { { 0, 0 }, { ms / 1000, ms % 1000 * 1000000 } };
    if (repeat) spec.it_interval = spec.it_value;
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = j };
    j->event.handler = handler;
    j->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (j->timer < 0 || timerfd_settime(j->timer, 0, &spec, NULL)) abort();
    if (epoll_ctl(http_server_loop(the_server), EPOLL_CTL_ADD, j->timer, &event)) abort();
}

// ---- All of them ----

// /idle: answered from the program's own loop, when it polls no more. With http_server_listen there
// is none.
static struct http_request_s *idle;

static void answer_simple(struct http_request_s *request, struct http_string_s target)
{
    struct http_string_s body = http_request_body(request);
    if (is_under(target, "/echo")) respond(request, 200, body.buf, (size_t)body.len);
    else if (is_under(target, "/seen")) answer_seen(request);
    else if (is_under(target, "/headers")) answer_headers(request);
    else if (is_under(target, "/fields")) answer_fields(request);
    else if (is_under(target, "/huge-field")) answer_huge_field(request);
    else if (is_under(target, "/twice")) answer_twice(request);
    else if (is_under(target, "/informed")) answer_informed(request);
    else if (is_under(target, "/alive")) answer_alive(request);
    else if (is_under(target, "/freed")) answer_freed(request);
    else if (is_under(target, "/polling")) answer_polling(request);
    else if (is_under(target, "/status/"))
        respond_text(request, (int)last_number(target), "status");
    else respond_text(request, 200, "Hello, World!");
}

static void handle_request(struct http_request_s *request)
{
    struct http_string_s target = http_request_target(request);
    handled++;
    if (is_under(target, "/connection/"))
        http_request_connection(request, (int)last_number(target));
    if (is_under(target, "/chunks/")) {
        job_new(request, last_number(target));
        next_chunk(request);
    } else if (is_under(target, "/bulk/")) {
        job_new(request, last_number(target));
        next_bulk(request);
    } else if (is_under(target, "/heedless")) {
        answer_heedless(request);
    } else if (is_under(target, "/content")) {
        job_new(request, 0);
        http_request_read_body(request, next_content);
    } else if (is_under(target, "/idle")) {
        idle = request;
    } else if (is_under(target, "/later/")) {
        later(request, last_number(target), on_timer, false);
    } else if (is_under(target, "/beats/")) {
        later(request, last_number(target), on_beat, true);
    } else {
        answer_simple(request, target);
    }
}

// ---- The program ----

static void on_signal(struct epoll_event *event)
{
    (void)event;
    exit(0);
}

static void watch_signals(ev_cb_t *callback)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = callback };
    callback->handler = on_signal;
    if (epoll_ctl(http_server_loop(the_server), EPOLL_CTL_ADD, signalfd(-1, &set, SFD_CLOEXEC),
                  &event))
        abort();
}

static void answer_idle(void)
{
    if (!idle) return;
    respond_text(idle, 200, "idle");
    idle = NULL;
}

static int poll_for_ever(void)
{
    if (http_server_listen_addr_poll(the_server, "127.0.0.1")) return 1;
    for (;;) {
        struct pollfd loop = { http_server_loop(the_server), POLLIN, 0 };
        (void)poll(&loop, 1, 10000); // far longer than a test would wait
        for (;;) {
            unsigned before = handled;
            int found = http_server_poll(the_server);
            if (handled - before != (unsigned)found) abort(); // one a call, and the truth about it
            if (!found) break;
        }
        answer_idle();
    }
}

int main(int argc, char **argv)
{
    static ev_cb_t signals;
    if (argc < 3 || strcmp(argv[1], "--port") != 0) return 2;
    the_server = http_server_init((int)strtol(argv[2], NULL, 10), handle_request);
    if (!the_server) return 1;
    http_server_set_userdata(the_server, &the_server);
    watch_signals(&signals);
    if (argc > 3 && !strcmp(argv[3], "--poll")) return poll_for_ever();
    return http_server_listen_addr(the_server, "127.0.0.1");
}
