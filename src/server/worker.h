// SPDX-License-Identifier: MIT
//
// Worker: one thread, one loop, and everything that is its own: connections, memory, date, caches.
#ifndef SKUA_SERVER_WORKER_H
#define SKUA_SERVER_WORKER_H

#include "http/chunk.h"
#include "http/h1_head.h"
#include "disk/home.h"
#include "io/io.h"
#include "thread/gate.h"
#include "log/log.h"
#include "thread/mailbox.h"
#include "server/request.h"

#include <pthread.h>

enum { WORKER_LOCALS_MAX = 16, WORKER_LISTENERS_MAX = 16, WORKER_HOST_OCTETS = 64 };

// "Date: Sun, 06 Nov 1994 08:49:37 GMT" CRLF
enum { WORKER_DATE_OCTETS = 37 };

// A socket on its way from the worker that accepted it to another.
typedef struct handed handed;

struct skua_worker {
    disk_home disk; // first: see disk_home_of
    io_loop loop;
    skua_server *server;
    unsigned index;
    pthread_t thread;
    bool thread_started;

    pool connections;
    block_store blocks;
    session *free_sessions;
    skua_request *free_requests;
    ticket_slot *free_tickets;
    h1_limits head_limits;
    chunk_limits chunk_limits;

    int64_t date_from_ns; // date_line holds for a second from then
    char date_line[WORKER_DATE_OCTETS];
    uint8_t host_len; // the last Host that was found acceptable
    char host[WORKER_HOST_OCTETS];

    mailbox mail;
    gate posting; // inside: what skua_post has taken, and sockets handed over, not yet delivered
    io_op wake;
    io_op watches; // changes of directories
    io_op listeners[WORKER_LISTENERS_MAX];
    unsigned listener_count;
    int listen_fds[WORKER_LISTENERS_MAX]; // the sockets themselves, the server's to close
    mailbox handed_back; // letters of its own that others have taken the socket from
    handed *free_handed;
    unsigned turn;     // the worker that gets the next socket
    mail evict_letter; // under way while shared.evicting
    log_lane *lane;
    void *locals[WORKER_LOCALS_MAX];

    uint64_t accepted;  // connections, refused ones among them
    uint64_t refused;   // for want of memory, beyond connections_max, or by on_connect
    unsigned held;      // holds of requests, some of which may have ended
    unsigned orphans;   // tickets resumed whose request has gone before fn was called
    unsigned blocking;  // requests that blocking handlers have
    bool failed;        // its loop cannot go on: it closes everything, and has its mail by looking
    bool began;         // on_worker_start was called, and on_worker_end not yet
    int64_t end_at_ns;  // when draining ends
    struct {
        atomic_bool evicting; // it has been told to close descriptors, and has not heard it yet
    } shared;
};

_Static_assert(offsetof(skua_worker, disk) == 0, "disk_home_of");

// Makes a worker ready to run: memory, loop, wake-up. listeners come with worker_listen.
skua_status worker_open(skua_worker *w, skua_server *server, unsigned index,
                        const io_backend *backend);
void worker_close(skua_worker *w);

// Takes connections from a listening socket.
void worker_listen(skua_worker *w, int fd);

// Tells the program that the worker begins to turn, on the thread that turns it, and that it has
// ended.
void worker_begin(skua_worker *w);
void worker_end(skua_worker *w);

// One turn; false when the worker has ended.
bool worker_turn(skua_worker *w, int64_t timeout_ns);

// Sees to a stop that was asked for; false when the worker has ended.
bool worker_goes_on(skua_worker *w);

// How long the next turn will wait if nothing happens; -1: for ever.
int64_t worker_timeout_ns(const skua_worker *w);

// Brings a letter to the worker.  Thread: any.
void worker_post(skua_worker *w, mail *letter);

// Whether one more connection may be opened.
bool worker_has_room(const skua_worker *w);

// Closes cached descriptors; returns whether there were any.
bool worker_evict(skua_worker *w);

// The line of the second in which this turn began.
void worker_date_renew(skua_worker *w);

static inline const char *worker_date(skua_worker *w)
{
    // Unsigned: so does a clock that was set back.
    if ((uint64_t)(w->loop.unix_ns - w->date_from_ns) >= 1000000000) worker_date_renew(w);
    return w->date_line;
}

#endif
