// SPDX-License-Identifier: MIT
//
// The interface of jeremycw/httpserver.h 0.9 over Skua: a program that was written for it moves by
// changing one include, and is linked with libskua and -pthread.
//
//     #define HTTPSERVER_IMPL
//     #include <skua/compat/httpserver.h>
//
//     #define RESPONSE "Hello, World!"
//
//     void handle_request(struct http_request_s *request)
//     {
//         struct http_response_s *response = http_response_init();
//         http_response_status(response, 200);
//         http_response_header(response, "Content-Type", "text/plain");
//         http_response_body(response, RESPONSE, sizeof(RESPONSE) - 1);
//         http_respond(request, response);
//     }
//
//     int main(void)
//     {
//         struct http_server_s *server = http_server_init(8080, handle_request);
//         return http_server_listen(server);
//     }
//
// One C or C++ file defines HTTPSERVER_IMPL before it includes this one; the others only include
// it. With Skua as a single header include that first; its SKUA_IMPLEMENTATION goes into a C file.
//
// Differences that mend a fault are listed in docs/book/14-elsewhere.md, "Moving from httpserver.h". In short:
// a request that is not HTTP is answered 400; pipelined requests are all answered, in order; a
// request may be answered after its client has gone or its time is over, and answered twice, and
// nothing happens.
//
// The structs below have no members to be used. A request is a number in the dress of a pointer,
// never followed, so that one that is stale is recognised. A server, its requests and responses
// belong to the thread that listens.
#ifndef SKUA_COMPAT_HTTPSERVER_H
#define SKUA_COMPAT_HTTPSERVER_H

#ifndef SKUA_H
#include <skua/skua.h>
#endif
#ifdef __linux__
#include <sys/epoll.h>
#else
#include <sys/types.h>

#include <sys/event.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

// ---- Settings -----------------------------------------------------------------------------------
// Defined before this file, or redefined between it and its second inclusion with HTTPSERVER_IMPL.

#ifndef HTTP_REQUEST_BUF_SIZE
#define HTTP_REQUEST_BUF_SIZE 1024 // octets a buffer for content begins with
#endif
#ifndef HTTP_RESPONSE_BUF_SIZE
// octets a buffer begins with that keeps what could not be sent at once
#define HTTP_RESPONSE_BUF_SIZE 1024
#endif
#ifndef HTTP_REQUEST_TIMEOUT
// seconds without progress in the middle of a request: by the client, or by the program
#define HTTP_REQUEST_TIMEOUT 20
#endif
#ifndef HTTP_KEEP_ALIVE_TIMEOUT
#define HTTP_KEEP_ALIVE_TIMEOUT 120 // seconds between requests
#endif
#ifndef HTTP_MAX_TOTAL_EST_MEM_USAGE
// octets in all buffers; beyond them new requests get 503
#define HTTP_MAX_TOTAL_EST_MEM_USAGE 4294967296
#endif
#ifndef HTTP_MAX_TOKEN_LENGTH
#define HTTP_MAX_TOKEN_LENGTH 8192 // octets of a target (414), of a field's name or value (431)
#endif
#ifndef HTTP_MAX_REQUEST_BUF_SIZE
// octets of head and content; with more, the content is streamed
#define HTTP_MAX_REQUEST_BUF_SIZE 8388608
#endif

// For http_request_connection. Closing can be asked for; keeping a connection against the client's
// will cannot.
#define HTTP_CLOSE 0
#define HTTP_KEEP_ALIVE 1
#define HTTP_AUTOMATIC 0x8

// For http_request_has_flag: the content is chunked, or too large to be held, and is read by
// http_request_read_chunk; the request is gone, and answers to it are dropped. Bits of their own,
// so that no other constant of this file is taken for one.
#define HTTP_FLG_STREAMED 0x100
#define HTTP_FLAG_STREAMED HTTP_FLG_STREAMED
#define HTTP_FLG_GONE 0x200

#define HTTP_FLAG_SET(var, flag) ((var) |= (flag))
#define HTTP_FLAG_CLEAR(var, flag) ((var) &= ~(flag))
#define HTTP_FLAG_CHECK(var, flag) ((var) & (flag))

// ---- Types --------------------------------------------------------------------------------------

// Octets of a request; no NUL follows them. They live until the request is answered.
typedef struct http_string_s {
    char const *buf;
    int len;
} http_string_t;

typedef struct http_server_s http_server_t;
typedef struct http_request_s http_request_t;
typedef struct http_response_s http_response_t;

// The beginning of every struct that the user data of an event in http_server_loop points to.
#ifdef __linux__
typedef void (*epoll_cb_t)(struct epoll_event *);
typedef struct http_ev_cb_s {
    epoll_cb_t handler;
} ev_cb_t;
#else
typedef struct http_ev_cb_s {
    void (*handler)(struct kevent *);
} ev_cb_t;
#endif

// ---- Server -------------------------------------------------------------------------------------

// Makes a server for a port, 0 for any; NULL when memory or descriptors ran out. handler is called
// for each request.
struct http_server_s *http_server_init(int port, void (*handler)(struct http_request_s *));

// Listens on every interface, or on the one of ipaddr (NULL: every), and serves. Returns only if
// that fails, not 0;
// standard error has been told why.
int http_server_listen(struct http_server_s *server);
int http_server_listen_addr(struct http_server_s *server, const char *ipaddr);

// Listens only, for a program with a loop of its own that calls http_server_poll. Returns 0, or not
// 0 as above.
int http_server_listen_poll(struct http_server_s *server);
int http_server_listen_addr_poll(struct http_server_s *server, const char *ipaddr);

