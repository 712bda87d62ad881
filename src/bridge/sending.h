// SPDX-License-Identifier: MIT
//
// Sending: adds publications of this server to the stream.
#ifndef SKUA_BRIDGE_SENDING_H
#define SKUA_BRIDGE_SENDING_H

#include "bridge/bridge.h"

#ifdef SKUA_REDIS

// The connection that adds has been greeted: finds its place in the stream, then sends what waits.
void bridge_sending_begin(void *user);

// Sends what waits, as far as not too much is under way.
void bridge_send_waiting(topic_bridge *b);

#endif
#endif
