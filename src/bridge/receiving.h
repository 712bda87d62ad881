// SPDX-License-Identifier: MIT
//
// Receiving: reads publications of other servers from the stream.
#ifndef SKUA_BRIDGE_RECEIVING_H
#define SKUA_BRIDGE_RECEIVING_H

#include "bridge/bridge.h"

#ifdef SKUA_REDIS

// The connection that reads has been greeted.
void bridge_receiving_begin(void *user);

// The reply that is being read is too long. The next asks for the entries before the one that was too much, or, where
// that is the first, passes it over.
void bridge_receiving_shorten(topic_bridge *b);

#endif
#endif