// Does what can be done without waiting, and has one request handled if one is ready: returns 1
// then, else 0. To be called until it returns 0, each time round the program's loop.
int http_server_poll(struct http_server_s *server);

// The epoll descriptor (kqueue on BSD) the server waits with. A program adds events of its own to
// it, with user data as of ev_cb_t, and has their handlers called; or waits until it is readable
// and calls http_server_poll.
int http_server_loop(struct http_server_s *server);

// Keeps a pointer of the program's, for http_request_server_userdata.
void http_server_set_userdata(struct http_server_s *server, void *data);

// ---- Reading a request --------------------------------------------------------------------------

void *http_request_server_userdata(struct http_request_s *request);
struct http_string_s http_request_method(struct http_request_s *request);
struct http_string_s http_request_target(struct http_request_s *request); // as received

// The content, if it is not streamed; {NULL, 0} without any.
struct http_string_s http_request_body(struct http_request_s *request);

// The first field of that name, whatever its case; {NULL, 0} when absent.
struct http_string_s http_request_header(struct http_request_s *request, char const *key);

// The next field. *iter: 0 for the first. Returns 0 when there are no more.
int http_request_iterate_headers(struct http_request_s *request, struct http_string_s *key,
                                 struct http_string_s *val, int *iter);

// 1 if the flag is set, else 0.
int http_request_has_flag(struct http_request_s *request, int flag);

// Calls chunk_cb once with the next piece of the content, perhaps before this returns;
// http_request_chunk gives the piece, and an empty one is the end. It is valid until the next such
// call. If the client goes before the end chunk_cb is not called, and the request is over.
void http_request_read_chunk(struct http_request_s *request,
                             void (*chunk_cb)(struct http_request_s *));
struct http_string_s http_request_chunk(struct http_request_s *request);
#define http_request_read_body http_request_read_chunk

// Keeps a pointer of the program's with the request.
void http_request_set_userdata(struct http_request_s *request, void *data);
void *http_request_userdata(struct http_request_s *request);

// Whether the connection ends after the answer: HTTP_CLOSE; HTTP_KEEP_ALIVE and HTTP_AUTOMATIC: as
// the client wants. Each answer says so, by "Connection: close" or "Connection: keep-alive".
void http_request_connection(struct http_request_s *request, int directive);

// Frees the content that is held. The strings of the request are not to be used any more, and
// empty.
void http_request_free_buffer(struct http_request_s *request);

// ---- Answering ----------------------------------------------------------------------------------

// Makes a response, 200 and empty. http_respond, http_respond_chunk and http_respond_chunk_end free
// it.
struct http_response_s *http_response_init(void);

// Its status, 100 to 599; another one is 500. With 1xx http_respond sends an interim response, and
// is called again.
void http_response_status(struct http_response_s *response, int status);

// Adds a field, and sets the content. What is pointed to must live until the response is given.
// Content-Length, Transfer-Encoding, Date and Connection are the server's to send; "Connection:
// close" is obeyed.
// A field that is none (CR or LF in its value), or is too long to be sent, is left out, and the log
// says so.
void http_response_header(struct http_response_s *response, char const *key, char const *value);
void http_response_body(struct http_response_s *response, char const *body, int length);

// Answers a request: now, or later from the thread of the server.
void http_respond(struct http_request_s *request, struct http_response_s *response);

// Sends a piece of an answer, with the status and the fields of the first one. notify_done is
// called, never from within, when it was written and there is room for the next; not if the client
// has gone: the request is over then.
void http_respond_chunk(struct http_request_s *request, struct http_response_s *response,
                        void (*notify_done)(struct http_request_s *));

// Ends such an answer. The fields of this response are its trailers.
void http_respond_chunk_end(struct http_request_s *request, struct http_response_s *response);

#ifdef __cplusplus
}
#endif

#endif // SKUA_COMPAT_HTTPSERVER_H

#if defined(HTTPSERVER_IMPL) && !defined(SKUA_COMPAT_HTTPSERVER_IMPL)
#define SKUA_COMPAT_HTTPSERVER_IMPL

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/timerfd.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HSK_OUT_OCTETS = 262144,  // queued for one connection
    HSK_HEAD_OCTETS = 65535,  // of a head: the most that Skua takes
    HSK_FIELDS_OCTETS = 8192, // of a response: the same
    HSK_POLL_TURNS_MAX = 64,  // in one http_server_poll
    HSK_HANDLE_BITS = sizeof(uintptr_t) * 4
};

static const int64_t hsk_second_ns = 1000000000;

typedef struct hsk_request hsk_request;
typedef void (*hsk_callback)(struct http_request_s *);

typedef struct hsk_queue {
    hsk_request *first, *last;
} hsk_queue;

typedef struct hsk_beat {
    ev_cb_t source;
    int timer; // in the loop, for programs that wait for it; not on BSD
} hsk_beat;

struct http_server_s {
    ev_cb_t source; // of skua_fd in the loop
    skua_server *skua;
    hsk_callback handler;
    void *data;
    uint64_t memory; // octets in all buffers
    hsk_queue ready; // requests that wait for http_server_poll
    hsk_queue told;  // requests whose notify_done is due
    int port, loop;
    hsk_beat beat;
    bool loop_is_shared, is_polled, is_polling, is_turning;
};

// Octets that are kept: from start, len of them.
typedef struct hsk_buffer {
    char *octets;
    size_t start, len, capacity;
} hsk_buffer;

