// SPDX-License-Identifier: MIT
//
// Slot: where the handle of a socket leads, in a registry that the process keeps for ever. Other
// threads bring letters to the socket's worker; each is counted in the slot while it is under way,
// so that the slot has no other socket meanwhile, and its worker does not end.
#ifndef SKUA_WS_SLOT_H
#define SKUA_WS_SLOT_H
#ifndef SKUA_NO_WEBSOCKET

#include "base/registry.h"
#include "exchange/worker.h"

typedef struct ws_session ws_session;
typedef struct ws_parked ws_parked;

typedef struct ws_slot {
    registry_slot slot; // first; its handle is good while the socket is
    skua_worker *worker;
    // The worker's to look at; both NULL: closed.
    ws_session *session;
    ws_parked *parked;
    struct {
        _Atomic(uint64_t) state; // the word of the slot, odd when closed; whether its socket is
                                 // closing; and letters under way
        _Atomic(const void *) home;
        _Atomic(uint64_t) posted;     // octets of messages on their way, or waiting at the worker
        _Atomic(uint64_t) queued_max; // octets of one message
        _Atomic(uint64_t) posted_max;
        _Atomic(uint64_t) dropped; // messages that were left out
        atomic_bool told;          // a letter says that one was refused
        _Atomic(int) slow;         // skua_websocket_slow of the socket
    } shared;
    void *object; // of skua_socket_set
} ws_slot;

// A slot for a socket to come.  Errors: SKUA_ENOMEM, SKUA_ELIMIT.
skua_status ws_slot_take(skua_worker *w, ws_slot **slot);

// Puts back a slot that was not opened.
void ws_slot_put(skua_worker *w, ws_slot *slot);

// Opens a slot for a session. Returns: its handle.
skua_socket ws_slot_open(ws_slot *slot, ws_session *session);

// Closes it: its handle is refused from here on.
void ws_slot_close(ws_slot *slot);

// The slot that a handle once named; NULL for what is no handle. *word: what it needs for being good.
// Thread: any.
ws_slot *ws_slot_find(skua_socket socket, uint64_t *word);

// Whether this is the thread of the worker that the slot belongs to.
bool ws_slot_is_here(const ws_slot *slot);

// The handle of an open slot.  Thread: the slot's worker.
skua_socket ws_slot_handle(const ws_slot *slot);

// The session of the slot, made anew for a parked socket; NULL when the socket is closed, also now for want of
// memory.  Thread: the slot's worker.
ws_session *ws_slot_awake(const ws_slot *slot);

// The session of a handle that only its worker may look at; NULL when it has closed. function: that of skua.h
// that was called.
ws_session *ws_slot_session_here(skua_socket socket, const char *function);

// The slot of a handle that is good and that only its worker may look at; NULL when the socket has closed. It is left
// parked. function: that of skua.h that was called.
ws_slot *ws_slot_here(skua_socket socket, const char *function);

// Counts a letter that is about to be posted. last: it says to close, and none is taken behind it.
// Errors: SKUA_ECLOSED the word is not good any more, or the socket closes; SKUA_ELIMIT.  Thread: any.
skua_status ws_slot_pin(ws_slot *slot, uint64_t word, bool last);

// Whether the socket of that word closes, or has closed.  Thread: any.
bool ws_slot_is_closing(const ws_slot *slot, uint64_t word);

// The socket closes: no letters are taken any more.
void ws_slot_shut(ws_slot *slot);

// A letter has been delivered.
void ws_slot_unpin(ws_slot *slot);

// The worker's free slots go back to the registry.
void ws_slot_give_back(skua_worker *w);

#endif
#endif
