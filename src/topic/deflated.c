// SPDX-License-Identifier: MIT
//
// Compressed publications lie beside the message, each with its frame's head, and are counted as clients' memory.

#include "topic/deflated.h"

#ifndef SKUA_NO_WEBSOCKET

#include "base/budget.h"
#include "base/memory.h"
#include "http/ws_frame.h"
#include "server/server.h"
#include "ws/deflate.h"

struct topic_deflated {
    size_t head, payload; // octets; payload 0: it does not gain
    char octets[];
};

static topic_deflated *topic_deflated_shrink(topic_deflated *d)
{
    topic_deflated *shrunk = memory_resize(d, sizeof *d + d->head + d->payload);
    return shrunk ? shrunk : d;
}

// NULL when memory ran out. The payload is compressed behind room for the longest head, and moved to its own.
static topic_deflated *topic_deflated_new(const topic_message *p, skua_worker *w, unsigned bits)
{
    size_t room = WS_SENT_HEAD_OCTETS_MAX + p->message.len + WS_DEFLATE_ROOM_OCTETS;
    topic_deflated *d = memory_alloc(sizeof *d + room);
    if (!d) return NULL;
    *d = (topic_deflated){ 0 };
    char *packed = d->octets + WS_SENT_HEAD_OCTETS_MAX;
    size_t octets;
    if (ws_deflate_pack_alone(w, bits, p->message, packed, &octets)) {
        unsigned opcode = (p->binary ? WS_BINARY : WS_TEXT) | WS_COMPRESSED;
        d->head = ws_head_write(d->octets, (ws_opcode)opcode, true, octets);
        d->payload = octets;
        memmove(d->octets + d->head, packed, octets);
    }
    return topic_deflated_shrink(d);
}

static size_t topic_deflated_octets(const topic_deflated *d)
{
    return sizeof *d + d->head + d->payload;
}

// Two workers may make it at a time: the first one's is used.
static topic_deflated *topic_deflated_make(topic_message *p, skua_worker *w, unsigned bits)
{
    topic_deflated *own = topic_deflated_new(p, w, bits), *none = NULL;
    if (!own) return NULL;
    if (!atomic_compare_exchange_strong_explicit(&p->shared.deflated[bits - WS_DEFLATE_BITS_MIN],
                                                 &none, own, memory_order_acq_rel,
                                                 memory_order_acquire)) {
        memory_free(own);
        return none;
    }
    budget_add(&p->server->memory, topic_deflated_octets(own));
    return own;
}

bool topic_message_deflated(topic_message *p, skua_worker *w, unsigned bits, slice *frame,
                            slice *payload)
{
    topic_deflated *d =
        atomic_load_explicit(&p->shared.deflated[bits - WS_DEFLATE_BITS_MIN], memory_order_acquire);
    if (!d) d = topic_deflated_make(p, w, bits);
    if (!d || !d->payload) return false;
    *frame = slice_make(d->octets, d->head + d->payload);
    *payload = slice_from(*frame, d->head);
    return true;
}

void topic_deflated_free(topic_message *p)
{
    for (unsigned i = 0; i < WS_DEFLATE_WINDOWS; i++) {
        topic_deflated *d = atomic_load_explicit(&p->shared.deflated[i], memory_order_relaxed);
        if (!d) continue;
        budget_drop(&p->server->memory, topic_deflated_octets(d));
        memory_free(d);
    }
}

#else

void topic_deflated_free(topic_message *p)
{
    (void)p;
}

#endif