// Referred to by Skua until it has ended, by the program until it has answered or cannot any more,
// by the queue it is in, and by the function that calls the program.
struct hsk_request {
    http_server_t *server;
    skua_request *skua; // readable until it has ended, and then if it is held
    struct http_request_s *handle;
    hsk_request *next; // in a queue: ready comes before told, and ends before it begins
    void *data;
    hsk_callback read_cb, notify_done;
    hsk_buffer content; // that has come and was not given to the program
    hsk_buffer chunk;   // the program looks at
    hsk_buffer unsent;  // of the answer
    int references, directive;
    bool streamed, reading, complete, delivering; // the content
    bool shown, begun, finishing, answered;       // to the program; by the program
    bool gone, held, forgotten, emptied, queued;
};

// ---- Handles: what the program holds instead of a request ----

typedef struct hsk_slot {
    hsk_request *request;
    uintptr_t generation; // of its present or next use
    size_t next_free;
} hsk_slot;

// Slots are numbered from 1. The one freed longest ago is used next, so that generations last.
static __thread struct {
    hsk_slot *slots;
    size_t count, free_first, free_last;
} hsk_handles;

static void hsk_slot_free(size_t number)
{
    hsk_handles.slots[number - 1].request = NULL;
    hsk_handles.slots[number - 1].next_free = 0;
    if (hsk_handles.free_last) hsk_handles.slots[hsk_handles.free_last - 1].next_free = number;
    else hsk_handles.free_first = number;
    hsk_handles.free_last = number;
}

static bool hsk_slots_grow(void)
{
    size_t count = hsk_handles.count ? 2 * hsk_handles.count : 64;
    if (count >> HSK_HANDLE_BITS) return false;
    hsk_slot *slots = (hsk_slot *)realloc(hsk_handles.slots, count * sizeof(*slots));
    if (!slots) return false;
    size_t before = hsk_handles.count;
    memset(slots + before, 0, (count - before) * sizeof(*slots));
    hsk_handles.slots = slots;
    hsk_handles.count = count;
    for (size_t number = before + 1; number <= count; number++)
        hsk_slot_free(number);
    return true;
}

static bool hsk_handle_make(hsk_request *r)
{
    if (!hsk_handles.free_first && !hsk_slots_grow()) return false;
    size_t number = hsk_handles.free_first;
    hsk_slot *slot = &hsk_handles.slots[number - 1];
    hsk_handles.free_first = slot->next_free;
    if (!hsk_handles.free_first) hsk_handles.free_last = 0;
    slot->request = r;
    r->handle = (struct http_request_s *)(slot->generation << HSK_HANDLE_BITS | number);
    return true;
}

// NULL for a request that is over.
static hsk_request *hsk_find(const struct http_request_s *handle)
{
    uintptr_t value = (uintptr_t)handle;
    size_t number = value & (((uintptr_t)1 << HSK_HANDLE_BITS) - 1);
    if (number == 0 || number > hsk_handles.count) return NULL;
    hsk_request *r = hsk_handles.slots[number - 1].request;
    return r && r->handle == handle ? r : NULL;
}

static void hsk_handle_drop(const hsk_request *r)
{
    size_t number = (uintptr_t)r->handle & (((uintptr_t)1 << HSK_HANDLE_BITS) - 1);
    hsk_handles.slots[number - 1].generation++;
    hsk_slot_free(number);
}

// ---- Buffers ----

static void hsk_buffer_free(http_server_t *server, hsk_buffer *b)
{
    server->memory -= b->capacity;
    free(b->octets);
    memset(b, 0, sizeof(*b));
}

static bool hsk_buffer_grow(http_server_t *server, hsk_buffer *b, size_t more, size_t at_first)
{
    if (more > SIZE_MAX / 4 - b->len) return false;
    size_t capacity = b->capacity ? b->capacity : at_first + 1;
    while (capacity < b->len + more)
        capacity *= 2;
    char *octets = (char *)realloc(b->octets, capacity);
    if (!octets) return false;
    server->memory += capacity - b->capacity;
    b->octets = octets;
    b->capacity = capacity;
    return true;
}

static bool hsk_buffer_add(http_server_t *server, hsk_buffer *b, skua_slice octets, size_t at_first)
{
    if (octets.len == 0) return true;
    if (b->start) memmove(b->octets, b->octets + b->start, b->len);
    b->start = 0;
    if (b->capacity - b->len < octets.len && !hsk_buffer_grow(server, b, octets.len, at_first))
        return false;
    memcpy(b->octets + b->len, octets.ptr, octets.len);
    b->len += octets.len;
    return true;
}

static skua_slice hsk_slice(const char *ptr, size_t len)
{
    skua_slice slice;
    slice.ptr = ptr;
    slice.len = len;
    return slice;
}

static http_string_t hsk_string(skua_slice slice)
{
    http_string_t string = { slice.len ? slice.ptr : NULL,
                             slice.len > INT_MAX ? INT_MAX : (int)slice.len };
    return string;
}

// ---- The life of a request ----

static hsk_request *hsk_request_new(http_server_t *server, skua_request *skua)
{
    hsk_request *r = (hsk_request *)calloc(1, sizeof(*r));
    if (!r) return NULL;
    r->server = server;
    r->skua = skua;
    r->references = 2;
    r->directive = HTTP_AUTOMATIC;
    if (hsk_handle_make(r)) return r;
    free(r);
    return NULL;
}

static void hsk_unref(hsk_request *r)
{
    if (--r->references > 0) return;
    hsk_handle_drop(r);
    hsk_buffer_free(r->server, &r->content);
    hsk_buffer_free(r->server, &r->chunk);
    hsk_buffer_free(r->server, &r->unsent);
    if (r->held) skua_request_drop(r->skua);
    free(r);
}

