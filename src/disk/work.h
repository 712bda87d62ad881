// SPDX-License-Identifier: MIT
//
// Work under way, and the request that started it: opening, reading, offloaded work. It belongs to
// the request for which a callback is running when it begins; work begun in its completion callback
// belongs to the same request. This tells requests that will go on by themselves from requests that
// wait for the program.
#ifndef SKUA_DISK_WORK_H
#define SKUA_DISK_WORK_H

typedef struct disk_home disk_home;
typedef struct work_tie work_tie;

// Embedded in an object that starts work: a request.
typedef struct work_asker {
    work_tie *first; // NULL: nothing is under way
} work_asker;

// Embedded in an operation under way.
struct work_tie {
    work_tie *next, **link; // in the asker's list
    work_asker *asker;      // NULL: nobody's, or the asker is gone
    void *served;           // of the home, when it began
};

// Work begins, for the asker whose callback is running, if there is one.
void work_begin(work_tie *tie, disk_home *home);

// Begin and end of the callback in which work comes back. Calls in between are made for its asker.
void work_return(const work_tie *tie, disk_home *home);
void work_end(work_tie *tie, disk_home *home);

// Undoes work_begin: the work did not begin after all.
void work_drop(work_tie *tie);

// The asker ends; its work goes on without one.
void work_let_go(work_asker *asker);

#endif
