// SPDX-License-Identifier: MIT
//
// Control frames that come: SETTINGS, PING, GOAWAY, RST_STREAM, WINDOW_UPDATE and those of priority.
#ifndef SKUA_H2_CONTROL_H
#define SKUA_H2_CONTROL_H

#ifndef SKUA_NO_HTTP2

#include "h2/session.h"

// Counts a frame that costs more than it brings. Returns: false if there were too many.
bool h2_control_count_small(h2_session *s);

// A frame whose head has been checked. Returns: a fault, if it is one.
fault h2_control_take(h2_session *s, const h2_frame *frame, slice payload);

#endif
#endif
