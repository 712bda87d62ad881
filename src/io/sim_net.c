// SPDX-License-Identifier: MIT
//
// The simulated network: connections with a client at one end and a socket at the other, and what
// is under way between them. Octets of one direction of one connection never overtake each other;
// everything else may.

#include "io/sim_net.h"

#include "io/sim_kernel.h"
#include "base/assert.h"
#include "base/memory.h"

#include <inttypes.h>

static const int64_t sim_start_ns = 1000000000;
static const int64_t sim_unix_start_ns = 1700000001000000000;

// ---- Chance ----

// SplitMix64, after Steele, Lea and Flood: one word of state, so that a run is one number.
uint64_t sim_random(sim_kernel *kernel)
{
    uint64_t z = kernel->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t sim_below(sim_kernel *kernel, uint64_t n)
{
    SKUA_ASSERT(n > 0);
    return sim_random(kernel) % n;
}

bool sim_chance(sim_kernel *kernel, sim_fault fault)
{
    if (kernel->config.permille[fault] == 0) return false;
    if (sim_below(kernel, 1000) >= kernel->config.permille[fault]) return false;
    kernel->faults[fault]++;
    return true;
}

// Half of the pieces are tiny: what splits a line is worth more than what splits a block.
size_t sim_piece(sim_kernel *kernel, sim_fault fault, size_t n)
{
    if (n < 2 || !sim_chance(kernel, fault)) return n;
    size_t most = n - 1;
    if (sim_random(kernel) & 1 && most > 8) most = 8;
    return 1 + (size_t)sim_below(kernel, most);
}

int64_t sim_soon(sim_kernel *kernel)
{
    return kernel->now_ns + 1 + (int64_t)sim_below(kernel, (uint64_t)kernel->config.delay_max_ns);
}

int64_t sim_delayed(sim_kernel *kernel)
{
    return sim_chance(kernel, SIM_DELAY) ? sim_soon(kernel) : kernel->now_ns;
}

static void sim_hash_add(sim_kernel *kernel, uint64_t word)
{
    kernel->hash = (kernel->hash ^ word) * UINT64_C(0x100000001b3);
    kernel->hash ^= kernel->hash >> 29;
}

void sim_note(sim_kernel *kernel, const char *what, uint32_t id, uint64_t n)
{
    sim_hash_add(kernel, (uint64_t)kernel->now_ns);
    for (const char *at = what; *at; at++)
        sim_hash_add(kernel, (unsigned char)*at);
    sim_hash_add(kernel, id);
    sim_hash_add(kernel, n);
    FILE *trace = kernel->config.trace;
    if (!trace) return;
    fprintf(trace, "%12.6f ms  %4" PRIu32 "  %-10s %" PRIu64 "\n", (double)kernel->now_ns / 1e6, id,
            what, n);
}

static void sim_note_octets(sim_kernel *kernel, const char *octets, size_t len)
{
    for (size_t i = 0; i < len; i++)
        sim_hash_add(kernel, (unsigned char)octets[i]);
}

// ---- Pipes ----

static bool sim_pipe_room(sim_pipe *pipe, size_t len)
{
    if (pipe->room - pipe->start - pipe->len >= len) return true;
    if (pipe->start >= pipe->len && pipe->room - pipe->len >= len) {
        if (pipe->len) memcpy(pipe->octets, pipe->octets + pipe->start, pipe->len);
        pipe->start = 0;
        return true;
    }
    size_t room = 2 * (pipe->start + pipe->len + len);
    char *octets = memory_resize(pipe->octets, room);
    if (!octets) return false;
    pipe->octets = octets;
    pipe->room = room;
    return true;
}

bool sim_pipe_push(sim_pipe *pipe, const char *octets, size_t len)
{
    if (len == 0) return true;
    if (!sim_pipe_room(pipe, len)) return false;
    memcpy(pipe->octets + pipe->start + pipe->len, octets, len);
    pipe->len += len;
    return true;
}

void sim_pipe_pop(sim_pipe *pipe, size_t len)
{
    SKUA_ASSERT(len <= pipe->len);
    pipe->start += len;
    pipe->len -= len;
    if (pipe->len == 0) pipe->start = 0;
}

void sim_pipe_clear(sim_pipe *pipe)
{
    memory_free(pipe->octets);
    *pipe = (sim_pipe){ .len = 0 };
}

// ---- The kernel ----

static void sim_defaults(sim_config *config)
{
    if (!config->recv_buffer_octets) config->recv_buffer_octets = 65536;
    if (!config->send_buffer_octets) config->send_buffer_octets = 65536;
    if (!config->descriptors_max) config->descriptors_max = UINT32_MAX;
    if (!config->delay_max_ns) config->delay_max_ns = 5000000;
    if (!config->unix_ns) config->unix_ns = sim_unix_start_ns;
}

sim_kernel *sim_kernel_new(const sim_config *config)
{
    sim_kernel *kernel = memory_zeroed(sizeof *kernel);
    if (!kernel) return NULL;
    kernel->config = *config;
    kernel->random = config->seed;
    kernel->now_ns = sim_start_ns;
    sim_defaults(&kernel->config);
    kernel->unix_offset_ns = kernel->config.unix_ns - sim_start_ns;
    return kernel;
}

static void sim_client_release(sim_client *client)
{
    sim_pipe_clear(&client->outbox);
    sim_pipe_clear(&client->received);
    sim_pipe_clear(&client->inbox);
    sim_pipe_clear(&client->wire);
    memory_free(client);
}

void sim_kernel_free(sim_kernel *kernel)
{
    if (!kernel) return;
    while (kernel->clients) {
        sim_client *client = kernel->clients;
        SKUA_ASSERT(client->stage != SIM_BOUND);
        kernel->clients = client->next;
        sim_client_release(client);
    }
    memory_free(kernel->live);
    memory_free(kernel->works);
    memory_free(kernel);
}

void sim_set_permille(sim_kernel *kernel, sim_fault fault, uint16_t permille)
{
    kernel->config.permille[fault] = permille;
}

void sim_set_calm(sim_kernel *kernel)
{
    memset(kernel->config.permille, 0, sizeof kernel->config.permille);
}

int64_t sim_now(const sim_kernel *kernel)
{
    return kernel->now_ns;
}

uint64_t sim_hash(const sim_kernel *kernel)
{
    return kernel->hash;
}

uint64_t sim_fault_count(const sim_kernel *kernel, sim_fault fault)
{
    return kernel->faults[fault];
}

unsigned sim_sockets_open(const sim_kernel *kernel)
{
    return kernel->sockets_open;
}

unsigned sim_files_open(const sim_kernel *kernel)
{
    return kernel->files_open;
}

// ---- Listeners and connections ----

sim_listener *sim_find_listener(sim_kernel *kernel, int fd)
{
    if (fd < SIM_LISTENER_FIRST || fd >= SIM_LISTENER_FIRST + SIM_LISTENERS_MAX) return NULL;
    return &kernel->listeners[fd - SIM_LISTENER_FIRST];
}

int sim_listen(sim_kernel *kernel)
{
    for (int i = 0; i < SIM_LISTENERS_MAX; i++) {
        if (kernel->listeners[i].open) continue;
        kernel->listeners[i] = (sim_listener){ .open = true };
        return SIM_LISTENER_FIRST + i;
    }
    return -1;
}

void sim_listener_close(sim_kernel *kernel, int listener)
{
    sim_listener *closes = sim_find_listener(kernel, listener);
    SKUA_ASSERT(closes);
    closes->open = false;
    for (size_t i = 0; i < kernel->live_count; i++) {
        sim_client *client = kernel->live[i];
        if (client->stage != SIM_QUEUED || client->listener != listener) continue;
        sim_break(client, true);
        client->stage = SIM_CLOSED;
    }
}

static bool sim_enlist(sim_kernel *kernel, sim_client *client)
{
    if (kernel->live_count == kernel->live_room) {
        size_t room = kernel->live_room ? 2 * kernel->live_room : 16;
        sim_client **live = memory_resize(kernel->live, room * sizeof(sim_client *));
        if (!live) return false;
        kernel->live = live;
        kernel->live_room = room;
    }
    kernel->live[kernel->live_count++] = client;
    return true;
}

static sim_client *sim_client_new(sim_kernel *kernel, int listener, int far)
{
    sim_client *client = memory_zeroed(sizeof *client);
    if (!client) return NULL;
    if (!sim_enlist(kernel, client)) {
        memory_free(client);
        return NULL;
    }
    client->kernel = kernel;
    client->id = kernel->client_count++;
    client->listener = listener;
    client->far = far;
    client->next = kernel->clients;
    kernel->clients = client;
    client->run_ns = sim_delayed(kernel);
    client->up_ns = sim_delayed(kernel);
    return client;
}

int sim_far_open(sim_kernel *kernel, const socket_address *at)
{
    if (kernel->far_count == SIM_FARS_MAX) return -1;
    kernel->fars[kernel->far_count] = *at;
    return kernel->far_count++;
}

static int sim_far_find(const sim_kernel *kernel, const socket_address *at)
{
    for (int i = 0; i < kernel->far_count; i++) {
        const socket_address *far = &kernel->fars[i];
        if (far->len == at->len && memcmp(far->octets, at->octets, at->len) == 0) return i;
    }
    return -1;
}

sim_client *sim_connect_out(sim_kernel *kernel, const socket_address *to)
{
    sim_client *client = sim_client_new(kernel, -1, sim_far_find(kernel, to));
    if (client) sim_note(kernel, "connect-out", client->id, 0);
    return client;
}

sim_client *sim_far_accept(sim_kernel *kernel, int far)
{
    for (size_t i = 0; i < kernel->live_count; i++) {
        sim_client *client = kernel->live[i];
        if (client->listener >= 0 || client->far != far || client->taken) continue;
        if (!client->stream || client->stream->flags & IO_CONNECTS) continue;
        client->taken = true;
        return client;
    }
    return NULL;
}

sim_client *sim_connect(sim_kernel *kernel, int listener)
{
    const sim_listener *listens = sim_find_listener(kernel, listener);
    SKUA_ASSERT(listens);
    sim_client *client = sim_client_new(kernel, listener, -1);
    if (!client) return NULL;
    sim_note(kernel, "connect", client->id, 0);
    if (!listens->open) {
        sim_break(client, true);
        client->stage = SIM_CLOSED;
    }
    return client;
}

sim_client *sim_queued(sim_kernel *kernel, int listener)
{
    for (size_t i = 0; i < kernel->live_count; i++) {
        sim_client *client = kernel->live[i];
        if (client->stage != SIM_QUEUED || client->listener != listener) continue;
        if (client->run_ns <= kernel->now_ns) return client;
    }
    return NULL;
}

sim_client *sim_find(sim_kernel *kernel, int fd)
{
    for (size_t i = 0; i < kernel->live_count; i++) {
        if (fd == SIM_FD_FIRST + (int)kernel->live[i]->id) return kernel->live[i];
    }
    return NULL;
}

// Octets that were sent and not read are lost with a reset, as in the kernels that purge their
// queues. Octets that had arrived at the socket may still be read before the error shows, or not.
void sim_break(sim_client *client, bool victim)
{
    sim_kernel *kernel = client->kernel;
    if (client->reset) return;
    sim_note(kernel, "reset", client->id, victim);
    client->reset = true;
    if (victim) client->victim = true;
    client->dead = true;
    sim_pipe_clear(&client->outbox);
    sim_pipe_clear(&client->wire);
    if (sim_random(kernel) & 1) sim_pipe_clear(&client->inbox);
}

bool sim_put(sim_client *client, const char *octets, size_t len)
{
    if (sim_pipe_push(&client->wire, octets, len)) return true;
    sim_break(client, true); // the machine that simulates is out of memory itself
    return false;
}

size_t sim_send_now(const io_loop *loop, const io_stream *stream, const char *octets, size_t len)
{
    sim_kernel *kernel = loop->kernel;
    sim_client *client = sim_find(kernel, stream->fd);
    size_t room = client ? kernel->config.send_buffer_octets - client->wire.len : 0;
    if (!room || client->dead || sim_chance(kernel, SIM_SEND_AGAIN)) return 0;
    size_t n = sim_piece(kernel, SIM_SHORT_SEND, len < room ? len : room);
    if (!sim_put(client, octets, n)) return 0;
    sim_note(kernel, "sent at once", client->id, n);
    return n;
}

// Closing with input unread answers with a reset, and so does input that comes later (RFC 9112
// §9.6): that is what a server's lingering is for.
void sim_close(sim_client *client)
{
    sim_kernel *kernel = client->kernel;
    SKUA_ASSERT(client->stage == SIM_ACCEPTED || client->stage == SIM_BOUND);
    SKUA_ASSERT(kernel->sockets_open > 0);
    sim_note(kernel, "close", client->id, client->inbox.len);
    kernel->sockets_open--;
    client->stage = SIM_CLOSED;
    client->stream = NULL;
    client->fin_sent = true;
    if (client->inbox.len) sim_break(client, false);
    sim_pipe_clear(&client->inbox);
    for (int i = 0; i < SIM_LISTENERS_MAX; i++)
        kernel->listeners[i].paused = false;
}

// ---- In transit ----

static size_t sim_inbox_room(const sim_client *client)
{
    return client->kernel->config.recv_buffer_octets - client->inbox.len;
}

static bool sim_up_is_due(const sim_client *client)
{
    if (client->reset || client->up_ns > client->kernel->now_ns) return false;
    if (client->outbox.len) return client->stage == SIM_CLOSED || sim_inbox_room(client) > 0;
    return client->fin_queued && !client->fin_arrived;
}

static bool sim_down_is_due(const sim_client *client)
{
    if (client->reset || client->paused || client->down_ns > client->kernel->now_ns) return false;
    return client->wire.len || (client->fin_sent && !client->eof);
}

static bool sim_move(sim_client *client, sim_pipe *from, sim_pipe *to, size_t len)
{
    if (!sim_pipe_push(to, from->octets + from->start, len)) {
        sim_break(client, true); // the machine that simulates is out of memory itself
        return false;
    }
    sim_pipe_pop(from, len);
    return true;
}

// FIN comes with the last octets or by itself.
static void sim_up_fin(sim_client *client, bool alone)
{
    if (!client->fin_queued || client->outbox.len) return;
    if (!alone && sim_random(client->kernel) & 1) return;
    client->fin_arrived = true;
    if (client->stream) client->stream->flags |= IO_FIN_SEEN | IO_READABLE;
    sim_note(client->kernel, "fin-up", client->id, 0);
}

static void sim_up(sim_client *client)
{
    sim_kernel *kernel = client->kernel;
    if (client->outbox.len == 0) {
        sim_up_fin(client, true);
        return;
    }
    if (client->stage == SIM_CLOSED) {
        sim_break(client, false);
        return;
    }
    size_t len =
        client->outbox.len < sim_inbox_room(client) ? client->outbox.len : sim_inbox_room(client);
    len = sim_piece(kernel, SIM_SHORT_RECV, len);
    if (!sim_move(client, &client->outbox, &client->inbox, len)) return;
    sim_note(kernel, "up", client->id, len);
    if (client->stream) client->stream->flags |= IO_READABLE;
    sim_up_fin(client, false);
    client->up_ns = sim_delayed(kernel);
}

static void sim_down(sim_client *client)
{
    sim_kernel *kernel = client->kernel;
    if (client->wire.len) {
        size_t len = sim_piece(kernel, SIM_SHORT_SEND, client->wire.len);
        sim_note_octets(kernel, client->wire.octets + client->wire.start, len);
        if (!sim_move(client, &client->wire, &client->received, len)) return;
        sim_note(kernel, "down", client->id, len);
    } else {
        client->eof = true;
        sim_note(kernel, "fin-down", client->id, 0);
    }
    client->down_ns = sim_delayed(kernel);
}

// The server's end is gone and nothing is under way.
static bool sim_is_finished(const sim_client *client)
{
    if (client->stage != SIM_CLOSED) return false;
    if (client->reset) return true;
    return client->eof && client->outbox.len == 0 && (!client->fin_queued || client->fin_arrived);
}

static void sim_forget_finished(sim_kernel *kernel)
{
    size_t kept = 0;
    for (size_t i = 0; i < kernel->live_count; i++) {
        sim_client *client = kernel->live[i];
        if (!sim_is_finished(client)) kernel->live[kept++] = client;
    }
    kernel->live_count = kept;
}

void sim_deliver(sim_kernel *kernel)
{
    for (size_t i = 0; i < kernel->live_count; i++) {
        sim_client *client = kernel->live[i];
        if (sim_up_is_due(client)) sim_up(client);
        if (sim_down_is_due(client)) sim_down(client);
    }
    sim_forget_finished(kernel);
}

void sim_client_free(sim_client *client)
{
    sim_kernel *kernel = client->kernel;
    SKUA_ASSERT(client->stage == SIM_CLOSED);
    client->reset = true; // whatever is under way
    sim_forget_finished(kernel);
    sim_client **link = &kernel->clients;
    while (*link != client)
        link = &(*link)->next;
    *link = client->next;
    sim_client_release(client);
}

static int64_t sim_up_ns(const sim_client *client)
{
    if (client->reset) return INT64_MAX;
    if (client->outbox.len && client->stage != SIM_CLOSED && sim_inbox_room(client) == 0)
        return INT64_MAX;
    if (client->outbox.len || (client->fin_queued && !client->fin_arrived)) return client->up_ns;
    return INT64_MAX;
}

static int64_t sim_down_ns(const sim_client *client)
{
    if (client->reset || client->paused) return INT64_MAX;
    return client->wire.len || (client->fin_sent && !client->eof) ? client->down_ns : INT64_MAX;
}

int64_t sim_transit_ns(const sim_kernel *kernel)
{
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < kernel->live_count; i++) {
        int64_t up = sim_up_ns(kernel->live[i]), down = sim_down_ns(kernel->live[i]);
        if (up < next) next = up;
        if (down < next) next = down;
    }
    return next;
}

