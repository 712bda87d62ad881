// SPDX-License-Identifier: MIT
//
// A whole connection of HTTP/2 in the clear over the simulated kernel, with small limits so that
// their edges are near, on a calm kernel and on one with faults:
// - what the server sends is frames, complete on a calm kernel, whose header blocks decompress;
// - streams send nothing behind their END_STREAM or RST_STREAM, and nobody more content than the
//   connection's window;
// - every request that began ends, what was lent comes back, and the next client is served.
// The first octet of the input chooses the kernel, what is put in front, and the pieces.

#include "base/assert.h"
#include "base/memory.h"
#include "http/h2_frame.h"
#include "http/hpack_decode.h"
#include "io/sim.h"
#include "server/server.h"
#include "server/start.h"
#include "server/worker_run.h"
#include "app/app.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    INPUT_MAX = 4096,
    TURNS_MAX = 50000,
    PIECE_OCTETS = 300,
    LENGTH_MAX = 20000,
    KERNELS = 2,
    STREAMS_MAX = 65536, // those above are not looked at one by one
    WINDOW_INITIAL = 65535
};

// Bits of the first octet. The two lowest choose the pieces.
enum { CONTROL_FAULTS = 4, CONTROL_RAW = 8 };

typedef struct fuzzed {
    sim_kernel *kernel;
    skua_server *server;
    server_worker *worker;
    int listener;
    app app;
    bool has_faults;
} fuzzed;

static fuzzed servers[KERNELS];
static visit *waiting; // those who put something off

// ---- A server ----

static void put_off(visit *v)
{
    SKUA_ASSERT(!v->next);
    v->next = waiting;
    waiting = v;
}

static void discard_log(skua_slice lines, void *user)
{
    (void)lines;
    (void)user;
}

static void add_routes(fuzzed *f)
{
    static const app_manner manner = { .put_off = put_off, .hand_over = put_off };
    f->app = (app){ .forgets = true,
                    .lenient = true,
                    .len_max = LENGTH_MAX,
                    .step_octets = PIECE_OCTETS,
                    .piece_octets = PIECE_OCTETS };
    app_init(&f->app, &manner, f->server);
    app_add_answers(&f->app);
    app_add_content(&f->app);
    app_add_sources(&f->app);
    app_add_streams(&f->app);
}

static void start(fuzzed *f, bool has_faults)
{
    const skua_config config = {
        .workers = 1,
        .head_octets_max = 600,
        .target_octets_max = 200,
        .fields_max = 10,
        .trailer_octets_max = 150,
        .content_octets_max = 4000,
        .content_window_octets = 1000,
        .out_octets_max = 4000,
        .log_write = discard_log,
        .http2 = { .streams_max = 5, .tunnels = true },
    };
    sim_config kernel = { .seed = 1 };
    if (has_faults) {
        static const sim_fault faults[] = { SIM_SHORT_RECV, SIM_SHORT_SEND, SIM_DELAY,
                                            SIM_RECV_AGAIN, SIM_SEND_AGAIN, SIM_NO_BUFFERS };
        for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
            kernel.permille[faults[i]] = 200;
        kernel.permille[SIM_RESET] = 5;
        kernel.send_buffer_octets = 2000;
    }
    f->has_faults = has_faults;
    f->kernel = sim_kernel_new(&kernel);
    f->server = skua_server_new(&config);
    SKUA_ASSERT(f->kernel && f->server);
    add_routes(f);
    f->listener = sim_listen(f->kernel);
    SKUA_ASSERT(server_start_on(f->server, &io_backend_sim, f->kernel, f->listener) == SKUA_OK);
    f->worker = f->server->workers[0];
}

// ---- A client ----

static bool go_on(void)
{
    visit *v = waiting;
    if (!v) return false;
    waiting = v->next;
    v->next = NULL;
    visit_go_on(v);
    return true;
}

// Until there is nothing to do but to wait for the client. Faults take time.
static void settle(fuzzed *f)
{
    const io_loop *loop = &f->worker->self.loop;
    int turns = 0;
    do {
        SKUA_ASSERT(turns++ < TURNS_MAX);
        SKUA_ASSERT(worker_turn(f->worker, f->has_faults ? 1000000 : 0));
    } while (loop->pending || loop->pending_ops || !sim_is_quiet(f->kernel) || go_on());
}

static void finish(fuzzed *f, sim_client *client)
{
    if (!sim_client_is_reset(client)) sim_client_shutdown(client);
    settle(f);
    for (int i = 0; sim_sockets_open(f->kernel); i++) {
        SKUA_ASSERT(i < TURNS_MAX);
        SKUA_ASSERT(worker_turn(f->worker, -1));
        (void)go_on();
    }
    while (go_on())
        SKUA_ASSERT(worker_turn(f->worker, 0));
    sim_drain(f->kernel);
}

static size_t piece_of(unsigned control, uint64_t *state, size_t left)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    size_t most = control % 4 == 0 ? 10 : control % 4 == 1 ? 100 : left;
    size_t n = 1 + (size_t)((*state >> 33) % most);
    return control % 4 == 3 || n > left ? left : n;
}

