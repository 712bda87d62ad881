// SPDX-License-Identifier: MIT
//
// Readers of topics: WebSockets and event streams.
#ifndef SKUA_TOPIC_READER_H
#define SKUA_TOPIC_READER_H

#include "exchange/request.h"
#include "topic/message.h"

// Whether the request is one that a publication can be handed to.
bool reader_is_one(const skua_request *r);

// Hands a publication to a reader. One that is too slow is treated as it was agreed on, and told.
void reader_hand(skua_request *r, topic_message *p);

#endif
