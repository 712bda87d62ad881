// SPDX-License-Identifier: MIT
//
// Delivery: publications are brought to the workers by letters, and handed to the readers there.
#ifndef SKUA_TOPIC_DELIVERY_H
#define SKUA_TOPIC_DELIVERY_H

#include "topic/topic.h"

// Sends a publication to every worker that has readers. To be called within the gate of server->running.
// Errors: SKUA_ENOMEM: nobody gets it.  Thread: any.
skua_status delivery_send(topic_message *p);

// One that has been sent, or that its publisher has done with: takes the reference.  Thread: any.
void delivery_done(topic_message *p);

#endif
