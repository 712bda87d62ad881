// SPDX-License-Identifier: MIT
//
// A server whose handlers answer later, from other threads, or block, so that the end-to-end tests
// can see what
// becomes of it: threads --port N [MEMBER=NUMBER]..., where MEMBER is a number of skua_config.
#include "tls_options.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <skua/skua.h>

static skua_server *running;

static void must(skua_status status)
{
    if (status == SKUA_OK || status == SKUA_ECLOSED) return;
    fprintf(stderr, "threads: unexpected status: %s\n", skua_status_text(status));
    abort();
}

static void must_be(skua_status status, skua_status wanted)
{
    if (status == wanted) return;
    fprintf(stderr, "threads: %s where %s was to be\n", skua_status_text(status),
            skua_status_text(wanted));
    abort();
}

static skua_slice text_slice(const char *text)
{
    return (skua_slice){ text, strlen(text) };
}

static unsigned param_number(const skua_request *request, const char *name)
{
    skua_slice text = skua_request_param(request, name);
    unsigned n = 0;
    for (size_t i = 0; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9' && n < 100000; i++)
        n = n * 10 + (unsigned)(text.ptr[i] - '0');
    return n;
}

static void wait_ms(unsigned ms)
{
    struct timespec rest = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };
    nanosleep(&rest, NULL);
}

static void answer_never(skua_request *request, void *user)
{
    (void)request, (void)user;
}

static void answer_ok(skua_request *request, void *user)
{
    (void)user;
    must(skua_respond(request, 200, "text/plain", SKUA_SLICE("ok\n")));
}

// Counts of what has happened, for GET /counts.
static struct {
    atomic_uint begun, finished, gone, intact, without;
} counts;

static void answer_counts(skua_request *request, void *user)
{
    (void)user;
    char text[128];
    int len = snprintf(text, sizeof(text), "begun=%u finished=%u gone=%u intact=%u without=%u\n",
                       counts.begun, counts.finished, counts.gone, counts.intact, counts.without);
    must(skua_respond(request, 200, "text/plain", (skua_slice){ text, (size_t)len }));
}

// ---- Tickets ----

// The task of a thread that answers later.
typedef struct errand {
    skua_ticket ticket;
    unsigned ms, posted, ran;
    bool in_order;
} errand;

static void answer_later(skua_request *request, void *user)
{
    (void)user;
    if (request) must(skua_respond(request, 200, "text/plain", SKUA_SLICE("later\n")));
    else counts.without++;
}

static void *errand_sleep(void *user)
{
    errand *e = user;
    wait_ms(e->ms);
    skua_status status = skua_resume(e->ticket, answer_later, NULL);
    must(status);
    if (skua_resume(e->ticket, answer_later, NULL) == SKUA_OK) abort(); // once is all there is
    free(e);
    return NULL;
}

static void errand_start(skua_request *request, unsigned ms, void *(*run)(void *user))
{
    errand *e = calloc(1, sizeof(*e));
    pthread_t thread;
    if (!e) abort();
    e->ms = ms;
    e->in_order = true;
    must(skua_ticket_take(request, &e->ticket));
    if (pthread_create(&thread, NULL, run, e) != 0) abort();
    pthread_detach(thread);
}

// GET /later/{ms}: answered by another thread, after so long.
static void handle_later(skua_request *request, void *user)
{
    (void)user;
    errand_start(request, param_number(request, "ms"), errand_sleep);
}

// GET /hold is answered when GET /resume comes, which tells what skua_resume said. One at a time.
static skua_ticket held;

static void handle_hold(skua_request *request, void *user)
{
    (void)user;
    must(skua_ticket_take(request, &held));
}

static void handle_resume(skua_request *request, void *user)
{
    (void)user;
    const char *said = skua_status_text(skua_resume(held, answer_later, NULL));
    must(skua_respond(request, 200, "text/plain", text_slice(said)));
}

// ---- Posting ----

enum { POSTS = 1000 };

typedef struct numbered_post {
    errand *errand;
    unsigned number;
} numbered_post;

static void post_ran(skua_worker *worker, void *user)
{
    numbered_post *post = user;
    if (skua_worker_index(worker) != 0 || post->errand->ran++ != post->number)
        post->errand->in_order = false;
    free(post);
}

static void answer_posts(skua_request *request, void *user)
{
    errand *e = user;
    bool right = e->in_order && e->ran == POSTS;
    if (request)
        must(skua_respond(request, right ? 200 : 500, "text/plain", SKUA_SLICE("posted\n")));
    free(e);
}

