// SPDX-License-Identifier: MIT
//
// The application of the tests: a route for each way of reading and of answering. Whoever runs it
// decides when what is put off goes on, and what is left to chance. It uses the public interface
// alone.
//
//     /hello                  answers "Hello", whatever content comes with it
//     GET /tell               answers what is known of the request
//     GET /status/{len}, /error/{len}, /redirect, /cookie, /hints, /close
//     POST /refuse/{len}      answers without reading
//     GET /later/{tag}/{len}  is answered when it goes on
//
//     POST /echo              collects the content, or spools it, and answers with it
//     POST /spool             keeps it in a file meanwhile
//     POST /form              reads the parts of a form
//     POST /count             reads the content piece by piece and answers with its length
//     POST /count/slowly      the same, with credit now and then
//     POST /sum               the same, and answers with the content's sum too
//     POST /at-most/{len}     counts content of a bounded length
//
//     GET /pull/{tag}/{len}   octets of the pattern, of unknown length, with waits and a trailer
//     GET /length/{tag}/{len} the same of stated length
//     GET /lent/{tag}/{len}   lends them
//
//     GET /stream/{tag}/{len} writes them as there is room
//     POST /duplex            writes the content while it comes
//     GET /tunnel             becomes a tunnel that sends back what comes
//     GET /tunnel/first       one that says something and closes its half
//     POST /tunnel/kept       one behind content that it gives no credit for
//     GET /events             three events, and another one later
//     GET /events/ticking/{len} so many comments and events, one after the other
//
//     GET /pull/open/{tag}/{len}, /stream/open/{tag}/{len}, /events/open  have no end
//     GET /short/{tag}/{len}  states more than it has
//     GET /fail/{tag}/{len}   has a source that fails
//     GET /abort, /abort/late, /never
//
//     GET /ticket, /ticket/{tag}/{len}, /offloaded, POST /blocking  other threads answer
//     GET /offloaded/held     takes a ticket when the helper has done its work
//
//     GET /file, /file/{name} a file that the handler opens
//     GET /written            writes one into a stream
//     GET /files/             the folder
//     GET /small/             the same, read into memory
//     GET /kept/, /lost/      the same with listings, kept between pieces or not
#ifndef TESTS_APP_H
#define TESTS_APP_H

#include "app/text.h"

#include <stdatomic.h>

typedef struct app app;
typedef struct visit visit;

// The act of visit_go_on that a visit waits for.
typedef enum visit_wait {
    VISIT_WAITS_NOT,
    VISIT_WAITS_ANSWER, // to be answered
    VISIT_WAITS_WAKE,   // its source said PENDING
    VISIT_WAITS_CREDIT, // it holds content that it has not given credit for
    VISIT_WAITS_PUSH,   // it has more to write
    VISIT_WAITS_EVENT,  // it has an event to send
    VISIT_WAITS_TICK,   // it has one of many to send
    VISIT_WAITS_RESUME, // its ticket is to be resumed, though it may have ended
} visit_wait;

// Functions of whoever runs the application. NULL, but for put_off and hand_over: nothing is done.
typedef struct app_manner {
    // A number below n; NULL: nothing is left to chance.
    uint64_t (*chance)(app *a, uint64_t n);
    // Is to call visit_go_on later, on the request's worker, though the request may have ended.
    void (*put_off)(visit *v);
    // Is to have the ticket resumed once, with visit_taken_up and the visit.
    void (*hand_over)(visit *v);
    // Takes its time: in a blocking handler, or with a piece of content.
    void (*labour)(bool blocking);
    // Notes content that is complete.
    void (*note_content)(visit *v, skua_slice content);
} app_manner;

struct app {
    const app_manner *manner;
    void *user; // of who runs it
    skua_server *server;
    skua_root *root;        // of /file
    const char *folder;     // that is served
    bool lenient;           // memory may run out, and clients leave
    bool keeps_stories;     // of visits, and their content
    bool forgets;           // visits are freed when they are over, and are in no list
    uint64_t len_max;       // of answers; 0: none
    uint64_t step_octets;   // between two waits of a source
    size_t piece_octets;    // of what is written at a time: at most APP_PIECE_OCTETS_MAX
    uint64_t window_octets; // more content must not come without credit; 0: it is not counted
    visit *visits, **visits_tail;
    atomic_uint begun, ended; // visits
    atomic_uint lent, released;
    atomic_uint granted, resumed; // resumptions, and calls of their function
    atomic_uint posted, ran;      // functions posted, and called
};

