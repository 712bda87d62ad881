// SPDX-License-Identifier: MIT
//
// A whole connection over TLS on the simulated kernel. The input is a list of acts of the client:
// octets that it protects, octets that it does not, records that it changes, updates of keys, ends.
// - a client that keeps to TLS is never told of a fault in it, and every response is complete;
// - the connection ends when the client is done, and the next one is served.
// The first octet of the input chooses who protects records, the second the pieces.

#include "base/assert.h"
#include "io/sim.h"
#include "server/start.h"
#include "server/worker_run.h"
#include "support/responses.h"
#include "support/tls_files.h"
#include "support/tls_peer.h"

#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 1024, TURNS_MAX = 20000, KINDS = 2, LOOK_EVERY = 16, UPDATES_MAX = 32 };

// The acts. Each is an octet, another that says how much, and as many octets as the act takes.
typedef enum act {
    ACT_WRITE,  // protects octets
    ACT_RAW,    // octets of the wire that are no record, or are one
    ACT_CHANGE, // changes an octet of what is sent next
    ACT_UPDATE, // KeyUpdate, which may ask for one
    ACT_END,    // close_notify
    ACT_WAIT,   // until the server has done all that it can
    ACTS
} act;

typedef struct fuzzed {
    sim_kernel *kernel;
    skua_server *server;
    server_worker *worker;
    int listener;
} fuzzed;

typedef struct speaker {
    fuzzed *server;
    sim_client *end;
    tls_peer peer;
    size_t fed;
    size_t piece;     // octets that are sent at a time
    unsigned updates; // since octets were protected
    unsigned changes; // the place of the octet to change in what is sent next, and one
    bool is_strange, over;
} speaker;

static fuzzed servers[KINDS];

// ---- Servers ----

static void discard_log(skua_slice lines, void *user)
{
    (void)lines;
    (void)user;
}

static void echo(skua_request *request, skua_status status, skua_slice content, void *user)
{
    (void)user;
    if (status == SKUA_OK && skua_respond(request, 200, "text/plain", content)) return;
}

static void answer(skua_request *request, void *user)
{
    (void)user;
    if (skua_content_collect(request, 400, echo, NULL)) return;
}

static void start(fuzzed *f, const char *records)
{
    static char *chain_pem, *key_pem;
    if (!chain_pem) {
        tls_made made = tls_make((tls_want){ .key = "ED25519", .name = "a.test" });
        const tls_made *const chain[] = { &made, NULL };
        chain_pem = tls_pem_chain(chain);
        key_pem = tls_pem_key(&made, NULL);
        tls_made_free(&made);
    }
    const skua_tls_certificate certificate = { .pem = slice_of(chain_pem),
                                               .key_pem = slice_of(key_pem) };
    const skua_config config = {
        .workers = 1,
        .head_octets_max = 600,
        .content_octets_max = 400,
        .out_octets_max = 2000,
        .log_write = discard_log,
        .tls = { .certificates = &certificate, .certificate_count = 1, .records = records },
    };
    f->kernel = sim_kernel_new(&(sim_config){ .seed = 1 });
    f->server = skua_server_new(&config);
    SKUA_ASSERT(f->kernel && f->server);
    SKUA_ASSERT(skua_route(f->server, "/", answer, NULL) == SKUA_OK);
    f->listener = sim_listen(f->kernel);
    skua_status status = server_start_on(f->server, &io_backend_sim, f->kernel, f->listener);
    SKUA_ASSERT(status == SKUA_OK);
    f->worker = f->server->workers[0];
}

// Until there is nothing to do but to wait for the client.
static void settle(fuzzed *f)
{
    const io_loop *loop = &f->worker->self.loop;
    int turns = 0;
    do {
        SKUA_ASSERT(turns++ < TURNS_MAX);
        SKUA_ASSERT(worker_turn(f->worker, 0));
    } while (loop->pending || loop->pending_ops || !sim_is_quiet(f->kernel));
}

// ---- A client ----

static void put_on_wire(speaker *s, slice octets)
{
    while (octets.len) {
        size_t n = s->piece && s->piece < octets.len ? s->piece : octets.len;
        SKUA_ASSERT(sim_client_send(s->end, slice_make(octets.ptr, n)));
        octets = slice_from(octets, n);
        if (octets.len) settle(s->server);
    }
}

static void send_records(speaker *s)
{
    for (slice out; (out = tls_peer_take(&s->peer)).len;) {
        if (s->changes) {
            s->peer.wire[(s->changes - 1) % out.len] ^= 1;
            s->changes = 0;
            s->is_strange = true;
        }
        put_on_wire(s, out);
    }
}

static void receive(speaker *s)
{
    slice got = sim_client_received(s->end);
    if (got.len == s->fed) return;
    tls_peer_feed(&s->peer, slice_from(got, s->fed));
    s->fed = got.len;
}

