// SPDX-License-Identifier: MIT
//
// Priorities: a small grammar, and a table of those that came before their streams.

#include "h2/priority.h"

#ifndef SKUA_NO_HTTP2

// One member of the dictionary: u=0 to u=7, i, i=?1 or i=?0.
static void h2_priority_take(h2_priority *priority, slice member)
{
    const char *at = member.ptr;
    if (member.len == 3 && at[0] == 'u' && at[1] == '=' && at[2] >= '0' && at[2] <= '7')
        priority->urgency = (uint8_t)(at[2] - '0');
    else if (member.len == 1 && at[0] == 'i') priority->incremental = true;
    else if (member.len == 4 && at[0] == 'i' && at[1] == '=' && at[2] == '?' &&
             (at[3] == '0' || at[3] == '1'))
        priority->incremental = at[3] == '1';
}

h2_priority h2_priority_read(slice value)
{
    h2_priority priority = { .urgency = H2_URGENCY_DEFAULT };
    while (value.len) {
        const char *comma = memchr(value.ptr, ',', value.len);
        size_t len = comma ? (size_t)(comma - value.ptr) : value.len;
        slice member = slice_trim(slice_make(value.ptr, len));
        const char *parameters = member.len ? memchr(member.ptr, ';', member.len) : NULL;
        if (parameters) member.len = (size_t)(parameters - member.ptr);
        h2_priority_take(&priority, member);
        value = slice_from(value, comma ? len + 1 : len);
    }
    return priority;
}

// ---- Streams that are to come ----

bool h2_priority_keep(h2_session *s, uint32_t number, h2_priority priority)
{
    unsigned most = h2_config(s)->http2.streams_max, free = most;
    if (!s->early) s->early = counted_zeroed(&s->base.worker->memory, most * sizeof *s->early);
    if (!s->early) return true;
    for (unsigned i = 0; i < most; i++) {
        uint32_t held = s->early[i].number;
        if (held == number) free = i;
        else if (held <= s->last_stream && free == most) free = i;
    }
    if (free == most) return false;
    s->early[free] = (h2_early){ .number = number, .priority = priority };
    return true;
}

bool h2_priority_find(const h2_session *s, uint32_t number, h2_priority *priority)
{
    if (!s->early) return false;
    for (unsigned i = 0; i < h2_config(s)->http2.streams_max; i++) {
        if (s->early[i].number != number) continue;
        *priority = s->early[i].priority;
        return true;
    }
    return false;
}

#endif
