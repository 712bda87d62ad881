// SPDX-License-Identifier: MIT
//
// Compressed publications. A publication is compressed at most once for each window size among the
// sockets that keep no window, and only if there is such a reader.
#ifndef SKUA_TOPIC_DEFLATED_H
#define SKUA_TOPIC_DEFLATED_H

#include "topic/message.h"

#ifndef SKUA_NO_WEBSOCKET
// The message compressed within a window of so many bits. *frame: of WebSocket, with *payload in it; both as long
// as the publication. Two workers that need it at a time compress it each.
// Returns: false when it does not gain by that, or memory ran out: then it is to be sent as it is.  Thread: any
// worker that has sockets that agreed on compression.
bool topic_message_deflated(topic_message *p, skua_worker *w, unsigned bits, slice *frame,
                            slice *payload);
#endif

// Frees the compressed forms, when the publication has no holder any more.
void topic_deflated_free(topic_message *p);

#endif
