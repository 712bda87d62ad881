// SPDX-License-Identifier: MIT
//
// A server whose responses pass through filters, for the end-to-end tests. Below /double/ middleware
// adds a filter that writes each octet twice, keeps one back until it is flushed, and ends with "!". The
// folder in FILTERS_FILES is served at /double/files/. Below /coded/ responses are compressed.
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(skua_status status)
{
    if (status == SKUA_OK || status == SKUA_ECLOSED) return;
    fprintf(stderr, "filters: unexpected status: %s\n", skua_status_text(status));
    abort();
}

static long query_number(skua_request *request, const char *name, long otherwise)
{
    char digits[24] = "";
    skua_slice text = skua_request_query_param(request, name);
    if (!text.ptr || text.len >= sizeof(digits)) return otherwise;
    memcpy(digits, text.ptr, text.len);
    return strtol(digits, NULL, 10);
}

// ---- The filter ----

typedef struct doubling {
    char kept, half; // an octet that is kept back; one whose second half is to be written
    bool keeps, halved, ended, fails;
} doubling;

static unsigned states; // that have not ended

static void *doubling_begin(skua_request *request, int status, void *user)
{
    (void)user;
    char told[64];
    skua_slice type = skua_response_field(request, "content-type");
    int len = snprintf(told, sizeof(told), "%d %lld %.*s", status,
                       (long long)skua_response_length(request), type.len ? (int)type.len : 1,
                       type.len ? type.ptr : "-");
    must(skua_field_add(request, "X-Filter", (skua_slice){ told, (size_t)len }));
    if (query_number(request, "none", 0)) return NULL;
    doubling *d = calloc(1, sizeof(*d));
    if (!d) abort();
    d->fails = query_number(request, "fails", 0) != 0;
    states++;
    return d;
}

// Returns whether there was an octet to be written.
static bool doubling_next(doubling *d, skua_slice *content, skua_flush flush, char *octet)
{
    if (d->halved) {
        d->halved = false;
        *octet = d->half;
        return true;
    }
    if (!d->keeps && content->len) {
        d->kept = *content->ptr;
        d->keeps = true;
        *content = (skua_slice){ content->ptr + 1, content->len - 1 };
    }
    if (d->keeps && (content->len || flush)) {
        *octet = d->half = d->kept;
        d->keeps = false;
        d->halved = true;
        return true;
    }
    if (flush != SKUA_FLUSH_END || d->ended) return false;
    d->ended = true;
    *octet = '!';
    return true;
}

static skua_filtered doubling_run(void *state, skua_slice *content, skua_flush flush, char *out,
                                  size_t room, size_t *octets)
{
    doubling *d = state;
    if (d->fails) return SKUA_FILTER_FAILED;
    while (*octets < room && doubling_next(d, content, flush, &out[*octets]))
        ++*octets;
    return *octets == room ? SKUA_FILTER_MORE : SKUA_FILTER_ALL;
}

static void doubling_end(void *state)
{
    states--;
    free(state);
}

static const skua_filter doubles = { .begin = doubling_begin,
                                     .run = doubling_run,
                                     .end = doubling_end };

// ?when=head adds it there, ?when=handler leaves that to the handler.
static bool doubling_is_due(const skua_request *request, const char *when)
{
    skua_slice asked = skua_request_query_param(request, "when");
    if (!asked.ptr) return strcmp(when, "before") == 0;
    return asked.len == strlen(when) && memcmp(asked.ptr, when, asked.len) == 0;
}

static void doubling_before(skua_request *request, void *user)
{
    (void)user;
    if (doubling_is_due(request, "before")) {
        must(skua_filter_add(request, &doubles));
        if (skua_filter_add(request, &doubles) != SKUA_EEXIST) abort();
    }
    skua_next(request);
}

static void doubling_head(skua_request *request, int status, void *user)
{
    (void)status;
    (void)user;
    if (doubling_is_due(request, "head")) must(skua_filter_add(request, &doubles));
}

// ---- Content in each way ----

static char text_octet(size_t i)
{
    return (char)('a' + (i + i / 26) % 26);
}

static char *text_make(size_t len)
{
    char *text = malloc(len + 1);
    if (!text) abort();
    for (size_t i = 0; i < len; i++)
        text[i] = text_octet(i);
    return text;
}

static void answer_text(skua_request *request, void *user)
{
    (void)user;
    size_t len = (size_t)query_number(request, "len", 10);
    char *text = text_make(len);
    skua_field_add(request, "ETag", SKUA_SLICE("\"tag\""));
    skua_field_add(request, "Accept-Ranges", SKUA_SLICE("bytes"));
    int status = (int)query_number(request, "status", 200);
    char field[64];
    skua_slice name = skua_request_query_param(request, "field");
    snprintf(field, sizeof(field), "%.*s", (int)name.len, name.ptr ? name.ptr : "");
    if (name.ptr) skua_field_add(request, field, skua_request_query_param(request, "value"));
    char type[64] = "text/plain";
    skua_slice asked = skua_request_query_param(request, "type");
    if (asked.ptr) snprintf(type, sizeof(type), "%.*s", (int)asked.len, asked.ptr);
    if (query_number(request, "lent", 0)) {
        skua_respond_borrowed(request, status, type, (skua_slice){ text, len }, free, text);
        return;
    }
    skua_respond(request, status, type, (skua_slice){ text, len });
    free(text);
}

static void answer_handler(skua_request *request, void *user)
{
    must(skua_filter_add(request, &doubles));
    answer_text(request, user);
}

