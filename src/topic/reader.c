// SPDX-License-Identifier: MIT
//
// Readers. A WebSocket has said what is done when it is slow. An event stream whose queue is full is ended, so that
// its client comes again and says what it has had last.

#include "topic/reader.h"

#include "exchange/push.h"
#include "topic/deflated.h"
#include "topic/topic.h"
#include "ws/shared.h"

bool reader_is_one(const skua_request *r)
{
#ifndef SKUA_NO_WEBSOCKET
    if (r->is_socket) return ws_shared_session(r) != NULL;
#endif
    return r->responding == RESPONSE_PUSHED && r->push == PUSH_EVENTS;
}

skua_request *reader_of(const topic_seat *seat)
{
#ifndef SKUA_NO_WEBSOCKET
    if (!seat->reader) {
        const ws_session *s = ws_slot_awake(seat->parked);
        return s ? s->request : NULL;
    }
#endif
    return seat->reader;
}

static void reader_hand_event(skua_request *r, topic_message *p)
{
    slice event;
    if (p->binary) return;
    if (topic_message_event(p, &event) && skua_write(r, event) == SKUA_OK) return;
    if (r->responding == RESPONSE_PUSHED) (void)skua_finish(r);
}

#ifndef SKUA_NO_WEBSOCKET
static void reader_keep(void *user)
{
    topic_message_keep(user);
}

static size_t reader_hand_message(skua_request *r, topic_message *p)
{
    ws_shared shared = { .frame = p->frame,
                         .payload = p->message,
                         .message = p->message,
                         .opcode = p->binary ? WS_BINARY : WS_TEXT,
                         .keep = reader_keep,
                         .release = topic_message_release,
                         .user = p };
    ws_session *s = ws_shared_session(r);
    if (!s || s->socket.value == p->except.value || (p->manner & TOPIC_FOR_EVENTS)) return 0;
    unsigned bits = ws_shared_bits(s, p->message.len);
    if (bits && topic_message_deflated(p, r->worker, bits, &shared.frame, &shared.payload))
        shared.opcode = (ws_opcode)((unsigned)shared.opcode | WS_COMPRESSED);
    return ws_shared_send(s, &shared);
}
#endif

size_t reader_hand(skua_request *r, topic_message *p)
{
    if (r->life != LIFE_GOES_ON) return 0;
#ifndef SKUA_NO_WEBSOCKET
    if (r->is_socket) return reader_hand_message(r, p);
#endif
    if (reader_is_one(r)) reader_hand_event(r, p);
    return 0;
}
