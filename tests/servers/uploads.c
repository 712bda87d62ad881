// SPDX-License-Identifier: MIT
//
// A server that reads content in every way the library has, so that the end-to-end tests can see
// what comes of it:
// uploads --port N. Spooled content goes to TMPDIR, and is named beneath UPLOADS_ROOT.
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void must(skua_status status)
{
    if (status == SKUA_OK || status == SKUA_ECLOSED) return;
    (void)fprintf(stderr, "uploads: unexpected status: %s\n", skua_status_text(status));
    abort();
}

static uint64_t query_number(const skua_request *request, const char *name)
{
    skua_slice text = skua_request_query_param(request, name);
    uint64_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n = n * 10 + (uint64_t)(text.ptr[i] - '0');
    return n;
}

// ---- Text that grows ----

typedef struct report {
    skua_request *request;
    char *text;
    size_t len, room;
} report;

static void report_octets(report *r, const char *octets, size_t len)
{
    while (r->len + len > r->room) {
        size_t room = r->room ? r->room * 2 : 1024;
        char *grown = skua_request_alloc(r->request, room);
        if (!grown) abort();
        if (r->len) memcpy(grown, r->text, r->len);
        r->text = grown;
        r->room = room;
    }
    if (len) memcpy(r->text + r->len, octets, len);
    r->len += len;
}

static void report_slice(report *r, skua_slice text)
{
    report_octets(r, text.ptr, text.len);
}

static void report_number(report *r, uint64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    report_octets(r, digits, (size_t)len);
}

static void report_pair(report *r, skua_field pair)
{
    report_slice(r, pair.name);
    report_octets(r, "=", 1);
    report_slice(r, pair.value);
    report_octets(r, "\n", 1);
}

static void report_send(report *r)
{
    must(skua_respond(r->request, 200, "text/plain", (skua_slice){ r->text, r->len }));
}

// ---- Fields, queries, forms ----

// GET /fields: the values of X-A, a line each.
static void answer_fields(skua_request *request, void *user)
{
    (void)user;
    report text = { .request = request };
    skua_slice value;
    for (size_t i = 0; skua_request_field_next(request, "x-a", &i, &value);) {
        report_slice(&text, value);
        report_octets(&text, "\n", 1);
    }
    report_send(&text);
}

static void answer_query(skua_request *request, void *user)
{
    (void)user;
    report text = { .request = request };
    skua_field pair;
    for (size_t i = 0; skua_request_query_at(request, i, &pair); i++)
        report_pair(&text, pair);
    report_send(&text);
}

static void answer_form(skua_request *request, skua_status status, skua_slice content, void *user)
{
    (void)user;
    if (status) return;
    report text = { .request = request };
    skua_field pair;
    for (size_t i = 0; skua_form_at(request, content, i, &pair); i++)
        report_pair(&text, pair);
    report_octets(&text, "name: ", 6);
    report_slice(&text, skua_form_param(request, content, "name"));
    report_send(&text);
}

static void collect_form(skua_request *request, void *user)
{
    must(skua_content_collect(request, 0, answer_form, user));
}

// ---- Limits ----

static char told[4096];
static size_t told_len;

static void tell(const char *text)
{
    int n = snprintf(told + told_len, sizeof told - told_len, "%s\n", text);
    if (n > 0 && (size_t)n < sizeof told - told_len) told_len += (size_t)n;
}

static void answer_told(skua_request *request, void *user)
{
    (void)user;
    must(skua_respond(request, 200, "text/plain", (skua_slice){ told, told_len }));
    told_len = 0;
}

typedef struct counting {
    uint64_t octets;
} counting;

static void count_piece(skua_request *request, skua_content_event event, skua_slice octets,
                        void *user)
{
    counting *count = user;
    report text = { .request = request };
    switch (event) {
    case SKUA_CONTENT_DATA:
        count->octets += octets.len;
        skua_content_consume(request, octets.len);
        return;
    case SKUA_CONTENT_END:
        report_number(&text, count->octets);
        report_send(&text);
        return;
    case SKUA_CONTENT_LOST: tell("lost"); return;
    }
}

