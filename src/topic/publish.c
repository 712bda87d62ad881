// SPDX-License-Identifier: MIT
//
// The functions of skua.h for topics.

#include "base/assert.h"
#include "base/contract.h"
#include "base/sized.h"
#include "base/utf8.h"
#include "exchange/events.h"
#include "server/server.h"
#include "topic/delivery.h"
#include "topic/publish.h"
#include "topic/reader.h"
#include "ws/shared.h"

static bool topic_is_name(slice topic)
{
    return topic.len > 0 && topic.len <= TOPIC_NAME_OCTETS_MAX;
}

// Readers of a server with a relay also sit in a topic without a name, by which all are told of what concerns
// everybody.
static skua_status topic_join_everyone(skua_request *r, slice topic)
{
    skua_status status = topic_join(r, slice_make("", 0));
    if (!status) status = topic_join(r, topic);
    if (status) topic_leave_last(r);
    return status;
}

static skua_status topic_join_as(skua_request *r, slice topic)
{
    if (!topic_is_name(topic)) return SKUA_EINVAL;
    if (r->muted && r->push == PUSH_EVENTS) return SKUA_OK; // HEAD: nothing is heard of it
    if (r->life != LIFE_GOES_ON || !reader_is_one(r)) return request_refusal(r);
    return r->worker->server->relay ? topic_join_everyone(r, topic) : topic_join(r, topic);
}

skua_status skua_topic_join(skua_request *r, slice topic)
{
    request_expect(r, __func__);
    CONTRACT_SLICE(topic);
    return topic_join_as(r, topic);
}

skua_status skua_topic_leave(skua_request *r, slice topic)
{
    request_expect(r, __func__);
    CONTRACT_SLICE(topic);
    return topic_leave(r, topic);
}

#ifndef SKUA_NO_WEBSOCKET

skua_status skua_socket_join(skua_socket socket, slice topic)
{
    CONTRACT_SLICE(topic);
    const ws_session *s = ws_slot_session_here(socket, __func__);
    return s ? topic_join_as(s->request, topic) : SKUA_ECLOSED;
}

skua_status skua_socket_leave(skua_socket socket, slice topic)
{
    CONTRACT_SLICE(topic);
    const ws_session *s = ws_slot_session_here(socket, __func__);
    return s ? topic_leave(s->request, topic) : SKUA_ECLOSED;
}

#else

skua_status skua_socket_join(skua_socket socket, slice topic)
{
    (void)socket;
    CONTRACT_SLICE(topic);
    return SKUA_ECLOSED;
}

skua_status skua_socket_leave(skua_socket socket, slice topic)
{
    (void)socket;
    CONTRACT_SLICE(topic);
    return SKUA_ECLOSED;
}

#endif

// Whether it can be sent to every kind of reader that is to have it.
static bool topic_is_publishable(const skua_publication *given)
{
    if (given->binary) return !given->event.len && !given->id.ptr;
    return utf8_is_valid(given->octets) && event_is_one_line(given->event) &&
           event_is_one_line(given->id);
}

// Only what fits is added: a large publication that is refused must not keep out small ones meanwhile.
static bool topic_reserve(atomic_size_t *pending, size_t size)
{
    size_t before = atomic_load_explicit(pending, memory_order_relaxed);
    do {
        if (before > TOPIC_PENDING_OCTETS_MAX - size) return false;
    } while (!atomic_compare_exchange_weak_explicit(pending, &before, before + size,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

// Within the gate, so that the server does not begin to count its memory anew meanwhile.
static skua_status topic_publish(skua_server *server, slice topic,
                                 const skua_publication *publication, unsigned manner)
{
    size_t size = topic_message_size(topic, publication);
    if (size > TOPIC_PENDING_OCTETS_MAX) return SKUA_EINVAL;
    if (!topic_reserve(&server->shared.published, size)) return SKUA_ELIMIT;
    topic_message *p = topic_message_new(server, topic, publication);
    if (!p) {
        atomic_fetch_sub_explicit(&server->shared.published, size, memory_order_relaxed);
        return SKUA_ENOMEM;
    }
    p->manner = (uint8_t)manner;
    atomic_store_explicit(&p->shared.letters, 1, memory_order_relaxed);
    skua_status status = delivery_send(p);
    delivery_done(p);
    return status;
}

static skua_status topic_publish_within(skua_server *server, slice topic,
                                        const skua_publication *publication, unsigned manner)
{
    if (!gate_enter(&server->running)) return SKUA_ECLOSED;
    skua_status status = topic_publish(server, topic, publication, manner);
    gate_leave(&server->running);
    return status;
}

skua_status topic_publish_here(skua_server *server, slice topic, const skua_publication *given,
                               unsigned manner)
{
    SKUA_ASSERT(manner & TOPIC_FOREIGN);
    if ((topic.len && !topic_is_name(topic)) || !topic_is_publishable(given)) return SKUA_EINVAL;
    return topic_publish_within(server, topic, given, manner);
}

skua_status skua_topic_publish_sized(skua_server *server, slice topic,
                                     const skua_publication *publication, const skua_sizes *sizes)
{
    CONTRACT_SERVER(server);
    CONTRACT_SLICE(topic);
    CONTRACT_GIVEN(publication);
    CONTRACT_SIZES(sizes);
    skua_publication own;
    publication = SIZED_GIVEN(publication, sizes->publication, &own);
    CONTRACT_SLICE(publication->octets);
    CONTRACT_SLICE(publication->event);
    CONTRACT_SLICE(publication->id);
    if (!topic_is_name(topic) || !topic_is_publishable(publication)) return SKUA_EINVAL;
    const server_relay *relay = server->relay;
    if (relay && publication->octets.len > relay->message_octets_max) return SKUA_EINVAL;
    return topic_publish_within(server, topic, publication, 0);
}
