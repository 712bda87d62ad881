// SPDX-License-Identifier: MIT
//
// Handlers that do everything the public API offers, now or later, and count what must balance in
// the end.

#include "support/site.h"

#include <stdlib.h>
#include <unistd.h>

typedef enum visit_wait {
    VISIT_WAITS_NOT,
    VISIT_WAITS_ANSWER,  // to be answered
    VISIT_WAITS_WAKE,    // its source said PENDING
    VISIT_WAITS_CONSUME, // it holds content that it has not given credit for
    VISIT_WAITS_PUSH,    // it has more to write
    VISIT_WAITS_RESUME,  // its ticket is to be resumed, though it may have ended
} visit_wait;

// One call of a handler; outlives its request.
struct site_visit {
    site_visit *next;
    site *site;
    skua_request *request; // NULL once it has ended
    unsigned ended;
    visit_wait wait;
    uint64_t tag, len, at;
    bool fails, adds_trailer, reader_done;
    skua_ticket ticket;
    size_t unconsumed;
    uint64_t octets, sum;
    char *held; // octets to be written; at says how many have been
    size_t held_len;
    bool held_all; // no more will come
    bool begun;    // the answer has
    bool pushing;  // within visit_push
};

// Memory for the tests themselves is there even where the server's allocations are made to fail.
static void *site_alloc(size_t octets)
{
    void *memory = NULL;
    for (int i = 0; i < 1000 && !memory; i++)
        memory = calloc(1, octets);
    if (!memory) abort();
    return memory;
}

// ---- Visits ----

static void visit_ended(skua_request *request, skua_end how, void *user)
{
    site_visit *v = user;
    (void)how;
    if (v->request != request) abort(); // a second time, or another's
    v->request = NULL;
    v->ended++;
    if (v->wait != VISIT_WAITS_RESUME) v->wait = VISIT_WAITS_NOT;
    v->site->ended++;
}

static uint64_t visit_number(skua_request *request, const char *name)
{
    skua_slice text = skua_request_param(request, name);
    uint64_t n = 0;
    for (size_t i = 0; i < text.len && i < 7; i++)
        n = n * 10 + (unsigned)(text.ptr[i] - '0') % 10;
    return n;
}

static site_visit *visit_begin(site *s, skua_request *request)
{
    site_visit *v = site_alloc(sizeof *v);
    v->site = s;
    v->request = request;
    v->next = s->visits;
    s->visits = v;
    s->begun++;
    skua_on_end(request, visit_ended, v);
    return v;
}

static site_visit *visit_begin_pattern(site *s, skua_request *request)
{
    site_visit *v = visit_begin(s, request);
    v->tag = visit_number(request, "tag");
    v->len = visit_number(request, "len");
    return v;
}

static char *visit_pattern(const site_visit *v)
{
    char *octets = site_alloc(v->len + 1);
    for (uint64_t i = 0; i < v->len; i++)
        octets[i] = site_octet(v->tag, i);
    return octets;
}

static bool visit_tosses(const site_visit *v, unsigned n)
{
    return sim_random(v->site->kernel) % n == 0;
}

// An answer that fails leaves the request to die with its connection, which the run's balance
// shows.
static void visit_answer(site_visit *v, int status, skua_slice content)
{
    if (skua_respond(v->request, status, "text/plain", content) == SKUA_ESTATE) abort();
}

// ---- Handlers ----

static void on_hello(skua_request *request, void *user)
{
    site *s = user;
    if (sim_random(s->kernel) % 2) { // a request nobody watches is ended in another way
        if (skua_respond(request, 200, "text/plain", SKUA_SLICE("Hello")) == SKUA_ESTATE) abort();
        return;
    }
    visit_answer(visit_begin(s, request), 200, SKUA_SLICE("Hello"));
}

static void echo_collected(skua_request *request, skua_status status, skua_slice content,
                           void *user)
{
    site_visit *v = user;
    if (v->reader_done || v->request != request) abort();
    v->reader_done = true;
    if (status == SKUA_OK) visit_answer(v, 200, content);
}

