// SPDX-License-Identifier: MIT
//
// Worker: one thread, one loop, and everything that is its own: connections, memory, date, caches.
#ifndef SKUA_SERVER_WORKER_H
#define SKUA_SERVER_WORKER_H

#include "exchange/worker.h"
#include "thread/gate.h"

#include <pthread.h>

enum { WORKER_LOCALS_MAX = 1024, WORKER_LISTENERS_MAX = 16 };

// A socket that was accepted, or is to be: then there is no fd, and of the peer only the listener's facts.
typedef struct arrival {
    io_address peer; // unknown: see io_backend.peer
    int fd;
    bool secure; // TLS is spoken there
} arrival;

// A socket on its way from the worker that accepted it to another.
typedef struct handed handed;

typedef struct secure_worker secure_worker;

typedef struct server_worker server_worker;

// A call to a worker from any thread, of which one at a time is under way: whoever calls again
// before it has been heard adds nothing.
typedef struct worker_call {
    mail letter; // first
    void (*heard)(server_worker *w);
    struct {
        atomic_bool under_way;
    } shared;
} worker_call;

struct server_worker {
    skua_worker self; // first: what exchanges and the program know of it
    pthread_t thread;
    bool thread_started;

    pool connections; // all endpoints, of both sides
    unsigned serving; // connections that were accepted and are not closed: connections_max
    mailbox mail;
    gate posting; // inside: what skua_post has taken, and sockets handed over, not yet delivered
    io_op wake;
    io_op watches;                          // changes of directories
    io_op listeners[WORKER_LISTENERS_MAX];  // by the listener's number
    arrival arrivals[WORKER_LISTENERS_MAX]; // what comes by each of them
    bool hands_off;                         // some of what it accepts, to all workers
    bool is_deaf;                           // it accepts no more
    bool settles;                           // it still accepts from a listener that goes
    int listen_fds[WORKER_LISTENERS_MAX];   // sockets of its own; -1: none
    mailbox handed_back; // letters of its own that others have taken the socket from
    handed *free_handed;
    unsigned turn;        // the worker that gets the next socket
    worker_call evicting; // told to close descriptors
    worker_call pressed;  // told that memory is short
    mail change;          // of change.h
    void *locals[WORKER_LOCALS_MAX];
    secure_worker *secure; // of secure.h; NULL: TLS is not spoken

    struct {
        atomic_uint seats; // readers of topics
    } shared;

    uint64_t accepted; // connections that were taken, by which they are numbered
    bool failed;       // its loop cannot go on: it closes everything, and has its mail by looking
    bool began;        // on_worker_start was called, and on_worker_end not yet
    int64_t end_at_ns; // when draining ends
    io_deadline sweeping; // of sweep.h
    io_deadline pressing; // of pressure.h
    io_deadline settling; // of listening.h
    // how long a connection may be idle, and linger; short while draining
    int64_t keep_alive_ns, linger_ns;
    int64_t handshake_ns; // how long a handshake may take
};

_Static_assert(offsetof(server_worker, self) == 0, "worker_of");

static inline server_worker *worker_of(skua_worker *w)
{
    return (server_worker *)(void *)w;
}

// Whether one more connection may be opened.
bool worker_has_room(const server_worker *w);

// Makes the call, one of to's, unless it is under way. heard is called on the worker's thread; it
// is not when the worker is ending.  Thread: any.
void worker_tell(server_worker *to, worker_call *call, void (*heard)(server_worker *w));

#endif
