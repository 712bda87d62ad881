// SPDX-License-Identifier: MIT
//
// Receiving: reads publications of other servers from the stream.
#ifndef SKUA_BRIDGE_RECEIVING_H
#define SKUA_BRIDGE_RECEIVING_H

#include "bridge/bridge.h"

#ifdef SKUA_REDIS

// The connection that reads has been greeted.
void bridge_receiving_begin(void *user);

#endif
#endif