static void echo_spooled(skua_request *request, skua_status status, const skua_upload *upload,
                         void *user)
{
    site_visit *v = user;
    if (v->reader_done || v->request != request || (status == SKUA_OK) != (upload != NULL)) abort();
    v->reader_done = true;
    if (status) return;
    if (!upload->file) {
        visit_answer(v, 200, upload->octets);
        return;
    }
    // Read here, since the kernel may fail what is sent from a file.
    char *octets = site_alloc((size_t)upload->length);
    size_t n;
    if (skua_file_read(upload->file, 0, octets, (size_t)upload->length, &n) || n != upload->length)
        abort();
    visit_answer(v, 200, (skua_slice){ octets, n });
    free(octets);
}

// Kept in one way or another, the answer is the same.
static void on_echo(skua_request *request, void *user)
{
    site_visit *v = visit_begin(user, request);
    if (visit_tosses(v, 2)) {
        if (skua_content_collect(request, 0, echo_collected, v)) abort();
        return;
    }
    size_t memory_max = 1 + sim_random(v->site->kernel) % 20000;
    skua_status status = skua_content_spool(request, memory_max, 0, echo_spooled, v);
    if (status == SKUA_ESTATE) abort();
    if (status && skua_respond_error(request, 503) == SKUA_ESTATE) abort();
}

// ---- Middleware: passes on at once or later, and is told of heads and ends in their order ----

typedef struct site_pass {
    site *site;
    skua_request *request; // NULL: it has ended
    bool coming, headed;
} site_pass;

static const char site_pass_key;

static void pass_work(void *user)
{
    (void)user;
}

static void pass_done(skua_worker *worker, void *user)
{
    (void)worker;
    site_pass *pass = user;
    pass->coming = false;
    if (pass->request) skua_next(pass->request);
    else free(pass);
}

static void pass_before(skua_request *request, void *user)
{
    site *s = user;
    site_pass *pass = site_alloc(sizeof *pass);
    *pass = (site_pass){ .site = s, .request = request };
    s->entered++;
    if (skua_request_set(request, &site_pass_key, pass)) {
        free(pass);
        skua_next(request);
        return;
    }
    pass->coming = sim_random(s->kernel) % 2 &&
                   !skua_offload(skua_request_worker(request), pass_work, pass_done, pass);
    if (!pass->coming) skua_next(request);
}

static void pass_head(skua_request *request, int status, void *user)
{
    (void)user;
    site_pass *pass = skua_request_get(request, &site_pass_key);
    if (status < 200 || status != skua_request_status(request)) abort();
    if (!pass) return;
    if (pass->headed) abort();
    pass->headed = true;
}

static void pass_end(skua_request *request, skua_end how, void *user)
{
    site *s = user;
    site_pass *pass = skua_request_get(request, &site_pass_key);
    s->left++;
    if (!pass) return;
    if (how == SKUA_END_SENT && !pass->headed) abort();
    pass->request = NULL;
    if (!pass->coming) free(pass);
}

static void count_event(skua_request *request, skua_content_event event, skua_slice octets,
                        void *user)
{
    site_visit *v = user;
    if (v->reader_done || v->request != request) abort();
    char text[64];
    switch (event) {
    case SKUA_CONTENT_DATA:
        for (size_t i = 0; i < octets.len; i++)
            v->sum = site_sum(v->sum, octets.ptr[i]);
        v->octets += octets.len;
        v->unconsumed += octets.len;
        v->wait = VISIT_WAITS_CONSUME;
        return;
    case SKUA_CONTENT_END:
        v->reader_done = true;
        v->wait = VISIT_WAITS_NOT;
        site_count_text(text, v->octets, v->sum);
        visit_answer(v, 200, slice_of(text));
        return;
    case SKUA_CONTENT_LOST:
        v->reader_done = true;
        v->wait = VISIT_WAITS_NOT;
        return;
    }
}

static void on_count(skua_request *request, void *user)
{
    site_visit *v = visit_begin(user, request);
    if (skua_content_read(request, count_event, v)) abort();
}

