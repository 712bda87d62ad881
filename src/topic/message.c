// SPDX-License-Identifier: MIT
//
// Publications. All octets of one lie in one piece of memory, the WebSocket's head right before the
// message, so that a frame can be lent to any number of queues.

#include "topic/message.h"

#include "base/budget.h"
#include "base/memory.h"
#include "exchange/events.h"
#include "http/ws_frame.h"
#include "server/server.h"
#include "topic/deflated.h"

enum { TOPIC_HEAD_OCTETS_MAX = 10 }; // of a frame

size_t topic_message_size(slice topic, const skua_publication *given)
{
    return sizeof(topic_message) + topic.len + given->event.len + given->id.len +
           TOPIC_HEAD_OCTETS_MAX + given->octets.len;
}

static slice topic_message_put(char **at, slice octets)
{
    slice put = slice_make(*at, octets.len);
    if (octets.len) memcpy(*at, octets.ptr, octets.len);
    *at += octets.len;
    return put;
}

#ifndef SKUA_NO_WEBSOCKET
_Static_assert((int)TOPIC_HEAD_OCTETS_MAX == (int)WS_SENT_HEAD_OCTETS_MAX, "there is room for it");

static slice topic_message_put_head(char **at, const skua_publication *given)
{
    slice put = slice_make(*at, ws_head_octets(given->octets.len));
    (void)ws_head_write(*at, given->binary ? WS_BINARY : WS_TEXT, true, given->octets.len);
    *at += put.len;
    return put;
}
#else
static slice topic_message_put_head(char **at, const skua_publication *given)
{
    (void)given;
    return slice_make(*at, 0);
}
#endif

topic_message *topic_message_new(skua_server *server, slice topic, const skua_publication *given)
{
    size_t size = topic_message_size(topic, given);
    topic_message *p = memory_alloc(size);
    if (!p) return NULL;
    *p = (topic_message){
        .server = server, .size = size, .binary = given->binary, .except = given->except
    };
    atomic_store_explicit(&p->shared.refs, 1, memory_order_relaxed);
    char *at = p->octets;
    p->topic = topic_message_put(&at, topic);
    p->event = topic_message_put(&at, given->event);
    p->id = topic_message_put(&at, given->id);
    if (!given->id.ptr) p->id.ptr = NULL; // an empty id is one, too
    p->frame = topic_message_put_head(&at, given);
    p->message = topic_message_put(&at, given->octets);
    p->frame.len += p->message.len;
    budget_add(&server->memory, size);
    return p;
}

size_t topic_message_octets(const topic_message *p)
{
    size_t event = atomic_load_explicit(&p->shared.event_octets, memory_order_relaxed);
    return event > p->frame.len ? event : p->frame.len;
}

void topic_message_keep(topic_message *p)
{
    atomic_fetch_add_explicit(&p->shared.refs, 1, memory_order_relaxed);
}

void topic_message_release(void *user)
{
    topic_message *p = user;
    if (atomic_fetch_sub_explicit(&p->shared.refs, 1, memory_order_acq_rel) != 1) return;
    size_t event_octets = atomic_load_explicit(&p->shared.event_octets, memory_order_relaxed);
    budget_drop(&p->server->memory, p->size + event_octets);
    memory_free(atomic_load_explicit(&p->shared.event, memory_order_relaxed));
    topic_deflated_free(p);
    memory_free(p);
}

// Two workers may make it at a time: the first one's is used.
bool topic_message_event(topic_message *p, slice *event)
{
    const skua_event given = { .data = p->message, .name = p->event, .id = p->id };
    size_t len = event_format(&given, NULL);
    char *made = atomic_load_explicit(&p->shared.event, memory_order_acquire);
    if (!made) {
        char *own = memory_alloc(len), *none = NULL;
        if (!own) return false;
        (void)event_format(&given, own);
        made = own;
        if (atomic_compare_exchange_strong_explicit(&p->shared.event, &none, own,
                                                    memory_order_acq_rel, memory_order_acquire)) {
            atomic_store_explicit(&p->shared.event_octets, len, memory_order_relaxed);
            budget_add(&p->server->memory, len);
        } else {
            memory_free(own);
            made = none;
        }
    }
    *event = slice_make(made, len);
    return true;
}
