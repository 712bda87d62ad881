// SPDX-License-Identifier: MIT
//
// Delivery: letters take publications to the workers, which pass them to their readers.
#ifndef SKUA_TOPIC_DELIVERY_H
#define SKUA_TOPIC_DELIVERY_H

#include "topic/topic.h"

// Sends a publication to every worker that has readers. To be called within the gate of server->running.
// Errors: SKUA_ENOMEM: nobody gets it.  Thread: any.
skua_status delivery_send(topic_message *p);

// A worker gets its first reader, who is told of nothing that was published before.
// Returns: false when memory ran out.
bool delivery_forget(server_worker *w);

// One that has been sent, or that its publisher has done with: takes the reference.  Thread: any.
void delivery_done(topic_message *p);

#endif
