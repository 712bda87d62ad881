// SPDX-License-Identifier: MIT
//
// Request: from a complete head to a handler, and the end of it all.
//
// What every request goes through is called in one place each, here and in the router, the target
// and the
// head: it is defined inline, so that where the caller is compiled together with it (one header,
// all files at once, at link time) there is no call left.

#include "exchange/request.h"

#include "base/assert.h"
#include "exchange/blocking.h"
#include "exchange/carrier.h"
#include "exchange/middleware.h"
#include "exchange/respond.h"
#include "exchange/spool.h"
#include "exchange/ticket.h"
#include "exchange/worker.h"
#include "http/cookie.h"
#include "http/query.h"
#include "io/socket.h"

// A usual head and what is made of it fit in here: only larger requests take a block.
enum { REQUEST_ROOM_OCTETS = 1024 };

size_t request_octets(const skua_worker *w)
{
    size_t fields = (w->head_limits.fields_max * sizeof(h1_field) + 15) & ~(size_t)15;
    return ((sizeof(skua_request) + 15) & ~(size_t)15) + fields + REQUEST_ROOM_OCTETS;
}

// A few cache lines: stores clear them sooner than the instruction for long strings, which
// compilers choose for the whole.
static inline void request_clear(skua_request *r)
{
    enum { LINE_OCTETS = 64 };
    const size_t end = offsetof(skua_request, base);
    for (size_t at = offsetof(skua_request, reading); at < end; at += LINE_OCTETS) {
        memset((char *)r + at, 0, LINE_OCTETS); // past the end, what is not set yet
    }
}

skua_request *request_take(skua_worker *w, carrier *c)
{
    skua_request *r = w->free_requests;
    if (r) w->free_requests = r->next;
    else r = counted_alloc(&w->memory, request_octets(w));
    if (!r) return NULL;
    request_clear(r);
    r->match.route = NULL;
    r->home = w->disk.thread;
    r->worker = w;
    r->carrier = c;
    r->decoding = &r->own_decoding;
    r->own_decoding = (request_decoding){ .memory = &r->memory };
    arena_init(&r->memory, &w->blocks);
    arena_lend(&r->memory, (char *)r + request_octets(w) - REQUEST_ROOM_OCTETS,
               REQUEST_ROOM_OCTETS);
    h1_head_init(&r->head, &w->head_limits, r->head_fields);
    return r;
}

bool request_is_watched(const skua_request *r)
{
    return r->end || r->worker->lane || r->entered;
}

// ---- The contract ----

void request_misused(const skua_request *r, const char *function)
{
    if (!r)
        contract_broken(function, "request must not be NULL; a function that skua_resume calls is "
                                  "given NULL when its request is gone");
    if (blocking_is_here())
        contract_broken(function, "called in a blocking handler, which reads its own request and "
                                  "answers by skua_reply_give");
    if (!r->home)
        contract_broken(function, "the request is gone; keep it by skua_request_hold, or find it "
                                  "again by skua_ticket_take and skua_resume");
    contract_broken(function,
                    "called on another thread than the request's worker; use skua_resume");
}

void request_expect_blocking(const skua_request *r, const char *function)
{
    if (!r || !blocking_has(r)) request_misused(r, function);
}

// ---- The end ----

static const char *request_end_text(skua_end how)
{
    switch (how) {
    case SKUA_END_SENT: return "";
    case SKUA_END_CLOSED: return "closed";
    case SKUA_END_TIMEOUT: return "timeout";
    case SKUA_END_ERROR: return "error";
    }
    return "";
}

static void request_log(const skua_request *r, skua_end how)
{
    skua_worker *w = r->worker;
    if (r->status == 0 && r->method.len == 0) return;
    char peer[64];
    (void)io_address_write(session_peer(r->carrier->session), peer, sizeof peer);
    bool parsed = r->began_ns != 0;
    log_request(w->lane,
                &(log_access){
                    .unix_ns = w->loop.unix_ns,
                    .duration_ns = parsed ? io_clock_ns() - r->began_ns : 0,
                    .peer = peer,
                    .method = r->method,
                    .target = r->target_text,
                    .version = r->head.version,
                    .status = r->status,
                    .octets = r->sent_octets,
                    .referer = parsed ? skua_request_field(r, "referer") : (slice){ 0 },
                    .user_agent = parsed ? skua_request_field(r, "user-agent") : (slice){ 0 },
                    .end = request_end_text(how),
                    .reason = r->blamed ? r->reason : NULL,
                });
}