static void *errand_post(void *user)
{
    errand *e = user;
    for (unsigned i = 0; i < POSTS; i++) {
        numbered_post *post = malloc(sizeof(*post));
        if (!post) abort();
        *post = (numbered_post){ .errand = e, .number = i };
        must_be(skua_post(running, 0, post_ran, post), SKUA_OK);
    }
    must_be(skua_post(running, 1, post_ran, NULL), SKUA_EINVAL); // there is one worker
    must_be(skua_resume(e->ticket, answer_posts, e), SKUA_OK);
    return NULL;
}

// GET /post: a thread posts a thousand functions, which find themselves in order.
static void handle_post(skua_request *request, void *user)
{
    (void)user;
    errand_start(request, 0, errand_post);
}

// ---- Blocking ----

// /block/echo/{id}: everything that can be read there, one thing a line.
static void block_echo(skua_request *request, void *user)
{
    skua_slice content = skua_request_content(request);
    (void)user;
    char text[1024], peer[64];
    skua_request_peer(request, peer, sizeof(peer));
    skua_slice method = skua_request_method(request), path = skua_request_path(request);
    skua_slice id = skua_request_param(request, "id"), q = skua_request_query_param(request, "q");
    skua_slice agent = skua_request_field(request, "user-agent"),
               sum = skua_request_trailer(request, "x-sum");
    skua_slice cookie = skua_request_cookie(request, "c");
    int len = snprintf(
        text, sizeof(text),
        "method=%.*s\npath=%.*s\nid=%.*s\nq=%.*s\nagent=%.*s\ncookie=%.*s\nsum=%.*s\npeer=%s\ncontent=%.*s\n",
        (int)method.len, method.ptr, (int)path.len, path.ptr, (int)id.len, id.ptr, (int)q.len,
        q.ptr, (int)agent.len, agent.ptr, (int)cookie.len, cookie.ptr, (int)sum.len, sum.ptr, peer,
        content.len < 100 ? (int)content.len : 100, content.ptr);
    must(skua_field_add(request, "X-Length",
                        text_slice(content.len == 100000 ? "100000" : "other")));
    must(skua_respond(request, 201, "text/plain", (skua_slice){ text, (size_t)len }));
}

// GET /block/sleep/{ms}
static void block_sleep(skua_request *request, void *user)
{
    skua_slice content = skua_request_content(request);
    (void)user;
    counts.begun++;
    wait_ms(param_number(request, "ms"));
    must(skua_respond(request, 200, "text/plain", content));
    counts.finished++;
}

// GET /block/gate waits until GET /gate opens it, though its client may have left.
static atomic_bool gate_is_open;

static void block_gate(skua_request *request, void *user)
{
    (void)user;
    counts.begun++;
    while (!gate_is_open)
        wait_ms(1);
    if (skua_request_is_gone(request)) counts.gone++;
    must(skua_respond(request, 200, "text/plain", SKUA_SLICE("open\n")));
    counts.finished++;
}

static void open_gate(skua_request *request, void *user)
{
    (void)user;
    gate_is_open = true;
    must(skua_respond(request, 200, "text/plain", SKUA_SLICE("open\n")));
}

// GET /block/refuse/{ms}: the client may have left by then.
static void block_refuse(skua_request *request, void *user)
{
    (void)user;
    counts.begun++;
    wait_ms(param_number(request, "ms"));
    skua_refuse(request, 409, SKUA_SLICE("Somebody else has it."));
    counts.finished++;
}

// GET /block/large/{kib}
static void block_large(skua_request *request, void *user)
{
    (void)user;
    size_t len = (size_t)param_number(request, "kib") * 1024;
    char *octets = malloc(len + 1);
    if (!octets) abort();
    memset(octets, 'y', len);
    must(skua_respond(request, 200, NULL, (skua_slice){ octets, len }));
    memset(octets, 'n', len); // it was copied
    free(octets);
}

static void block_nothing(skua_request *request, void *user)
{
    (void)request;
    (void)user;
    must(skua_field_add(request, "X-Lost", SKUA_SLICE("yes")));
}

