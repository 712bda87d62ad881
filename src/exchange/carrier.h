// SPDX-License-Identifier: MIT
//
// Carrier: the stream of a protocol that an exchange belongs to. In HTTP/1 that is the connection's
// session, which carries one exchange after the other. A protocol's own struct begins with a
// carrier; its functions are a table, and the only place where its octets are made.
#ifndef SKUA_EXCHANGE_CARRIER_H
#define SKUA_EXCHANGE_CARRIER_H

#include "exchange/response.h"
#include "exchange/session.h"

typedef struct carrier carrier;

typedef struct carrier_table {
    // Whether a response's head fits; then *left is the room for more octets of fields, each with 4
    // more, or of the type. What does not fit now is refused by respond with SKUA_ELIMIT.
    bool (*head_fits)(const skua_request *r, const response *given, size_t *left);

    // Queues the head of a response and, unless it is pulled or pushed, its content. On success the
    // source is the queue's; if it fails, it stays the caller's. What is queued of the content is
    // counted in sent_octets of the request.
    // Errors: SKUA_ELIMIT the head is too large; SKUA_ENOMEM: the carrier is broken then.
    skua_status (*respond)(skua_request *r, const response *given);

    // Responds with content that is copied, as most responses are.
    skua_status (*respond_copied)(skua_request *r, int status, slice type, slice content);

    // Room for at least least octets of content, framed when they are committed. *room: how many
    // there are; NULL: exactly least will be committed. Returns NULL when memory ran out.
    char *(*reserve)(skua_request *r, size_t least, size_t *room);
    void (*commit)(skua_request *r, size_t octets);

    // Queues octets of a tunnel, as reserve and commit in one: they are written where the answer says before anything
    // else is queued. NULL for a carrier that frames them.
    char *(*append)(skua_request *r, size_t octets);

    // Queues content that is lent, or a file's. False when memory ran out: nothing was queued then.
    bool (*lend)(skua_request *r, const response_source *source);

    // Ends the content of a pulled or pushed response, with its trailers. False when memory ran
    // out.
    bool (*finish)(skua_request *r);

    // Queues an interim response. octets: of the fields, each with 4 more.
    // Errors: SKUA_ENOMEM.
    skua_status (*inform)(skua_request *r, int status, const skua_field *fields, size_t count,
                          size_t octets);

    // Turns the stream into a tunnel.
    // Errors: SKUA_EPROTOCOL the client did not ask for that; SKUA_ENOMEM: the carrier is broken.
    skua_status (*upgrade)(skua_request *r, slice protocol);

    // Octets of content that may be queued now; 0 while too much is.
    uint64_t (*room)(const skua_request *r);

    // Whether more than half of what may be queued is, in octets or in pieces.
    bool (*is_crowded)(const skua_request *r);

    // Octets of the response that are queued and have not left.
    uint64_t (*unsent)(const skua_request *r);

    // A request that occupies the carrier has ended, and somebody holds it; and nobody does any more.
    void (*occupy)(skua_request *r);
    void (*vacate)(carrier *c);

    // Asks to be gone on with from the loop: there is something to send or to read.
    void (*kick)(carrier *c);

    // The same where octets of a tunnel were queued and nothing else has changed.
    void (*send)(carrier *c);

    // A tunnel with nothing under way has been idle for a while: gives back what it needs only to send. NULL: that is nothing.
    // Returns: false if something is queued.
    bool (*rest)(carrier *c);

    // Queues octets of a parked tunnel, if that needs no more memory than they take in the queue, and if they and their
    // framing fit into a block. NULL: a parked tunnel has no carrier. Returns: false: nothing was queued.
    bool (*send_parked)(carrier *c, slice octets);

    // Whether the client has said that it sends no more.
    bool (*peer_is_done)(const carrier *c);
} carrier_table;

struct carrier {
    const carrier_table *table;
    session *session;      // of the connection
    uint32_t number;       // of the stream; 0: the connection has but one
    skua_request *current; // the exchange that is read or answered; NULL: none
    bool running;          // inside the protocol, which goes on without a kick when that returns
    bool broken;           // nothing more can be sent; it ends as soon as nobody is inside
    int64_t dropped_ns;    // when something was written last that is not sent, as of HEAD
};

// Nothing more can be sent: what is queued leaves, and the connection ends.
static inline void carrier_break(carrier *c)
{
    c->broken = true;
}

// Goes on with the exchange, unless its protocol is about to.
static inline void carrier_kick(carrier *c, const skua_request *r)
{
    if (r != c->current || !c->running) c->table->kick(c);
}

// Octets of a tunnel were queued: sends them, unless its protocol is about to.
static inline void carrier_send(carrier *c, const skua_request *r)
{
    if (r != c->current || !c->running) c->table->send(c);
}

#endif
