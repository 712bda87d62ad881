// SPDX-License-Identifier: MIT
//
// Message: a publication on its way to the readers of a topic, shared by the workers and by the
// queues of the readers. It is framed once for all of them.
#ifndef SKUA_TOPIC_MESSAGE_H
#define SKUA_TOPIC_MESSAGE_H

#include "base/slice.h"
#include "http/ws_deflate.h"

#include <stdatomic.h>

typedef struct topic_deflated topic_deflated;

// Parts of topic_message.manner.
enum {
    TOPIC_FOREIGN = 1,   // not carried to other machines
    TOPIC_FOR_EVENTS = 2 // for event streams alone
};

typedef struct topic_message {
    struct {
        atomic_uint refs;
        atomic_uint letters;   // to workers, that have not been carried out
        _Atomic(char *) event; // as it stands in event streams; NULL: not needed yet
        atomic_size_t event_octets;
#ifndef SKUA_NO_WEBSOCKET
        _Atomic(topic_deflated *)
            deflated[WS_DEFLATE_WINDOWS]; // for each window; NULL: not needed yet
#endif
    } shared;
    skua_server *server;
    size_t size; // octets that it counts as
    bool binary;
    uint8_t manner;
    skua_socket except;
    slice topic, message, event, id;
    slice frame; // of WebSocket, with the message in it
    char octets[];
} topic_message;

// A copy of what is to be published, with one reference; NULL when memory ran out.
topic_message *topic_message_new(skua_server *server, slice topic, const skua_publication *given);

// Octets that a publication counts as, with that topic.
size_t topic_message_size(slice topic, const skua_publication *given);

// Octets that the longest of its forms takes in the queue of a reader.  Thread: any.
size_t topic_message_octets(const topic_message *p);

// Thread: any.
void topic_message_keep(topic_message *p);
void topic_message_release(void *p);

// A text as it stands in event streams. Returns: false when memory ran out.  Thread: any.
bool topic_message_event(topic_message *p, slice *event);

#endif