// GET /block/misuse/{n}: number n of what makes a response 500, and then a good one.
static void block_misuse(skua_request *request, void *user)
{
    (void)user;
    static char long_text[9000];
    skua_slice content = SKUA_SLICE("misused\n");
    memset(long_text, 'x', sizeof(long_text) - 1);
    switch (param_number(request, "n")) {
    case 0: must_be(skua_field_add(request, "Content-Length", SKUA_SLICE("1")), SKUA_EINVAL); break;
    case 1: must_be(skua_field_add(request, "bad name", SKUA_SLICE("1")), SKUA_EINVAL); break;
    case 2:
        must_be(skua_field_add(request, "X-Split", SKUA_SLICE("a\r\nX: b")), SKUA_EINVAL);
        break;
    case 3: must_be(skua_field_add(request, "X-Long", text_slice(long_text)), SKUA_ELIMIT); break;
    case 4: must_be(skua_respond(request, 199, "text/plain", content), SKUA_EINVAL); break;
    case 5: must_be(skua_respond(request, 600, "text/plain", content), SKUA_EINVAL); break;
    case 6: must_be(skua_respond(request, 200, "a\nb", content), SKUA_EINVAL); break;
    case 7: must_be(skua_respond(request, 200, long_text, content), SKUA_ELIMIT); break;
    case 8: must_be(skua_redirect(request, 303, "//elsewhere.example/"), SKUA_EINVAL); break;
    case 9: must_be(skua_redirect(request, 200, "/"), SKUA_EINVAL); break;
    case 10: must_be(skua_refuse(request, 200, content), SKUA_EINVAL); break;
    case 11: must_be(skua_respond_stream(request, 200, NULL, -2, NULL, NULL), SKUA_EINVAL); break;
    case 12:
        must_be(skua_cookie_set(request, &(skua_cookie){ .name = "a", .value = SKUA_SLICE(";") }),
                SKUA_EINVAL);
        break;
    default:
        must(skua_field_add(request, "X-Good", SKUA_SLICE("yes")));
        must(skua_respond(request, 200, "text/plain", SKUA_SLICE("first\n")));
        must_be(skua_respond(request, 200, "text/plain", SKUA_SLICE("second\n")), SKUA_ESTATE);
        must_be(skua_field_add(request, "X-Late", SKUA_SLICE("yes")), SKUA_ESTATE);
        return;
    }
    if (skua_respond(request, 200, "text/plain", content) == SKUA_OK) abort();
}

// GET /block/respond/{how}: each way to respond.
static void block_respond(skua_request *request, void *user)
{
    (void)user;
    skua_slice how = skua_request_param(request, "how");
    char text[16] = "";
    if (how.len < sizeof(text)) memcpy(text, how.ptr, how.len);
    must(skua_cookie_set(request, &(skua_cookie){ .name = "a", .value = SKUA_SLICE("b") }));
    if (!strcmp(text, "text")) skua_respond_text(request, 200, "text\n");
    else if (!strcmp(text, "html")) skua_respond_html(request, 200, "<!doctype html>");
    else if (!strcmp(text, "json")) skua_respond_json(request, 200, SKUA_SLICE("{}"));
    else if (!strcmp(text, "error")) skua_respond_error(request, 404);
    else if (!strcmp(text, "refuse")) skua_refuse(request, 409, SKUA_SLICE("It is there."));
    else if (!strcmp(text, "redirect")) skua_redirect(request, 303, "/else where");
    else if (!strcmp(text, "close")) {
        skua_request_close(request);
        skua_respond_text(request, 200, "last\n");
    } else skua_request_abort(request);
}

static const char middleware_key;
static char kept_object[] = "kept";

// Middleware before all: an object for the blocking handler.
static void before_all(skua_request *request, void *user)
{
    must(skua_request_set(request, &middleware_key, user));
    skua_next(request);
}

// GET /block/object
static void block_object(skua_request *request, void *user)
{
    (void)user;
    const char *object = skua_request_get(request, &middleware_key);
    must(skua_request_set(request, &middleware_key, NULL)); // for itself
    skua_respond_text(request, 200, object ? object : "none");
}

// GET /block/stream/{kib}?length=N&trailer=1&unfinished=1: so many KiB, in pieces of odd sizes.
static void block_stream(skua_request *request, void *user)
{
    (void)user;
    counts.begun++;
    size_t len = (size_t)param_number(request, "kib") * 1024;
    skua_slice stated = skua_request_query_param(request, "length");
    char octets[70000];
    skua_field_add(request, "X-Streams", SKUA_SLICE("yes"));
    skua_status status =
        skua_respond_stream(request, 200, "text/plain", stated.len ? (int64_t)len : -1, NULL, NULL);
    for (size_t at = 0, piece = 1; at < len && !status; piece = piece * 3 % 69997 + 1) {
        size_t n = len - at < piece ? len - at : piece;
        for (size_t i = 0; i < n; i++)
            octets[i] = (char)('a' + (at + i) % 26);
        status = skua_write(request, (skua_slice){ octets, n });
        at += n;
    }
    if (status == SKUA_ECLOSED) counts.gone++;
    if (skua_request_query_param(request, "trailer").len)
        skua_trailer_add(request, "X-Sum", SKUA_SLICE("all"));
    if (!skua_request_query_param(request, "unfinished").len) skua_finish(request);
    counts.finished++;
}

