// SPDX-License-Identifier: MIT
//
// Request: its head, the state of its content, and the state of its response.
// Invariant: base and every slice of the head are valid until request_end has returned.
#ifndef SKUA_EXCHANGE_REQUEST_H
#define SKUA_EXCHANGE_REQUEST_H

#include "base/arena.h"
#include "base/assert.h"
#include "base/contract.h"
#include "disk/work.h"
#include "exchange/response.h"
#include "http/head.h"
#include "http/target.h"
#include "route/router.h"
#include "thread/here.h"

typedef struct carrier carrier;
typedef struct spool spool;
typedef struct ticket_slot ticket_slot;
typedef struct request_object request_object;
typedef struct response_filter response_filter;
typedef struct blocking_call blocking_call;

typedef enum request_reading {
    READING_HEAD,
    READING_CONTENT,
    READING_TUNNEL, // the tunnel's octets, until the peer sends no more
    READING_DONE
} request_reading;

// From RESPONSE_QUEUED on the request is answered.
typedef enum request_responding {
    RESPONSE_NONE,
    RESPONSE_HEADING, // middleware is told of the head, and may add fields to it
    RESPONSE_PULLED,  // the head is queued, content is being pulled
    RESPONSE_PENDING, // the same, and the source is to call skua_wake
    RESPONSE_PUSHED,  // the head is queued, content is written by the handler
    RESPONSE_QUEUED,  // every octet is queued
    RESPONSE_FAILED   // it cannot be completed: what is queued leaves, and the connection ends
} request_responding;

// How the content ended for its reader, or would have for one.
typedef enum request_delivery {
    DELIVERY_GOES_ON,
    DELIVERY_COMPLETE,
    DELIVERY_LOST,    // the rest will not come
    DELIVERY_TOO_LONG // the same, since it is longer than content_max: 413
} request_delivery;

// Whether the client waits for 100 (Continue) before it sends content (RFC 9110 §10.1.1).
typedef enum request_expectation {
    EXPECTATION_NONE,
    EXPECTATION_OPEN, // it asked for that, and has sent nothing behind the head
    EXPECTATION_MET   // it has had the 100, or has sent content without
} request_expectation;

// A request can be answered while it goes on. When it has ended, middleware and on_end are told, and can still read all
// of it. When it is over, only its memory is left, for those who hold it.
typedef enum request_life { LIFE_GOES_ON, LIFE_ENDED, LIFE_IS_OVER } request_life;

// The kind of content that the handler writes. From PUSH_EVENTS on it may be quiet for long.
typedef enum request_push {
    PUSH_NONE, // not, or plain content
    PUSH_EVENTS,
    PUSH_TUNNEL,
    PUSH_TUNNEL_DONE, // our half is to be closed
    PUSH_TUNNEL_SHUT  // our half is closed, or will be when what is queued has left
} request_push;

// Whether Content-Type was added as a field. Of that and what the response states, the later
// counts.
typedef enum request_type {
    TYPE_OF_RESPONSE,
    TYPE_BEFORE_RESPONSE, // added before the response was given
    TYPE_BEHIND_RESPONSE  // added by middleware to the response's head
} request_type;

// How far the filter of the content is.
typedef enum request_filtering {
    FILTERING_NONE,
    FILTERING_ADDED, // it will be told of the response
    FILTERING_RUNS,  // content passes through it
    FILTERING_OVER   // it has not wanted any, or has had it all
} request_filtering;

typedef struct param_list param_list;
typedef struct site_seat site_seat;

// Decoded parts of a request, and the memory in which they are kept.
typedef struct request_decoding {
    arena *memory;
    param_list *query, *form; // NULL: not asked for yet
} request_decoding;

struct skua_request {
    skua_request *next; // free, or leaving
    const void *home;   // the thread it belongs to; NULL: it is over, and nobody holds it
    skua_worker *worker;
    carrier *carrier;
    arena memory;