void request_let_go(skua_request *r)
{
    if (r->tickets) ticket_close_all(r);
    if (r->reply) blocking_let_go(r->reply);
    if (r->spools) spool_let_go(r);
    work_let_go(&r->asker);
}

work_asker *request_asker_of(const void *served)
{
    const carrier *c = served;
    return c->current ? &c->current->asker : NULL;
}

// A client that has left is only noticed when its request waits for nothing of the library's.
void request_work_is_over(work_asker *asker)
{
    skua_request *r = (skua_request *)(void *)((char *)asker - offsetof(skua_request, asker));
    carrier *c = r->carrier;
    if (c->table->peer_is_done(c)) c->table->kick(c);
}

static inline void request_put_free(skua_worker *w, skua_request *r)
{
    r->next = w->free_requests;
    w->free_requests = r;
}

#if CONTRACT_IS_SEARCHED
// Whoever still uses it is found out: it is not used again before so many others have gone.
static void request_put(skua_worker *w, skua_request *r)
{
    skua_request **place = &w->gone_requests[w->gone_count++ % WORKER_GONE_KEPT];
    if (*place) request_put_free(w, *place);
    *place = r;
}
#else
// The next one has its memory, which is still in the processor's cache.
static inline void request_put(skua_worker *w, skua_request *r)
{
    request_put_free(w, r);
}
#endif

__attribute__((noinline)) static void request_free_content(skua_request *r)
{
    if (r->collects) content_free(r);
    if (r->spools) spool_free_all(r);
}

static inline void request_give_back(skua_request *r)
{
    skua_worker *w = r->worker;
    if (r->holds) {
        r->life = LIFE_IS_OVER;
        r->answering = ANSWER_QUEUED;
        return;
    }
    if (r->collects || r->spools) request_free_content(r);
    arena_reset(&r->memory);
    r->home = NULL;
    request_put(w, r);
}

void request_dismiss(skua_request *r)
{
    if (r->is_followed || r->asker.first) request_let_go(r);
    request_give_back(r);
}

// The content is the last of an answer's octets, so what has not left of the answer is content, as
// far as there is any. The framing of chunks that have not left counts as content, too: what is
// stated has left for sure.
static void request_count_sent(skua_request *r)
{
    uint64_t left = r->carrier->out.total_out;
    uint64_t unsent = r->mark > left ? r->mark - left : 0;
    r->sent_octets -= unsent < r->sent_octets ? unsent : r->sent_octets;
}

void request_end(skua_request *r, skua_end how)
{
    request_close_answer(r);
    if (how != SKUA_END_SENT) request_count_sent(r);
    if (r->entered) middleware_end(r, how);
    if (r->end) r->end(r, how, r->end_user);
    if (r->worker->lane) request_log(r, how);
    request_dismiss(r);
}

void skua_request_hold(skua_request *r)
{
    request_expect(r, __func__);
    r->holds++;
    r->worker->held++;
}

void skua_request_drop(skua_request *r)
{
    request_expect(r, __func__);
    CONTRACT(r->holds > 0, "called more often than skua_request_hold");
    r->holds--;
    r->worker->held--;
    if (r->life == LIFE_IS_OVER) request_give_back(r);
}

request_decoding *request_decoding_here(const skua_request *r)
{
    request_decoding *handlers = r->reply ? blocking_decoding(r->reply) : NULL;
    return handlers ? handlers : r->decoding;
}

// ---- The beginning ----

void request_blame(skua_request *r, const char *reason)
{
    if (r->blamed) return;
    r->blamed = true;
    r->reason = reason;
}

// The record that every connection of TLS begins with, RFC 8446 §5.1: somebody wrote https.
static bool request_is_tls(slice octets)
{
    return octets.len >= 2 && octets.ptr[0] == 0x16 && octets.ptr[1] == 0x03;
}

// As much of the line as there is from octet number at on.
static slice request_rest_of_line(slice octets, size_t at)
{
    size_t end = at;
    while (end < octets.len && octets.ptr[end] != '\r' && octets.ptr[end] != '\n')
        end++;
    return slice_make(octets.ptr + at, end - at);
}

