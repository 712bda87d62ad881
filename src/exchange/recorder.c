// SPDX-License-Identifier: MIT
//
// Recorder: which thread of the pool has which request.

#include "exchange/recorder.h"

static _Thread_local struct {
    const skua_request *request; // whose handler runs on this thread; NULL: none does
    recorder *taken;
} recorder_visited;

void recorder_visit(const skua_request *r, recorder *taken)
{
    recorder_visited.request = r;
    recorder_visited.taken = taken;
}

bool recorder_is_visiting(void)
{
    return recorder_visited.request != NULL;
}

recorder *recorder_here(const skua_request *r)
{
    return r == recorder_visited.request ? recorder_visited.taken : NULL;
}

recorder *recorder_of(const skua_request *r, const char *function)
{
    recorder *taken = recorder_here(r);
    if (!taken) request_misused(r, function);
    return taken;
}
