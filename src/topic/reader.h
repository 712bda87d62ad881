// SPDX-License-Identifier: MIT
//
// Readers of topics: WebSockets and event streams.
#ifndef SKUA_TOPIC_READER_H
#define SKUA_TOPIC_READER_H

#include "exchange/request.h"
#include "topic/message.h"

struct topic_seat;

// Whether the request is one that a publication can be handed to.
bool reader_is_one(const skua_request *r);

// The request of the reader that sits there, made anew for a socket that is parked; NULL when that has ended just now
// for want of memory.
skua_request *reader_of(const struct topic_seat *seat);

// Hands a publication to a reader. One that is too slow is treated as it was agreed on, and told.
// Returns: the octets that had to be compressed for it alone.
size_t reader_hand(skua_request *r, topic_message *p);

#endif