enum { APP_PIECE_OCTETS_MAX = 20000, APP_FILE_OCTETS = 90000, APP_FILE_TAG = 3 };

// One request that a handler looks after; outlives it.
struct visit {
    visit *next; // free for who runs an application that forgets
    app *app;
    skua_request *request; // NULL once it has ended
    bool told;             // on_end was called
    skua_end how;          // as it was told
    unsigned kept;         // by so many who come back to it
    visit_wait wait;
    text story;
    unsigned connection, number; // the how manieth of its connection, for who runs it
    struct asking *asking;       // of /ask of the scenarios
    skua_ticket ticket;
    uint64_t tag, len, at;   // of what is answered
    bool steps, waited;      // the source waits now and then; it has waited at this place
    bool fails;              // the source does in the end
    bool writes_file;        // into a stream
    bool adds_trailer, sums; // the answer does
    bool echoes;             // what comes is written
    bool complete;           // all content has come, or none will
    bool begun, pushing;     // a stream has begun; it is being written to
    size_t unconsumed;
    uint64_t octets, sum; // of the content so far
    text content;         // where it is kept
};

// ---- Life ----

// manner and what is decided with it are set already.
void app_init(app *a, const app_manner *manner, skua_server *server);

// Frees the visits. Returns what does not balance, in words, or NULL.
const char *app_free(app *a);

// Adds routes, by what they are about.
void app_add_answers(app *a);
void app_add_content(app *a);
void app_add_sources(app *a);
void app_add_streams(app *a);
void app_add_unfinished(app *a);
void app_add_threads(app *a);
void app_add_files(app *a); // folder and root are set

typedef struct app_route {
    const char *pattern;
    skua_handler *handler; // its user is the application
} app_route;

void app_add(app *a, const app_route *routes, size_t count);

// The folder of app_add_files: makes it, and removes it.
enum { APP_FOLDER_OCTETS = 64 };
bool app_folder_make(char *folder);
void app_folder_remove(const char *folder);

// Returns whether the status is OK. Stops the process at one that cannot be.
bool app_must(const app *a, skua_status status);

// Memory for the tests themselves, zeroed, even where the server's allocations are made to fail.
void *app_alloc(size_t octets);

// ---- Visits ----

// Begins the visit of a request. With attach its handler finds it.
visit *visit_begin(app *a, skua_request *request);
void visit_attach(visit *v);

// The visit that is attached, or NULL.
visit *visit_attached(skua_request *request);

// That one, or else one that begins, with its parameters read.
visit *visit_of(app *a, skua_request *request);

// To be called where the request ends, if that is heard of before on_end, and in place of on_end
// where a handler has its own.
void visit_end(visit *v);

// Keeps it though its request ends, and lets go.
void visit_keep(visit *v);
void visit_let_go(visit *v);

// Does what is put off.
void visit_go_on(visit *v);

// Takes up the request of a ticket: a skua_resume_fn.
void visit_taken_up(skua_request *request, void *user);

// Adds a line to the story. v: NULL is allowed.
void visit_note(visit *v, const char *format, ...) __attribute__((format(printf, 2, 3)));

// ---- For handlers ----

bool visit_tosses(const visit *v, unsigned n); // true by one chance in n
uint64_t visit_chance(const visit *v, uint64_t n);
void visit_put_off(visit *v, visit_wait wait);
void visit_answer(visit *v, int status, skua_slice content);
void visit_answer_text(visit *v, const char *sentence);

// Octets of the visit's pattern from where it is.
size_t visit_fill(visit *v, char *buffer, size_t room);

// The parts of visit_go_on.
void visit_give_credit(visit *v);
void visit_push(visit *v);
void visit_send_event(visit *v, bool ticks);
void visit_answer_pattern(visit *v);

// Octet number i of the pattern of that tag.
static inline char app_octet(uint64_t tag, uint64_t i)
{
    return (char)("abcdefghijklmnopqrstuvwxyz0123456789"[(tag * 7 + i * 5 + i / 97) % 36]);
}

static inline uint64_t app_sum(uint64_t sum, char octet)
{
    return (sum * 31 + (unsigned char)octet) % 1000000007;
}

// The answer of /sum, NUL-terminated, at most 63 octets.
void app_sum_text(char *words, uint64_t octets, uint64_t sum);

#endif
