// SPDX-License-Identifier: MIT
//
// Link: a connection to the store on the loop of a worker, by hiredis' asynchronous interface. It
// authenticates, selects the database, and limits the time for replies.
#ifndef SKUA_BRIDGE_LINK_H
#define SKUA_BRIDGE_LINK_H

#include "bridge/unasked.h"
#include "bridge/url.h"

#ifdef SKUA_REDIS

#include <hiredis/async.h>

enum {
    BRIDGE_COMMAND_WORDS_MAX = 24,
    BRIDGE_MOVES_OCTETS =
        65536 // to the store and from it while it is waited for, or it does not reply
};

typedef struct bridge_link bridge_link;

// A command: replied is called with its reply. An error of the store's is not a reply: refused, unless NULL, is called
// with it, and then the link is lost.
typedef struct bridge_question {
    void (*replied)(bridge_link *link, const redisReply *reply);
    void (*refused)(bridge_link *link, const redisReply *error);
} bridge_question;

// Zeroed, it is closed. The first five are the owner's.
struct bridge_link {
    const bridge_url *url;
    int64_t patience_ns;         // for each reply, or until something moves
    void (*greeted)(void *user); // commands may be asked from now on
    void (*lost)(void *user,
                 const char *reason); // it is to be closed; reason: valid during the call
    void *user;
    skua_worker *worker;
    redisAsyncContext *redis; // NULL: closed
    skua_poll poll;
    unsigned events;
    skua_timer patience;
    unsigned asked;        // commands without a reply
    uint64_t asked_octets; // of all commands
    int64_t moved;         // octets to the store and from it, when it was watched last
    bridge_unasked unasked;
};

// Connects, and then says user, password and database. greeted is called when the store has agreed.
// address: numeric; not used for a Unix socket.
// Returns: false when that failed at once.
bool bridge_link_open(bridge_link *link, skua_worker *worker, const char *address);

// Closes it, if it is open. Nothing of it is called any more.
void bridge_link_close(bridge_link *link);

// Sends a command. words: copied.
// Returns: false when memory ran out, or the link is about to close.
bool bridge_link_ask(bridge_link *link, const slice *words, size_t count,
                     const bridge_question *question);

// Waits at most so long until the link can go on, and lets it.
// Returns: false when the time is over or the link is closed.
bool bridge_link_wait(bridge_link *link, int64_t timeout_ns);

#endif
#endif
