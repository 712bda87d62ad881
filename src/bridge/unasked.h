// SPDX-License-Identifier: MIT
//
// Unasked: replies that nobody has asked for. hiredis stops the process at one, whoever the store is.
#ifndef SKUA_BRIDGE_UNASKED_H
#define SKUA_BRIDGE_UNASKED_H

#ifdef SKUA_REDIS

#include <hiredis/async.h>
#include <stdbool.h>

// The functions that make the objects of replies. They last as long as the connection.
typedef struct bridge_unasked {
    redisReplyObjectFunctions ours;
    const redisReplyObjectFunctions *usual;
    const unsigned *asked; // commands without a reply
    bool came;             // such a reply
} bridge_unasked;

// From here on a reply without a command ends the connection, as one that cannot be read does. An error is let
// through: by that a store says that it has too many clients, and hiredis expects it.
void bridge_unasked_refuse(bridge_unasked *guard, redisReader *reader, const unsigned *asked);

#endif
#endif