// POST /limit?n=N: streamed, at most N octets.
static void answer_limited(skua_request *request, void *user)
{
    (void)user;
    counting *count = skua_request_alloc(request, sizeof *count);
    if (!count) abort();
    *count = (counting){ 0 };
    skua_status limited = skua_content_limit(request, query_number(request, "n"));
    if (limited == SKUA_ELIMIT) tell("at once");
    else must(limited);
    if (!limited) must(skua_content_read(request, count_piece, count));
}

static void tell_collected(skua_request *request, skua_status status, skua_slice content,
                           void *user)
{
    (void)user;
    if (status) tell(skua_status_text(status));
    else must(skua_respond(request, 200, "text/plain", content));
}

// POST /guarded/collect?n=N: the limit is set by middleware, before the handler collects.
static void guard_content(skua_request *request, void *user)
{
    (void)user;
    if (!skua_content_limit(request, query_number(request, "n"))) skua_next(request);
}

static void answer_collected(skua_request *request, void *user)
{
    must(skua_content_collect(request, 0, tell_collected, user));
}

// ---- Parts ----

// POST /parts: every part with its fields and its content. With ?hold=1 credit is given back only
// at a part's end, with ?refuse=1 it is answered at the first part.
typedef struct part_report {
    report text;
    uint64_t hold;
    size_t held;
} part_report;

static void report_part(report *text, const skua_part *part)
{
    report_octets(text, "[", 1);
    report_slice(text, part->name);
    report_octets(text, "|", 1);
    report_slice(text, part->filename.ptr ? part->filename : SKUA_SLICE("-"));
    report_octets(text, "|", 1);
    report_slice(text, part->type.ptr ? part->type : SKUA_SLICE("-"));
    report_octets(text, "|", 1);
    report_number(text, part->fields_count);
    report_octets(text, ":", 1);
}

static void read_part(skua_request *request, skua_part_event event, const skua_part *part,
                      skua_slice octets, void *user)
{
    part_report *r = user;
    switch (event) {
    case SKUA_PART_BEGIN:
        report_part(&r->text, part);
        if (query_number(request, "refuse"))
            must(skua_respond(request, 403, NULL, SKUA_SLICE("no")));
        return;
    case SKUA_PART_DATA:
        report_slice(&r->text, octets);
        if (r->hold) r->held += octets.len;
        else skua_content_consume(request, octets.len);
        return;
    case SKUA_PART_END:
        report_octets(&r->text, "]", 1);
        skua_content_consume(request, r->held);
        r->held = 0;
        return;
    case SKUA_PARTS_END: report_send(&r->text); return;
    case SKUA_PARTS_FAILED: tell("failed"); return;
    }
}

static void answer_parts(skua_request *request, void *user)
{
    (void)user;
    part_report *r = skua_request_alloc(request, sizeof *r);
    if (!r) abort();
    *r = (part_report){ .text = { .request = request }, .hold = query_number(request, "hold") };
    skua_status status = skua_multipart_read(request, read_part, r);
    if (status == SKUA_EINVAL) must(skua_respond_error(request, 415));
    else must(status);
}

// ---- Kept whole ----

// A request that has ended cannot be followed any more.
static void follow(skua_request *request, skua_end how, void *user)
{
    (void)request, (void)how, (void)user;
    tell("followed to its end");
}

static void answer_upload(skua_request *request, skua_status status, const skua_upload *upload,
                          void *user)
{
    (void)user;
    if (status) {
        tell(skua_status_text(status));
        if (status == SKUA_ECLOSED && !skua_request_follow(request, follow, NULL)) tell("followed");
        return;
    }
    must(skua_field_add(request, "X-Kept",
                        upload->file ? SKUA_SLICE("file") : SKUA_SLICE("memory")));
    if (upload->file) must(skua_respond_file(request, 200, NULL, upload->file, 0, upload->length));
    else must(skua_respond(request, 200, NULL, upload->octets));
}

static void answer_early(skua_worker *worker, void *user)
{
    (void)worker;
    must(skua_respond_text(user, 200, "early"));
}

