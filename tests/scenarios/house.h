// SPDX-License-Identifier: MIT
//
// The application of the scenarios: a route for each way of reading and answering, and hooks that
// write down what it is told of each request.
//
//     /hello             answers "Hello", whatever content comes with it
//     GET /tell          what is known of the request
//     POST /echo collects the content and answers with it; POST /spool keeps it in a file meanwhile
//     POST /count reads the content and answers with its length; POST /count/slowly gives credit
//     now and then
//     POST /at-most/{len}  the same, bounded
//     POST /form         answers with the parts of a form
//     POST /refuse/{len} answers without reading
//     GET /pull/{tag}/{len}   octets of the pattern, of unknown length, with waits and a trailer
//     GET /pull/open/{tag}/{len} gives so much, and then waits for ever
//     GET /length/{tag}/{len} the same of stated length, without waits
//     GET /short/{tag}/{len} states more than it has; GET /fail/{tag}/{len} has a source that fails
//     GET /lent/{tag}/{len}   lends them
//     GET /stream/{tag}/{len} writes them as there is room, with a trailer
//     GET /stream/open/{tag}/{len} writes so much, and never finishes
//     POST /duplex       writes the content while it comes
//     GET /tunnel becomes a tunnel that sends back what comes; GET /tunnel/first one that closes
//     its half; POST /tunnel/kept one behind content that it gives no credit for
//     GET /events        three events, and another one later;  GET /events/open one, and no end
//     GET /events/ticking/{len} so many comments and events, a tenth of a second apart
//     GET /hold          is answered when the scenario says so;  POST /hold/content the same
//     GET /hints, /redirect, /cookie, /status/{len}, /error/{len}, /abort, /abort/late, /close
//     GET /ticket, /posted, /offloaded, POST /blocking: other threads answer
//     GET /offloaded/held takes a ticket when the helper has done its work
//     GET /ticket/held   is resumed when the scenario says so
//     GET /file          a file, opened by the handler;  GET /written writes one into a stream
//     GET /files/        the folder;  GET /kept/ and /lost/ with listings, kept between pieces or
//     not
//     GET /ask/{len}     asks the far end, and answers with the so many octets it gets
//     GET /only          for 405
#ifndef TESTS_SCENARIOS_HOUSE_H
#define TESTS_SCENARIOS_HOUSE_H

#include "scenarios/run.h"

// One request, from before its handler on; outlives it.
struct visit {
    visit *next;
    run *run;
    unsigned connection, number; // the how manieth of its connection
    skua_request *request;       // NULL once it has ended
    bool told;                   // on_end was called
    text story;
    uint64_t tag, len, at; // of what is answered
    bool waited;           // the source was PENDING at this place
    bool fails;
    text content; // as far as it has come
    bool complete;
    size_t unconsumed;
    skua_ticket ticket;
    struct asking *asking; // of /ask
};

// The scenario's connections, in order of acceptance.
typedef struct house_connection {
    unsigned number, requests;
} house_connection;

bool house_take_connection(skua_connection *connection, void *user);
void house_drop_connection(skua_connection *connection, void *user);

// Adds the routes, and the hooks unless the scenario is unwatched.
void house_furnish(run *r, skua_server *server);

// The visit of a request; NULL when nobody watches.
visit *house_visit(skua_request *request);

void visit_note(visit *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
void visit_free(visit *v);

// Stops the process unless it is OK.
void house_must(skua_status status);

// The routes, by what they are about.
void house_add_content(run *r, skua_server *server);
void house_add_answers(run *r, skua_server *server);
void house_add_streams(run *r, skua_server *server);
void house_add_threads(run *r, skua_server *server);
void house_add_files(run *r, skua_server *server);
void house_add_asking(run *r, skua_server *server);

// Frees what a visit of /ask has left.
void house_free_asking(visit *v);

typedef struct house_route {
    const char *pattern;
    skua_handler *handler;
} house_route;

void house_add(run *r, skua_server *server, const house_route *routes, size_t count);

// The handler's visit, with the parameters tag and len read.
visit *house_enter(skua_request *request);

// Octets of the visit's pattern from where it is.
size_t visit_fill(visit *v, char *buffer, size_t room);

enum { HOUSE_FOLDER_OCTETS = 64, HOUSE_WINDOW_OCTETS = 65536 + IO_RECV_OCTETS };

// Makes the folder that is served, and removes it. folder: room for HOUSE_FOLDER_OCTETS.
bool house_folder_make(char *folder);
void house_folder_remove(const char *folder);

// Resumes the tickets of /ticket/held.
void house_resume(run *r);

// Answers /hold.
void house_release(run *r);
// Waits until a request was heard of, and every such one has ended.
void house_await_ends(run *r);
// Waits for a request of /hold or /ticket/held, and so for everything before it.
void house_await_held(run *r);
// Waits until the client of that request is known to send no more.
void house_await_done(run *r);

#endif
