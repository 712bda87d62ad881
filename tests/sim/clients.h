// SPDX-License-Identifier: MIT
//
// Clients of the simulation: what each of them asks, and the script of octets that it becomes. All
// of it follows from the dice of the play.
#ifndef TESTS_SIM_CLIENTS_H
#define TESTS_SIM_CLIENTS_H

#include "sim/site.h"

enum { CLIENTS_MAX = 4, ASKED_MAX = 10 };
enum { REPLAYED = 20 }; // one seed in so many runs twice

typedef enum ask {
    ASK_HELLO,
    ASK_HEAD,
    ASK_ECHO_LENGTH,
    ASK_ECHO_CHUNKED,
    ASK_ECHO_EXPECT, // with Expect: 100-continue, and the content only when that has come
    ASK_COUNT_LENGTH,
    ASK_COUNT_CHUNKED,
    ASK_PULL,
    ASK_LENGTH,
    ASK_LENT,
    ASK_LATER,
    ASK_TICKET,
    ASK_BLOCKING,
    ASK_FILE,
    ASK_DIRECTORY,
    ASK_KEPT,          // a file that is read
    ASK_PARTS,         // of a file, as multipart/byteranges
    ASK_MISSING,       // 404
    ASK_BAD_METHOD,    // 405
    ASK_IGNORED,       // content that the handler does not read
    ASK_STREAM,        // written piece by piece
    ASK_DUPLEX_LENGTH, // content that comes back while it is still coming
    ASK_DUPLEX_CHUNKED,
    ASK_KINDS,  // those that may come at any place end here
    ASK_FAIL,   // the source fails
    ASK_BROKEN, // 400, and the end of the connection
    ASK_OLD,    // HTTP/1.0: of unknown length, ended by the connection's end
    ASK_CLOSE,  // Connection: close
    ASK_TUNNEL, // 101, and what is sent behind the head comes back
} ask;

typedef struct asked {
    ask kind;
    uint64_t tag, len;
    size_t end; // where it ends in the script
} asked;

// The last act of a client, after its script.
typedef enum after {
    AFTER_SHUTDOWN, // half-closes
    AFTER_STAY,     // until the server closes
    AFTER_RESET,    // at some time
    AFTER_CUT,      // half-closes somewhere within
    AFTER_STALL,    // sends nothing more from somewhere within
} after;

typedef struct client {
    sim_client *end;
    char *script;
    size_t len, room, upto, stop; // stop: no further than that
    size_t barrier;               // not beyond it before a 100 has come; 0: none
    bool finned, reset;
    asked asked[ASKED_MAX];
    unsigned asked_count;
    after after;
} client;

typedef struct play {
    uint64_t seed;
    site site;
    client clients[CLIENTS_MAX];
    int client_count;
    bool files_fail;  // the kernel may refuse files
    bool few;         // connections are refused
    bool sluggish;    // deadlines may pass
    bool staffed;     // workers come and go
    bool half_close;  // clients that send no more are waited for
    unsigned starved; // so many of a thousand allocations of the server fail
    uint64_t memory;  // which ones
} play;

static inline uint64_t dice(play *p, uint64_t n)
{
    return sim_random(p->site.kernel) % n;
}

// Whether the connection ends with the answer to such a request.
bool ask_ends(ask kind);

// Decides what the client asks, and writes its script.
void client_write_script(play *p, client *c);

#endif