static skua_pulled pull_end(site_visit *v)
{
    if (v->fails) return SKUA_PULL_ERROR;
    if (!v->adds_trailer) return SKUA_PULL_END;
    skua_status added = skua_trailer_add(v->request, "X-Octets", SKUA_SLICE("all"));
    if (added && added != SKUA_ENOMEM) abort();
    return added ? SKUA_PULL_ERROR : SKUA_PULL_END;
}

static skua_pulled pull_some(skua_request *request, char *buffer, size_t room, size_t *octets,
                             void *user)
{
    site_visit *v = user;
    if (v->request != request || room == 0) abort();
    if (visit_tosses(v, 6)) {
        if (visit_tosses(v, 2)) skua_wake(request); // from within: it counts
        else v->wait = VISIT_WAITS_WAKE;
        return SKUA_PULL_PENDING;
    }
    size_t n = v->len - v->at < room ? (size_t)(v->len - v->at) : room;
    if (n > 1 && visit_tosses(v, 3)) n = 1 + (size_t)(sim_random(v->site->kernel) % (n - 1));
    for (size_t i = 0; i < n; i++)
        buffer[i] = site_octet(v->tag, v->at + i);
    v->at += n;
    *octets = n;
    if (n == 0 || (v->at == v->len && visit_tosses(v, 2))) return pull_end(v);
    return SKUA_PULL_OCTETS;
}

static void on_pull(skua_request *request, void *user)
{
    site_visit *v = visit_begin_pattern(user, request);
    v->adds_trailer = true;
    if (skua_respond_pull(request, 200, "text/plain", -1, pull_some, v) == SKUA_ESTATE) abort();
}

static void on_length(skua_request *request, void *user)
{
    site_visit *v = visit_begin_pattern(user, request);
    if (skua_respond_pull(request, 200, "text/plain", (int64_t)v->len, pull_some, v) == SKUA_ESTATE)
        abort();
}

static void on_fail(skua_request *request, void *user)
{
    site_visit *v = visit_begin_pattern(user, request);
    v->fails = true;
    int64_t length = visit_tosses(v, 2) ? -1 : (int64_t)v->len + 5;
    if (skua_respond_pull(request, 200, "text/plain", length, pull_some, v) == SKUA_ESTATE) abort();
}

// ---- Handlers that write ----

static bool visit_write(site_visit *v)
{
    uint64_t limit = v->site->server->config.out_octets_max;
    size_t left = v->held_len - (size_t)v->at, most = limit < 20000 ? (size_t)limit : 20000;
    size_t n = 1 + (size_t)(sim_random(v->site->kernel) % (left < most ? left : most));
    uint64_t room = skua_write_room(v->request);
    switch ((int)skua_write(v->request, (skua_slice){ v->held + v->at, n })) {
    case SKUA_OK:
        if (n > room) abort();
        v->at += n;
        return true;
    case SKUA_ELIMIT: // drained will be called
        if (n <= room) abort();
        return false;
    case SKUA_ENOMEM: v->wait = VISIT_WAITS_PUSH; return false;
    case SKUA_ECLOSED: return false;
    default: abort();
    }
}

static void visit_finish(site_visit *v)
{
    v->begun = false;
    skua_status status = SKUA_OK;
    if (v->adds_trailer) status = skua_trailer_add(v->request, "X-Octets", SKUA_SLICE("all"));
    if (status == SKUA_ENOMEM) {
        skua_request_abort(v->request);
        return;
    }
    if (status) abort();
    status = skua_finish(v->request);
    if (status && status != SKUA_ENOMEM) abort();
}

// Writes what is held, until it is refused or put off; then the end.
static void visit_push(site_visit *v)
{
    if (v->pushing) abort(); // drained is never called from within
    if (!v->begun || !v->request) return;
    v->pushing = true;
    v->wait = VISIT_WAITS_NOT;
    bool goes_on = true;
    while (goes_on && v->at < v->held_len) {
        goes_on = !visit_tosses(v, 8);
        if (!goes_on) v->wait = VISIT_WAITS_PUSH;
        else goes_on = visit_write(v);
    }
    if (v->held_all && v->at == v->held_len) visit_finish(v);
    v->pushing = false;
}

static void visit_drained(skua_request *request, void *user)
{
    site_visit *v = user;
    if (v->request != request) abort();
    visit_push(v);
}

