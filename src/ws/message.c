// SPDX-License-Identifier: MIT
//
// Messages in memory. One that is echoed, or sent to many, is not copied.

#include "ws/message.h"

#ifndef SKUA_NO_WEBSOCKET

#include "base/assert.h"
#include "base/budget.h"
#include "ws/spare.h"

ws_message *ws_message_new(skua_worker *w, size_t said, size_t room)
{
    ws_message *m = ws_spare_find(w, sizeof *m + (said > room ? said : room));
    if (!m) m = counted_alloc(&w->memory, sizeof *m + room);
    if (!m) return NULL;
    *m = (ws_message){ .worker = w, .holders = 1, .room = counted_room(m) - sizeof *m };
    return m;
}

bool ws_message_resize(ws_message **m, size_t room)
{
    SKUA_ASSERT((*m)->holders == 1 && room >= (*m)->len);
    ws_message *moved = counted_resize(&(*m)->worker->memory, *m, sizeof **m + room);
    if (!moved) return false;
    moved->room = room;
    *m = moved;
    return true;
}

void ws_message_drop(void *message)
{
    ws_message *m = message;
    if (m && --m->holders == 0) ws_spare_give(m->worker, m);
}

ws_message *ws_message_frame(skua_worker *w, ws_opcode opcode, slice payload, slice *frame)
{
    ws_message *m = w->told;
    if (!m || payload.ptr != m->octets || payload.len != m->len) return NULL;
    if (m->framed && m->framed != (uint8_t)opcode) return NULL;
    size_t head = ws_head_octets(payload.len);
    char *at = m->head + sizeof m->head - head;
    if (!m->framed) (void)ws_head_write(at, opcode, true, payload.len);
    m->framed = (uint8_t)opcode;
    m->holders++;
    *frame = slice_make(at, head + payload.len);
    return m;
}

#endif
