// SPDX-License-Identifier: MIT
//
// Events, as they stand in event streams.
#ifndef SKUA_EXCHANGE_EVENTS_H
#define SKUA_EXCHANGE_EVENTS_H

#include "base/slice.h"

// Whether a text may be the name or the id of an event.
bool event_is_one_line(slice text);

// Writes an event. at: NULL to count its octets only.
// Returns: how many octets it has.
size_t event_format(const skua_event *event, char *at);

#endif
