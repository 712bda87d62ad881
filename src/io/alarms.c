// SPDX-License-Identifier: MIT
//
// A binary heap. Invariant: heap[i]->index == i, and no alarm comes before its parent heap[i / 2].

#include "io/alarms.h"

#include "base/assert.h"
#include "base/memory.h"

enum { ALARMS_ROOM_MIN = 16 };

void io_alarms_init(io_alarms *alarms, void *user)
{
    *alarms = (io_alarms){ .user = user };
}

void io_alarms_deinit(io_alarms *alarms)
{
    SKUA_ASSERT(alarms->count == 0);
    memory_free(alarms->heap);
    *alarms = (io_alarms){ .count = 0 };
}

static bool alarm_is_before(const io_alarm *a, const io_alarm *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->order < b->order;
}

static void alarms_put(io_alarms *alarms, size_t index, io_alarm *alarm)
{
    alarms->heap[index] = alarm;
    alarm->index = index;
}

static void alarms_sift_up(io_alarms *alarms, size_t index, io_alarm *alarm)
{
    for (; index > 1 && alarm_is_before(alarm, alarms->heap[index / 2]); index /= 2) {
        alarms_put(alarms, index, alarms->heap[index / 2]);
    }
    alarms_put(alarms, index, alarm);
}

static void alarms_sift_down(io_alarms *alarms, size_t index, io_alarm *alarm)
{
    for (size_t child; (child = 2 * index) <= alarms->count; index = child) {
        if (child < alarms->count && alarm_is_before(alarms->heap[child + 1], alarms->heap[child]))
            child++;
        if (!alarm_is_before(alarms->heap[child], alarm)) break;
        alarms_put(alarms, index, alarms->heap[child]);
    }
    alarms_put(alarms, index, alarm);
}

bool io_alarms_reserve(io_alarms *alarms)
{
    if (alarms->count + 1 < alarms->room) return true;
    size_t room = alarms->room ? 2 * alarms->room : ALARMS_ROOM_MIN;
    io_alarm **heap = memory_resize(alarms->heap, room * sizeof *heap);
    if (!heap) return false;
    alarms->heap = heap;
    alarms->room = room;
    return true;
}

skua_status io_alarm_set(io_alarms *alarms, io_alarm *alarm, int64_t due_ns)
{
    SKUA_ASSERT(alarm->index == 0);
    if (!io_alarms_reserve(alarms)) return SKUA_ENOMEM;
    alarm->due_ns = due_ns;
    alarm->order = alarms->order++;
    alarms_sift_up(alarms, ++alarms->count, alarm);
    return SKUA_OK;
}

void io_alarm_unset(io_alarms *alarms, io_alarm *alarm)
{
    size_t index = alarm->index;
    if (index == 0) return;
    SKUA_ASSERT(alarms->heap[index] == alarm);
    alarm->index = 0;
    io_alarm *last = alarms->heap[alarms->count--];
    if (last == alarm) return;
    if (index > 1 && alarm_is_before(last, alarms->heap[index / 2]))
        alarms_sift_up(alarms, index, last);
    else alarms_sift_down(alarms, index, last);
}

io_alarm *io_alarms_first(const io_alarms *alarms)
{
    return alarms->count ? alarms->heap[1] : NULL;
}

void io_alarms_fire(io_alarms *alarms, int64_t now_ns)
{
    uint64_t newest = alarms->order;
    for (io_alarm *first; (first = io_alarms_first(alarms)) && first->due_ns <= now_ns;) {
        if (first->order >= newest) return;
        io_alarm_unset(alarms, first);
        first->fired(first, alarms->user);
    }
}

int64_t io_alarms_wait_ns(const io_alarms *alarms, int64_t now_ns)
{
    const io_alarm *first = io_alarms_first(alarms);
    if (!first) return -1;
    return first->due_ns > now_ns ? first->due_ns - now_ns : 0;
}
