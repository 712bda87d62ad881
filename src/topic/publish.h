// SPDX-License-Identifier: MIT
//
// Publishing to the readers of this server only, for the bridge, which brings publications of other
// machines.
#ifndef SKUA_TOPIC_PUBLISH_H
#define SKUA_TOPIC_PUBLISH_H

#include "topic/message.h"

// Publishes what is not carried to other machines.
// topic: empty for all readers, whatever they have joined: each gets it once.  manner: TOPIC_FOREIGN, or with
// TOPIC_FOR_EVENTS.
// Errors: those of skua_topic_publish.  Thread: any.
skua_status topic_publish_here(skua_server *server, slice topic, const skua_publication *given,
                               unsigned manner);

#endif
