// SPDX-License-Identifier: MIT
//
// Work under way.

#include "disk/work.h"

#include "base/assert.h"
#include "disk/home.h"

void work_begin(work_tie *tie, disk_home *home)
{
    work_asker *asker = home->served ? home->asker_of(home->served) : NULL;
    *tie = (work_tie){ .asker = asker, .served = home->served };
    if (!asker) return;
    tie->next = asker->first;
    tie->link = &asker->first;
    if (asker->first) asker->first->link = &tie->next;
    asker->first = tie;
}

void work_drop(work_tie *tie)
{
    if (!tie->asker) return;
    *tie->link = tie->next;
    if (tie->next) tie->next->link = tie->link;
    tie->asker = NULL;
}

void work_return(const work_tie *tie, disk_home *home)
{
    SKUA_ASSERT(!home->served); // it comes from the loop, never from within a callback
    if (tie->asker && home->asker_of(tie->served) == tie->asker) home->served = tie->served;
}

void work_end(work_tie *tie, disk_home *home)
{
    work_asker *asker = tie->asker;
    home->served = NULL;
    work_drop(tie);
    if (asker && !asker->first) home->work_is_over(asker);
}

void work_let_go(work_asker *asker)
{
    while (asker->first)
        work_drop(asker->first);
}