    // All of it is zero when the request is taken, down to base.
    // States, each with a setter below or in the file that is named.
    uint8_t life;        // request_life
    uint8_t reading;     // request_reading
    uint8_t expectation; // request_expectation
    uint8_t delivery;    // request_delivery
    uint8_t responding;  // request_responding
    bool spoiled;        // a field of the response is lost: see request_is_open
    uint8_t filtering;   // request_filtering
    bool muted;          // what the handler writes is dropped: HEAD, 204, 304
    uint8_t passing;     // middleware_state, in middleware.c
    uint8_t push;        // request_push
    // Facts: of what was asked, and of its response.
    bool is_head;    // content is not sent
    bool plain;      // skua_request_path_is_plain
    uint8_t outcome; // router_outcome
    uint8_t typed;   // request_type
    uint16_t status; // of the response
    // Facts that come to be, and stay.
    bool close; // the connection ends after this response
    // As bits, since the whole is cleared for each request.
    bool retires : 1;      // close was asked for by the program
    bool occupies : 1;     // its carrier is kept until nobody holds it: see carrier_table.vacate
    bool collects : 1;     // the content was asked for in one piece: collected and so on are set
    bool keeps : 1;        // it collects, has spools or a seat: there is something to be given back
    bool is_followed : 1;  // somebody is to be told when it is gone: see request_let_go
    bool blamed : 1;       // reason says why it was refused
    bool faulted : 1;      // the server has given the response, whatever the handler does
    bool erring : 1;       // an error function of the program's runs
    bool headed : 1;       // middleware has been told of the response's head
    bool complained : 1;   // the log has a line about its handler, which has not answered
    bool is_socket : 1;    // a WebSocket has its tunnel, and judges it
    bool paused : 1;       // its reader takes nothing for the moment
    bool reads_topics : 1; // topics is set
    bool unlogged : 1;     // the access log has no line about it
    bool stays_plain : 1;  // skua_compress_off
    bool rests : 1;        // its tunnel is to be parked when nothing is under way
    // Those that a blocking handler may look at are apart from those that the worker may change meanwhile.
    bool : 0;
    bool sited : 1;   // seat is set: it is for a site that is not the server's own
    bool timed : 1;   // timeout_ns is its own
    bool limited : 1; // content_max is the route's, and so the limit of what is collected
    uint32_t holds;
    // Each message of a WebSocket needs these, and what comes before them from worker on: two lines of the processor's cache.
    size_t unconsumed;
    skua_content_fn *reader;
    void *reader_user;
    uint64_t wanted;      // drained is called when there is so much room; 0: not
    uint64_t sent_octets; // of content: queued so far, and in the end handed to the kernel
    unsigned received_trailers_count;
    uint64_t entered;        // middleware that it has come to: bit i is number i of the set
    request_object *objects; // of skua_request_set
    ticket_slot *tickets;    // a ring; NULL: none was taken
    blocking_call *call;     // a blocking handler has it, or what it said is still sent; NULL: none
    spool *spools;           // what is kept of its content, in memory or files
    work_asker asker;        // of work of the library's
    slice method, target_text, authority, path, query;
    int64_t began_ns;     // when the head was complete
    uint64_t content_max; // of skua_content_limit; 0: none
    uint64_t content_got; // decoded from chunks
    uint64_t discarded;
    response_fields fields;    // added by the handler
    response_fields *trailers; // the same, behind the content; NULL: none
    skua_end_fn *end;

    // Nothing of what follows is of any use before it has been set.
    const char *base;          // the head's octets
    request_decoding decoding; // on the worker; see request_decoding_here
    uint64_t concerned;        // middleware that it has yet to come to, as in entered
    size_t head_left;          // in RESPONSE_HEADING: the room for what middleware adds
    const response *given;     // in RESPONSE_HEADING: the response
    response_filter *filter;   // unless filtering is FILTERING_NONE
    site_seat *seat;           // if sited
    int64_t timeout_ns;        // if timed: of its handler; 0: none
    struct topic_seat *topics; // if reads_topics: those that it has joined
    void *end_user;
    const char *reason; // a few words for the log, if blamed

    // Content
    skua_collected_fn *collected;
    void *collected_user;
    char *collection; // in the block while it fits, then from the heap
    block *collection_block;
    size_t collection_len, collection_room;
    uint64_t collection_max;

    // Response
    slice type; // Content-Type that was added as a field, if typed
    skua_pull_fn *pull;
    void *pull_user;
    int64_t pull_left; // -1: unknown; for what is written too
    skua_drained_fn *drained;
    void *drained_user;
    uint64_t mark; // the queue's total_in after the last octet of the response
    const skua_field *received_trailers;

    request_head head;
    router_match match;
    head_field head_fields[]; // room for limits.fields_max
};

// ---- The contract ----

// Stops the process: r is NULL, gone, or another thread's.
__attribute__((noreturn, cold)) void request_misused(const skua_request *r, const char *function);

// Stops the process, unless a blocking handler on this thread has the request.
__attribute__((cold)) void request_expect_blocking(const skua_request *r, const char *function);

// Checks that r is a living request of this thread's worker, and stops the process if it is not.
// function: the name of that of skua.h that was called.
static inline void request_expect(const skua_request *r, const char *function)
{
    if (__builtin_expect(!r || r->home != thread_here(), 0)) request_misused(r, function);
}

// Whether this is the thread of the request's worker. Else a blocking handler may have called, and
// recorder_of finds out.
static inline bool request_is_here(const skua_request *r)
{
    return __builtin_expect(r && r->home == thread_here(), 1);
}

// Checks r as request_expect does, for functions that only read the request, which its blocking
// handler may call too.
static inline void request_expect_reader(const skua_request *r, const char *function)
{
    if (__builtin_expect(!r || r->home != thread_here(), 0)) request_expect_blocking(r, function);
}

_Static_assert(offsetof(skua_request, spoiled) == offsetof(skua_request, responding) + 1,
               "request_is_open");

