// SPDX-License-Identifier: MIT
//
// Session: one WebSocket, on the tunnel of the request that asked for it. What comes goes to the
// program message by message; closings, pings and deadlines are its own.
// Invariant: a session that is not WS_CLOSED is in its worker's list, and its handle is good. One that
// is, is freed when nobody is inside.
#ifndef SKUA_WS_SESSION_H
#define SKUA_WS_SESSION_H
#ifndef SKUA_NO_WEBSOCKET

#include "exchange/request.h"
#include "exchange/worker.h"
#include "ws/deflate.h"
#include "ws/endpoint.h"
#include "ws/message.h"
#include "ws/slot.h"

typedef enum ws_state {
    WS_OPEN,
    WS_CLOSING, // our close has been asked for, and the peer's has not come
    WS_CLOSED   // the program has been told
} ws_state;

// A message that is sent piece by piece.
typedef struct ws_outgoing {
    bool open;  // it has begun, and not ended
    bool begun; // its first frame has been sent
    bool is_text;
    ws_utf8 text;
} ws_outgoing;

typedef struct ws_letter ws_letter;
typedef struct ws_call ws_call;

// The members that each message needs come first, in three lines of the processor's cache: they are not in its first one when
// octets come.
struct ws_session {
    skua_request *request;
    const ws_endpoint *endpoint;
    skua_socket socket;
    ws_call *call;   // its blocking function's; NULL: none runs, or it needs to know nothing more
    unsigned inside; // calls that use it
    uint8_t state;   // ws_state
    bool close_is_queued; // in WS_CLOSING: not as long as messages wait for room
    bool is_refused;      // the program is to be told when there is room
    bool is_paused;       // the program takes no messages for now
    bool is_broken;       // there is no memory for what must be: the last to leave closes it
    bool owes_pong;       // when there is room
    bool owes_closing;    // the program is to be told that this side closes it
    uint8_t pong_len;
    bool has_begun;      // open has returned
    uint8_t looks;       // by the alarm, while there was something to read first
    uint16_t close_code; // of our close, as long as that waits
    unsigned rate_count;
    int64_t rate_from_ns; // frames are counted for a second from then
    int64_t heard_ns;
    uint64_t messages_in, messages_out, octets_in, octets_out;
    // Before so many octets have been sent, nothing is looked at for which reading might pause or a message be refused.
    // 0: that is looked at each time
    uint64_t crowds_at;
    ws_reader reader;
    ws_slot *slot;
    ws_deflate *deflate; // NULL: no compression was agreed on
    ws_message *message; // what has come of one in more than one piece; NULL: none
    uint64_t queued_max;
    ws_letter *waiting, *waiting_last; // messages of other threads
    ws_outgoing outgoing;
    ws_session *next, *previous; // of the worker
    slice protocol;
    char *pong; // payload of the last one that is owed; in the request's memory
    io_alarm alarm;
    int64_t armed_ns; // when the alarm is due; INT64_MAX: never
    int64_t pinged_ns;
    int64_t close_by_ns; // INT64_MAX as long as our close has not left
    int64_t ends_ns;     // when it has been open for long enough; INT64_MAX: never
    // when the window began in which a rate is judged, and what had moved then: come of that, or, while our
    // close is leaving, left of everything
    int64_t window_ns;
    uint64_t window_len;
    char *held; // input that is read when the queue is shorter
    size_t held_len;
    size_t owed;              // octets that receive was given and that have not been given back
    uint64_t sent_at_look;    // by the request, at the last look for idle sockets
    uint64_t messages_before; // that had come when it was woken
    slice close_reason;       // in the request's memory, also where the program is told of it
};

_Static_assert(offsetof(ws_session, reader.left) <= 192,
               "three lines of the processor's cache for a message of one frame");

// The message that the program is being told of on this thread. Most are answered meanwhile: then the session's handle need
// not be looked up, and an echo need not be judged again.
typedef struct ws_told {
    ws_session *session; // NULL: there is none
    slice text;          // the message, which is UTF-8; its ptr is NULL where it is no text
} ws_told;

extern _Thread_local ws_told ws_told_now;

// One that is zeroed; NULL when memory ran out. counted_free_lined gives it back.
static inline ws_session *ws_session_new(skua_worker *w)
{
    ws_session *s = counted_alloc_lined(&w->memory, sizeof *s, 0);
    if (s) memset(s, 0, sizeof *s);
    return s;
}

enum { WS_DIRECT_OCTETS = 4096 }; // a message in one piece, up to this, needs no memory

// Around everything that uses a session: callbacks may close it. The last to leave a closed one frees
// it.
static inline void ws_session_enter(ws_session *s)
{
    s->inside++;
}
void ws_session_leave_rarely(ws_session *s);
static inline void ws_session_leave(ws_session *s)
{
    SKUA_ASSERT(s->inside > 0);
    if (s->is_broken || s->state == WS_CLOSED) ws_session_leave_rarely(s);
    else s->inside--;
}

// Does what is due by now. An alarm comes behind a turn of the loop, which may not have heard of everybody if the worker
// was busy before: so nobody is given up while there is something to read.
void ws_session_look(ws_session *s);

// The same, and nothing that may have come is read before.
void ws_session_look_last(ws_session *s);

// Makes it the reader of its request's tunnel, and one of the worker's; takes it from among these.
void ws_session_attach(ws_session *s, skua_request *r);
void ws_session_detach(ws_session *s);

// Sets the alarm for what is due next.
void ws_session_arm(ws_session *s);

// When there is something to do next for an open socket with nothing under way, unless the peer is heard of before;
// INT64_MAX: never.
int64_t ws_due_ns(const skua_websocket_desc *desc, int64_t heard_ns, int64_t pinged_ns,
                  int64_t ends_ns);

// The same for any.
int64_t ws_session_due_ns(const ws_session *s);

// The peer has broken the protocol or a limit: it is told, and nothing is read from it any more.
void ws_fail(ws_session *s, uint16_t code, const char *reason);

// A message begins to hold memory: it must come no slower than the minimum rate from now on.
void ws_message_begins(ws_session *s);

// Counts a message, a control frame, or a frame of one that is taken piece by piece.
bool ws_is_too_fast(ws_session *s);

// Makes room for more octets of the message. Returns: false when memory ran out.
bool ws_message_grow(ws_session *s, size_t more);

// Begins to close an open socket. reason: UTF-8.
void ws_session_close(ws_session *s, uint16_t code, slice reason);

// The same for a reader that is too slow, whose close is not waited for until all else has left.
void ws_session_close_slow(ws_session *s);

// Gives back octets that receive was given, at most s->owed.
void ws_session_consume(ws_session *s, size_t n);

// Stops reading, and goes on with it in a later turn.
void ws_session_pause(ws_session *s);
void ws_session_resume(ws_session *s);

// There is room in the queue again: skua_drained_fn.
void ws_session_drained(skua_request *r, void *user);

#endif
#endif