static void on_stream(skua_request *request, void *user)
{
    site_visit *v = visit_begin_pattern(user, request);
    bool known = visit_tosses(v, 2);
    v->held = visit_pattern(v);
    v->held_len = (size_t)v->len;
    v->held_all = true;
    v->adds_trailer = !known;
    int64_t length = known ? (int64_t)v->len : -1;
    skua_status status = skua_respond_stream(request, 200, "text/plain", length, visit_drained, v);
    if (status == SKUA_ESTATE) abort();
    v->begun = status == SKUA_OK;
    visit_push(v);
}

static void push_event(skua_request *request, skua_content_event event, skua_slice octets,
                       void *user)
{
    site_visit *v = user;
    if (v->reader_done || v->request != request) abort();
    if (event == SKUA_CONTENT_DATA) {
        if (octets.len > v->len - v->held_len) abort();
        memcpy(v->held + v->held_len, octets.ptr, octets.len);
        v->held_len += octets.len;
        skua_content_consume(request, octets.len);
    } else {
        v->reader_done = true;
        v->held_all = event == SKUA_CONTENT_END;
    }
    if (event != SKUA_CONTENT_LOST) visit_push(v);
}

// Reading begins before the answer, or behind its head.
static void on_duplex(skua_request *request, void *user)
{
    site_visit *v = visit_begin_pattern(user, request);
    v->held = site_alloc((size_t)v->len + 1);
    bool reads_first = visit_tosses(v, 2);
    if (reads_first && skua_content_read(request, push_event, v)) abort();
    skua_status status = skua_respond_stream(request, 200, "text/plain", -1, visit_drained, v);
    if (status && status != SKUA_ENOMEM) abort();
    if (status) return;
    v->begun = true;
    if (!reads_first && skua_content_read(request, push_event, v)) abort();
    visit_push(v);
}

static void on_tunnel(skua_request *request, void *user)
{
    site_visit *v = visit_begin_pattern(user, request);
    v->held = site_alloc((size_t)v->len + 1);
    skua_status status = skua_upgrade(request, "echo", visit_drained, v);
    if (status && status != SKUA_ENOMEM) abort();
    if (status) return;
    v->begun = true;
    if (skua_content_read(request, push_event, v)) abort();
}

typedef struct loan {
    site *site;
    char *octets;
} loan;

static void lent_released(void *user)
{
    loan *l = user;
    l->site->released++;
    free(l->octets);
    free(l);
}

static void on_lent(skua_request *request, void *user)
{
    site_visit *v = visit_begin_pattern(user, request);
    loan *l = site_alloc(sizeof *l);
    *l = (loan){ .site = user, .octets = visit_pattern(v) };
    v->site->lent++;
    skua_slice octets = { l->octets, (size_t)v->len };
    if (skua_respond_borrowed(request, 200, "text/plain", octets, lent_released, l))
        lent_released(l);
}

static void on_later(skua_request *request, void *user)
{
    visit_begin_pattern(user, request)->wait = VISIT_WAITS_ANSWER;
}

static void ticket_posted(skua_worker *worker, void *user)
{
    site *s = user;
    if (skua_worker_index(worker) != 0) abort();
    s->ran++;
}

static void on_ticket(skua_request *request, void *user)
{
    site_visit *v = visit_begin_pattern(user, request);
    if (skua_post(v->site->server, 0, ticket_posted, v->site) == SKUA_OK) v->site->posted++;
    bool taken = skua_ticket_take(request, &v->ticket) == SKUA_OK;
    v->wait = taken ? VISIT_WAITS_RESUME : VISIT_WAITS_ANSWER;
}

static void on_blocking(const skua_request *request, skua_slice content, skua_reply *reply,
                        void *user)
{
    (void)user;
    if (skua_request_method(request).len != 4 || skua_reply_peer_is_gone(reply)) abort();
    if (skua_reply_field(reply, "X-Blocking", SKUA_SLICE("yes"))) return;
    if (skua_reply_give(reply, 200, "text/plain", content) == SKUA_ESTATE) abort();
}

