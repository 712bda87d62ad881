// SPDX-License-Identifier: MIT
//
// Unasked: replies that nobody has asked for, at which hiredis stops the process, whoever the store is; and arrays that
// only say that they are long, for whose elements it takes memory and time at once.
#ifndef SKUA_BRIDGE_UNASKED_H
#define SKUA_BRIDGE_UNASKED_H

#ifdef SKUA_REDIS

#include <hiredis/async.h>
#include <stdbool.h>

enum { BRIDGE_ELEMENTS_MAX = 1048576 }; // of an array

// The functions that make the objects of replies. They last as long as the connection.
typedef struct bridge_unasked {
    redisReplyObjectFunctions ours;
    const redisReplyObjectFunctions *usual;
    const unsigned *asked; // commands without a reply
    const char *why;       // what is wrong with a reply that came; NULL: nothing
} bridge_unasked;

// From here on such a reply ends the connection, as one that cannot be read does. An error without a command is let
// through: by that a store says that it has too many clients, and hiredis expects it.
void bridge_unasked_refuse(bridge_unasked *guard, redisReader *reader, const unsigned *asked);

#endif
#endif
