// SPDX-License-Identifier: MIT

#include "common/pulse.h"

#include <stdatomic.h>

static atomic_uint pulse_silent; // workers that have not come round yet

static void pulse_heard(skua_worker *worker, void *nothing)
{
    (void)worker, (void)nothing;
    atomic_fetch_sub(&pulse_silent, 1);
}

// Behind the last worker, and when they end, nobody takes a letter. How many there are must not be asked while they end.
bool pulse_look(skua_server *server)
{
    skua_status status = SKUA_OK;
    if (atomic_load(&pulse_silent)) return false;
    for (unsigned i = 0; !status; i++) {
        atomic_fetch_add(&pulse_silent, 1);
        status = skua_post(server, i, pulse_heard, NULL);
    }
    atomic_fetch_sub(&pulse_silent, 1); // of the one that was not taken
    return true;
}
