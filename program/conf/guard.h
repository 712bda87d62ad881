// SPDX-License-Identifier: MIT
//
// Guard: asks for a name and a password (Basic, RFC 7617), or for a token (Bearer, RFC 6750).
// Hashes are checked off the worker. A client that fails too often is refused before that. Correct
// credentials are remembered as long as their file stays the same.
#ifndef PROGRAM_CONF_GUARD_H
#define PROGRAM_CONF_GUARD_H

#include "conf/conf.h"
#include "conf/known.h"
#include "conf/users.h"

#include <skua/middleware/authentication.h>

#include <pthread.h>
#include <time.h>

enum { CONF_REALM_OCTETS_MAX = 100 };

// Traces that a file was written, or that another one was put in its place.
typedef struct conf_stamp {
    struct timespec changed;
    int64_t octets;
    uint64_t number;
} conf_stamp;

struct conf_guard {
    skua_authentication authentication; // whose arg is this guard
    conf_secret secret;
    const char *file;
    conf_place at;
    const conf_site *used_by; // the last site that was built with it
    pthread_mutex_t lock;     // of what follows
    conf_memory memory;       // of the users
    conf_user *users;
    conf_stamp stamp;
    int64_t looked_ns; // at the file; 0: it is to be looked at
    unsigned readings;
    conf_known known;
};

// A guard in a site.
typedef struct conf_guarded {
    conf_site *site;
    conf_guard *guard;
} conf_guarded;

// Reads the file. at: the word that names it. Returns: NULL when there are findings, or no memory. It is freed with the
// memory of the findings.
conf_guard *conf_guard_new(conf_secret secret, const char *realm, const char *file, conf_place at,
                           conf_findings *findings);

// Middleware, whose user is a conf_guarded.
void conf_guard_before(skua_request *request, void *guarded);
void conf_guard_end(skua_request *request, skua_end how, void *guarded);

#endif