// The program has answered, or it waits for a call that will not come.
static void hsk_forget(hsk_request *r)
{
    if (r->forgotten) return;
    r->forgotten = true;
    hsk_unref(r);
}

// A program that still owes an answer may look at the request until it gives one. If it waits to be
// called there is nothing it could do, and if it never saw the request nothing it should.
static void hsk_on_end(skua_request *skua, skua_end how, void *user)
{
    (void)how;
    hsk_request *r = (hsk_request *)user;
    bool is_awaited = r->shown && !r->forgotten && !r->read_cb && !r->notify_done;
    r->gone = true;
    if (is_awaited) {
        skua_request_hold(skua);
        r->held = true;
    } else {
        hsk_forget(r);
    }
    hsk_unref(r);
}

static void hsk_queue_add(hsk_queue *queue, hsk_request *r)
{
    if (r->queued) return;
    r->queued = true;
    r->references++;
    r->next = NULL;
    if (queue->last) queue->last->next = r;
    else queue->first = r;
    queue->last = r;
}

// The caller has the queue's reference then.
static hsk_request *hsk_queue_take(hsk_queue *queue)
{
    hsk_request *r = queue->first;
    if (!r) return NULL;
    queue->first = r->next;
    if (!queue->first) queue->last = NULL;
    r->queued = false;
    return r;
}

// ---- A request comes ----

// Whether it was: a request that ended meanwhile is not shown to the program.
static bool hsk_handle(hsk_request *r)
{
    if (r->gone) return false;
    r->shown = true;
    r->references++;
    r->server->handler(r->handle);
    hsk_unref(r);
    return true;
}

static void hsk_ready(hsk_request *r)
{
    if (r->server->is_polled) hsk_queue_add(&r->server->ready, r);
    else (void)hsk_handle(r);
}

// Calls the program in a loop, not by recursion, however it asks for more.
static void hsk_deliver(hsk_request *r)
{
    if (r->delivering) return;
    r->delivering = true;
    r->references++;
    while (r->read_cb && (r->content.len || r->complete)) {
        hsk_callback read_cb = r->read_cb;
        r->read_cb = NULL;
        hsk_buffer given = r->content;
        r->content = r->chunk;
        r->chunk = given;
        if (r->streamed && given.len && !r->gone) skua_content_consume(r->skua, given.len);
        read_cb(r->handle);
    }
    r->delivering = false;
    hsk_unref(r);
}

static void hsk_on_content(skua_request *skua, skua_content_event event, skua_slice octets,
                           void *user)
{
    hsk_request *r = (hsk_request *)user;
    if (event == SKUA_CONTENT_LOST) return; // its end follows
    if (event == SKUA_CONTENT_END) r->complete = true;
    if (!hsk_buffer_add(r->server, &r->content, octets, HTTP_REQUEST_BUF_SIZE)) {
        skua_request_abort(skua);
        return;
    }
    if (r->streamed) {
        hsk_deliver(r);
    } else {
        skua_content_consume(skua, octets.len);
        if (r->complete) hsk_ready(r);
    }
}

// The octets of the head, or 0 when a name or a value is too long.
static uint64_t hsk_head_octets(const skua_request *skua)
{
    uint64_t octets = skua_request_target(skua).len + skua_request_method(skua).len;
    skua_field field;
    for (size_t i = 0; skua_request_field_at(skua, i, &field); i++) {
        if (field.name.len > HTTP_MAX_TOKEN_LENGTH || field.value.len > HTTP_MAX_TOKEN_LENGTH)
            return 0;
        octets += field.name.len + field.value.len + 4;
    }
    return octets;
}

static void hsk_read_content(hsk_request *r, uint64_t head_octets)
{
    int64_t length = skua_content_length(r->skua);
    uint64_t room = HTTP_MAX_REQUEST_BUF_SIZE < INT_MAX ? HTTP_MAX_REQUEST_BUF_SIZE : INT_MAX;
    r->streamed = length < 0 || head_octets > room || (uint64_t)length > room - head_octets;
    if (length == 0) r->streamed = false;
    r->complete = length == 0;
    if (r->streamed || r->complete) {
        hsk_ready(r);
        return;
    }
    r->reading = true;
    if (skua_content_read(r->skua, hsk_on_content, r)) skua_request_abort(r->skua);
}

static void hsk_on_request(skua_request *skua, void *user)
{
    http_server_t *server = (http_server_t *)user;
    uint64_t head_octets = hsk_head_octets(skua);
    if (!head_octets) {
        skua_respond_error(skua, 431);
        return;
    }
    bool is_full = server->memory >= HTTP_MAX_TOTAL_EST_MEM_USAGE;
    hsk_request *r = is_full ? NULL : hsk_request_new(server, skua);
    if (!r) {
        skua_respond_error(skua, 503);
        return;
    }
    skua_on_end(skua, hsk_on_end, r);
    r->references++;
    hsk_read_content(r, head_octets);
    hsk_unref(r);
}

// ---- Listening ----

// A turn follows every wait, so there is nothing to do for these events but to end the wait.
#ifdef __linux__
static void hsk_on_event(struct epoll_event *event)
{
    (void)event;
}

// A timer that is not read does not beat again.
static void hsk_on_beat(struct epoll_event *event)
{
    uint64_t beats;
    if (read(((hsk_beat *)event->data.ptr)->timer, &beats, sizeof(beats)) < 0) return;
}

static bool hsk_watch(http_server_t *server, int fd, void *source)
{
    struct epoll_event event;
    memset(&event, 0, sizeof(event));
    event.events = EPOLLIN;
    event.data.ptr = source;
    return epoll_ctl(server->loop, EPOLL_CTL_ADD, fd, &event) == 0;
}