// Finds what was asked, for the log. Where the request line could not be read to its end, what
// follows the method is shown as it came.
static void request_keep_asked(skua_request *r, slice octets)
{
    enum { ASKED_OCTETS_MAX = 1024 };
    h1_head *head = &r->head;
    slice asked = h1_target(head, octets.ptr);
    if (!head->version) {
        size_t at = (size_t)head->start + head->method_len + (head->method_len > 0);
        asked = request_rest_of_line(octets, at < octets.len ? at : octets.len);
        if (asked.len > ASKED_OCTETS_MAX) asked.len = ASKED_OCTETS_MAX;
    }
    r->method = arena_copy(&r->memory, h1_method(head, octets.ptr));
    r->target_text = arena_copy(&r->memory, asked);
}

__attribute__((cold)) void request_refuse(skua_request *r, slice octets, fault why)
{
    r->reading = READING_DONE;
    request_blame(r, request_is_tls(octets) ? "a TLS handshake, which is not spoken here"
                                            : why.reason);
    if (octets.len) request_keep_asked(r, octets);
    r->is_head = slice_equal(r->method, SKUA_SLICE("HEAD"));
    r->head.count = 0;
    r->head.seen = 0;
    r->head.keep_alive = false;
    r->reading = READING_HEAD; // nothing behind it is looked at
    respond_fault(r, why.status, true);
}

// Finds method, target, path and authority. Answers a fault.
static bool request_read_target(skua_request *r)
{
    target parts;
    fault why =
        target_parse(r->method, r->target_text, worker_config(r->worker)->strict_target, &parts);
    if (why.status) {
        request_blame(r, why.reason);
        respond_fault(r, why.status, true);
        return false;
    }
    r->query = parts.query;
    r->authority = parts.authority;
    if (!parts.authority.ptr && r->head.host)
        r->authority = h1_value(&r->head, r->base, r->head.host - 1u);
    r->plain = true;
    r->path = parts.raw_path; // none of CONNECT
    if (parts.clean || parts.form == TARGET_ASTERISK) return true;
    char *normal = arena_alloc(&r->memory, parts.raw_path.len + 1);
    if (!normal) {
        respond_fault(r, 503, true);
        return false;
    }
    r->path = slice_make(normal, target_normalise(parts.raw_path, normal, &r->plain));
    return true;
}

// A page in a browser must not reach a server on this machine under a name of the page's choosing
// (DNS rebinding).
static bool request_host_is_served(skua_request *r)
{
    skua_worker *w = r->worker;
    if (w->hosts->kind == HOSTS_ANY || !r->authority.ptr) return true;
    if (w->host_len && r->authority.len == w->host_len &&
        memcmp(w->host, r->authority.ptr, w->host_len) == 0) {
        return true;
    }
    // No page in a browser comes this way, and a proxy that does may keep any Host.
    if (session_peer(r->carrier->session)->family == IO_FAMILY_UNIX) return true;
    if (!hosts_take(w->hosts, r->authority)) return false;
    if (r->authority.len <= sizeof w->host) {
        w->host_len = (uint8_t)r->authority.len;
        memcpy(w->host, r->authority.ptr, r->authority.len);
    }
    return true;
}

__attribute__((cold)) static bool request_method_is_known(slice method)
{
    static const char *const known[] = { "GET",     "HEAD",    "POST",  "PUT",  "DELETE",
                                         "CONNECT", "OPTIONS", "TRACE", "PATCH" };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (slice_equal(method, slice_of(known[i]))) return true;
    }
    return false;
}

__attribute__((cold)) static void request_refuse_method(skua_request *r)
{
    router *routes = r->worker->router;
    if (!request_method_is_known(r->method) && !router_knows_method(routes, r->method)) {
        respond_fault(r, 501, false);
        return;
    }
    slice allow = slice_make(r->match.allow, r->match.allow_len);
    if (skua_field_add(r, "Allow", allow)) respond_fault(r, 503, true);
    else respond_fault(r, 405, false);
}

// OPTIONS * is answered for the server as a whole; CONNECT has no path, and this server is no
// proxy.
__attribute__((cold)) static bool request_answer_pathless(skua_request *r)
{
    if (r->path.len > 0 && r->path.ptr[0] == '/') return false;
    if (r->path.len == 0) {
        r->match.allow_len = 0;
        request_refuse_method(r);
    } else if (skua_respond(r, 204, NULL, (slice){ 0 })) {
        r->carrier->broken = true;
    }
    return true;
}