static void answer_compressed(skua_request *request, void *user)
{
    must(skua_compress(request));
    answer_text(request, user);
}

// In a blocking handler, whose writes wait.
static void answer_blocking_stream(skua_request *request, void *user)
{
    (void)user;
    char *text = text_make(200000);
    skua_respond_stream(request, 200, "text/plain", -1, NULL, NULL);
    for (size_t at = 0; at < 200000; at += 1000)
        must(skua_write(request, (skua_slice){ text + at, 1000 }));
    must(skua_finish(request));
    free(text);
}

typedef struct pulling {
    size_t at, len;
    bool waits, waited;
} pulling;

static void pull_later(skua_request *request, void *user)
{
    (void)user;
    if (request) skua_wake(request);
}

// Every other time it has nothing, and is woken by a ticket.
static skua_pulled pull_text(skua_request *request, char *buffer, size_t room, size_t *octets,
                             void *user)
{
    pulling *p = user;
    p->waited = !p->waited;
    if (p->waits && p->waited) {
        skua_ticket ticket;
        must(skua_ticket_take(request, &ticket));
        must(skua_resume(ticket, pull_later, NULL));
        return SKUA_PULL_PENDING;
    }
    while (*octets < room && p->at < p->len)
        buffer[(*octets)++] = text_octet(p->at++);
    return p->at == p->len ? SKUA_PULL_END : SKUA_PULL_OCTETS;
}

// GET /pull?len=N&length=N&waits=1
static void answer_pull(skua_request *request, void *user)
{
    (void)user;
    pulling *p = skua_request_alloc(request, sizeof(*p));
    if (!p) abort();
    *p = (pulling){ .len = (size_t)query_number(request, "len", 10),
                    .waits = query_number(request, "waits", 0) != 0 };
    must(skua_trailer_add(request, "X-Sum", SKUA_SLICE("7")));
    skua_respond_pull(request, 200, "text/plain", query_number(request, "length", -1), pull_text,
                      p);
}

static skua_request *open_stream;

static void stream_ended(skua_request *request, skua_end how, void *user)
{
    (void)how;
    (void)user;
    if (open_stream == request) open_stream = NULL;
}

static void answer_stream(skua_request *request, void *user)
{
    (void)user;
    open_stream = request;
    skua_on_end(request, stream_ended, NULL);
    skua_respond_stream(request, 200, "text/plain", query_number(request, "length", -1), NULL,
                        NULL);
}

static void answer_events(skua_request *request, void *user)
{
    (void)user;
    open_stream = request;
    skua_on_end(request, stream_ended, NULL);
    skua_events_open(request, NULL, NULL);
}

// GET /write?data=D, /event?data=D, /finish, /states: act on the open stream.
static void answer_status(skua_request *request, skua_status status)
{
    skua_respond_text(request, 200, status ? skua_status_text(status) : "ok");
}

static void answer_write(skua_request *request, void *user)
{
    (void)user;
    skua_slice data = skua_request_query_param(request, "data");
    answer_status(request, open_stream ? skua_write(open_stream, data) : SKUA_ENOENT);
}

static void answer_event(skua_request *request, void *user)
{
    (void)user;
    skua_event event = { .data = skua_request_query_param(request, "data") };
    answer_status(request, open_stream ? skua_event_send(open_stream, &event) : SKUA_ENOENT);
}

static void answer_finish(skua_request *request, void *user)
{
    (void)user;
    answer_status(request, open_stream ? skua_finish(open_stream) : SKUA_ENOENT);
}

static void answer_states(skua_request *request, void *user)
{
    (void)user;
    char text[16];
    snprintf(text, sizeof(text), "%u", states);
    skua_respond_text(request, 200, text);
}

static const struct {
    const char *pattern;
    skua_handler *handler;
} routes[] = {
    { "/double/text", answer_text },      { "/double/handler", answer_handler },
    { "/plain/handler", answer_handler }, { "/double/pull", answer_pull },
    { "/double/stream", answer_stream },  { "/double/events", answer_events },
    { "/coded/text", answer_text },       { "/coded/small/text", answer_text },
    { "/coded/off/text", answer_text },   { "/coded/pull", answer_pull },
    { "/coded/stream", answer_stream },   { "/coded/events", answer_events },
    { "/write", answer_write },           { "/event", answer_event },
    { "/finish", answer_finish },         { "/states", answer_states },
};

int main(int argc, char **argv)
{
    skua_server *server = server_from_options(argc, argv);
    skua_middleware middleware = { .before = doubling_before, .head = doubling_head };
    must(skua_use(server, "/double/", &middleware));
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
        must(skua_route(server, routes[i].pattern, routes[i].handler, NULL));
    skua_compression small = { .octets_min = 1, .types = "text/plain application/octet-stream" };
    must(skua_use_compression(server, "/coded/", NULL));
    must(skua_use_compression(server, "/coded/small/", &small));
    must(skua_use_compression(server, "/coded/off/", &(skua_compression){ .off = true }));
    must(skua_route(server, "/one/text", answer_compressed, NULL));
    must(skua_route_blocking(server, "/coded/blocking", answer_text, NULL));
    must(skua_route_blocking(server, "/double/blocking", answer_text, NULL));
    must(skua_route_blocking(server, "/coded/blocking-stream", answer_blocking_stream, NULL));
    const char *files = getenv("FILTERS_FILES");
    if (files) must(skua_route_directory(server, "/coded/small/files/", files, NULL));
    if (files) must(skua_route_directory(server, "/double/files/", files, NULL));
    return server_serve(server, "filters");
}
