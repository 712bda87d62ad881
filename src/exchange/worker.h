// SPDX-License-Identifier: MIT
//
// Worker, as exchanges use it: memory, time, routes and limits, and counts of work under way. The
// server's worker begins with one; nothing here depends on the server.
#ifndef SKUA_EXCHANGE_WORKER_H
#define SKUA_EXCHANGE_WORKER_H

#include "base/block.h"
#include "base/contract.h"
#include "base/pool.h"
#include "base/registry.h"
#include "disk/home.h"
#include "exchange/figures.h"
#include "exchange/hosts.h"
#include "exchange/site_parts.h"
#include "http/chunk.h"
#include "http/head.h"
#include "http/network.h"
#include "log/log.h"

typedef struct blocking blocking;
typedef struct site_view site_view;

struct topic_seat;
struct ws_slot;
struct ws_parked;

// Parking of the WebSocket that a connection or a stream carries: its session is given back while nothing is under way.
typedef struct parking_table {
    // Parks it if it may be; else it stays as it is.
    void (*park)(io_stream *stream);
    // Makes its session again. Returns: false when memory ran out: socket and connection have ended.
    bool (*unpark)(io_stream *stream);
    // The same because its client has sent something: while memory_max is reached the socket is closed, code 1013.
    bool (*unpark_to_read)(io_stream *stream);
    // Delivers a message to the parked socket of a slot, as far as it needs no session for that. opcode: a ws_opcode.
    // Returns: false: it is to be woken, and nothing was sent.
    bool (*deliver)(struct ws_slot *slot, int opcode, slice message);
    // The same for a close.
    bool (*close)(struct ws_slot *slot, uint16_t code, slice reason);
    // Hands the kernel octets for a parked one at once, protected where there is a transport. *left: how many have left.
    // Returns: false: nothing was sent. The others are to be queued by its session, as some may be on the wire.
    bool (*send_now)(io_stream *stream, slice octets, size_t *left);
    // Its deadline has come.
    void (*time_out)(io_stream *stream);
    // The same because its socket is used.
    bool (*unpark_to_use)(const struct ws_parked *parked);
    // Parks the socket of a stream whose carrier stays. Returns: NULL: it goes on as it is.
    struct ws_parked *(*park_stream)(skua_request *r);
    // Makes the request of that stream again, the carrier's current. reads: as its client has sent something.
    // Returns: false when memory ran out: the socket has ended, and the stream is to be reset.
    bool (*unpark_stream)(struct ws_parked *parked, bool reads);
    // When something is to be done for it; INT64_MAX: never. That has changed.
    int64_t (*due_ns)(const struct ws_parked *parked);
    void (*await)(const struct ws_parked *parked);
} parking_table;

enum { WORKER_HOST_OCTETS = 64, WORKER_GONE_KEPT = 64, WORKER_SPARES = 2 };

// "Date: Sun, 06 Nov 1994 08:49:37 GMT" CRLF
enum { WORKER_DATE_NAME_OCTETS = 6, WORKER_DATE_VALUE_OCTETS = 29, WORKER_DATE_OCTETS = 37 };

// Memory that HTTP/2 keeps for the next connections and streams.
typedef struct h2_worker {
    struct h2_memory *memories; // of sessions
    struct h2_work *free_works;
    out_queue nothing;   // queued by a session that has no work
    io_deadline resting; // when sessions are looked for that have been idle for a while
    struct h2_stream *free_streams;
    struct h2_backlog *free_backlogs;
    char *text;           // in which heads are put together; NULL: not needed yet
    int64_t date_from_ns; // date was made for the date_line of then
    uint8_t date_len;
    char date[WORKER_DATE_OCTETS + 3]; // the field as HPACK writes it, without a table
} h2_worker;

struct skua_worker {
    disk_home disk; // first: see disk_home_of
    io_loop loop;
    unsigned index;

    // The server's, and the same for all of its workers.
    skua_server *server; // to be handed to the program
    const skua_config *config;
    site_parts own;     // for hosts that are no site's
    blocking *blocking; // NULL: no route of that kind
    server_log *log;
    const host_rule *hosts;
    const network_list *trusted; // proxies

