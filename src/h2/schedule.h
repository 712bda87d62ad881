// SPDX-License-Identifier: MIT
//
// Schedule: streams that are gone on with from the loop.
#ifndef SKUA_H2_SCHEDULE_H
#define SKUA_H2_SCHEDULE_H

#ifndef SKUA_NO_HTTP2

#include "h2/session.h"

// Goes on with the streams that were kicked.
void h2_schedule_run_kicked(h2_session *s);

// Queues frames of content, in order of their priority, as long as there is room.
void h2_schedule_fill(h2_session *s);

#endif
#endif
