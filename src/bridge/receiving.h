// SPDX-License-Identifier: MIT
//
// Receiving: publications of other servers come out of the stream.
#ifndef SKUA_BRIDGE_RECEIVING_H
#define SKUA_BRIDGE_RECEIVING_H

#ifdef SKUA_REDIS

#include "bridge/bridge.h"

// The connection that reads has been greeted.
void bridge_receiving_begin(void *user);

#endif
#endif
