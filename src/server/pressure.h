// SPDX-License-Identifier: MIT
//
// Pressure: what workers do when clients make the server hold nearly all of skua_config.memory_max,
// or all of it. Above 80 % memory that is kept for later goes back, and idle connections are
// closed, those that have waited longest first. Above 90 % new requests are answered 503
// (session.c). At the limit no connection is accepted, those whose head is still coming are ended,
// the largest first, and requests that are being served are slowed: less is queued for them, and
// content that has to be kept is read once per look at its progress.
#ifndef SKUA_SERVER_PRESSURE_H
#define SKUA_SERVER_PRESSURE_H

#include "server/worker.h"

// Called by a worker's lease: tells all workers when a level has been reached.
void pressure_grown(lease *l);

// Looks at the level and does what it asks for; comes back every 100 ms until there is plenty.
void pressure_look(server_worker *w);

#endif