void request_answer(skua_request *r)
{
    switch ((router_outcome)r->outcome) {
    case ROUTER_FOUND: r->match.route->handler(r, r->match.route->user); return;
    case ROUTER_NO_PATH:
        if (!request_answer_pathless(r)) respond_fault(r, 404, false);
        return;
    case ROUTER_NO_METHOD: request_refuse_method(r); return;
    }
}

static void request_dispatch(skua_request *r)
{
    const skua_worker *w = r->worker;
    router_query query = { .method = r->method, .authority = r->authority, .path = r->path };
    r->outcome = (uint8_t)router_find(w->router, &query, &r->match);
    if (w->middleware) middleware_begin(r);
    else request_answer(r);
}

// The log is told once a second at most: what a page in a browser can send over and over shall not
// fill it.
__attribute__((cold)) static void request_misdirect(skua_request *r)
{
    skua_worker *w = r->worker;
    char text[HOSTS_SENTENCE_OCTETS];
    slice sentence = slice_make(text, hosts_explain(r->authority, text));
    request_blame(r, "a host that is not served");
    if (w->host_told_ns == 0 || w->loop.now_ns - w->host_told_ns >= 1000000000) {
        w->host_told_ns = w->loop.now_ns;
        worker_log(w, sentence);
    }
    if (skua_refuse(r, 421, sentence)) r->carrier->broken = true;
}

void request_begin(skua_request *r, const char *octets)
{
    char *base = arena_alloc(&r->memory, r->head.octets);
    if (!base) {
        r->carrier->broken = true;
        return;
    }
    memcpy(base, octets, r->head.octets);
    r->base = base;
    r->began_ns = r->worker->lane ? io_clock_ns() : r->worker->loop.now_ns;
    r->method = h1_method(&r->head, base);
    r->target_text = h1_target(&r->head, base);
    r->is_head = r->method.len == 4 && memcmp(r->method.ptr, "HEAD", 4) == 0;
    if (!request_read_target(r)) return;
    if (request_host_is_served(r)) {
        request_dispatch(r);
        return;
    }
    request_misdirect(r);
}

// ---- Reading ----

slice skua_request_method(const skua_request *r)
{
    request_expect_reader(r, __func__);
    return r->method;
}

slice skua_request_target(const skua_request *r)
{
    request_expect_reader(r, __func__);
    return r->target_text;
}

slice skua_request_path(const skua_request *r)
{
    request_expect_reader(r, __func__);
    return r->path;
}

slice skua_request_query(const skua_request *r)
{
    request_expect_reader(r, __func__);
    return r->query;
}

slice skua_request_authority(const skua_request *r)
{
    request_expect_reader(r, __func__);
    return r->authority;
}

int skua_request_version(const skua_request *r)
{
    request_expect_reader(r, __func__);
    return r->head.version;
}

bool skua_request_path_is_plain(const skua_request *r)
{
    request_expect_reader(r, __func__);
    return r->plain;
}

slice skua_request_param(const skua_request *r, const char *name)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(name);
    const route *found = r->match.route;
    for (unsigned i = 0; found && i < found->pattern.param_count; i++) {
        if (slice_equal(found->pattern.params[i], slice_of(name))) return r->match.values[i];
    }
    return (slice){ 0 };
}

bool skua_request_param_at(const skua_request *r, size_t index, skua_field *param)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(param);
    const route *found = r->match.route;
    if (!found || index >= found->pattern.param_count) return false;
    *param = (skua_field){ found->pattern.params[index], r->match.values[index] };
    return true;
}

const char *skua_request_pattern(const skua_request *r)
{
    request_expect_reader(r, __func__);
    return r->match.route ? r->match.route->pattern.text.ptr : NULL;
}

slice request_known_field(const skua_request *r, field_id id)
{
    if (!(r->head.seen & 1u << id)) return (slice){ 0 };
    for (size_t i = 0; i < r->head.count; i++) {
        if (r->head_fields[i].id == id) return h1_value(&r->head, r->base, i);
    }
    return (slice){ 0 };
}

slice skua_request_field(const skua_request *r, const char *name)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(name);
    slice wanted = slice_of(name);
    field_id id = field_identify(wanted);
    if (id) return request_known_field(r, id);
    for (size_t i = 0; i < r->head.count; i++) {
        if (r->head_fields[i].id == FIELD_OTHER &&
            slice_equal_nocase(h1_name(&r->head, r->base, i), wanted)) {
            return h1_value(&r->head, r->base, i);
        }
    }
    return (slice){ 0 };
}

