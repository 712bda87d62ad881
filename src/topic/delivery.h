// SPDX-License-Identifier: MIT
//
// Delivery: letters take publications to the workers, which pass them to their readers.
#ifndef SKUA_TOPIC_DELIVERY_H
#define SKUA_TOPIC_DELIVERY_H

#include "topic/topic.h"

// Sends a publication to every worker that has readers. To be called within the gate of server->running.
// Errors: SKUA_ENOMEM: nobody gets it.  Thread: any.
skua_status delivery_send(topic_message *p);

// One that has been sent, or that its publisher has done with: takes the reference.  Thread: any.
void delivery_done(topic_message *p);

#endif