// GET /block/events/{n}: so many events, each when the one before it was sent. A second response changes nothing.
static void block_events(skua_request *request, void *user)
{
    (void)user;
    must(skua_events_open(request, NULL, NULL));
    must_be(skua_events_open(request, NULL, NULL), SKUA_ESTATE);
    int64_t n = param_number(request, "n");
    for (int64_t i = 0; i < n; i++) {
        char text[24];
        int len = snprintf(text, sizeof(text), "%lld", (long long)i);
        skua_event event = { .data = { text, (size_t)len }, .name = SKUA_SLICE("tick") };
        if (skua_event_send(request, &event)) break;
        wait_ms(1);
    }
    skua_finish(request);
}

// GET /offload/{ms}: a helper thread waits so long. Each that comes back is counted as begun, and those
// whose request has ended as gone. GET /passed/{ms}: the same in middleware, before a handler.
static void work_ms(void *user)
{
    wait_ms(*(unsigned *)user);
}

static void offload_done(skua_request *request, void *user)
{
    counts.begun++;
    free(user);
    if (!request) counts.gone++;
    else must(skua_respond_text(request, 200, "offloaded"));
}

static void offload_passed(skua_request *request, void *user)
{
    free(user);
    if (request) skua_next(request);
}

static void offload_by(skua_request *request, skua_offloaded_fn *done)
{
    int64_t asked;
    unsigned *ms = malloc(sizeof *ms);
    if (!ms || !skua_request_param_i64(request, "ms", 0, 10000, &asked)) abort();
    *ms = (unsigned)asked;
    must(skua_request_offload(request, work_ms, done, ms));
}

static void offload_begin(skua_request *request, void *user)
{
    (void)user;
    offload_by(request, offload_done);
}

static void offload_before(skua_request *request, void *user)
{
    (void)user;
    offload_by(request, offload_passed);
}

// POST /block/until-gone/{id}: waits until nobody waits for it, and looks whether everything is
// still there.
static void block_until_gone(skua_request *request, void *user)
{
    skua_slice content = skua_request_content(request);
    (void)user;
    counts.begun++;
    while (!skua_request_is_gone(request))
        wait_ms(1);
    counts.gone++;
    wait_ms(50); // the worker has long gone on
    skua_slice id = skua_request_param(request, "id"),
               agent = skua_request_field(request, "user-agent");
    bool intact = id.len == 5 && memcmp(id.ptr, "alpha", 5) == 0 && agent.len == 4 &&
                  memcmp(agent.ptr, "test", 4) == 0;
    for (size_t i = 0; i < content.len; i++)
        intact = intact && content.ptr[i] == 'z';
    char peer[64];
    intact = intact && content.len == 50000 &&
             skua_request_peer(request, peer, sizeof(peer)) == 9 &&
             !skua_request_peer_is_done(request);
    if (intact) counts.intact++;
    must(skua_respond(request, 200, "text/plain", content));
    counts.finished++;
}

// ---- The program ----