bool skua_request_field_next(const skua_request *r, const char *name, size_t *index, slice *value)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(name);
    CONTRACT_GIVEN(index);
    CONTRACT_GIVEN(value);
    slice wanted = slice_of(name);
    for (size_t i = *index; i < r->head.count; i++) {
        if (!slice_equal_nocase(h1_name(&r->head, r->base, i), wanted)) continue;
        *value = h1_value(&r->head, r->base, i);
        *index = i + 1;
        return true;
    }
    return false;
}

bool skua_request_is_conditional(const skua_request *r)
{
    request_expect_reader(r, __func__);
    return (r->head.seen &
            (1u << FIELD_IF_MATCH | 1u << FIELD_IF_NONE_MATCH | 1u << FIELD_IF_MODIFIED_SINCE |
             1u << FIELD_IF_UNMODIFIED_SINCE | 1u << FIELD_IF_RANGE | 1u << FIELD_RANGE)) != 0;
}

bool skua_request_field_at(const skua_request *r, size_t index, skua_field *field)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(field);
    if (index >= r->head.count) return false;
    *field = (skua_field){ h1_name(&r->head, r->base, index), h1_value(&r->head, r->base, index) };
    return true;
}

slice skua_request_query_param(const skua_request *r, const char *name)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(name);
    slice rest = r->query, key, value, wanted = slice_of(name);
    for (unsigned i = 0;
         i < worker_config(r->worker)->params_max && query_next(&rest, &key, &value); i++) {
        if (!query_equal(key, wanted)) continue;
        char *decoded = arena_alloc(request_decoding_here(r)->memory, value.len + 1);
        return decoded ? slice_make(decoded, query_decode(value, decoded)) : slice_make("", 0);
    }
    return (slice){ 0 };
}

bool skua_request_cookie_at(const skua_request *r, size_t index, skua_field *cookie)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(cookie);
    for (size_t i = 0; i < r->head.count; i++) {
        if (r->head_fields[i].id != FIELD_COOKIE) continue;
        slice rest = h1_value(&r->head, r->base, i), name, value;
        while (cookie_next(&rest, &name, &value)) {
            if (index-- > 0) continue;
            *cookie = (skua_field){ name, value };
            return true;
        }
    }
    return false;
}

// Not by skua_request_cookie_at, which begins anew for each index: a head holds thousands of
// cookies.
slice skua_request_cookie(const skua_request *r, const char *name)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(name);
    slice wanted = slice_of(name);
    for (size_t i = 0; i < r->head.count; i++) {
        if (r->head_fields[i].id != FIELD_COOKIE) continue;
        slice rest = h1_value(&r->head, r->base, i), found, value;
        while (cookie_next(&rest, &found, &value)) {
            if (slice_equal(found, wanted)) return value;
        }
    }
    return (slice){ 0 };
}

// Its connection may be gone, or another's by now.
static size_t request_write_no_peer(char *text, size_t room)
{
    if (room) text[0] = 0;
    return 0;
}

size_t skua_request_peer(const skua_request *r, char *text, size_t room)
{
    request_expect_reader(r, __func__);
    CONTRACT(text || !room, "text must not be NULL");
    if (!r->reply && r->life == LIFE_IS_OVER) return request_write_no_peer(text, room);
    return io_address_write(
        r->reply ? blocking_peer(r->reply) : session_peer(r->carrier->session), text, room);
}

bool skua_request_peer_is_done(const skua_request *r)
{
    request_expect_reader(r, __func__);
    if (!r->reply && r->life == LIFE_IS_OVER) return true;
    return r->reply ? blocking_peer_was_done(r->reply)
                    : r->carrier->table->peer_is_done(r->carrier);
}

int skua_request_status(const skua_request *r)
{
    request_expect(r, __func__);
    return r->status;
}

uint64_t skua_request_sent(const skua_request *r)
{
    request_expect(r, __func__);
    return r->sent_octets;
}

void *skua_request_alloc(skua_request *r, size_t octets)
{
    request_expect(r, __func__);
    return arena_alloc(&r->memory, octets);
}

skua_worker *skua_request_worker(const skua_request *r)
{
    request_expect_reader(r, __func__);
    return r->worker;
}

skua_server *skua_request_server(const skua_request *r)
{
    request_expect_reader(r, __func__);
    return r->worker->server;
}

void skua_on_end(skua_request *r, skua_end_fn *fn, void *user)
{
    request_expect(r, __func__);
    r->end = fn;
    r->end_user = user;
}