void sim_drain(sim_kernel *kernel)
{
    for (int64_t next; (next = sim_transit_ns(kernel)) != INT64_MAX;) {
        if (next > kernel->now_ns) kernel->now_ns = next;
        sim_deliver(kernel);
    }
}

// ---- Clients ----

bool sim_client_send(sim_client *client, slice octets)
{
    SKUA_ASSERT(!client->fin_queued);
    if (client->reset) return true; // lost, as on a real socket
    sim_note(client->kernel, "send", client->id, octets.len);
    sim_note_octets(client->kernel, octets.ptr, octets.len);
    if (client->stage == SIM_CLOSED) {
        sim_break(client, false);
        return true;
    }
    return sim_pipe_push(&client->outbox, octets.ptr, octets.len);
}

void sim_client_shutdown(sim_client *client)
{
    client->fin_queued = true;
}

void sim_client_reset(sim_client *client)
{
    sim_break(client, true);
}

void sim_client_pause(sim_client *client, bool paused)
{
    client->paused = paused;
}

slice sim_client_received(const sim_client *client)
{
    return slice_make(client->received.octets, client->received.len); // nothing is popped from it
}

size_t sim_client_unsent(const sim_client *client)
{
    return client->outbox.len;
}

bool sim_client_is_eof(const sim_client *client)
{
    return client->eof;
}

bool sim_client_is_reset(const sim_client *client)
{
    return client->reset;
}

bool sim_client_is_victim(const sim_client *client)
{
    return client->victim;
}