static sim_client *run(fuzzed *f, slice input, unsigned control)
{
    sim_client *client = sim_connect(f->kernel, f->listener);
    SKUA_ASSERT(client);
    uint64_t state = control;
    while (input.len && !sim_client_is_reset(client)) {
        size_t n = piece_of(control, &state, input.len);
        SKUA_ASSERT(sim_client_send(client, slice_make(input.ptr, n)));
        input = slice_from(input, n);
        settle(f);
    }
    finish(f, client);
    SKUA_ASSERT(f->app.begun == f->app.ended);
    SKUA_ASSERT(f->app.lent == f->app.released);
    return client;
}

// ---- What must hold ----

typedef struct checked {
    hpack_decoder decoder;
    uint64_t content;
    uint8_t ended[STREAMS_MAX / 16]; // streams of odd numbers
} checked;

static bool is_next_frame(slice octets, h2_frame *frame, slice *payload)
{
    if (octets.len < H2_HEAD_OCTETS) return false;
    *frame = h2_read_head(octets.ptr);
    if (octets.len - H2_HEAD_OCTETS < frame->len) return false;
    *payload = slice_make(octets.ptr + H2_HEAD_OCTETS, frame->len);
    return true;
}

// The most content that what the client has sent lets anybody send.
static uint64_t window_of(slice sent)
{
    uint64_t octets = WINDOW_INITIAL;
    h2_frame frame;
    slice payload;
    while (is_next_frame(sent, &frame, &payload)) {
        if (frame.type == H2_WINDOW_UPDATE && frame.stream == 0 && frame.len == 4)
            octets += h2_read31(payload.ptr);
        sent = slice_from(sent, H2_HEAD_OCTETS + frame.len);
    }
    return octets;
}

static void check_block(checked *c, slice block)
{
    hpack_field field;
    hpack_event event;
    hpack_decoder_begin(&c->decoder, block);
    while ((event = hpack_decoder_next(&c->decoder, &field)) == HPACK_FIELD)
        SKUA_ASSERT(field.name.len > 0);
    SKUA_ASSERT(event == HPACK_END);
}

static void check_frame(checked *c, const h2_frame *frame, slice payload)
{
    bool carries = frame->type == H2_DATA || frame->type == H2_HEADERS;
    SKUA_ASSERT(frame->len <= H2_PAYLOAD_OCTETS_MAX && frame->type <= H2_WINDOW_UPDATE);
    SKUA_ASSERT(h2_check_head(frame).status == 0);
    if (carries && frame->stream < STREAMS_MAX) {
        uint8_t bit = (uint8_t)(1 << (frame->stream >> 1 & 7)), *of = &c->ended[frame->stream >> 4];
        SKUA_ASSERT(!(*of & bit));
        if (frame->flags & H2_FLAG_END_STREAM) *of |= bit;
    }
    if (frame->type == H2_RST_STREAM && frame->stream < STREAMS_MAX)
        c->ended[frame->stream >> 4] |= (uint8_t)(1 << (frame->stream >> 1 & 7));
    if (frame->type == H2_DATA) c->content += frame->len;
    if (frame->type == H2_HEADERS) check_block(c, payload);
}

static void check(const fuzzed *f, slice sent, slice got)
{
    static budget whole;
    static lease memory;
    static checked c;
    memset(&c, 0, sizeof c);
    budget_init(&whole, 1 << 24, 1);
    lease_init(&memory, &whole, 0, NULL);
    hpack_decoder_init(&c.decoder, &memory, HPACK_TABLE_OCTETS_AT_FIRST, 65536);
    h2_frame frame;
    slice payload;
    while (is_next_frame(got, &frame, &payload)) {
        check_frame(&c, &frame, payload);
        got = slice_from(got, H2_HEAD_OCTETS + frame.len);
    }
    SKUA_ASSERT(got.len == 0 || f->has_faults);
    SKUA_ASSERT(c.content <= window_of(sent));
    hpack_decoder_deinit(&c.decoder);
}

static void check_next_is_served(fuzzed *f)
{
    static const char request[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
                                  "\0\0\15\1\5\0\0\0\1\202\206\4\6/hello\101\1a";
    sim_client *client = run(f, slice_make(request, sizeof request - 1), 3);
    slice got = sim_client_received(client), payload;
    h2_frame frame;
    uint64_t content = 0;
    while (is_next_frame(got, &frame, &payload)) {
        if (frame.type == H2_DATA) content += frame.len;
        got = slice_from(got, H2_HEAD_OCTETS + frame.len);
    }
    SKUA_ASSERT(content == 5 || f->has_faults);
    sim_client_free(client);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char input[INPUT_MAX + 64];
    if (size < 2 || size > INPUT_MAX) return 0;
    unsigned control = data[0];
    fuzzed *f = &servers[control & CONTROL_FAULTS ? 1 : 0];
    if (!f->kernel) start(f, control & CONTROL_FAULTS);
    const slice preface = H2_PREFACE;
    size_t len = 0;
    if (!(control & CONTROL_RAW)) {
        memcpy(input, preface.ptr, preface.len);
        memcpy(input + preface.len, "\0\0\0\4\0\0\0\0\0", H2_HEAD_OCTETS);
        len = preface.len + H2_HEAD_OCTETS;
    }
    memcpy(input + len, data + 1, size - 1);
    slice sent = slice_make(input, len + size - 1);
    sim_client *client = run(f, sent, control);
    bool is_h2 = sent.len >= preface.len && memcmp(sent.ptr, preface.ptr, preface.len) == 0;
    if (is_h2) check(f, slice_from(sent, preface.len), sim_client_received(client));
    sim_client_free(client);
    check_next_is_served(f);
    return 0;
}
