// SPDX-License-Identifier: MIT
//
// Bridge: when it connects, when it gives up, and what is left to be sent when the server stops.

#include "bridge/bridge.h"

#ifdef SKUA_REDIS

#include "base/memory.h"
#include "bridge/receiving.h"
#include "bridge/sending.h"
#include "exchange/worker.h"
#include "server/server.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

static const int64_t bridge_again_ns = 100000000, bridge_again_max_ns = 5000000000;

// for what the store has not taken when the server ends
static const int64_t bridge_farewell_ns = 500000000;

void bridge_log(const topic_bridge *b, const char *format, ...)
{
    char line[BRIDGE_LINE_OCTETS] = "topics: ";
    size_t len = strlen(line);
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(line + len, sizeof line - len, format, arguments);
    va_end(arguments);
    if (more > 0) skua_log(b->server, slice_of(line));
}

// ---- Connecting ----

static void bridge_connect(topic_bridge *b)
{
    b->state = BRIDGE_GREETS;
    b->adder.patience_ns = BRIDGE_PATIENCE_NS;
    if (!bridge_link_open(&b->adder, b->worker, b->address))
        bridge_go_away(b, "a connection cannot be made");
}

// One address after the other is tried.
static void bridge_found(void *user)
{
    topic_bridge *b = user;
    if (!b->lookup.count) {
        bridge_go_away(b, "its host is not known");
        return;
    }
    b->address = b->lookup.addresses[b->attempts % b->lookup.count];
    bridge_connect(b);
}

static void bridge_seek(topic_bridge *b)
{
    b->again = (skua_timer){ 0 };
    b->attempts++;
    if (b->url.path[0]) {
        bridge_connect(b);
        return;
    }
    b->state = BRIDGE_SEEKS;
    if (!bridge_lookup_start(&b->lookup, b->worker)) bridge_go_away(b, "its host cannot be found");
}

static void bridge_seek_again(skua_worker *worker, void *user)
{
    (void)worker;
    bridge_seek(user);
}

// All machines lose the store at once, and are not to come back at once.
static int64_t bridge_delay_ns(unsigned attempts)
{
    uint16_t more = 0;
    int64_t delay = bridge_again_ns;
    for (unsigned i = 1; i < attempts && delay < bridge_again_max_ns; i++)
        delay *= 2;
    if (delay > bridge_again_max_ns) delay = bridge_again_max_ns;
    (void)getrandom(&more, sizeof more, GRND_NONBLOCK);
    return delay + delay / 4 * more / UINT16_MAX;
}

// Without memory for a timer the next publication tries again.
static void bridge_wait(topic_bridge *b)
{
    b->again = (skua_timer){ 0 };
    (void)!skua_timer_start(b->worker, bridge_delay_ns(b->attempts), 0, bridge_seek_again, b,
                            &b->again);
}

// A store that refuses what waits, or whose replies are wrong, is there each time and is not greeted again at once.
void bridge_go_away(topic_bridge *b, const char *reason)
{
    if (b->state == BRIDGE_IS_AWAY || b->state == BRIDGE_IS_OFF) return;
    int64_t now = skua_worker_now_ns(b->worker);
    if (b->state == BRIDGE_IS_UP && now - b->up_ns >= bridge_again_max_ns) b->attempts = 0;
    b->state = BRIDGE_IS_AWAY;
    if (!b->told_away)
        bridge_log(
            b,
            "the store at %s is away (%s); until it is back, publications reach the readers of this "
            "machine alone",
            b->url.path[0] ? b->url.path : b->url.host, reason);
    b->told_away = true;
    bridge_link_close(&b->adder);
    bridge_link_close(&b->reader);
    bridge_waiting_again(&b->waiting);
    skua_timer_stop(b->again);
    bridge_wait(b);
}

static void bridge_lost(void *user, const char *reason)
{
    topic_bridge *b = user;
    if (b->reader.unasked.is_long) bridge_receiving_shorten(b);
    bridge_go_away(b, reason);
}

// ---- The server ----

static bool bridge_make_instance(topic_bridge *b)
{
    uint8_t octets[BRIDGE_INSTANCE_OCTETS / 2];
    if (getrandom(octets, sizeof octets, 0) != (ssize_t)sizeof octets) return false;
    for (size_t i = 0; i < sizeof octets; i++)
        (void)snprintf(b->instance + 2 * i, 3, "%02x", octets[i]);
    return true;
}