// Whether a response can be given as it is: none was, and no field of it is lost. One comparison, since
// each response asks.
static inline bool request_is_open(const skua_request *r)
{
    uint16_t both;
    memcpy(&both, &r->responding, sizeof both);
    return both == RESPONSE_NONE;
}

enum { REQUEST_HOT = offsetof(skua_request, worker) };

_Static_assert(REQUEST_HOT % _Alignof(skua_request) == 0, "counted_alloc_lined keeps it aligned");
_Static_assert(offsetof(skua_request, sent_octets) < REQUEST_HOT + 128, "REQUEST_HOT");
_Static_assert(offsetof(skua_request, muted) == offsetof(skua_request, responding) + 3,
               "request_is_plain");

// Whether it is open and no filter wants to be asked. One comparison too; nothing is muted as yet.
static inline bool request_is_plain(const skua_request *r)
{
    uint32_t all;
    memcpy(&all, &r->responding, sizeof all);
    return all == RESPONSE_NONE;
}

// Whether nothing more is taken for its response, or for any other.
static inline bool request_is_answered(const skua_request *r)
{
    return r->responding >= RESPONSE_QUEUED;
}

// Why a response, or what belongs to it, is not taken now.
static inline skua_status request_refusal(const skua_request *r)
{
    return r->life != LIFE_GOES_ON ? SKUA_ECLOSED : SKUA_ESTATE;
}

// ---- Life ----

// Octets of a request at these limits, without the memory that it allocates later.
size_t request_octets_at(const head_limits *bounds);

// A request whose head is to be read; NULL when memory ran out.
skua_request *request_take(skua_worker *w, carrier *c);

// Where this thread keeps what it reads of the request decoded.
request_decoding *request_decoding_here(const skua_request *r);

// Whether a response of this status is sent with its content: not to HEAD.
static inline bool request_gets_content(const skua_request *r, int status)
{
    return !r->is_head && !response_is_bare(status);
}

// The setters of its states, which hold each predecessor to be the right one.

static inline void request_set_responding(skua_request *r, request_responding next)
{
    switch (next) {
    case RESPONSE_NONE: SKUA_ASSERT(r->responding == RESPONSE_HEADING); break;
    case RESPONSE_HEADING: SKUA_ASSERT(r->responding == RESPONSE_NONE); break;
    case RESPONSE_PULLED:
        SKUA_ASSERT(r->responding == RESPONSE_NONE || r->responding == RESPONSE_PENDING);
        break;
    case RESPONSE_PENDING: SKUA_ASSERT(r->responding == RESPONSE_PULLED); break;
    case RESPONSE_PUSHED: SKUA_ASSERT(r->responding == RESPONSE_NONE); break;
    case RESPONSE_QUEUED:
    case RESPONSE_FAILED: SKUA_ASSERT(!request_is_answered(r)); break;
    }
    r->responding = (uint8_t)next;
}

// The content cannot be completed: the peer learns it from a close without the last chunk.
static inline void request_break(skua_request *r)
{
    r->close = true;
    request_set_responding(r, RESPONSE_FAILED);
}

static inline void request_set_reading(skua_request *r, request_reading next)
{
    SKUA_ASSERT(next != READING_CONTENT || r->reading == READING_HEAD);
    SKUA_ASSERT(next != READING_TUNNEL || r->reading == READING_DONE);
    r->reading = (uint8_t)next;
}

static inline void request_set_push(skua_request *r, request_push next)
{
    SKUA_ASSERT(next > PUSH_TUNNEL || next == PUSH_NONE || r->push == PUSH_NONE);
    SKUA_ASSERT(next <= PUSH_TUNNEL || r->push + 1 == (int)next);
    r->push = (uint8_t)next;
}

static inline void request_set_delivery(skua_request *r, request_delivery next)
{
    SKUA_ASSERT(next == DELIVERY_GOES_ON ? r->delivery <= DELIVERY_COMPLETE
                                         : r->delivery == DELIVERY_GOES_ON);
    r->delivery = (uint8_t)next;
}

static inline void request_set_expectation(skua_request *r, request_expectation next)
{
    SKUA_ASSERT(r->expectation + 1 == (int)next);
    r->expectation = (uint8_t)next;
}

static inline void request_set_life(skua_request *r, request_life next)
{
    SKUA_ASSERT(r->life != LIFE_IS_OVER);
    SKUA_ASSERT(next != LIFE_IS_OVER || request_is_answered(r));
    r->life = (uint8_t)next;
}

// From here on it takes no response.
static inline void request_close_response(skua_request *r)
{
    request_set_life(r, LIFE_ENDED);
    if (!request_is_answered(r)) request_set_responding(r, RESPONSE_QUEUED);
}

// Says in the log why the request is refused; the first reason stays. reason: a literal.
void request_blame(skua_request *r, const char *reason);

// The field of that id, if it came; its first line.
slice request_known_field(const skua_request *r, field_id id);

#endif