static void file_opened(skua_worker *worker, skua_status status, skua_file *file,
                        const skua_file_info *info, void *user)
{
    (void)worker;
    site_visit *v = user;
    if (status) {
        if (v->request) visit_answer(v, 503, SKUA_SLICE("no file"));
        return;
    }
    if (v->request &&
        skua_respond_file(v->request, 200, "text/plain", file, 0, info->size) == SKUA_ESTATE)
        abort();
    skua_file_unref(file);
}

static void on_file(skua_request *request, void *user)
{
    site_visit *v = visit_begin(user, request);
    skua_file_open(skua_request_worker(request), v->site->root, SKUA_SLICE("file"), file_opened, v);
}

// ---- What was put off ----

static void visit_answer_pattern(site_visit *v)
{
    char *octets = visit_pattern(v);
    visit_answer(v, 200, (skua_slice){ octets, (size_t)v->len });
    free(octets);
}

static void visit_taken_up(skua_request *request, void *user)
{
    site_visit *v = user;
    if (v->request != request) abort(); // NULL, both of them, when it has ended
    v->site->resumed++;
    if (request) visit_answer_pattern(v);
}

static void visit_resume(site_visit *v)
{
    bool gone = !v->request;
    skua_status status = skua_resume(v->ticket, visit_taken_up, v);
    if (status != (gone ? SKUA_ECLOSED : SKUA_OK)) abort();
    if (status) return;
    v->site->granted++;
    if (skua_resume(v->ticket, visit_taken_up, v) != SKUA_ESTATE) abort();
}

static void visit_act(site_visit *v)
{
    visit_wait wait = v->wait;
    if (wait == VISIT_WAITS_CONSUME) {
        size_t n = visit_tosses(v, 2) ? v->unconsumed
                                      : 1 + (size_t)(sim_random(v->site->kernel) % v->unconsumed);
        v->unconsumed -= n;
        if (v->unconsumed == 0) v->wait = VISIT_WAITS_NOT;
        skua_content_consume(v->request, n);
        return;
    }
    v->wait = VISIT_WAITS_NOT;
    if (wait == VISIT_WAITS_WAKE) skua_wake(v->request);
    else if (wait == VISIT_WAITS_PUSH) visit_push(v);
    else if (wait == VISIT_WAITS_RESUME) visit_resume(v);
    else visit_answer_pattern(v);
}

bool site_act(site *s)
{
    site_visit *chosen = NULL;
    unsigned waiting = 0;
    for (site_visit *v = s->visits; v; v = v->next) {
        if (v->wait == VISIT_WAITS_NOT) continue;
        if (sim_random(s->kernel) % ++waiting == 0) chosen = v;
    }
    if (chosen) visit_act(chosen);
    return chosen;
}

void site_count_text(char *text, uint64_t octets, uint64_t sum)
{
    (void)snprintf(text, 64, "%llu octets, sum %llu", (unsigned long long)octets,
                   (unsigned long long)sum);
}

// ---- The site ----

const char site_parts_line[] = "Range: bytes=10-19,40000-89989\r\n";

// Each part's octets come behind its head, and then a delimiter.
bool site_parts_are_right(slice content)
{
    static const size_t from[] = { 10, 40000 }, until[] = { 20, 89990 };
    const char *at = content.ptr, *end = content.ptr + content.len;
    for (int part = 0; part < 2; part++) {
        const char *head = memmem(at, (size_t)(end - at), "\r\n\r\n", 4);
        if (!head || (size_t)(end - head) < 4 + until[part] - from[part]) return false;
        at = head + 4;
        for (size_t i = from[part]; i < until[part]; i++) {
            if (*at++ != site_octet(SITE_FILE_TAG, i)) return false;
        }
        if (end - at < 9 || memcmp(at, "\r\n--skua-", 9) != 0) return false;
    }
    return memcmp(end - 4, "--\r\n", 4) == 0;
}

static void site_file_path(char *path, size_t room, const char *folder)
{
    if (snprintf(path, room, "%s/file", folder) >= (int)room) abort();
}