static void add_routes(void)
{
    must(skua_route(running, "GET /{$}", answer_ok, NULL));
    must(skua_route(running, "GET /counts", answer_counts, NULL));
    must(skua_route(running, "GET /later/{ms}", handle_later, NULL));
    must(skua_route(running, "GET /hold", handle_hold, NULL));
    must(skua_route(running, "GET /resume", handle_resume, NULL));
    must(skua_route(running, "GET /post", handle_post, NULL));
    must(skua_route_blocking(running, "/block/echo/{id}", block_echo, NULL));
    must(skua_route_blocking(running, "GET /block/sleep/{ms}", block_sleep, NULL));
    must(skua_route_blocking(running, "GET /block/gate", block_gate, NULL));
    must(skua_route(running, "GET /gate", open_gate, NULL));
    must(skua_route_blocking(running, "GET /block/refuse/{ms}", block_refuse, NULL));
    must(skua_route_blocking(running, "GET /block/large/{kib}", block_large, NULL));
    must(skua_route_blocking(running, "GET /block/nothing", block_nothing, NULL));
    must(skua_route_blocking(running, "GET /block/misuse/{n}", block_misuse, NULL));
    must(skua_route_blocking(running, "GET /block/respond/{how}", block_respond, NULL));
    must(skua_route_blocking(running, "GET /block/object", block_object, NULL));
    must(skua_route_add(running, &(skua_route_desc){ .pattern = "POST /block/more/{id}",
                                                     .blocking = block_echo,
                                                     .content_octets_max = 20 }));
    must(skua_route_add(running, &(skua_route_desc){ .pattern = "POST /limited",
                                                     .handler = answer_ok,
                                                     .content_octets_max = 5 }));
    must(skua_route_add(running, &(skua_route_desc){ .pattern = "GET /timed/soon",
                                                     .handler = answer_never,
                                                     .timeout_ns = 100000000 }));
    must(skua_route_add(running, &(skua_route_desc){ .pattern = "GET /timed/never",
                                                     .handler = answer_never,
                                                     .timeout_ns = -1 }));
    must(skua_route(running, "GET /timed/server", answer_never, NULL));
    must(skua_route_blocking(running, "GET /block/stream/{kib}", block_stream, NULL));
    must(skua_route_blocking(running, "GET /block/events/{n}", block_events, NULL));
    must(skua_use(running, "/block/object",
                  &(skua_middleware){ .before = before_all, .user = kept_object }));
    must(skua_route_blocking(running, "POST /block/until-gone/{id}", block_until_gone, NULL));
    must(skua_route(running, "GET /offload/{ms}", offload_begin, NULL));
    must(skua_route(running, "GET /passed/{ms}", answer_ok, NULL));
    must(skua_use(running, "/passed", &(skua_middleware){ .before = offload_before }));
    must_be(skua_route_blocking(running, "GET /block/misuse/{n}", block_misuse, NULL), SKUA_EEXIST);
    must_be(skua_route_blocking(running, "nonsense", block_misuse, NULL), SKUA_EINVAL);
    must_be(skua_post(running, 0, post_ran, NULL), SKUA_ECLOSED); // it does not run yet
}

static int64_t grace_ns = 200000000; // of a stop

static bool config_set(skua_config *config, const char *word)
{
    const char *equals = strchr(word, '=');
    if (!equals) return false;
    size_t len = (size_t)(equals - word);
    int64_t value = strtoll(equals + 1, NULL, 10);
    if (len == 16 && memcmp(word, "blocking_threads", len) == 0)
        config->blocking_threads = (unsigned)value;
    else if (len == 18 && memcmp(word, "blocking_queue_max", len) == 0)
        config->blocking_queue_max = (unsigned)value;
    else if (len == 18 && memcmp(word, "content_octets_max", len) == 0)
        config->content_octets_max = (uint64_t)value;
    else if (len == 18 && memcmp(word, "handler_timeout_ns", len) == 0)
        config->handler_timeout_ns = value;
    else if (len == 8 && memcmp(word, "grace_ns", len) == 0) grace_ns = value;
    else return false;
    return true;
}

static void stop(int signal_number)
{
    (void)signal_number;
    skua_stop(running, grace_ns);
}

static int serve(const skua_config *config)
{
    running = skua_server_new(config);
    if (!running) return 1;
    add_routes();
    struct sigaction action = { .sa_handler = stop };
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    skua_status status = skua_run(running);
    if (status) fprintf(stderr, "threads: %s\n", skua_server_error(running));
    else must_be(skua_post(running, 0, post_ran, NULL), SKUA_ECLOSED);
    skua_server_free(running);
    if (held.value) must_be(skua_resume(held, answer_later, NULL), SKUA_ECLOSED);
    return status ? 1 : 0;
}

int main(int argc, char **argv)
{
    char listen[64] = "127.0.0.1:0";
    skua_config config = { .hosts = "*", .workers = 1 };
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--port") == 0 && i + 1 < argc) {
            snprintf(listen, sizeof(listen), "127.0.0.1:%s", argv[++i]);
        } else if (i + 1 < argc && tls_option(argv[i], argv[i + 1], &config)) {
            i++;
        } else if (!config_set(&config, argv[i])) {
            fprintf(stderr, "threads: not understood: %s\n", argv[i]);
            return 2;
        }
    }
    if (!config.tls.listen) config.listen = listen;
    return serve(&config);
}
