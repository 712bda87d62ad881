// SPDX-License-Identifier: MIT
//
// The deadlines of connections: what is done when one has passed, and when the server is being stopped or drained.
#ifndef SKUA_SERVER_CONNECTION_DEADLINE_H
#define SKUA_SERVER_CONNECTION_DEADLINE_H

#include "server/connection.h"

// For endpoint_role.timed_out and endpoint_role.hurry.
void connection_timed_out(endpoint *end);
void connection_hurried(endpoint *end);

#endif