// A server without a network has no descriptors to wait for.
static void bridge_begin(server_relay *relay, skua_worker *w)
{
    topic_bridge *b = (topic_bridge *)(void *)relay;
    if (w->disk.inline_work || !bridge_make_instance(b)) return;
    b->worker = w;
    b->begun_ns = skua_worker_now_ns(w);
    b->last[0] = 0;
    b->entries_max = 0;
    b->store_ms = 0;
    b->alone = 0;
    b->last_is_entry = b->gap_due = b->owes_count = b->told_away = b->told_ignored = false;
    b->attempts = b->refusals = 0;
    b->lookup = (bridge_lookup){ .host = b->url.host, .done = bridge_found, .user = b };
    b->adder = (bridge_link){
        .url = &b->url, .greeted = bridge_sending_begin, .lost = bridge_lost, .user = b
    };
    b->reader = (bridge_link){
        .url = &b->url, .greeted = bridge_receiving_begin, .lost = bridge_lost, .user = b
    };
    bridge_seek(b);
}

static int64_t bridge_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// The last publications, such as those of readers that left when the server stopped, are for other machines too.
static void bridge_say_farewell(topic_bridge *b)
{
    int64_t end = bridge_now_ns() + bridge_farewell_ns, left = bridge_farewell_ns;
    while (b->state >= BRIDGE_SENDS && b->waiting.first && left > 0) {
        if (!bridge_link_wait(&b->adder, left)) break;
        left = end - bridge_now_ns();
    }
}

static void bridge_end(server_relay *relay, skua_worker *w)
{
    topic_bridge *b = (topic_bridge *)(void *)relay;
    (void)w;
    if (b->state == BRIDGE_IS_OFF) return;
    bridge_say_farewell(b);
    b->state = BRIDGE_IS_OFF;
    bridge_link_close(&b->adder);
    bridge_link_close(&b->reader);
    skua_timer_stop(b->again);
    bridge_waiting_drop(&b->waiting);
    bridge_origins_drop(&b->origins);
    b->worker = NULL;
}

static void bridge_carry(server_relay *relay, topic_message *message)
{
    topic_bridge *b = (topic_bridge *)(void *)relay;
    if (b->state == BRIDGE_IS_OFF) return;
    unsigned dropped = bridge_waiting_add(&b->waiting, message, b->waiting_octets_max);
    if (dropped) {
        b->owes_count = true;
        figure_add(&b->worker->figures->shared.topics_dropped, dropped);
    }
    if (b->state == BRIDGE_IS_AWAY && !b->again.value) bridge_wait(b);
    bridge_send_waiting(b);
}

// ---- Making one ----

enum { BRIDGE_RETAINED = 10000, BRIDGE_WAITING_OCTETS = 16777216, BRIDGE_MESSAGE_OCTETS = 1048576 };

static void bridge_free(topic_bridge *b)
{
    if (!b) return;
    memory_free(b->stream);
    memory_free(b->gap_text);
    memory_free(b);
}

static void bridge_drop(void *user)
{
    bridge_free(user);
}

static skua_status bridge_fill(topic_bridge *b, const skua_topic_bridge_desc *desc)
{
    b->relay =
        (server_relay){ .begin = bridge_begin,
                        .end = bridge_end,
                        .carry = bridge_carry,
                        .message_octets_max = desc->message_octets_max ? desc->message_octets_max
                                                                       : BRIDGE_MESSAGE_OCTETS };
    b->retained_max = desc->retained_max ? desc->retained_max : BRIDGE_RETAINED;
    b->waiting_octets_max =
        desc->waiting_octets_max ? (size_t)desc->waiting_octets_max : BRIDGE_WAITING_OCTETS;
    b->gap = desc->gap;
    b->user = desc->user;
    b->stream = memory_text(desc->stream ? desc->stream : "skua:topics");
    if (desc->gap_text) b->gap_text = memory_text(desc->gap_text);
    return b->stream && (b->gap_text || !desc->gap_text) ? SKUA_OK : SKUA_ENOMEM;
}

skua_status bridge_add_to(skua_server *server, const skua_topic_bridge_desc *desc,
                          const bridge_url *url)
{
    topic_bridge *b = memory_zeroed(sizeof *b);
    skua_status status = b ? bridge_fill(b, desc) : SKUA_ENOMEM;
    if (!status) status = skua_server_on_free(server, bridge_drop, b);
    if (status) {
        bridge_free(b);
        return status;
    }
    b->server = server;
    b->url = *url;
    server->relay = &b->relay;
    return SKUA_OK;
}

#endif
