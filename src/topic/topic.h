// SPDX-License-Identifier: MIT
//
// Topics of a worker: the readers that have joined each, and publications that are still to be
// passed to them.
// Invariant: a topic has readers. A reader is a living request of the worker, whose list of seats
// has one seat for each topic that it has joined.
#ifndef SKUA_TOPIC_TOPIC_H
#define SKUA_TOPIC_TOPIC_H

#include "base/siphash.h"
#include "exchange/request.h"
#include "server/worker.h"
#include "topic/message.h"

typedef struct topic_entry topic_entry;
typedef struct topic_seat topic_seat;
typedef struct topic_letter topic_letter;

enum {
    TOPIC_NAME_OCTETS_MAX = 255,
    TOPIC_SEATS_MAX = 1024,   // topics of a reader
    TOPIC_TURN_READERS = 512, // readers of a worker that are handed publications in one turn
    TOPIC_TURN_ALONE = 64,    // the same while a worker has one publication to hand out
    TOPIC_TURN_OWN = 4096,    // octets compressed for one reader alone that count as another reader
    TOPIC_PENDING_OCTETS_MAX = 16777216 // of publications of a server that are on their way
};

// A reader of a topic.
struct topic_seat {
    topic_seat *next, *previous; // of the topic
    topic_seat *next_of_reader;
    topic_entry *of;
    skua_request *reader;
    struct ws_slot *parked; // the socket, while it is parked; reader is NULL then
};

struct topic_entry {
    topic_entry *next; // of its bucket
    topic_seat *seats;
    uint64_t hash;
    uint8_t len;
    char name[];
};

// Publications arrive in the order of each publisher, and wait in that order until those before have been
// handed to everybody.
struct topic_table {
    siphash_key key;
    lease *memory; // of the worker
    topic_entry **buckets;
    size_t room, count;
    topic_letter *first, *last;
    uint64_t arrived, done; // publications so far, and those of them that are done with
    uint64_t former;        // so many are from before the first reader came
    unsigned fences;        // letters under way, before which all are from then
    bool begun;             // the first is being handed out: to those from cursor on
    bool comes_again;       // again is under way
    topic_seat *cursor;     // NULL: everybody has it
    int64_t turn_ns;        // the turn in which was handed out last, and what may be in it still
    unsigned readers_left;
    uint64_t octets_left;
    mail again;
};

// The topic of that name; NULL: it has no readers here.
topic_entry *topic_find(struct topic_table *table, slice name);

// Lets a reader join. name: may be empty, for the topic of all readers.
// Errors: SKUA_ENOMEM; SKUA_ELIMIT.
skua_status topic_join(skua_request *reader, slice name);

// Errors: SKUA_ENOENT it has not joined.
skua_status topic_leave(skua_request *reader, slice name);

// Lets a reader leave the topic without a name, if it has joined no other.
void topic_leave_last(skua_request *reader);

// Frees the table of a worker that has no topics, and nothing to hand out.
void topic_table_drop(server_worker *w);

#endif
