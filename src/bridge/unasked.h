// SPDX-License-Identifier: MIT
//
// Unasked: replies that nobody has asked for, at which hiredis stops the process, whoever the store is; arrays that
// only say that they are long, for whose elements it takes memory and time at once; and replies that are long.
#ifndef SKUA_BRIDGE_UNASKED_H
#define SKUA_BRIDGE_UNASKED_H

#ifdef SKUA_REDIS

#include <hiredis/async.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    BRIDGE_ELEMENTS_MAX = 1048576, // of an array
    BRIDGE_REPLY_OCTETS_MAX =
        33554432, // of a reply: its strings, and what its objects take beside them
    BRIDGE_OBJECT_OCTETS = 64,
    BRIDGE_STREAM_ID_OCTETS = 48 // of an entry, as the store writes it
};

// The functions that make the objects of replies. They last as long as the connection.
typedef struct bridge_unasked {
    redisReplyObjectFunctions ours;
    const redisReplyObjectFunctions *usual;
    const unsigned *asked;  // commands without a reply
    const char *why;        // what is wrong with a reply that came; NULL: nothing
    bool is_long;           // that is it
    size_t octets;          // of the strings of the reply that is being read
    size_t objects;         // of it
    uint64_t octets_before; // of the replies before it
    size_t entry; // where in the reply of a stream the entry is that is being read, from 0
    char entry_id[BRIDGE_STREAM_ID_OCTETS]; // empty: none is
} bridge_unasked;

// From here on such a reply ends the connection, as one that cannot be read does. An error without a command is let
// through: by that a store says that it has too many clients, and hiredis expects it.
void bridge_unasked_refuse(bridge_unasked *guard, redisReader *reader, const unsigned *asked);

// Whether the reply that is being read is too long, with what has come of a string that is not complete.
bool bridge_unasked_is_long(bridge_unasked *guard, const redisReader *reader);

#endif
#endif