// POST /spool?memory=N&max=N&timeout=MS&early=MS: answers with what was kept, and X-Kept says where; or earlier.
static void spool(skua_request *request, void *user)
{
    const int64_t ms = 1000000;
    int64_t timeout_ms = (int64_t)query_number(request, "timeout");
    int64_t early_ms = (int64_t)query_number(request, "early");
    if (timeout_ms) skua_request_timeout(request, timeout_ms * ms);
    if (early_ms)
        must(skua_timer_start(skua_request_worker(request), early_ms * ms, 0, answer_early, request,
                              NULL));
    must(skua_content_spool(request, (size_t)query_number(request, "memory"),
                            query_number(request, "max"), answer_upload, user));
}

// POST /keep?name=NAME: gives it a name beneath UPLOADS_ROOT; in memory there is nothing to name.
static skua_root *root;

static void keep_upload(skua_request *request, skua_status status, const skua_upload *upload,
                        void *user)
{
    (void)user;
    if (status || !upload->file || !root) {
        must(skua_respond_error(request, 500));
        return;
    }
    const char *word = skua_status_text(
        skua_file_keep(upload->file, root, skua_request_query_param(request, "name")));
    must(skua_respond_text(request, 200, word));
}

static void keep(skua_request *request, void *user)
{
    must(skua_content_spool(request, 1, 1 << 20, keep_upload, user));
}

// POST /collect?memory=N&max=N: every part, where it was kept, and its content.
static void report_upload(report *text, const skua_upload *upload)
{
    report_octets(text, upload->file ? "F" : "M", 1);
    report_slice(text, upload->octets);
    char octets[4096];
    size_t n;
    for (uint64_t at = 0; upload->file && at < upload->length; at += n) {
        must(skua_file_read(upload->file, at, octets, sizeof octets, &n));
        if (n == 0) abort();
        report_octets(text, octets, n);
    }
}

static void answer_collected_form(skua_request *request, skua_status status,
                                  const skua_form_part *parts, size_t count, void *user)
{
    (void)user;
    if (status) {
        tell(skua_status_text(status));
        return;
    }
    report text = { .request = request };
    for (size_t i = 0; i < count; i++) {
        report_part(&text, &parts[i].part);
        report_upload(&text, &parts[i].upload);
        report_octets(&text, "]", 1);
    }
    report_send(&text);
}

static void collect_parts(skua_request *request, void *user)
{
    skua_status status =
        skua_multipart_collect(request, (size_t)query_number(request, "memory"),
                               query_number(request, "max"), answer_collected_form, user);
    if (status == SKUA_EINVAL) must(skua_respond_error(request, 415));
    else must(status);
}

// POST /occupy: helper threads have something to do for a while.
static void sleep_a_while(void *user)
{
    (void)user;
    (void)nanosleep(&(struct timespec){ .tv_nsec = 400000000 }, NULL);
}

static void wake_up(skua_worker *worker, void *user)
{
    (void)worker, (void)user;
}

static void occupy(skua_request *request, void *user)
{
    (void)user;
    for (int i = 0; i < 16; i++)
        must(skua_offload(skua_request_worker(request), sleep_a_while, wake_up, NULL));
    must(skua_respond_text(request, 200, "occupied"));
}

static void put(skua_server *server, const char *pattern, skua_handler *handler)
{
    if (skua_route(server, pattern, handler, NULL) == SKUA_OK) return;
    (void)fprintf(stderr, "uploads: %s\n", skua_server_error(server));
    abort();
}

int main(int argc, char **argv)
{
    skua_server *server = server_from_options(argc, argv);
    put(server, "GET /fields", answer_fields);
    put(server, "GET /query", answer_query);
    put(server, "POST /form", collect_form);
    put(server, "POST /limit", answer_limited);
    put(server, "POST /guarded/collect", answer_collected);
    put(server, "GET /told", answer_told);
    put(server, "POST /parts", answer_parts);
    put(server, "POST /spool", spool);
    put(server, "POST /guarded/spool", spool);
    put(server, "POST /keep", keep);
    put(server, "POST /collect", collect_parts);
    put(server, "POST /occupy", occupy);
    must(skua_use(server, "/guarded", &(skua_middleware){ .before = guard_content }));
    const char *folder = getenv("UPLOADS_ROOT");
    if (folder) must(skua_root_open(folder, &root));
    int code = server_serve(server, "uploads");
    skua_root_close(root);
    return code;
}