bool site_folder_make(char *path)
{
    char name[80];
    (void)snprintf(path, 64, "/tmp/skua-site-XXXXXX");
    if (!mkdtemp(path)) return false;
    site_file_path(name, sizeof name, path);
    FILE *file = fopen(name, "w");
    if (!file) return false;
    for (uint64_t i = 0; i < SITE_FILE_OCTETS; i++)
        (void)fputc(site_octet(SITE_FILE_TAG, i), file);
    return fclose(file) == 0;
}

void site_folder_remove(const char *path)
{
    char name[80];
    site_file_path(name, sizeof name, path);
    (void)unlink(name);
    (void)rmdir(path);
}

static bool site_route(site *s, const char *folder)
{
    static const struct {
        const char *pattern;
        skua_handler *handler;
    } routes[] = {
        { "/hello", on_hello },
        { "POST /echo", on_echo },
        { "POST /count", on_count },
        { "GET /pull/{tag}/{len}", on_pull },
        { "GET /length/{tag}/{len}", on_length },
        { "GET /lent/{tag}/{len}", on_lent },
        { "GET /later/{tag}/{len}", on_later },
        { "GET /ticket/{tag}/{len}", on_ticket },
        { "GET /stream/{tag}/{len}", on_stream },
        { "POST /duplex/{tag}/{len}", on_duplex },
        { "GET /tunnel/{tag}/{len}", on_tunnel },
        { "GET /fail/{tag}/{len}", on_fail },
        { "GET /file", on_file },
    };
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        if (skua_route(s->server, routes[i].pattern, routes[i].handler, s)) return false;
    }
    const skua_middleware pass = { pass_before, pass_head, pass_end, s };
    if (skua_use(s->server, "POST /", &pass) || skua_use(s->server, "/missing", &pass))
        return false;
    if (skua_route_blocking(s->server, "POST /blocking", on_blocking, s)) return false;
    // The same file, sent from where it is, and kept in memory.
    const skua_directory_config kept = { .small_octets_max = SITE_FILE_OCTETS };
    return skua_route_directory(s->server, "GET /dir/", folder, NULL) == SKUA_OK &&
           skua_route_directory(s->server, "GET /kept/", folder, &kept) == SKUA_OK;
}

bool site_open(site *s, const skua_config *config, const sim_config *sim, const char *folder)
{
    *s = (site){ .listener = -1 };
    s->kernel = sim_kernel_new(sim);
    s->server = skua_server_new(config);
    if (!s->kernel || !s->server || skua_root_open(folder, &s->root)) return false;
    s->listener = sim_listen(s->kernel);
    return site_route(s, folder) &&
           server_start_on(s->server, &io_backend_sim, s->kernel, s->listener) == SKUA_OK;
}

void site_turn(site *s, int64_t timeout_ns)
{
    if (!s->over && !worker_turn(s->server->workers[0], timeout_ns)) s->over = true;
}

void site_stop(site *s, int64_t grace_ns)
{
    s->stopped = true;
    if (!s->over) skua_stop(s->server, grace_ns);
}

static const char *site_free_visits(site *s)
{
    const char *wrong = NULL;
    while (s->visits) {
        site_visit *v = s->visits;
        s->visits = v->next;
        if (v->ended != 1) wrong = "a request did not end exactly once";
        free(v->held);
        free(v);
    }
    if (s->begun != s->ended) wrong = "requests began that did not end";
    if (s->entered != s->left) wrong = "middleware was entered that was not told of the end";
    if (s->lent != s->released) wrong = "lent octets were not released";
    if (s->granted != s->resumed) wrong = "a resumption was lost, or came twice";
    if (s->posted != s->ran) wrong = "a posted function was lost, or ran twice";
    return wrong;
}

const char *site_close(site *s)
{
    site_stop(s, 0);
    for (int i = 0; i < 100000 && !s->over; i++)
        site_turn(s, -1);
    const char *wrong = s->over ? NULL : "the server does not stop";
    sim_listener_close(s->kernel, s->listener);
    skua_server_free(s->server);
    skua_root_close(s->root);
    if (!wrong) wrong = site_free_visits(s);
    if (!wrong && sim_sockets_open(s->kernel)) wrong = "a socket is still open";
    if (!wrong && sim_files_open(s->kernel)) wrong = "a file is still open";
    sim_kernel_free(s->kernel);
    return wrong;
}
