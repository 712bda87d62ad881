// SPDX-License-Identifier: MIT
//
// Turns: secrets are checked on the threads that also wait for disks, so that only some are checked at once, and a flood of
// wrong ones makes nobody wait who has asked for a file.
#ifndef PROGRAM_CONF_TURNS_H
#define PROGRAM_CONF_TURNS_H

#include <skua/middleware/authentication.h>

enum {
    TURNS_MAX = 8,         // checked at once, by all workers; each has one at least
    TURNS_WAITING_MAX = 64 // requests of a worker that wait for their turn
};

// Credentials are checked as soon as it is their turn, and then done is called, as by skua_request_offload.
// Errors: SKUA_ELIMIT too many wait already; SKUA_ENOMEM; those of skua_request_offload. done is not called then.
skua_status turns_take(skua_request *request, skua_credentials *c, skua_offloaded_fn *done);

#endif
