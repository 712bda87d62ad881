// SPDX-License-Identifier: MIT
//
// The client's end of a connection to a host: a real socket, or one of the simulated kernel.
// Nothing here blocks. Over TLS, octets and ends are those of the session: FIN takes close_notify
// along, and an end without it is a reset. Over HTTP/2, octets are those of HTTP/1 that stand for its
// streams: wire_h2.h.
#ifndef TESTS_SCENARIOS_WIRE_H
#define TESTS_SCENARIOS_WIRE_H

#include "scenarios/host.h"
#include "scenarios/wire_h2.h"
#include "scenarios/wire_tls.h"
#include "app/text.h"

typedef struct wire {
    sim_client *end; // NULL: a real socket
    int fd;          // -1: closed
    wire_tls *tls;   // NULL: in the clear
    wire_h2 *h2;     // NULL: HTTP/1
    text got;        // by the real socket
    bool paused, eof, reset, lost, finned;
    bool ended;    // close_notify is behind the last of HTTP/2's frames
    bool finishes; // FIN behind what TLS or HTTP/2 has for the wire
} wire;

// receive_octets: of the real socket's receive buffer; 0: what the kernel likes.
void wire_connect(wire *w, const host *h, int receive_octets);
// The far end of a connection that waits at a real listener; false: none does.
bool wire_accept(wire *w, int listener);
void wire_hang_up(wire *w); // when the server has ended its side
void wire_free(wire *w);

// Returns how much was taken. A dead connection takes everything, as a real one does at first.
size_t wire_send(wire *w, slice octets);
bool wire_may_stall(const wire *w); // the server may have to do something before more is taken
bool wire_is_open(const wire *w);   // the handshake is complete, if there is one
void wire_finish(wire *w);          // FIN
void wire_reset(wire *w);

void wire_pause(wire *w, bool paused);

// Takes what has come. Returns whether anything has.
bool wire_receive(wire *w);

// All octets so far; valid until the next wire_receive.
slice wire_received(const wire *w);
bool wire_is_eof(const wire *w);
bool wire_is_reset(const wire *w);

#endif