    site_view *sites;        // of other hosts; NULL: none
    lease memory;            // counts what connections make it hold
    uint64_t out_octets_max; // of the configuration, or less while slow
    uint8_t pressure;        // budget_level, as it was last seen
    bool slow;               // there is no memory: what is being served gets less of it
    block_store blocks;
    skua_request *free_requests;
#if CONTRACT_IS_SEARCHED
    skua_request *gone_requests[WORKER_GONE_KEPT]; // a ring: to be free when as many more have gone
    unsigned gone_count;
#endif
    struct h1_session *free_sessions; // of HTTP/1
    h2_worker h2;
    registry_slot *free_tickets, *free_timers, *free_sockets;
    struct ws_session *sockets; // WebSockets that are not closed, nor parked
    pool parked;                // those that are parked: see ws/parked.h
    io_deadline parking;        // when those are looked for that have been idle for a while
    uint8_t parking_frees;      // looks that may still find something to free
    size_t parking_freed;       // octets since the system has had them back
    int64_t woken_ns;           // the turn in which so many parked ones were woken to be used
    unsigned woken;
    const parking_table *parks;         // of server/parking.c
    struct ws_streams *ws_streams;      // that compress their messages; NULL: none needs any
    struct {                            // ws/share.c's: what the sockets share of a turn
        uint64_t inflated;              // octets in it
        int64_t turn_ns;                // when it began
        struct ws_waiter *first, *last; // those that wait
        const struct ws_waiter *served; // whose turn it is; NULL: nobody's
        io_alarm alarm;
    } ws_share;
    void *spares[WORKER_SPARES]; // for big messages: see ws/spare.h
    bool spares_rest;            // no message has used one since the last sweep
    struct ws_message *told;     // the one that the program is being told of; NULL: none
    struct topic_table *topics;  // NULL: no reader of this worker has joined a topic
    // Set with topics. All that a reader has joined: it leaves them; and they are moved to its new request, or, where
    // that is NULL, to its parked socket; where both are NULL, they are left.
    void (*leave_topics)(skua_request *reader);
    void (*move_topics)(skua_worker *w, struct topic_seat *seats, skua_request *reader,
                        struct ws_slot *parked);
    head_limits head_bounds;
    size_t request_octets; // of each, at these
    chunk_limits chunk_limits;
    uint64_t tells;   // TELL_…: what is told of each request
    log_lane *lane;   // of the access log; NULL: none
    figures *figures; // the server's

    int64_t date_from_ns; // date_line holds for a second from then
    char date_line[WORKER_DATE_OCTETS];
    uint8_t host_len; // the last Host that was found acceptable
    char host[WORKER_HOST_OCTETS];
    int64_t host_told_ns; // when the log was last told of one that is not served

    const char *complaint; // the last that the log was told; and when
    int64_t complaint_ns;

    unsigned held;             // holds of requests, some of which may have ended
    unsigned ticketed;         // requests that have taken tickets
    unsigned orphans;          // resumed tickets whose request was gone before fn was called
    unsigned blocked_requests; // requests that blocking handlers have

    struct poll_table *polls; // of the program; NULL: it has never had any
    uint64_t prepared_made;   // prepared responses, so far: the number of the last one
};

_Static_assert(offsetof(skua_worker, disk) == 0, "disk_home_of");

static inline const skua_config *worker_config(const skua_worker *w)
{
    return w->config;
}

// Brings a letter to the worker.  Thread: any.
static inline void worker_post(skua_worker *w, mail *letter)
{
    w->disk.post(w, letter);
}

// Whether so much of memory_max is used. The level that was seen last may be over: other workers give back what they
// keep for later when they hear of it.
bool worker_is_short_still(const skua_worker *w, budget_level level);

static inline bool worker_is_short(const skua_worker *w, budget_level level)
{
    return __builtin_expect(w->pressure >= level, 0) && worker_is_short_still(w, level);
}

// Writes a line of the program's log.
static inline void worker_log(const skua_worker *w, skua_slice message)
{
    log_message(w->log, message);
}

// Frees the requests that are kept for the next ones.
void worker_free_requests(skua_worker *w);

// Looks in a second for WebSockets that have been idle, unless it is about to.
void worker_look_for_rest(skua_worker *w);

// The same, and frees what the worker has of sessions, requests and blocks since some rest.
void worker_free_rest(skua_worker *w);

// Frees those of them that have not been used since the last sweep.
// Returns: octets that were freed.
size_t worker_sweep_requests(skua_worker *w);

// The line of the second in which this turn began.
void worker_date_renew(skua_worker *w);

static inline const char *worker_date(skua_worker *w)
{
    // Unsigned: so does a clock that was set back.
    if ((uint64_t)(w->loop.unix_ns - w->date_from_ns) >= 1000000000) worker_date_renew(w);
    return w->date_line;
}

#endif