static void exchange(speaker *s)
{
    size_t before;
    do {
        before = s->fed;
        send_records(s);
        settle(s->server);
        receive(s);
    } while (s->fed != before);
    send_records(s);
}

static bool can_write(const speaker *s)
{
    return s->peer.is_open && !s->peer.failed && !s->over;
}

static void act_now(speaker *s, act what, unsigned much, slice octets)
{
    switch (what) {
    case ACT_WRITE:
        if (!octets.len || !can_write(s)) return;
        tls_peer_write(&s->peer, octets);
        s->updates = 0;
        break;
    case ACT_RAW:
        s->is_strange |= octets.len > 0;
        put_on_wire(s, octets);
        return;
    case ACT_CHANGE: s->changes = much + 1; return;
    case ACT_UPDATE:
        if (!can_write(s)) return;
        s->is_strange |= ++s->updates > UPDATES_MAX;
        (void)SSL_key_update(s->peer.ssl,
                             much % 2 ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED);
        (void)SSL_do_handshake(s->peer.ssl);
        ERR_clear_error();
        break;
    case ACT_END:
        if (can_write(s)) tls_peer_end(&s->peer);
        s->over = true;
        break;
    case ACT_WAIT: exchange(s); return;
    case ACTS: return;
    }
    send_records(s);
}

static bool takes_octets(act what)
{
    return what == ACT_WRITE || what == ACT_RAW;
}

static void speak(speaker *s, slice input)
{
    while (input.len >= 2) {
        act what = (act)((uint8_t)input.ptr[0] % ACTS);
        unsigned much = (uint8_t)input.ptr[1];
        input = slice_from(input, 2);
        size_t n = !takes_octets(what) ? 0 : much < input.len ? much : input.len;
        act_now(s, what, much, slice_make(input.ptr, n));
        input = slice_from(input, n);
    }
}

static void begin(speaker *s, fuzzed *f, unsigned piece)
{
    *s = (speaker){ .server = f, .piece = piece };
    s->end = sim_connect(f->kernel, f->listener);
    SKUA_ASSERT(s->end);
    tls_peer_open(&s->peer, 0, NULL);
}

static void finish(speaker *s)
{
    exchange(s);
    if (can_write(s)) tls_peer_end(&s->peer);
    exchange(s);
    if (!sim_client_is_reset(s->end)) sim_client_shutdown(s->end);
    settle(s->server);
    for (int i = 0; i < TURNS_MAX && sim_sockets_open(s->server->kernel); i++)
        SKUA_ASSERT(worker_turn(s->server->worker, -1));
    SKUA_ASSERT(sim_sockets_open(s->server->kernel) == 0);
    sim_drain(s->server->kernel);
    receive(s);
}

static void leave(speaker *s)
{
    tls_peer_close(&s->peer);
    sim_client_free(s->end);
}

// ---- What must hold ----

static bool contains(slice s, const char *text)
{
    return s.len && memmem(s.ptr, s.len, text, strlen(text)) != NULL;
}

// Without the requests there is no telling which answers are without content.
static void check_answers(const speaker *s)
{
    slice got = slice_make(s->peer.plain, s->peer.plain_len);
    for (;;) {
        read_response a;
        responses_state state = responses_read(&got, false, true, &a);
        SKUA_ASSERT(state != RESPONSE_IS_BROKEN && state != RESPONSE_IS_PART);
        responses_free(&a);
        if (state == RESPONSE_IS_NONE) return;
    }
}

static void check_next_is_served(fuzzed *f)
{
    speaker s;
    begin(&s, f, 0);
    exchange(&s);
    act_now(&s, ACT_WRITE, 0, SKUA_SLICE("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    finish(&s);
    SKUA_ASSERT(contains(slice_make(s.peer.plain, s.peer.plain_len), "HTTP/1.1 200 OK\r\n"));
    SKUA_ASSERT(s.peer.ended);
    leave(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned runs;
    if (size < 3 || size > INPUT_MAX) return 0;
    unsigned kind = data[0] % KINDS;
    fuzzed *f = &servers[kind];
    if (!f->kernel) start(f, kind ? "openssl" : NULL);
    slice input = slice_make((const char *)data + 2, size - 2);
    speaker s;
    begin(&s, f, data[1]);
    // A client that is to change what it says in its handshake begins with that.
    if (data[2] % ACTS != ACT_CHANGE && data[2] % ACTS != ACT_RAW) exchange(&s);
    speak(&s, input);
    finish(&s);
    if (!s.is_strange) {
        SKUA_ASSERT(!s.peer.failed);
        if (!contains(input, "HEAD")) check_answers(&s);
    }
    leave(&s);
    if (runs++ % LOOK_EVERY == 0) check_next_is_served(f);
    return 0;
}