static int hsk_loop_new(void)
{
    return epoll_create1(EPOLL_CLOEXEC);
}

enum { HSK_CLOCK_MONOTONIC = 1 }; // the kernel's; <time.h> hides its name from strict C

// Wakes the program's own loop that waits for this one, now and each second, for the server's
// deadlines.
static void hsk_loop_wake(http_server_t *server)
{
    struct itimerspec beat;
    memset(&beat, 0, sizeof(beat));
    beat.it_value.tv_nsec = 1;
    beat.it_interval.tv_sec = 1;
    (void)timerfd_settime(server->beat.timer, 0, &beat, NULL);
}

static bool hsk_loop_fill(http_server_t *server)
{
    if (!hsk_watch(server, skua_fd(server->skua), &server->source)) return false;
    if (!server->is_polled) return true;
    server->beat.source.handler = hsk_on_beat;
    server->beat.timer = timerfd_create(HSK_CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (server->beat.timer < 0) return false;
    hsk_loop_wake(server);
    if (hsk_watch(server, server->beat.timer, &server->beat)) return true;
    close(server->beat.timer);
    return false;
}

static void hsk_loop_wait(http_server_t *server, int64_t ns)
{
    struct epoll_event event;
    int64_t ms = ns < 0 ? -1 : ns / 1000000 + (ns % 1000000 > 0);
    if (epoll_wait(server->loop, &event, 1, ms > INT_MAX ? INT_MAX : (int)ms) > 0)
        ((ev_cb_t *)event.data.ptr)->handler(&event);
}
#else
static void hsk_on_event(struct kevent *event)
{
    (void)event;
}

static int hsk_loop_new(void)
{
    return kqueue();
}

static bool hsk_loop_fill(http_server_t *server)
{
    struct kevent changes[2];
    EV_SET(&changes[0], (uintptr_t)skua_fd(server->skua), EVFILT_READ, EV_ADD, 0, 0, server);
    EV_SET(&changes[1], 1, EVFILT_TIMER, EV_ADD, 0, 1000, server);
    return kevent(server->loop, changes, server->is_polled ? 2 : 1, NULL, 0, NULL) == 0;
}

// Wakes the program's own loop that waits for this one. It is woken each second anyway, for the
// server's deadlines.
static void hsk_loop_wake(http_server_t *server)
{
    struct kevent change;
    EV_SET(&change, 2, EVFILT_TIMER, EV_ADD | EV_ONESHOT, 0, 1, server);
    (void)kevent(server->loop, &change, 1, NULL, 0, NULL);
}

static void hsk_loop_wait(http_server_t *server, int64_t ns)
{
    struct kevent event;
    struct timespec limit = { (time_t)(ns / hsk_second_ns), (long)(ns % hsk_second_ns) };
    if (kevent(server->loop, NULL, 0, &event, 1, ns < 0 ? NULL : &limit) > 0)
        ((ev_cb_t *)event.udata)->handler(&event);
}
#endif

static void hsk_tell(http_server_t *server)
{
    // those that are added meanwhile wait for a turn in which they can be sent
    hsk_queue told = server->told;
    server->told.first = server->told.last = NULL;
    for (hsk_request *r = hsk_queue_take(&told); r; r = hsk_queue_take(&told)) {
        hsk_callback notify_done = r->notify_done;
        r->notify_done = NULL;
        if (notify_done && !r->gone) notify_done(r->handle);
        hsk_unref(r);
    }
}

// A handler that polls its own server, from within its turn, finds nothing to do.
static skua_status hsk_turn(http_server_t *server, int64_t timeout_ns)
{
    if (server->is_turning) return SKUA_OK;
    server->is_turning = true;
    skua_status status = skua_turn(server->skua, timeout_ns);
    server->is_turning = false;
    hsk_tell(server);
    return status;
}

static skua_status hsk_wait_and_turn(http_server_t *server)
{
    int64_t ns = server->told.first ? 0 : -1;
    if (!server->loop_is_shared) return hsk_turn(server, ns);
    if (ns) ns = skua_timeout_ns(server->skua);
    hsk_loop_wait(server, ns);
    return hsk_turn(server, 0);
}

static skua_server *hsk_server_new(const http_server_t *server, const char *ipaddr)
{
    char address[128];
    bool is_ipv6 = ipaddr && strchr(ipaddr, ':');
    int len = snprintf(address, sizeof(address), "%s%s%s:%d", is_ipv6 ? "[" : "",
                       ipaddr ? ipaddr : "", is_ipv6 ? "]" : "", server->port);
    skua_config config;
    memset(&config, 0, sizeof(config));
    config.listen = len > 0 && (size_t)len < sizeof(address) ? address : "";
    config.hosts = "*"; // as it was: the program looks at Host, or does not
    config.keep_alive_field = true;
    config.workers = 1;
    config.head_octets_max = HSK_HEAD_OCTETS;
    config.target_octets_max = HTTP_MAX_TOKEN_LENGTH;
    config.out_octets_max = HSK_OUT_OCTETS;
    config.head_timeout_ns = HTTP_REQUEST_TIMEOUT * hsk_second_ns;
    config.stall_timeout_ns = HTTP_REQUEST_TIMEOUT * hsk_second_ns;
    config.handler_timeout_ns = HTTP_REQUEST_TIMEOUT * hsk_second_ns;
    config.keep_alive_timeout_ns = HTTP_KEEP_ALIVE_TIMEOUT * hsk_second_ns;
    return skua_server_new(&config);
}

static int hsk_open(http_server_t *server, const char *ipaddr)
{
    if (server->skua) return SKUA_ESTATE;
    server->skua = hsk_server_new(server, ipaddr);
    if (!server->skua) return SKUA_ENOMEM;
    skua_status status = skua_route(server->skua, "/", hsk_on_request, server);
    if (!status) status = skua_open(server->skua);
    if (!status && !hsk_loop_fill(server)) status = SKUA_ENOFILE;
    if (!status) return 0;
    const char *why = skua_server_error(server->skua);
    fprintf(stderr, "httpserver: %s\n", *why ? why : skua_status_text(status));
    skua_server_free(server->skua);
    server->skua = NULL;
    return (int)status;
}

struct http_server_s *http_server_init(int port, void (*handler)(struct http_request_s *))
{
    http_server_t *server = (http_server_t *)calloc(1, sizeof(*server));
    if (!server) return NULL;
    server->source.handler = hsk_on_event;
    server->handler = handler;
    server->port = port;
    server->loop = hsk_loop_new();
    if (server->loop >= 0) return server;
    free(server);
    return NULL;
}

int http_server_listen_addr(struct http_server_s *server, const char *ipaddr)
{
    if (!server) return SKUA_ENOMEM;
    int failed = hsk_open(server, ipaddr);
    if (failed) return failed;
    skua_status status;
    do
        status = hsk_wait_and_turn(server);
    while (status == SKUA_OK);
    return (int)status;
}

int http_server_listen(struct http_server_s *server)
{
    return http_server_listen_addr(server, NULL);
}

int http_server_listen_addr_poll(struct http_server_s *server, const char *ipaddr)
{
    if (!server) return SKUA_ENOMEM;
    server->is_polled = true;
    return hsk_open(server, ipaddr);
}

int http_server_listen_poll(struct http_server_s *server)
{
    return http_server_listen_addr_poll(server, NULL);
}

// Goes on with everything that can go on at once, also with the next pieces of answers. Not for
// ever, as the program has other things to do.
static void hsk_poll_turns(http_server_t *server)
{
    hsk_loop_wait(server, 0);
    for (int turns = 0; turns < HSK_POLL_TURNS_MAX; turns++)
        if (hsk_turn(server, 0) || (!server->told.first && skua_timeout_ns(server->skua) != 0))
            return;
    hsk_loop_wake(server);
}

static bool hsk_poll_request(http_server_t *server)
{
    for (hsk_request *r = hsk_queue_take(&server->ready); r; r = hsk_queue_take(&server->ready)) {
        bool handled = hsk_handle(r);
        hsk_unref(r);
        if (handled) return true;
    }
    return false;
}

int http_server_poll(struct http_server_s *server)
{
    if (!server || !server->skua || server->is_turning) return 0;
    bool was_polling = server->is_polling;
    server->is_polling = true;
    hsk_poll_turns(server);
    int handled = hsk_poll_request(server);
    server->is_polling = was_polling;
    return handled;
}

// An answer that is given while nobody turns the server leaves with the next turn, which is not to
// be waited for.
static void hsk_answered_outside(http_server_t *server)
{
    if (server->is_polled && !server->is_polling) hsk_loop_wake(server);
}

int http_server_loop(struct http_server_s *server)
{
    server->loop_is_shared = true;
    return server->loop;
}

void http_server_set_userdata(struct http_server_s *server, void *data)
{
    server->data = data;
}

// ---- Reading a request ----

// One whose strings can be read, or NULL.
static hsk_request *hsk_readable(const struct http_request_s *handle)
{
    hsk_request *r = hsk_find(handle);
    return r && !r->emptied && (!r->gone || r->held) ? r : NULL;
}

void *http_request_server_userdata(struct http_request_s *request)
{
    const hsk_request *r = hsk_find(request);
    return r ? r->server->data : NULL;
}

struct http_string_s http_request_method(struct http_request_s *request)
{
    const hsk_request *r = hsk_readable(request);
    return hsk_string(r ? skua_request_method(r->skua) : hsk_slice(NULL, 0));
}

struct http_string_s http_request_target(struct http_request_s *request)
{
    const hsk_request *r = hsk_readable(request);
    return hsk_string(r ? skua_request_target(r->skua) : hsk_slice(NULL, 0));
}

struct http_string_s http_request_header(struct http_request_s *request, char const *key)
{
    const hsk_request *r = hsk_readable(request);
    return hsk_string(r ? skua_request_field(r->skua, key) : hsk_slice(NULL, 0));
}

int http_request_iterate_headers(struct http_request_s *request, struct http_string_s *key,
                                 struct http_string_s *val, int *iter)
{
    const hsk_request *r = hsk_readable(request);
    skua_field field;
    if (!r || *iter < 0 || !skua_request_field_at(r->skua, (size_t)*iter, &field)) return 0;
    *key = hsk_string(field.name);
    *val = hsk_string(field.value);
    ++*iter;
    return 1;
}

struct http_string_s http_request_body(struct http_request_s *request)
{
    const hsk_request *r = hsk_readable(request);
    bool is_whole = r && r->complete && !r->streamed;
    return hsk_string(is_whole ? hsk_slice(r->content.octets, r->content.len) : hsk_slice(NULL, 0));
}

int http_request_has_flag(struct http_request_s *request, int flag)
{
    const hsk_request *r = hsk_find(request);
    int flags = (r && r->streamed ? HTTP_FLG_STREAMED : 0) | (!r || r->gone ? HTTP_FLG_GONE : 0);
    return (flags & flag) != 0;
}

void http_request_read_chunk(struct http_request_s *request,
                             void (*chunk_cb)(struct http_request_s *))
{
    hsk_request *r = hsk_find(request);
    if (!r || r->answered) return;
    r->chunk.len = 0;
    if (r->gone && !r->complete) {
        hsk_forget(r);
        return;
    }
    r->read_cb = chunk_cb;
    if (r->reading || r->complete) {
        hsk_deliver(r);
        return;
    }
    r->reading = true;
    if (skua_content_read(r->skua, hsk_on_content, r)) skua_request_abort(r->skua);
}

struct http_string_s http_request_chunk(struct http_request_s *request)
{
    const hsk_request *r = hsk_find(request);
    return hsk_string(r ? hsk_slice(r->chunk.octets, r->chunk.len) : hsk_slice(NULL, 0));
}

void http_request_set_userdata(struct http_request_s *request, void *data)
{
    hsk_request *r = hsk_find(request);
    if (r) r->data = data;
}

void *http_request_userdata(struct http_request_s *request)
{
    const hsk_request *r = hsk_find(request);
    return r ? r->data : NULL;
}

void http_request_connection(struct http_request_s *request, int directive)
{
    hsk_request *r = hsk_find(request);
    if (r) r->directive = directive;
}

void http_request_free_buffer(struct http_request_s *request)
{
    hsk_request *r = hsk_find(request);
    if (!r) return;
    r->emptied = true;
    if (!r->complete) return; // more of it will come
    hsk_buffer_free(r->server, &r->content);
    hsk_buffer_free(r->server, &r->chunk);
}

// ---- Answering ----

typedef struct hsk_line {
    const char *name, *value;
} hsk_line;

struct http_response_s {
    int status;
    skua_slice body;
    hsk_line *lines;
    size_t count, room;
    bool failed; // memory ran out
};

struct http_response_s *http_response_init(void)
{
    http_response_t *response = (http_response_t *)calloc(1, sizeof(*response));
    if (response) response->status = 200;
    return response;
}

void http_response_status(struct http_response_s *response, int status)
{
    if (response) response->status = status < 100 || status > 599 ? 500 : status;
}

void http_response_header(struct http_response_s *response, char const *key, char const *value)
{
    if (!response) return;
    if (response->count == response->room) {
        size_t room = response->room ? 2 * response->room : 8;
        hsk_line *lines = (hsk_line *)realloc(response->lines, room * sizeof(*lines));
        response->failed |= !lines;
        if (!lines) return;
        response->lines = lines;
        response->room = room;
    }
    response->lines[response->count].name = key;
    response->lines[response->count++].value = value;
}

void http_response_body(struct http_response_s *response, char const *body, int length)
{
    if (response) response->body = hsk_slice(body, body && length > 0 ? (size_t)length : 0);
}

static void hsk_response_free(http_response_t *response)
{
    if (response) free(response->lines);
    free(response);
}

// Those that say how a message is framed come from the one who frames it.
static bool hsk_is_servers(const hsk_line *line)
{
    static const char *const names[] = { "connection", "content-length", "transfer-encoding",
                                         "date" };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!strcasecmp(line->name, names[i])) return true;
    return false;
}

