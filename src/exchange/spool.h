// SPDX-License-Identifier: MIT
//
// Spool: content that is kept, in memory or in a scratch file that helper threads write. Octets
// count against the request's window until they are written, so that a disk slower than the client
// slows the client.
// Invariant: a spool outlives its request while a write is under way; then it does not use the
// request any more.
#ifndef SKUA_EXCHANGE_SPOOL_H
#define SKUA_EXCHANGE_SPOOL_H

#include "base/slice.h"

typedef struct spool spool;

// All is kept that was given before spool_end, or keeping has failed. Called once.
typedef void spool_settled_fn(skua_request *r, spool *s, void *user);

// A spool of the request, which lives until the request's memory goes; NULL when memory ran out.
spool *spool_new(skua_request *r, spool_settled_fn *settled, void *user);

// Keeps octets of the request's content, and gives back their credit now or later.
void spool_add(spool *s, slice octets);

// Moves what is in memory to a file, where from here on the rest is added too.
void spool_to_file(spool *s);

// No more will be added.
void spool_end(spool *s);

bool spool_is_file(const spool *s);
size_t spool_in_memory(const spool *s); // octets; of one that is no file
skua_status spool_status(const spool *s);

// The content that was kept; valid once it has settled well, while the spool lives.
void spool_upload(const spool *s, skua_upload *upload);

// Responds that keeping content has failed, and says why in the log.
void spool_refuse(skua_request *r, skua_status status);

// The request's content has all come, and what follows has a window of its own: its spools give
// back no more credit.
void spool_forget_credit(skua_request *r);

// The request is ending, or has been answered before its content was kept: those who wait for a spool are told so by
// SKUA_ECLOSED, and spools hear no more.
void spool_let_go(skua_request *r);

// Frees the request's spools, but for those that are being written, which follow.
void spool_free_all(skua_request *r);

#endif