static void hsk_log_line(const hsk_request *r, const hsk_line *line)
{
    char text[160];
    int len = snprintf(text, sizeof(text), "not a field that can be sent: %s", line->name);
    size_t used = len < 0 ? 0 : (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1;
    skua_log(skua_request_server(r->skua), hsk_slice(text, used));
}

// Skua answers 500 when a field cannot be sent; programs for httpserver.h have been sent without it.
static bool hsk_is_sendable(const hsk_line *line)
{
    static const char token[] = "!#$%&'*+-.^_`|~0123456789"
                                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t len = strlen(line->name);
    if (!len || strspn(line->name, token) != len) return false;
    if (!strcasecmp(line->name, "keep-alive") || !strcasecmp(line->name, "trailer")) return false;
    for (const char *at = line->value; *at; at++)
        if (((unsigned char)*at < ' ' && *at != '\t') || *at == 127) return false;
    return true;
}

static void hsk_add_fields(hsk_request *r, const http_response_t *response)
{
    size_t octets = 0;
    for (size_t i = 0; i < response->count; i++) {
        const hsk_line *line = &response->lines[i];
        if (!strcasecmp(line->name, "connection") && !strcasecmp(line->value, "close"))
            r->directive = HTTP_CLOSE;
        if (hsk_is_servers(line)) continue;
        octets += strlen(line->name) + strlen(line->value) + 4;
        if (!hsk_is_sendable(line) || octets > HSK_FIELDS_OCTETS) hsk_log_line(r, line);
        else skua_field_add(r->skua, line->name, hsk_slice(line->value, strlen(line->value)));
    }
    if (r->directive == HTTP_CLOSE) skua_request_close(r->skua);
}

static void hsk_add_trailers(hsk_request *r, const http_response_t *response)
{
    for (size_t i = 0; i < response->count; i++) {
        const hsk_line *line = &response->lines[i];
        if (hsk_is_servers(line) || !hsk_is_sendable(line)) hsk_log_line(r, line);
        else skua_trailer_add(r->skua, line->name, hsk_slice(line->value, strlen(line->value)));
    }
}

// Sends an interim response and lets the request go on. 101 is not one: there is no protocol to
// switch to.
static bool hsk_inform(hsk_request *r, const http_response_t *response)
{
    size_t octets = response->count * sizeof(skua_field);
    skua_field *fields = octets ? (skua_field *)skua_request_alloc(r->skua, octets) : NULL;
    if (octets && !fields) return false;
    for (size_t i = 0; i < response->count; i++) {
        fields[i].name = hsk_slice(response->lines[i].name, strlen(response->lines[i].name));
        fields[i].value = hsk_slice(response->lines[i].value, strlen(response->lines[i].value));
    }
    return skua_inform(r->skua, response->status, fields, response->count) == SKUA_OK;
}

static void hsk_answer(hsk_request *r, const http_response_t *response)
{
    if (response->failed) {
        skua_respond_error(r->skua, 503);
        return;
    }
    hsk_add_fields(r, response);
    int status = response->status < 200 ? 500 : response->status;
    skua_respond(r->skua, status, NULL, response->body);
}

// ---- Answering in pieces ----

// Writes as much as there is room for. Returns how much; less than all: hsk_on_drained will be
// called, or the end.
static size_t hsk_write(hsk_request *r, skua_slice octets)
{
    size_t written = 0;
    while (written < octets.len && !r->gone) {
        uint64_t room = skua_write_room(r->skua);
        size_t n = octets.len - written;
        // to be refused, and told when there is room again
        if (n > room) n = room ? (size_t)room : 1;
        if (skua_write(r->skua, hsk_slice(octets.ptr + written, n))) break;
        written += n;
    }
    return written;
}

static void hsk_finish(hsk_request *r)
{
    r->finishing = false;
    skua_finish(r->skua);
}

// Goes on when all is written: to the end, or to the program if it would find room.
static void hsk_go_on(hsk_request *r)
{
    if (r->unsent.len || r->gone) return;
    if (r->finishing) hsk_finish(r);
    else if (r->notify_done && skua_write_room(r->skua) >= HSK_OUT_OCTETS / 2)
        hsk_queue_add(&r->server->told, r);
}

static void hsk_on_drained(skua_request *skua, void *user)
{
    (void)skua;
    hsk_request *r = (hsk_request *)user;
    r->references++;
    const char *unsent = r->unsent.len ? r->unsent.octets + r->unsent.start : NULL;
    size_t written = hsk_write(r, hsk_slice(unsent, r->unsent.len));
    r->unsent.start += written;
    r->unsent.len -= written;
    hsk_go_on(r);
    hsk_unref(r);
}

static bool hsk_begin(hsk_request *r, const http_response_t *response)
{
    if (r->begun) return true;
    hsk_add_fields(r, response);
    int code = response->status < 200 ? 500 : response->status;
    skua_status status = skua_respond_stream(r->skua, code, NULL, -1, hsk_on_drained, r);
    r->begun = status == SKUA_OK;
    return r->begun;
}

static void hsk_send(hsk_request *r, skua_slice body)
{
    size_t written = r->unsent.len ? 0 : hsk_write(r, body);
    if (written == body.len) return;
    skua_slice rest = hsk_slice(body.ptr + written, body.len - written);
    if (!hsk_buffer_add(r->server, &r->unsent, rest, HTTP_RESPONSE_BUF_SIZE))
        skua_request_abort(r->skua);
}

static void hsk_send_chunk(hsk_request *r, skua_slice body, hsk_callback notify_done)
{
    bool is_waiting = r->notify_done != NULL; // in the queue already, or for room
    r->notify_done = notify_done;
    hsk_send(r, body);
    if (is_waiting || r->gone) return;
    if (body.len == 0 && notify_done) hsk_queue_add(&r->server->told, r);
    else hsk_go_on(r);
}

// The answer the program owes, and the program's part in it: over, unless the response is an
// interim one.
static hsk_request *hsk_owed(const struct http_request_s *request, const http_response_t *response)
{
    hsk_request *r = hsk_find(request);
    if (!r || r->answered) return NULL;
    if (r->gone || !response) return r;
    return response->status >= 200 || r->begun || !hsk_inform(r, response) ? r : NULL;
}

void http_respond(struct http_request_s *request, struct http_response_s *response)
{
    hsk_request *r = hsk_owed(request, response);
    if (r && r->begun) {
        http_respond_chunk(request, response, NULL);
        http_respond_chunk_end(request, http_response_init());
        return;
    }
    if (r) {
        r->answered = true;
        if (!r->gone && response) hsk_answer(r, response);
        else if (!r->gone) skua_respond_error(r->skua, 503);
        hsk_answered_outside(r->server);
        hsk_forget(r);
    }
    hsk_response_free(response);
}

void http_respond_chunk(struct http_request_s *request, struct http_response_s *response,
                        void (*notify_done)(struct http_request_s *))
{
    hsk_request *r = hsk_find(request);
    if (r && !r->answered) {
        hsk_answered_outside(r->server);
        if (!r->gone && !response) skua_request_abort(r->skua);
        if (!r->gone && response && hsk_begin(r, response))
            hsk_send_chunk(r, response->body, notify_done);
        else if (notify_done) hsk_forget(r); // it waits for what will not come
    }
    hsk_response_free(response);
}

void http_respond_chunk_end(struct http_request_s *request, struct http_response_s *response)
{
    hsk_request *r = hsk_find(request);
    if (r && !r->answered) {
        bool was_begun = r->begun;
        r->answered = true;
        r->notify_done = NULL;
        hsk_answered_outside(r->server);
        if (!r->gone && response && hsk_begin(r, response)) {
            if (was_begun) hsk_add_trailers(r, response);
            r->finishing = true;
            hsk_go_on(r);
        } else if (!r->gone && !response) {
            skua_request_abort(r->skua);
        }
        hsk_forget(r);
    }
    hsk_response_free(response);
}

#ifdef __cplusplus
}
#endif

#endif // HTTPSERVER_IMPL
